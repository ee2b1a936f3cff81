//! Errors of programs that were built, not read: there is no text to point at.

use partita_ir::diag::{Code, Style, render_all};
use partita_ir::ops::{InstOp, MachineOp};
use partita_ir::{
    ElemType, ElementwiseOp, Func, Module, OpKind, Operand, Space, TensorOp, TensorType, TileType,
    Type, ValueDef, verify,
};
use partita_isa::{Engine, Instruction, Opcode};

fn codes(func: Func) -> Vec<Code> {
    let module = Module { target: None, funcs: vec![func] };
    let errors = verify::verify(&module).err().unwrap_or_default();
    assert!(!render_all(&errors, None, Style::Plain).contains("-->"));
    errors.iter().map(|error| error.code).collect()
}

fn vector() -> Type {
    TensorType::new([4], ElemType::F32).into()
}

fn tile() -> Type {
    TileType::new(Space::Sbuf, [4, 4], ElemType::F32).into()
}

const SQUARE: TensorOp = TensorOp::Elementwise(ElementwiseOp::Square);

#[test]
fn order_and_definitions() {
    let mut func = Func::new("f");
    let a = func.add_arg("a", vector(), Default::default());
    let first = func.push_op(SQUARE, [Operand::Value(a)], [("x".to_owned(), vector())]);
    let x = func.ops[first].results[0];
    let second = func.push_op(SQUARE, [Operand::Value(x)], [("y".to_owned(), vector())]);
    assert_eq!(codes(func.clone()), [Code::MissingReturn]);
    let y = func.ops[second].results[0];
    func.push_return(&[y]);
    assert_eq!(codes(func.clone()), []);
    func.body.swap(0, 1);
    assert_eq!(codes(func.clone()), [Code::UseBeforeDef]);
    func.body.swap(0, 1);
    let loose = func.add_value("loose", vector(), ValueDef::Detached);
    func.replace_uses(x, loose);
    assert_eq!(codes(func), [Code::UseBeforeDef]);
}

#[test]
fn names_and_results() {
    let mut func = Func::new("f");
    let a = func.add_arg("a", vector(), Default::default());
    func.add_arg("a", vector(), Default::default());
    func.add_arg("not a name", vector(), Default::default());
    func.push_op(SQUARE, [Operand::Value(a)], []);
    func.push_return(&[a]);
    func.result_types.push(vector());
    assert_eq!(
        codes(func),
        [Code::DuplicateValue, Code::Syntax, Code::OperandCount, Code::ReturnCount]
    );
}

#[test]
fn tiles_of_instructions() {
    let build = |fields: &[&'static str], engine| {
        let mut func = Func::new("f");
        let made = func.push_op(MachineOp::Alloc { address: None }, [], [("t".to_owned(), tile())]);
        let t = func.ops[made].results[0];
        let inst =
            Instruction::blank(Opcode::from_mnemonic("tensor_tensor_arith").expect("exists"));
        let inst = InstOp { engine, inst, fields: fields.iter().copied().collect() };
        let kind = OpKind::Machine(MachineOp::Inst(Box::new(inst)));
        func.push_op(kind, fields.iter().map(|_| Operand::Value(t)), []);
        func.push_return(&[]);
        codes(func)
    };
    assert_eq!(build(&["src0_mem_pattern", "dst_mem_pattern"], None), []);
    assert_eq!(build(&["out_dtype"], None), [Code::TileRef]);
    assert_eq!(build(&["nothing"], None), [Code::TileRef]);
    assert_eq!(build(&["dst_mem_pattern", "dst_mem_pattern"], None), [Code::TileRef]);
    assert_eq!(build(&[], None), [Code::Instruction]);
    assert_eq!(build(&[], Some(Engine::Dve)), []);
}

#[test]
fn fresh_names_and_compaction() {
    let mut func = Func::new("f");
    let a = func.add_arg("a", vector(), Default::default());
    for name in ["a", "a", "b 1", "b 1"] {
        func.push_op(SQUARE, [Operand::Value(a)], [(name.to_owned(), vector())]);
    }
    func.push_return(&[a]);
    let names: Vec<&str> = func.values.iter().map(|(_, value)| &*value.name).collect();
    assert_eq!(names, ["a", "a0", "a1", "b_1", "b_1_0"]);
    func.body.drain(0..2);
    let compact = func.compact();
    assert_eq!((compact.ops.len(), compact.values.len()), (3, 3));
    assert_eq!(compact.to_string(), func.to_string());
    assert_eq!(codes(compact), []);
}

#[test]
fn a_function_without_return() {
    let source = partita_ir::Source::new("t", "func @f(%a: tensor<f32>) -> tensor<f32> {\n}\n");
    let errors = partita_ir::text::load(&source).expect_err("must be refused");
    assert_eq!(errors.iter().map(|error| error.code.id()).collect::<Vec<_>>(), ["E0205"]);
    let json = serde_json::to_value(errors[0].located(Some(&source))).expect("plain data");
    assert_eq!(json["primary"]["line"], 1);
    assert_eq!(json["primary"]["column"], 6);
    assert_eq!(json["code"], "E0205");
    assert_eq!(json["severity"], "error");
}
