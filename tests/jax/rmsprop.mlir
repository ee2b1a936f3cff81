module @jit_rmsprop attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x12xf32>, %arg1: tensor<5x12xf32>, %arg2: tensor<5x12xf32>) -> (tensor<5x12xf32> {jax.result_info = "result[0]"}, tensor<5x12xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<5x12xf32>
    %cst_0 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<5x12xf32>
    %4 = stablehlo.multiply %3, %arg2 : tensor<5x12xf32>
    %5 = stablehlo.add %1, %4 : tensor<5x12xf32>
    %cst_1 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %7 = stablehlo.multiply %6, %arg2 : tensor<5x12xf32>
    %8 = stablehlo.sqrt %5 : tensor<5x12xf32>
    %cst_2 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %10 = stablehlo.add %8, %9 : tensor<5x12xf32>
    %11 = stablehlo.divide %7, %10 : tensor<5x12xf32>
    %12 = stablehlo.subtract %arg0, %11 : tensor<5x12xf32>
    return %12, %5 : tensor<5x12xf32>, tensor<5x12xf32>
  }
}
