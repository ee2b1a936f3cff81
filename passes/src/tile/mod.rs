//! From tensors to tiles: groups of operations that share a loop, cut into blocks of at most 128
//! partitions that fit SBUF, as a function of the tile dialect with one operation for each word and
//! each transfer.

mod axes;
mod choose;
mod compute;
mod dead;
mod elementwise;
mod emit;
mod engine;
mod exponential;
mod group;
mod homes;
mod lanes;
mod lower;
mod notes;
mod overwrite;
mod parts;
mod patterns;
mod phases;
mod plan;
mod price;
mod readers;
mod resident;
mod rows;
mod size;
mod sources;
mod transpose;
mod view;
mod walk;

use indexmap::IndexMap;
use partita_ir::diag::Code;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::{Diagnostic, Func, Operand, Space, TensorOp, TileType};
use partita_isa::Target;

use crate::remark::{Remark, RemarkKind};
use crate::select::{NotCore, is_movement};
use choose::{Candidate, Chooser};
use group::{Group, form_groups};
pub use lower::{LOAD_QUEUE, STORE_QUEUE};
use lower::{Lowering, region_view};
use plan::Region;
use readers::Readers;
pub use size::ALIGN;
use size::TileSize;
use sources::{Sources, Unmovable};

/// What tiling gives.
#[derive(Debug)]
pub struct Tiled {
    pub func: Func,
    pub remarks: Vec<Remark>,
}

/// A group with its regions and their tiles.
struct Planned {
    group: Group,
    regions: Vec<(Region, TileSize)>,
    /// For each region what was tried, and which of it is taken.
    tried: Vec<(Vec<Candidate>, usize)>,
}

/// How to tile.
#[derive(Clone, Copy, Debug, Default)]
pub struct TileOptions {
    /// Per cent of SBUF that the live tiles of a loop may take; without it, [`TileOptions::SHARES`] in turn.
    pub share: Option<u32>,
    /// Operations stay apart that one word could do.
    pub apart: bool,
}

impl TileOptions {
    /// Two blocks side by side let loads run ahead; less is for loops whose tiles do not pack.
    pub const SHARES: &'static [u32] = &[45, 90, 30, 15, 7];
}

/// Bytes of a partition kept for literals and for what the later passes add.
const RESERVE: u64 = 4096;

/// Tiles a function of core operations (see [`crate::select`]). Live tiles of a loop take at most
/// `share` per cent of the usable bytes of a partition; operations stay `apart` that one word with two
/// results could do.
///
/// # Errors
/// An operation that no word does, or one whose smallest tile does not fit.
pub fn tile(
    func: &Func,
    target: &Target,
    share: u32,
    apart: bool,
) -> Result<Tiled, Vec<Diagnostic>> {
    check_main_memory(func)?;
    let usable = target.generation.sbuf_usable().saturating_sub(RESERVE);
    let budget = usable * u64::from(share) / 100;
    let readers = Readers::new(func);
    let chooser = Chooser { func, target, budget, usable: usable * 95 / 100, readers: &readers };
    let planned = plan_groups(&chooser)?;
    let mut group_of: IndexMap<ValueId, usize> = IndexMap::new();
    for (index, plan) in planned.iter().enumerate() {
        group_of.extend(plan.group.values.keys().map(|&value| (value, index)));
    }
    let mut sources = Sources::new(func, target, |value| group_of.get(&value).copied())
        .map_err(|Unmovable(value)| vec![unmovable(func, value)])?;
    divide_sources(func, &planned, &mut sources);
    let mut lowering = Lowering::new(func, target, sources, budget);
    lowering.apart = apart;
    let returned = bind_signature(&mut lowering, &planned);
    lowering.copies_after(None);
    let mut remarks = Vec::new();
    let mut errors = Vec::new();
    for (index, plan) in planned.iter().enumerate() {
        remarks.push(describe(func, plan));
        remarks.extend(plan.tried.iter().flat_map(|tried| table(func, plan, tried)));
        if let Err((op, reason)) = lower_group(&mut lowering, plan, budget) {
            errors.push(no_word(func, op, &reason));
        }
        lowering.copies_after(Some(index));
    }
    finish(&mut lowering, &returned);
    remarks.append(&mut lowering.notes.remarks);
    dead::remove_dead_stores(&mut lowering.out.func);
    if lowering.out.is_full() {
        let message = format!(
            "the program has more than {} instructions and transfers",
            emit::MAX_OPERATIONS
        );
        return Err(vec![Diagnostic::error(Code::ProgramTooLong, message, func.spans.name)]);
    }
    if errors.is_empty() { Ok(Tiled { func: lowering.out.func, remarks }) } else { Err(errors) }
}

/// Bytes of main memory of the smallest device.
pub const MAIN_MEMORY: u64 = 32 << 30;

/// Refuses tensors that no device holds, before any work is spent on them. What all that are stored take
/// together is known when they are placed.
fn check_main_memory(func: &Func) -> Result<(), Vec<Diagnostic>> {
    let arguments = func.args.iter().map(|&arg| (arg, func.spans.value(arg)));
    let results = func.body_ops().filter(|(_, op)| !is_movement(func, op));
    let computed = results.filter_map(|(id, op)| Some((op.result()?, span_of(func, id))));
    for (value, span) in arguments.chain(computed) {
        let bytes = func.tensor_ty(value).and_then(|ty| ty.bytes()).unwrap_or(u64::MAX);
        if bytes > MAIN_MEMORY {
            let name = &func.values[value].name;
            let message = format!("`%{name}` alone has more than {MAIN_MEMORY} bytes");
            return Err(vec![Diagnostic::error(Code::MainMemory, message, span)]);
        }
    }
    Ok(())
}

/// Plans every group, cutting those in half that do not fit.
fn plan_groups(chooser: &Chooser<'_>) -> Result<Vec<Planned>, Vec<Diagnostic>> {
    let func = chooser.func;
    let mut waiting: Vec<Group> = form_groups(func);
    waiting.reverse();
    let mut planned = Vec::new();
    let mut errors = Vec::new();
    while let Some(group) = waiting.pop() {
        if group.ops.iter().any(|member| lower::has_own_tiling(func, member)) {
            let whole = |region: Region| {
                let size = size::whole(&region);
                (region, size)
            };
            let regions = plan::regions(func, &group).into_iter().map(whole).collect();
            planned.push(Planned { group, regions, tried: Vec::new() });
            continue;
        }
        let (mut regions, mut tried) = (Vec::new(), Vec::new());
        let mut fits = true;
        for region in plan::regions(func, &group) {
            let (candidates, best) = chooser.choose(&group, &region);
            match best.and_then(|best| Some((best, candidates.get(best)?.size.clone()))) {
                Some((best, size)) => {
                    regions.push((region, size));
                    tried.push((candidates, best));
                }
                None => {
                    fits = false;
                    break;
                }
            }
        }
        if fits {
            planned.push(Planned { group, regions, tried });
        } else if group.ops.len() > 1 {
            let ops: Vec<OpId> = group.ops.iter().map(|member| member.op).collect();
            let (first, second) = ops.split_at(ops.len() / 2);
            for half in [second, first] {
                waiting.extend(Group::regroup(func, half).into_iter().rev());
            }
        } else {
            errors.push(too_large(func, &group));
        }
    }
    if errors.is_empty() { Ok(planned) } else { Err(errors) }
}

/// Makes dense what a divided axis must cut but strides cannot, and what is turned block by block from several
/// places.
fn divide_sources(func: &Func, planned: &[Planned], sources: &mut Sources) {
    for plan in planned {
        for (member, index, value) in external_operands(func, &plan.group) {
            let fits = plan.regions.iter().all(|(region, _)| {
                let dims = &plan.group.ops[member].operands[index];
                sources
                    .view(value)
                    .is_some_and(|view| region_view(&plan.group, region, view, dims).is_some())
            });
            let turned = func.ops[plan.group.ops[member].op].as_tensor();
            let whole = !matches!(turned, Some(TensorOp::TransposePair { .. }))
                || sources.view(value).is_some_and(|view| view.pieces.len() == 1);
            if !fits || !whole {
                sources.make_dense(func, value);
            }
        }
    }
}

/// Operands that a group reads from main memory: member, operand and value.
fn external_operands<'a>(
    func: &'a Func,
    group: &'a Group,
) -> impl Iterator<Item = (usize, usize, ValueId)> + 'a {
    group.ops.iter().enumerate().flat_map(move |(at, member)| {
        let operands = func.ops[member.op].operands.iter().enumerate();
        operands.filter_map(move |(index, operand)| match operand {
            Operand::Value(value) if member.sources[index].is_none() => Some((at, index, *value)),
            _ => None,
        })
    })
}

/// A result: the value, and the buffer it is copied to when its own is not the result's.
struct Returned {
    value: ValueId,
    copy_to: Option<ValueId>,
}

/// Arguments, results, and which buffers must be filled.
fn bind_signature(lowering: &mut Lowering<'_>, planned: &[Planned]) -> Vec<Returned> {
    let func = lowering.func;
    for (&arg, attrs) in func.args.iter().zip(&func.arg_attrs) {
        let ty = func.ty(arg);
        let tile = TileType::new(Space::Hbm, ty.shape().iter().copied(), ty.dtype());
        let value = lowering.out.func.add_arg(&func.values[arg].name, tile, attrs.clone());
        if let Some(buffer) =
            lowering.sources.view(arg).and_then(|view| view.pieces.first()).map(|p| p.buffer)
        {
            lowering.bind(buffer, value);
        }
    }
    let mut returned: Vec<Returned> = Vec::new();
    for value in func.returned() {
        let computed = func.def_op(value).is_some_and(|op| !is_movement(func, &func.ops[op]));
        let direct = computed || lowering.sources.result(value).is_some();
        let first = direct && !returned.iter().any(|seen| seen.value == value);
        let copy_to = (!first).then(|| {
            let ty = func.ty(value);
            let name = format!("{}_out", func.values[value].name);
            lowering.out.alloc(Space::Hbm, ty.shape(), ty.dtype(), &name)
        });
        returned.push(Returned { value, copy_to });
    }
    let external = planned
        .iter()
        .flat_map(|plan| external_operands(func, &plan.group).map(|(_, _, value)| value));
    let read: Vec<ValueId> = external.chain(returned.iter().map(|result| result.value)).collect();
    let views = read.iter().filter_map(|&value| lowering.sources.view(value));
    lowering.needed = lowering.sources.needed(views);
    returned
}

fn lower_group(
    lowering: &mut Lowering<'_>,
    plan: &Planned,
    budget: u64,
) -> Result<(), (OpId, NotCore)> {
    let func = lowering.func;
    let last = plan.group.ops.last().map(|member| member.op);
    if let Some(member) = plan.group.ops.iter().find(|member| lower::has_own_tiling(func, member)) {
        let lowered = match func.ops[member.op].as_tensor() {
            Some(TensorOp::TransposePair { .. }) => lowering.transpose_pair(member, budget),
            _ => lowering.transpose_reduce(member, budget),
        };
        return lowered.map_err(|reason| (member.op, reason));
    }
    for (region, size) in &plan.regions {
        if let (Err(reason), Some(op)) = (lowering.region(&plan.group, region, size), last) {
            return Err((op, reason));
        }
    }
    Ok(())
}

/// Copies results that have another home, and returns.
fn finish(lowering: &mut Lowering<'_>, returned: &[Returned]) {
    for leftover in lowering.sources.leftovers().to_vec() {
        let name = lowering.func.values[leftover.value].name.clone();
        lowering.out.set_source(&name);
        lowering.copy_leftover(&leftover);
    }
    let mut tiles = Vec::new();
    for result in returned {
        let view = lowering.sources.view(result.value).cloned();
        match (result.copy_to, view) {
            (Some(to), Some(view)) => {
                let name = lowering.func.values[result.value].name.clone();
                lowering.out.set_source(&name);
                lowering.copy_dense(&view, to);
                tiles.push(to);
            }
            (None, Some(view)) => {
                let own = lowering.sources.result(result.value);
                let buffer = own.or(view.pieces.first().map(|piece| piece.buffer));
                tiles.extend(buffer.map(|buffer| lowering.buffer(buffer)));
            }
            (_, None) => {}
        }
    }
    lowering.out.func.push_return(&tiles);
}

fn describe(func: &Func, plan: &Planned) -> Remark {
    let names: Vec<String> =
        plan.group.values.keys().map(|&value| format!("%{}", func.values[value].name)).collect();
    let tiles: Vec<String> = plan
        .regions
        .iter()
        .map(|(region, size)| {
            let free: Vec<String> = size.free.iter().map(u64::to_string).collect();
            let windows = match size.window_count(region) {
                1 => String::new(),
                count if size.hold => format!(", {count} windows, what all blocks read kept"),
                count => format!(", {count} windows"),
            };
            format!(
                "{} rows in blocks of {}, free [{}]{windows}",
                region.row_count(),
                size.rows,
                free.join(", ")
            )
        })
        .collect();
    let op = plan.group.ops.first().map(|member| member.op);
    let span = op.and_then(|op| func.spans.op(op)).map(|spans| spans.whole);
    Remark {
        span,
        message: format!("{} share a loop: {}", names.join(" "), tiles.join("; ")),
        ..Remark::new(RemarkKind::Analysis, "tile", "group")
    }
}

/// What was tried for a region, when there was a choice: one remark for each candidate.
fn table<'a>(
    func: &'a Func,
    plan: &'a Planned,
    (tried, best): &'a (Vec<Candidate>, usize),
) -> impl Iterator<Item = Remark> + 'a {
    let op = plan.group.ops.first().map(|member| member.op);
    let span = op.and_then(|op| func.spans.op(op)).map(|spans| spans.whole);
    let value = op.and_then(|op| func.ops[op].result());
    let value = value.map(|value| format!("%{}", func.values[value].name)).unwrap_or_default();
    let tried = tried.iter().enumerate().filter(|_| tried.len() > 1);
    tried.map(move |(index, candidate)| {
        let (size, taken) = (&candidate.size, index == *best);
        let free: Vec<String> = size.free.iter().map(u64::to_string).collect();
        let verdict = match (taken, candidate.fits) {
            (true, _) => "taken",
            (false, true) => "fits",
            (false, false) => "does not fit",
        };
        let message = format!(
            "blocks of {} rows, free [{}]{}: {} bytes a partition, {verdict}",
            size.rows,
            free.join(", "),
            if size.hold { ", what all blocks read kept" } else { "" },
            candidate.bytes,
        );
        let kind = if taken { RemarkKind::Passed } else { RemarkKind::Missed };
        Remark {
            span,
            value: value.clone(),
            message,
            cost_after: Some((candidate.ns * 1e3).round() as u64),
            ..Remark::new(kind, "tile", "candidate")
        }
    })
}

fn span_of(func: &Func, op: OpId) -> partita_ir::Span {
    func.spans.op(op).map(|spans| spans.whole).unwrap_or_default()
}

fn no_word(func: &Func, op: OpId, reason: &NotCore) -> Diagnostic {
    let message = format!("no word of the target does this operation: {reason}");
    Diagnostic::error(Code::Unsupported, message, span_of(func, op))
}

fn too_large(func: &Func, group: &Group) -> Diagnostic {
    let span = group.ops.first().map(|member| span_of(func, member.op)).unwrap_or_default();
    let message = "one row of this operation does not fit a partition of SBUF";
    Diagnostic::error(Code::RowTooLarge, message, span)
}

fn unmovable(func: &Func, value: ValueId) -> Diagnostic {
    let span = func.def_op(value).map(|op| span_of(func, op)).unwrap_or_default();
    let message = "this movement of data cannot be expressed as strided copies";
    Diagnostic::error(Code::Unsupported, message, span)
}
