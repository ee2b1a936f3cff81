module @jit_shuffle attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4x5xf32>) -> (tensor<6x3x7xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<3x4x5xf32>) -> tensor<5x3x4xf32>
    %1 = call @_roll_static(%0) : (tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
    %2 = stablehlo.slice %1 [0:5, 0:3:2, 0:4] : (tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = call @_pad(%2, %c) : (tensor<5x2x4xf32>, tensor<i32>) -> tensor<6x3x7xf32>
    return %3 : tensor<6x3x7xf32>
  }
  func.func private @_roll_static(%arg0: tensor<5x3x4xf32>) -> tensor<5x3x4xf32> {
    %0 = stablehlo.slice %arg0 [4:5, 0:3, 0:4] : (tensor<5x3x4xf32>) -> tensor<1x3x4xf32>
    %1 = stablehlo.slice %arg0 [0:4, 0:3, 0:4] : (tensor<5x3x4xf32>) -> tensor<4x3x4xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x3x4xf32>, tensor<4x3x4xf32>) -> tensor<5x3x4xf32>
    return %2 : tensor<5x3x4xf32>
  }
  func.func private @_pad(%arg0: tensor<5x2x4xf32>, %arg1: tensor<i32>) -> tensor<6x3x7xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0, 2], high = [0, 1, 1], interior = [0, 0, 0] : (tensor<5x2x4xf32>, tensor<f32>) -> tensor<6x3x7xf32>
    return %1 : tensor<6x3x7xf32>
  }
}
