module @jit_unpack_nibbles attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xui8>) -> (tensor<4x16xui8> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<15> : tensor<ui8>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<4x8xui8>
    %1 = stablehlo.and %arg0, %0 : tensor<4x8xui8>
    %c_0 = stablehlo.constant dense<4> : tensor<ui8>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui8>) -> tensor<4x8xui8>
    %3 = stablehlo.shift_right_logical %arg0, %2 : tensor<4x8xui8>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x8xui8>) -> tensor<4x8x1xui8>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x8xui8>) -> tensor<4x8x1xui8>
    %6 = stablehlo.concatenate %4, %5, dim = 2 : (tensor<4x8x1xui8>, tensor<4x8x1xui8>) -> tensor<4x8x2xui8>
    %7 = stablehlo.reshape %6 : (tensor<4x8x2xui8>) -> tensor<4x16xui8>
    return %7 : tensor<4x16xui8>
  }
}
