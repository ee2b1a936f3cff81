module @jit_hash32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x10xui32>) -> (tensor<6x10xui32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<16> : tensor<ui32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<6x10xui32>
    %1 = stablehlo.shift_right_logical %arg0, %0 : tensor<6x10xui32>
    %2 = stablehlo.xor %arg0, %1 : tensor<6x10xui32>
    %c_0 = stablehlo.constant dense<2246822507> : tensor<ui32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<6x10xui32>
    %4 = stablehlo.multiply %2, %3 : tensor<6x10xui32>
    %c_1 = stablehlo.constant dense<13> : tensor<ui32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<6x10xui32>
    %6 = stablehlo.shift_right_logical %4, %5 : tensor<6x10xui32>
    %7 = stablehlo.xor %4, %6 : tensor<6x10xui32>
    %c_2 = stablehlo.constant dense<3266489909> : tensor<ui32>
    %8 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui32>) -> tensor<6x10xui32>
    %9 = stablehlo.multiply %7, %8 : tensor<6x10xui32>
    %c_3 = stablehlo.constant dense<16> : tensor<ui32>
    %10 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui32>) -> tensor<6x10xui32>
    %11 = stablehlo.shift_right_logical %9, %10 : tensor<6x10xui32>
    %12 = stablehlo.xor %9, %11 : tensor<6x10xui32>
    return %12 : tensor<6x10xui32>
  }
}
