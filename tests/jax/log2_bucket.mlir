module @jit_log2_bucket attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<24xi32>) -> (tensor<24xi32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<24xi32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<24xi32>
    %2 = stablehlo.count_leading_zeros %1 : tensor<24xi32>
    %c_0 = stablehlo.constant dense<31> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<24xi32>
    %4 = stablehlo.subtract %3, %2 : tensor<24xi32>
    return %4 : tensor<24xi32>
  }
}
