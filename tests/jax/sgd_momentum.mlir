module @jit_sgd_momentum attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x12xf32>, %arg1: tensor<5x12xf32>, %arg2: tensor<5x12xf32>) -> (tensor<5x12xf32> {jax.result_info = "result[0]"}, tensor<5x12xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<5x12xf32>
    %2 = stablehlo.add %1, %arg2 : tensor<5x12xf32>
    %cst_0 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %4 = stablehlo.multiply %3, %2 : tensor<5x12xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<5x12xf32>
    return %5, %2 : tensor<5x12xf32>, tensor<5x12xf32>
  }
}
