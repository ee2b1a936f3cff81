module @jit_elu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x20xf32>) -> (tensor<6x20xf32> {jax.result_info = "result"}) {
    %0 = call @elu(%arg0) : (tensor<6x20xf32>) -> tensor<6x20xf32>
    return %0 : tensor<6x20xf32>
  }
  func.func private @elu(%arg0: tensor<6x20xf32>) -> tensor<6x20xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %3 = stablehlo.compare GT, %arg0, %2, FLOAT : (tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = call @_where(%3, %cst_1, %arg0) : (tensor<6x20xi1>, tensor<f32>, tensor<6x20xf32>) -> tensor<6x20xf32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<6x20xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %7 = stablehlo.multiply %6, %5 : tensor<6x20xf32>
    %8 = call @_where_0(%1, %arg0, %7) : (tensor<6x20xi1>, tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xf32>
    return %8 : tensor<6x20xf32>
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
