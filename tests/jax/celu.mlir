module @jit_celu attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x20xf32>) -> (tensor<6x20xf32> {jax.result_info = "result"}) {
    %0 = call @celu(%arg0) : (tensor<6x20xf32>) -> tensor<6x20xf32>
    return %0 : tensor<6x20xf32>
  }
  func.func private @celu(%arg0: tensor<6x20xf32>) -> tensor<6x20xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<6x20xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %3 = stablehlo.minimum %arg0, %2 : tensor<6x20xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %5 = stablehlo.divide %3, %4 : tensor<6x20xf32>
    %6 = stablehlo.exponential_minus_one %5 : tensor<6x20xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6x20xf32>
    %8 = stablehlo.multiply %7, %6 : tensor<6x20xf32>
    %9 = stablehlo.add %1, %8 : tensor<6x20xf32>
    return %9 : tensor<6x20xf32>
  }
}
