module @jit_binary_cross_entropy attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x10xf32>, %arg1: tensor<8x10xf32>) -> (tensor<f32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<8x10xf32>
    %2 = stablehlo.multiply %arg0, %arg1 : tensor<8x10xf32>
    %3 = stablehlo.subtract %1, %2 : tensor<8x10xf32>
    %4 = stablehlo.abs %arg0 : tensor<8x10xf32>
    %5 = stablehlo.negate %4 : tensor<8x10xf32>
    %6 = stablehlo.exponential %5 : tensor<8x10xf32>
    %7 = stablehlo.log_plus_one %6 : tensor<8x10xf32>
    %8 = stablehlo.add %3, %7 : tensor<8x10xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %10 = stablehlo.divide %9, %cst_1 : tensor<f32>
    return %10 : tensor<f32>
  }
}
