module @jit_cumprod_reverse attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x15xf32>) -> (tensor<6x15xf32> {jax.result_info = "result"}) {
    %0 = call @_flip(%arg0) : (tensor<6x15xf32>) -> tensor<6x15xf32>
    %1 = call @cumprod(%0) : (tensor<6x15xf32>) -> tensor<6x15xf32>
    %2 = call @_flip(%1) : (tensor<6x15xf32>) -> tensor<6x15xf32>
    return %2 : tensor<6x15xf32>
  }
  func.func private @_flip(%arg0: tensor<6x15xf32>) -> tensor<6x15xf32> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<6x15xf32>
    return %0 : tensor<6x15xf32>
  }
  func.func private @cumprod(%arg0: tensor<6x15xf32>) -> tensor<6x15xf32> {
    %0 = call @cumprod_0(%arg0) : (tensor<6x15xf32>) -> tensor<6x15xf32>
    return %0 : tensor<6x15xf32>
  }
  func.func private @cumprod_0(%arg0: tensor<6x15xf32>) -> tensor<6x15xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [14, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 15>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.multiply %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<6x15xf32>, tensor<f32>) -> tensor<6x15xf32>
    return %0 : tensor<6x15xf32>
  }
}
