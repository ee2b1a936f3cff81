module @jit_inverse_functions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40xf32>) -> (tensor<40xf32> {jax.result_info = "result[0]"}, tensor<40xf32> {jax.result_info = "result[1]"}, tensor<40xf32> {jax.result_info = "result[2]"}, tensor<40xf32> {jax.result_info = "result[3]"}) {
    %0 = chlo.asin %arg0 : tensor<40xf32> -> tensor<40xf32>
    %1 = chlo.acos %arg0 : tensor<40xf32> -> tensor<40xf32>
    %2 = chlo.atanh %arg0 : tensor<40xf32> -> tensor<40xf32>
    %3 = chlo.atan %arg0 : tensor<40xf32> -> tensor<40xf32>
    return %0, %1, %2, %3 : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
  }
}
