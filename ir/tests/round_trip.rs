//! Random programs print and read back as themselves.

use partita_ir::data::TensorData;
use partita_ir::diag::{Source, Style, render_all};
use partita_ir::ops::{Emit, PadAmounts, ReduceOp, SliceRange};
use partita_ir::{
    ElemType, ElementwiseOp, FuncBuilder, Literal, Module, Operand, TensorType, ValueId, text,
    verify,
};
use proptest::prelude::*;

/// Builds a program from a string of random numbers; steps that do not fit are
/// left out, so every program is valid.
fn build(steps: &[(u8, u16, u16, u64)]) -> Module {
    let mut b = FuncBuilder::new("random");
    let mut values: Vec<ValueId> = Vec::new();
    for (name, dtype) in
        [("x", ElemType::F32), ("h", ElemType::Bf16), ("i", ElemType::I32), ("p", ElemType::I1)]
    {
        values.push(b.arg(name, TensorType::new([4, 6], dtype)));
    }
    for &(kind, left, right, bits) in steps {
        let pick = |n: u16| values[usize::from(n) % values.len()];
        let (a, c) = (pick(left), pick(right));
        let dtype = ElemType::ALL[bits as usize % ElemType::ALL.len()];
        let Some(ty) = b.ty(a).cloned() else { continue };
        let rank = ty.rank();
        let made = match kind % 12 {
            0 | 1 => {
                let op = ElementwiseOp::ALL[bits as usize % ElementwiseOp::ALL.len()];
                let operands = [a, c, a].map(Operand::Value);
                b.named(format!("v{kind}")).elementwise(op, &operands[..op.arity()])
            }
            2 => {
                let literal =
                    Literal::from_bits(bits & (u64::MAX >> (64 - ty.dtype.width())), ty.dtype);
                b.elementwise(ElementwiseOp::Max, &[a.into(), literal.into()])
            }
            3 => b.cast(a, dtype),
            4 => b.reduce(ReduceOp::ALL[bits as usize % 13], a, 0..rank.min(1), bits & 64 == 0),
            5 => b.transpose(a, (0..rank).rev()),
            6 => b.reshape(a, [1].into_iter().chain(ty.shape.iter().copied())),
            7 => b.slice(
                a,
                ty.shape.iter().map(|&size| SliceRange {
                    start: 0,
                    limit: size,
                    stride: 1 + bits % 3,
                }),
            ),
            8 => b.concat(&[a, c], 0),
            9 => b.pad(
                a,
                Literal::from_bits(0, ty.dtype),
                ty.shape.iter().map(|_| PadAmounts { low: 1, high: -1, interior: bits % 2 }),
            ),
            10 => b.scan_cache(
                ElementwiseOp::Add,
                ElementwiseOp::Max,
                a,
                Literal::Int(1),
                None,
                Emit::All,
            ),
            _ => {
                let count = ty.elements().unwrap_or(0).min(64);
                let ty = TensorType::new([count], dtype);
                let mask = u64::MAX >> (64 - dtype.width());
                let elements: Vec<u64> =
                    (0..count).map(|i| bits.rotate_left(i as u32) & mask).collect();
                match TensorData::from_bits(ty, &elements) {
                    Ok(data) => b.constant(data),
                    Err(_) => continue,
                }
            }
        };
        values.extend(made);
    }
    let last = values[values.len() - 1];
    Module { target: None, funcs: vec![b.finish(&[last])] }
}

proptest! {
    #[test]
    fn print_then_read(steps in prop::collection::vec(any::<(u8, u16, u16, u64)>(), 0..40)) {
        let module = build(&steps);
        prop_assert!(verify::verify(&module).is_ok(), "{module}");
        let printed = module.to_string();
        let source = Source::new("printed", printed.clone());
        let reread = text::load(&source)
            .map_err(|errors| TestCaseError::fail(render_all(&errors, Some(&source), Style::Plain)))?;
        prop_assert_eq!(&reread.to_string(), &printed);
        prop_assert_eq!(reread, module);
    }

    #[test]
    fn every_float_literal_keeps_its_bits(bits: u32) {
        for dtype in [ElemType::F32, ElemType::F16, ElemType::Bf16, ElemType::F8E3M4, ElemType::F8E4M3, ElemType::F8E5M2] {
            let bits = u64::from(bits) & (u64::MAX >> (64 - dtype.width()));
            prop_assert_eq!(Literal::from_bits(bits, dtype).to_bits(dtype), Ok(bits));
        }
    }

    #[test]
    fn any_text_is_answered(text in "[ -~\n]{0,200}") {
        let source = Source::new("any", text);
        if let Err(errors) = text::load(&source) {
            render_all(&errors, Some(&source), Style::Plain);
        }
    }

    /// Damage to a valid program is reported, never fatal.
    #[test]
    fn damaged_text_is_answered(at in 0usize..4000, cut in 0usize..20, insert in "[ -~]{0,4}") {
        let mut text = include_str!("data/every_op.pta").to_owned();
        let at = at.min(text.len());
        text.replace_range(at..(at + cut).min(text.len()), &insert);
        let source = Source::new("damaged", text);
        match text::load(&source) {
            Ok(module) => { module.to_string(); }
            Err(errors) => { render_all(&errors, Some(&source), Style::Plain); }
        }
    }
}
