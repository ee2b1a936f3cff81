module @jit_leaky_relu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x20xf32>) -> (tensor<6x20xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %0 = call @leaky_relu(%arg0, %cst) : (tensor<6x20xf32>, tensor<f32>) -> tensor<6x20xf32>
    return %0 : tensor<6x20xf32>
  }
  func.func private @leaky_relu(%arg0: tensor<6x20xf32>, %arg1: tensor<f32>) -> tensor<6x20xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %1 = stablehlo.compare GE, %arg0, %0, FLOAT : (tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xi1>
    %2 = stablehlo.convert %arg1 : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %4 = stablehlo.multiply %3, %arg0 : tensor<6x20xf32>
    %5 = call @_where(%1, %arg0, %4) : (tensor<6x20xi1>, tensor<6x20xf32>, tensor<6x20xf32>) -> tensor<6x20xf32>
    return %5 : tensor<6x20xf32>
  }
  func.func private @_where(%arg0: tensor<6x20xi1>, %arg1: tensor<6x20xf32>, %arg2: tensor<6x20xf32>) -> tensor<6x20xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<6x20xi1>, tensor<6x20xf32>
    return %0 : tensor<6x20xf32>
  }
}
