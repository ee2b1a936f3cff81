module @jit_residual_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x10xbf16>, %arg1: tensor<6x10xbf16>) -> (tensor<6x10xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg1 : (tensor<6x10xbf16>) -> tensor<6x10xf32>
    %1 = call @silu(%0) : (tensor<6x10xf32>) -> tensor<6x10xf32>
    %2 = stablehlo.convert %1 : (tensor<6x10xf32>) -> tensor<6x10xbf16>
    %3 = stablehlo.add %arg0, %2 : tensor<6x10xbf16>
    return %3 : tensor<6x10xbf16>
  }
  func.func private @silu(%arg0: tensor<6x10xf32>) -> tensor<6x10xf32> {
    %0 = stablehlo.negate %arg0 : tensor<6x10xf32>
    %1 = stablehlo.exponential %0 : tensor<6x10xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x10xf32>
    %3 = stablehlo.add %2, %1 : tensor<6x10xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x10xf32>
    %5 = stablehlo.divide %4, %3 : tensor<6x10xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<6x10xf32>
    return %6 : tensor<6x10xf32>
  }
}
