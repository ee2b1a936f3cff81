"""Writes the programs of this folder: functions as JAX prints them, with inputs and expected outputs beside them.

    pip install jax
    python tests/jax/generate.py

Outputs are computed by JAX in doubles and rounded once, except of functions marked `native`, whose meaning depends on
the width of their numbers: those are computed as written.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

HERE = pathlib.Path(__file__).parent
CASES = []


def case(*args, native=False):
    """Registers a function with its arguments: shapes, or arrays made by a function of a generator."""

    def register(function):
        CASES.append((function, args, native))
        return function

    return register


def ints(shape, low, high, dtype=np.int32):
    return lambda rng: rng.integers(low, high, shape, dtype=dtype)


def uniform(shape, low, high):
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def low(shape, dtype):
    """Numbers of a narrow float type."""
    return lambda rng: np.asarray(rng.standard_normal(shape), dtype)


# Activations.
case((6, 20))(jax.nn.gelu)


@case((6, 20))
def gelu_exact(x):
    return jax.nn.gelu(x, approximate=False)


case((6, 20))(jax.nn.softplus)
case((6, 20))(jax.nn.elu)
case((6, 20))(jax.nn.selu)
case((6, 20))(jax.nn.hard_swish)
case((6, 20))(jax.nn.log_sigmoid)
case((6, 20))(jax.nn.mish)
case((6, 20))(jax.nn.relu6)
case((6, 20))(jax.nn.soft_sign)
case((6, 20))(jax.nn.celu)


@case((6, 20))
def leaky_relu(x):
    return jax.nn.leaky_relu(x, 0.1)


@case((6, 20))
def glu(x):
    return jax.nn.glu(x)


# Norms.
@case((6, 24), (24,), (24,))
def batchnorm_inference(x, scale, bias):
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5) * scale + bias


@case((4, 6, 16), (6,), (6,))
def groupnorm(x, scale, bias):
    g = x.reshape(4, 2, 3, 16)
    mean = g.mean((2, 3), keepdims=True)
    var = ((g - mean) ** 2).mean((2, 3), keepdims=True)
    y = ((g - mean) / jnp.sqrt(var + 1e-5)).reshape(4, 6, 16)
    return y * scale[None, :, None] + bias[None, :, None]


@case((8, 12))
def standardize(x):
    return jax.nn.standardize(x)


# Losses.
@case((8, 10), ints((8,), 0, 10))
def cross_entropy(logits, labels):
    return -jnp.sum(jax.nn.one_hot(labels, 10) * jax.nn.log_softmax(logits), -1)


@case((8, 10), (8, 10))
def huber(x, y):
    d = jnp.abs(x - y)
    return jnp.mean(jnp.where(d < 1.0, 0.5 * d * d, d - 0.5))


@case((8, 10), uniform((8, 10), 0, 1))
def binary_cross_entropy(x, y):
    return jnp.mean(jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x))))


@case((8, 10), (8, 10))
def kl_divergence(p, q):
    return jnp.sum(jax.nn.softmax(p) * (jax.nn.log_softmax(p) - jax.nn.log_softmax(q)), -1)


@case((6, 9), (6, 9))
def cosine_similarity(a, b):
    norm = lambda x: jnp.sqrt(jnp.sum(x * x, -1) + 1e-8)
    return jnp.sum(a * b, -1) / (norm(a) * norm(b))


@case((7, 11))
def logsumexp(x):
    return jax.nn.logsumexp(x, axis=1)


# Optimizers.
@case((5, 12), (5, 12), (5, 12))
def sgd_momentum(p, m, g):
    m = 0.9 * m + g
    return p - 0.01 * m, m


@case((5, 12), uniform((5, 12), 0, 1), (5, 12))
def rmsprop(p, v, g):
    v = 0.99 * v + 0.01 * g * g
    return p - 1e-3 * g / (jnp.sqrt(v) + 1e-8), v


@case((5, 12), (5, 12), (5, 12))
def lion(p, m, g):
    update = jnp.sign(0.9 * m + 0.1 * g)
    return p - 1e-4 * (update + 0.01 * p), 0.99 * m + 0.01 * g


@case((5, 12))
def clip_by_norm(g):
    norm = jnp.sqrt(jnp.sum(g * g))
    return g * jnp.minimum(1.0, 1.0 / (norm + 1e-6))


# Scans.
@case((6, 15))
def cumprod_reverse(x):
    return jnp.flip(jnp.cumprod(jnp.flip(x, 1), 1), 1)


@case((6, 15))
def cummin_rows(x):
    return lax.cummin(x, 0)


@case((5, 14))
def cumsum_reverse(x):
    return lax.cumsum(x, axis=1, reverse=True)


@case((5, 14))
def cumlogsumexp(x):
    return lax.cumlogsumexp(x, axis=1)


@case(ints((5, 14), -1000, 1000))
def cumsum_ints(x):
    return jnp.cumsum(x, 1)


# Masks and attention.
@case((10, 10))
def causal_mask(scores):
    mask = jnp.tril(jnp.ones((10, 10), bool))
    return jax.nn.softmax(jnp.where(mask, scores, -1e9))


@case((2, 6, 8), (2, 6, 8), (2, 6, 8))
def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(8.0)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v)


@case(ints((4,), 0, 9))
def padding_mask(lengths):
    return jnp.arange(8)[None, :] < lengths[:, None]


@case((6, 12))
def alibi(scores):
    distance = jnp.arange(12)[None, :] - jnp.arange(6)[:, None]
    return scores - 0.25 * jnp.abs(distance).astype(scores.dtype)


# Positions.
@case((4, 16))
def sinusoidal(x):
    position = jnp.arange(4, dtype=x.dtype)[:, None]
    rate = jnp.exp(jnp.arange(8, dtype=x.dtype) * (-np.log(10000.0) / 8))
    angles = position * rate
    return x + jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], 1)


@case(ints((24,), 0, 2**31 - 1), native=True)
def log2_bucket(distance):
    return 31 - lax.clz(jnp.maximum(distance, 1))


# Quantizers.
@case((6, 20), native=True)
def quantize_per_row(x):
    scale = jnp.max(jnp.abs(x), 1, keepdims=True) / 127
    return jnp.clip(jnp.round(x / scale), -128, 127).astype(jnp.int8), scale


@case(ints((6, 20), -128, 128, np.int8), uniform((6, 1), 0.01, 0.1))
def dequantize(q, scale):
    return q.astype(scale.dtype) * scale


@case((6, 20), native=True)
def bf16_round_trip(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


@case(ints((4, 8), 0, 256, np.uint8), native=True)
def unpack_nibbles(x):
    return jnp.stack([x & 15, x >> 4], -1).reshape(4, 16)


@case((5, 9), native=True)
def reduced_precision(x):
    return lax.reduce_precision(x, 5, 3)


# Statistics.
@case((9, 13))
def argmax_rows(x):
    return jnp.argmax(x, 1), jnp.argmin(x, 0)


@case((8, 16))
def moments(x):
    mean = jnp.mean(x, 1, keepdims=True)
    d = x - mean
    std = jnp.sqrt(jnp.mean(d * d, 1, keepdims=True))
    return jnp.mean((d / std) ** 3, 1), jnp.mean((d / std) ** 4, 1)


@case((6, 8), (6, 8))
def covariance(x, y):
    return jnp.mean((x - x.mean(0)) * (y - y.mean(0)), 0)


@case((12, 12))
def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), "SAME")


@case((12, 12))
def average_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), "VALID") / 4


@case(lambda rng: rng.integers(0, 2, (7, 9)).astype(bool))
def any_all(x):
    return jnp.any(x, 1), jnp.all(x, 0), jnp.sum(x)


# Bits.
@case(ints((6, 10), 0, 2**32, np.uint32), native=True)
def hash32(x):
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


@case((6, 10), native=True)
def fast_inverse_root(x):
    x = jnp.abs(x) + 0.1
    i = jnp.int32(0x5F3759DF) - (lax.bitcast_convert_type(x, jnp.int32) >> 1)
    y = lax.bitcast_convert_type(i, jnp.float32)
    return y * (1.5 - 0.5 * x * y * y)


@case(ints((6, 10), 0, 2**32, np.uint32), native=True)
def parity(x):
    return lax.population_count(x) & 1


@case(ints((5, 8), -100, 100), ints((5, 8), 1, 20), native=True)
def floor_division(a, b):
    return a // b, a % b


# Geometry and polynomials.
@case((5, 8), (5, 8))
def polar(x, y):
    return jnp.hypot(x, y), jnp.arctan2(y, x)


@case(uniform((40,), -0.99, 0.99))
def inverse_functions(x):
    return jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x), jnp.arctan(x)


@case((40,))
def hyperbolic(x):
    return jnp.sinh(x), jnp.cosh(x), jnp.arcsinh(x), jnp.cbrt(x)


@case((30,))
def horner(x):
    return jnp.polyval(jnp.array([0.5, -1.0, 2.0, 0.25]), x)


@case((4, 6), (6, 5))
def dense_layer(x, w):
    return jax.nn.relu(x @ w)


@case((3, 4, 5))
def shuffle(x):
    return jnp.pad(jnp.roll(jnp.transpose(x, (2, 0, 1)), 1, 0)[:, ::2], ((1, 0), (0, 1), (2, 1)))


@case((6, 10))
def finite_difference(x):
    return jnp.diff(x, axis=1), jnp.gradient(x, axis=0)


@case(low((6, 10), jnp.bfloat16), low((6, 10), jnp.bfloat16), native=True)
def residual_bf16(x, y):
    return x + jax.nn.silu(y.astype(jnp.float32)).astype(jnp.bfloat16)


@case(low((6, 10), jnp.float16), native=True)
def softmax_f16(x):
    return jax.nn.softmax(x)


@case((4, 9), (4, 9), native=True)
def next_numbers(x, y):
    return jnp.nextafter(x, y), jnp.nextafter(x[0] * 0, y[0])


@case(uniform((40,), -0.999, 0.999))
def inverse_erf(x):
    return lax.erf_inv(x)


def value(arg, rng):
    return arg(rng) if callable(arg) else rng.standard_normal(arg).astype(np.float32)


def wide(array):
    return array.astype(np.float64) if array.dtype == np.float32 else array


def main():
    for seed, (function, args, native) in enumerate(CASES):
        name = function.__name__
        rng = np.random.default_rng(seed)
        inputs = [value(arg, rng) for arg in args]
        lowered = jax.jit(lambda *xs, f=function: f(*xs)).lower(*inputs)
        text = lowered.as_text().replace("jit__lambda", f"jit_{name}")
        outputs = jax.tree.leaves(function(*inputs))
        types = [output.dtype for output in outputs]
        if not native:
            with jax.enable_x64(True):
                outputs = jax.tree.leaves(function(*map(wide, inputs)))
        outputs = [np.asarray(output).astype(dtype) for output, dtype in zip(outputs, types)]
        (HERE / f"{name}.mlir").write_text(text)
        np.savez_compressed(HERE / f"{name}.in.npz", **{f"arg{i}": a for i, a in enumerate(inputs)})
        np.savez_compressed(HERE / f"{name}.out.npz", **{f"out{i}": a for i, a in enumerate(outputs)})
        print(name)


if __name__ == "__main__":
    main()
