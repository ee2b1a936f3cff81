module @jit_parity attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x10xui32>) -> (tensor<6x10xui32> {jax.result_info = "result"}) {
    %0 = stablehlo.popcnt %arg0 : tensor<6x10xui32>
    %c = stablehlo.constant dense<1> : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<6x10xui32>
    %2 = stablehlo.and %0, %1 : tensor<6x10xui32>
    return %2 : tensor<6x10xui32>
  }
}
