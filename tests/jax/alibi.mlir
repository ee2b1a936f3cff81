module @jit_alibi attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x12xf32>) -> (tensor<6x12xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<12xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<12xi32>) -> tensor<1x12xi32>
    %2 = stablehlo.iota dim = 0 : tensor<6xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x12xi32>) -> tensor<6x12xi32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<6x1xi32>) -> tensor<6x12xi32>
    %6 = stablehlo.subtract %4, %5 : tensor<6x12xi32>
    %7 = stablehlo.abs %6 : tensor<6x12xi32>
    %8 = stablehlo.convert %7 : (tensor<6x12xi32>) -> tensor<6x12xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x12xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<6x12xf32>
    %11 = stablehlo.subtract %arg0, %10 : tensor<6x12xf32>
    return %11 : tensor<6x12xf32>
  }
}
