//! Random shapes against definitions that compute every index anew.

use super::*;
use crate::eval::random::Rng;
use crate::ops::{PadAmounts, ReduceOp, SliceRange};
use crate::types::Dims;

fn pick(rng: &mut Rng, low: i128, high: i128) -> u64 {
    rng.integer(low, high) as u64
}

fn shape(rng: &mut Rng, most: u64) -> Vec<u64> {
    (0..pick(rng, 0, 5)).map(|_| pick(rng, 0, most.into()).max(pick(rng, 0, 1))).collect()
}

fn filled(rng: &mut Rng, shape: &[u64]) -> TensorData {
    let n = shape.iter().product::<u64>();
    let elements: Vec<i128> = (0..n).map(|_| rng.integer(-1000, 1000)).collect();
    ints(shape, ElemType::I32, &elements)
}

/// The coordinates of every element, in order.
fn positions(shape: &[u64]) -> Vec<Vec<u64>> {
    let n = shape.iter().product::<u64>();
    let position = |mut i: u64| {
        let mut at = vec![0; shape.len()];
        for (slot, &size) in at.iter_mut().zip(shape).rev() {
            (*slot, i) = (i % size, i / size);
        }
        at
    };
    (0..n).map(position).collect()
}

fn at(data: &TensorData, position: &[u64]) -> i128 {
    let flat = position.iter().zip(data.shape()).fold(0, |flat, (&i, &size)| flat * size + i);
    data.int(flat as usize).unwrap()
}

#[test]
fn broadcasting() {
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        let result = shape(&mut rng, 5);
        let mut operand = || {
            let skip = pick(&mut rng, 0, result.len() as i128) as usize;
            let own: Vec<u64> = result[skip..]
                .iter()
                .map(|&size| if rng.next_u64() & 1 == 0 { 1 } else { size })
                .collect();
            filled(&mut rng, &own)
        };
        let (a, b) = (operand(), operand());
        let got = run(
            TensorOp::Elementwise(ElementwiseOp::Subtract),
            &[&a, &b],
            ty(&result, ElemType::I32),
        );
        let read = |data: &TensorData, position: &[u64]| {
            let own = &position[position.len() - data.shape().len()..];
            let own: Vec<u64> = own
                .iter()
                .zip(data.shape())
                .map(|(&i, &size)| if size == 1 { 0 } else { i })
                .collect();
            at(data, &own)
        };
        let want: Vec<i128> =
            positions(&result).iter().map(|p| read(&a, p) - read(&b, p)).collect();
        assert_ints(&got, &want);
    }
}

#[test]
fn reductions() {
    let mut rng = Rng::new(2);
    for _ in 0..300 {
        let own = shape(&mut rng, 7);
        let x = filled(&mut rng, &own);
        let dims: Dims = (0..own.len()).filter(|_| rng.next_u64() & 1 == 0).collect();
        let kept: Vec<usize> = (0..own.len()).filter(|d| !dims.contains(d)).collect();
        let result: Vec<u64> = kept.iter().map(|&d| own[d]).collect();
        for (op, start, f) in [
            (ReduceOp::Add, 0, (|a, b| a + b) as fn(i128, i128) -> i128),
            (ReduceOp::Max, i32::MIN.into(), |a, b| a.max(b)),
        ] {
            let mut want = vec![start; result.iter().product::<u64>() as usize];
            for position in positions(&own) {
                let flat = kept.iter().fold(0, |flat, &d| flat * own[d] + position[d]) as usize;
                want[flat] = f(want[flat], at(&x, &position));
            }
            let op = TensorOp::Reduce { op, dims: dims.clone(), keep: false, negate: false };
            assert_ints(&run(op, &[&x], ty(&result, ElemType::I32)), &want);
        }
    }
}

#[test]
fn arg_reductions() {
    let mut rng = Rng::new(3);
    for _ in 0..200 {
        let mut own = shape(&mut rng, 7);
        own.push(pick(&mut rng, 1, 7));
        let x = filled(&mut rng, &own);
        let dim = pick(&mut rng, 0, own.len() as i128 - 1) as usize;
        if own[dim] == 0 {
            continue;
        }
        let mut result = own.clone();
        result.remove(dim);
        let op = TensorOp::Reduce {
            op: ReduceOp::Argmin,
            dims: [dim].into_iter().collect(),
            keep: false,
            negate: false,
        };
        let got = run(op, &[&x], ty(&result, ElemType::Ui32));
        let want = positions(&result).into_iter().map(|mut position| {
            position.insert(dim, 0);
            let mut value = |k| {
                position[dim] = k;
                at(&x, &position)
            };
            let values: Vec<i128> = (0..own[dim]).map(&mut value).collect();
            let least = values.iter().min().unwrap();
            values.iter().position(|value| value == least).unwrap() as i128
        });
        assert_ints(&got, &want.collect::<Vec<_>>());
    }
}

#[test]
fn movement() {
    let mut rng = Rng::new(4);
    for _ in 0..300 {
        let own = shape(&mut rng, 6);
        let x = filled(&mut rng, &own);
        let mut perm: Dims = (0..own.len()).collect();
        for i in (1..perm.len()).rev() {
            perm.swap(i, pick(&mut rng, 0, i as i128) as usize);
        }
        let result: Vec<u64> = perm.iter().map(|&d| own[d]).collect();
        let got =
            run(TensorOp::Transpose { perm: perm.clone() }, &[&x], ty(&result, ElemType::I32));
        let want = positions(&result).into_iter().map(|position| {
            let mut from = vec![0; own.len()];
            perm.iter().zip(position).for_each(|(&d, i)| from[d] = i);
            at(&x, &from)
        });
        assert_ints(&got, &want.collect::<Vec<_>>());

        let ranges: Vec<SliceRange> = own
            .iter()
            .map(|&size| {
                let start = pick(&mut rng, 0, size.into());
                SliceRange {
                    start,
                    limit: pick(&mut rng, start.into(), size.into()),
                    stride: pick(&mut rng, 1, 3),
                }
            })
            .collect();
        let result: Vec<u64> =
            ranges.iter().map(|r| (r.limit - r.start).div_ceil(r.stride)).collect();
        let op = TensorOp::Slice { ranges: ranges.iter().copied().collect() };
        let want = positions(&result).into_iter().map(|position| {
            let from: Vec<u64> =
                position.iter().zip(&ranges).map(|(&i, r)| r.start + i * r.stride).collect();
            at(&x, &from)
        });
        assert_ints(&run(op, &[&x], ty(&result, ElemType::I32)), &want.collect::<Vec<_>>());

        let amounts: Vec<PadAmounts> = own
            .iter()
            .map(|_| PadAmounts {
                low: rng.integer(-3, 3) as i64,
                high: rng.integer(-3, 3) as i64,
                interior: pick(&mut rng, 0, 2),
            })
            .collect();
        let sizes: Option<Vec<u64>> = own
            .iter()
            .zip(&amounts)
            .map(|(&size, a)| {
                let spread = size as i64 + size.saturating_sub(1) as i64 * a.interior as i64;
                u64::try_from(spread + a.low + a.high).ok()
            })
            .collect();
        let Some(result) = sizes else { continue };
        let op = TensorOp::Pad { amounts: amounts.iter().copied().collect() };
        let want = positions(&result).into_iter().map(|position| {
            let from: Option<Vec<u64>> = position
                .iter()
                .zip(&amounts)
                .zip(&own)
                .map(|((&i, a), &size)| {
                    let step = a.interior as i64 + 1;
                    let shifted = i as i64 - a.low;
                    (shifted >= 0 && shifted % step == 0 && shifted / step < size as i64)
                        .then_some((shifted / step) as u64)
                })
                .collect();
            from.map_or(7, |from| at(&x, &from))
        });
        let fill = TensorData::scalar(ElemType::I32, 7);
        assert_ints(&run(op, &[&x, &fill], ty(&result, ElemType::I32)), &want.collect::<Vec<_>>());
    }
}
