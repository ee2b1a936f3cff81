module @jit_huber attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x10xf32>, %arg1: tensor<8x10xf32>) -> (tensor<f32> {jax.result_info = "result"}) {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<8x10xf32>
    %1 = stablehlo.abs %0 : tensor<8x10xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %3 = stablehlo.compare LT, %1, %2, FLOAT : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xi1>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<8x10xf32>
    %6 = stablehlo.multiply %5, %1 : tensor<8x10xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %8 = stablehlo.subtract %1, %7 : tensor<8x10xf32>
    %9 = call @_where(%3, %6, %8) : (tensor<8x10xi1>, tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_3 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %11 = stablehlo.divide %10, %cst_3 : tensor<f32>
    return %11 : tensor<f32>
  }
  func.func private @_where(%arg0: tensor<8x10xi1>, %arg1: tensor<8x10xf32>, %arg2: tensor<8x10xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<8x10xi1>, tensor<8x10xf32>
    return %0 : tensor<8x10xf32>
  }
}
