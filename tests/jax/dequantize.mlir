module @jit_dequantize attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x20xi8>, %arg1: tensor<6x1xf32>) -> (tensor<6x20xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<6x20xi8>) -> tensor<6x20xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x20xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<6x20xf32>
    return %2 : tensor<6x20xf32>
  }
}
