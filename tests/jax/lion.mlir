module @jit_lion attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x12xf32>, %arg1: tensor<5x12xf32>, %arg2: tensor<5x12xf32>) -> (tensor<5x12xf32> {jax.result_info = "result[0]"}, tensor<5x12xf32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<5x12xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<5x12xf32>
    %4 = stablehlo.add %1, %3 : tensor<5x12xf32>
    %5 = stablehlo.sign %4 : tensor<5x12xf32>
    %cst_1 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %7 = stablehlo.multiply %6, %arg0 : tensor<5x12xf32>
    %8 = stablehlo.add %5, %7 : tensor<5x12xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<5x12xf32>
    %11 = stablehlo.subtract %arg0, %10 : tensor<5x12xf32>
    %cst_3 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %13 = stablehlo.multiply %12, %arg1 : tensor<5x12xf32>
    %cst_4 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %15 = stablehlo.multiply %14, %arg2 : tensor<5x12xf32>
    %16 = stablehlo.add %13, %15 : tensor<5x12xf32>
    return %11, %16 : tensor<5x12xf32>, tensor<5x12xf32>
  }
}
