module @jit_next_numbers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x9xf32>, %arg1: tensor<4x9xf32>) -> (tensor<4x9xf32> {jax.result_info = "result[0]"}, tensor<9xf32> {jax.result_info = "result[1]"}) {
    %0 = chlo.next_after %arg0, %arg1 : tensor<4x9xf32>, tensor<4x9xf32> -> tensor<4x9xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:9] : (tensor<4x9xf32>) -> tensor<1x9xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x9xf32>) -> tensor<9xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<9xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<9xf32>
    %5 = stablehlo.slice %arg1 [0:1, 0:9] : (tensor<4x9xf32>) -> tensor<1x9xf32>
    %6 = stablehlo.reshape %5 : (tensor<1x9xf32>) -> tensor<9xf32>
    %7 = chlo.next_after %4, %6 : tensor<9xf32>, tensor<9xf32> -> tensor<9xf32>
    return %0, %7 : tensor<4x9xf32>, tensor<9xf32>
  }
}
