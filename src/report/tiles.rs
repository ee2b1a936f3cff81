//! Tiles on the chip: where they lie and which items use them.

use std::collections::BTreeMap;

use partita::ir::ops::{MachineOp, OpKind};
use partita::ir::{Func, Space};
use partita::isa::{Generation, Location, Memory, Target};
use partita::passes::sync::{Region, accesses};
use serde::Serialize;

/// The bytes of a partition.
#[derive(Serialize)]
pub struct Memories {
    sbuf: u64,
    /// 0 on a machine without it.
    psum: u64,
}

impl Memories {
    pub fn of(generation: Generation) -> Self {
        let psum = if generation.psum_base().is_some() { generation.psum_active() } else { 0 };
        Self { sbuf: generation.sbuf_usable(), psum }
    }
}

/// A tile on the chip.
#[derive(Serialize)]
pub struct Tile {
    name: String,
    space: &'static str,
    /// Such as `128x512xf32`.
    ty: String,
    partitions: u64,
    /// First byte in a partition, and how many.
    byte: u64,
    bytes: u64,
    /// First and last item that uses it, by number in the program order; absent for one that is never used.
    first: Option<usize>,
    last: Option<usize>,
    writes: u32,
    reads: u32,
    /// The value that it is for.
    source: String,
}

/// The tiles of a placed function in the order in which they are made. An item uses the tile made last of those that
/// lay at the bytes it touches.
pub fn of(func: &Func, target: &Target) -> Vec<Tile> {
    let mut tiles: Vec<Tile> = Vec::new();
    let mut live: BTreeMap<(Region, u64), usize> = BTreeMap::new();
    let mut item = 0;
    for (_, op) in func.body_ops() {
        match &op.kind {
            OpKind::Machine(MachineOp::Alloc { address }) => {
                let Some(value) = op.result() else { continue };
                let Some(ty) = func.ty(value).as_tile() else { continue };
                let (region, space, memory) = match ty.space {
                    Space::Sbuf => (Region::Sbuf, "sbuf", Memory::Sbuf),
                    Space::Psum => (Region::Psum, "psum", Memory::Psum),
                    Space::Hbm => continue,
                };
                let (Some(address), Some(bytes)) = (address, ty.bytes_per_partition()) else {
                    continue;
                };
                let byte = byte_of(*address, memory, target.generation);
                let end = byte.saturating_add(bytes);
                live.retain(|&(other, start), &mut tile| {
                    other != region
                        || start >= end
                        || start.saturating_add(tiles[tile].bytes) <= byte
                });
                live.insert((region, byte), tiles.len());
                let whole = func.ty(value).to_string();
                let shape = whole.split_once(", ").map_or(whole.as_str(), |(_, shape)| shape);
                tiles.push(Tile {
                    name: func.values[value].name.to_string(),
                    space,
                    ty: shape.trim_end_matches('>').to_owned(),
                    partitions: ty.partitions(),
                    byte,
                    bytes,
                    first: None,
                    last: None,
                    writes: 0,
                    reads: 0,
                    source: op.loc.as_deref().unwrap_or_default().to_owned(),
                });
            }
            OpKind::Machine(MachineOp::Inst(_) | MachineOp::Dma(_)) => {
                for access in accesses(&op.kind, target) {
                    let touched = live
                        .range((access.region, 0)..(access.region, access.end))
                        .rev()
                        .map(|(_, &tile)| tile)
                        .find(|&tile| {
                            tiles[tile].byte.saturating_add(tiles[tile].bytes) > access.start
                        });
                    let Some(tile) = touched.and_then(|tile| tiles.get_mut(tile)) else { continue };
                    tile.first.get_or_insert(item);
                    tile.last = Some(item);
                    *(if access.write { &mut tile.writes } else { &mut tile.reads }) += 1;
                }
                item += 1;
            }
            _ => {}
        }
    }
    tiles
}

/// The byte in a partition of a tile's address.
fn byte_of(address: u64, memory: Memory, generation: Generation) -> u64 {
    let at = u32::try_from(address).ok().and_then(|address| Location::of(address, generation));
    at.filter(|at| at.memory == memory).map_or(address, |at| at.byte.into())
}
