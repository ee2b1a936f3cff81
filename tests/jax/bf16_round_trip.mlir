module @jit_bf16_round_trip attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x20xf32>) -> (tensor<6x20xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<6x20xf32>) -> tensor<6x20xbf16>
    %1 = stablehlo.convert %0 : (tensor<6x20xbf16>) -> tensor<6x20xf32>
    return %1 : tensor<6x20xf32>
  }
}
