module @jit_fast_inverse_root attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x10xf32>) -> (tensor<6x10xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.abs %arg0 : tensor<6x10xf32>
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x10xf32>
    %2 = stablehlo.add %0, %1 : tensor<6x10xf32>
    %3 = stablehlo.bitcast_convert %2 : (tensor<6x10xf32>) -> tensor<6x10xi32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x10xi32>
    %5 = stablehlo.shift_right_arithmetic %3, %4 : tensor<6x10xi32>
    %c_0 = stablehlo.constant dense<1597463007> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<6x10xi32>
    %7 = stablehlo.subtract %6, %5 : tensor<6x10xi32>
    %8 = stablehlo.bitcast_convert %7 : (tensor<6x10xi32>) -> tensor<6x10xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x10xf32>
    %10 = stablehlo.multiply %9, %2 : tensor<6x10xf32>
    %11 = stablehlo.multiply %10, %8 : tensor<6x10xf32>
    %12 = stablehlo.multiply %11, %8 : tensor<6x10xf32>
    %cst_2 = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6x10xf32>
    %14 = stablehlo.subtract %13, %12 : tensor<6x10xf32>
    %15 = stablehlo.multiply %8, %14 : tensor<6x10xf32>
    return %15 : tensor<6x10xf32>
  }
}
