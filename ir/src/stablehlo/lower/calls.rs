//! Calls put in line.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::body::said;
use super::table::is_check;
use super::{Attr, Call, Code, Diagnostic, Fault, Lower, Made};
use crate::entity::ValueId;
use crate::stablehlo::read::File;
use crate::stablehlo::read::syntax::Op;

/// The deepest calls within calls.
const MAX_CALLS: usize = 64;

/// The function that an operation names.
fn callee<'s>(op: &Op<'s>, name: &str) -> Option<&'s str> {
    let attr = op.any_attr(&[name]).or_else(|| {
        op.attrs.iter().find(|attr| attr.name.is_empty() && matches!(attr.value, Attr::Symbol(_)))
    })?;
    match attr.value {
        Attr::Symbol(name) => Some(name),
        _ => None,
    }
}

/// The functions that compare a result with what is expected, themselves or in what they call.
pub(crate) fn checking<'s>(file: &File<'s>) -> FxHashSet<&'s str> {
    let mut found: FxHashSet<&'s str> = FxHashSet::default();
    let mut callers: FxHashMap<&'s str, Vec<&'s str>> = FxHashMap::default();
    for func in &file.funcs {
        for op in func.body.iter().flat_map(|body| &body.ops) {
            if is_check(op) {
                found.insert(func.name);
            }
            let called = match op.name {
                "call" | "func.call" => callee(op, "callee"),
                "stablehlo.composite" => callee(op, "decomposition"),
                _ => None,
            };
            if let Some(called) = called {
                callers.entry(called).or_default().push(func.name);
            }
        }
    }
    let mut pending: Vec<&'s str> = found.iter().copied().collect();
    while let Some(name) = pending.pop() {
        for caller in callers.remove(name).unwrap_or_default() {
            if found.insert(caller) {
                pending.push(caller);
            }
        }
    }
    found
}

/// `call @f(%a) : …`
pub(super) fn call<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let name = callee(call.op, "callee").ok_or_else(|| call.malformed("names no function"))?;
    in_line(lower, call, name)
}

/// `composite "name" %a {decomposition = @f}`: what it decomposes to.
pub(super) fn composite<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let name =
        callee(call.op, "decomposition").ok_or_else(|| call.malformed("names no decomposition"))?;
    in_line(lower, call, name)
}

fn in_line<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>, name: &'s str) -> Made {
    let fault = |message: String| call.error(Code::HloInline, message);
    let Some(func) = lower.file.func(name) else {
        return Err(fault(format!("there is no function `@{name}`")));
    };
    let Some(body) = &func.body else { return Err(fault(format!("`@{name}` has no body"))) };
    if lower.calls.contains(&name) {
        return Err(fault(format!("`@{name}` calls itself")));
    }
    if lower.calls.len() >= MAX_CALLS {
        return Err(fault(format!("calls are nested more than {MAX_CALLS} deep")));
    }
    if func.args.len() != call.args.len() {
        let (want, got) = (func.args.len(), call.args.len());
        return Err(call.malformed(format_args!("`@{name}` takes {want} arguments, not {got}")));
    }
    for (arg, &value) in func.args.iter().zip(&call.args) {
        let want = lower.tensor_type(arg.ty, arg.span)?;
        if lower.ty(value) != want {
            let have = lower.ty(value);
            let message = format!("`@{name}` takes a `{want}` for `%{}`, not a `{have}`", arg.name);
            return Err(Box::new(
                Diagnostic::error(Code::OperandType, message, call.op.name_span)
                    .also(arg.span, "this argument"),
            ));
        }
    }
    let outer = std::mem::replace(&mut lower.scopes, vec![Default::default()]);
    lower.calls.push(name);
    lower.bind_args(&func.args, &call.args);
    let returned = lower.block(body);
    lower.calls.pop();
    lower.scopes = outer;
    let slots = returned.ok_or_else(said)?;
    let values: SmallVec<[ValueId; 1]> =
        slots.into_iter().collect::<Option<_>>().ok_or_else(said)?;
    Ok(values)
}

/// Values pass it unchanged: nothing here moves operations across one another.
pub(super) fn barrier<'s>(_: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    Ok(call.args.iter().copied().collect())
}

/// One operand handed on.
pub(super) fn pass<'s>(call: &Call<'_, 's>) -> Result<SmallVec<[ValueId; 1]>, Fault> {
    call.arity(1)?;
    Ok(smallvec![call.arg(0)?])
}
