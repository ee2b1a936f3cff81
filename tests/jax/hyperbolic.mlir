module @jit_hyperbolic attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40xf32>) -> (tensor<40xf32> {jax.result_info = "result[0]"}, tensor<40xf32> {jax.result_info = "result[1]"}, tensor<40xf32> {jax.result_info = "result[2]"}, tensor<40xf32> {jax.result_info = "result[3]"}) {
    %0 = chlo.sinh %arg0 : tensor<40xf32> -> tensor<40xf32>
    %1 = chlo.cosh %arg0 : tensor<40xf32> -> tensor<40xf32>
    %2 = chlo.asinh %arg0 : tensor<40xf32> -> tensor<40xf32>
    %3 = stablehlo.cbrt %arg0 : tensor<40xf32>
    return %0, %1, %2, %3 : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
  }
}
