module @jit_selu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x20xf32>) -> (tensor<6x20xf32> {jax.result_info = "result"}) {
    %0 = call @selu(%arg0) : (tensor<6x20xf32>) -> tensor<6x20xf32>
    return %0 : tensor<6x20xf32>
  }
  func.func private @selu(%arg0: tensor<6x20xf32>) -> tensor<6x20xf32> {
    %cst = stablehlo.constant dense<1.67326319> : tensor<f32>
    %0 = call @elu(%arg0, %cst) : (tensor<6x20xf32>, tensor<f32>) -> tensor<6x20xf32>
    %cst_0 = stablehlo.constant dense<1.05070102> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<6x20xf32>
    return %2 : tensor<6x20xf32>
  }
  func.func private @elu(%arg0: tensor<6x20xf32>, %arg1: tensor<f32>) -> tensor<6x20xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %3 = stablehlo.compare GT, %arg0, %2, FLOAT : (tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = call @_where(%3, %cst_1, %arg0) : (tensor<6x20xi1>, tensor<f32>, tensor<6x20xf32>) -> tensor<6x20xf32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<6x20xf32>
    %6 = stablehlo.convert %arg1 : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<6x20xf32>
    %9 = call @_where_0(%1, %arg0, %8) : (tensor<6x20xi1>, tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xf32>
    return %9 : tensor<6x20xf32>
  }
  func.func private @_where(%arg0: tensor<6x20xi1>, %arg1: tensor<f32>, %arg2: tensor<6x20xf32>) -> tensor<6x20xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<6x20xi1>, tensor<6x20xf32>
    return %2 : tensor<6x20xf32>
  }
  func.func private @_where_0(%arg0: tensor<6x20xi1>, %arg1: tensor<6x20xf32>, %arg2: tensor<6x20xf32>) -> tensor<6x20xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<6x20xi1>, tensor<6x20xf32>
    return %0 : tensor<6x20xf32>
  }
}
