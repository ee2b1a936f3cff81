//! Opcodes whose results match their source elements one to one.

use crate::numeric::convert::Store;
use crate::numeric::kernels::{
    Binary, Convert, Feed, ROWS, Running, Scalar, Scan, ScanRows, exponential,
};
use crate::walk::Walk;

use super::stream::{Destination, Layout, Reader, Side, Source, Writer, block_length};
use super::{BLOCK_BYTES, Channel, Scratch, store};

/// A scan restarted more often than this is not worth several rows at once.
const LONG_GROUP: usize = 64;

/// What happens between the source lanes and the resulting lanes.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Nothing.
    Move,
    /// A function of one lane.
    Map(Convert),
    /// A function of a lane of each source.
    Binary(Binary),
    /// One or two stages with the channel's scalars.
    Scalars(Scalar, Option<Scalar>),
    /// A stage with the channel's scalar on source 0, then one with source 1.
    ScalarBinary(Scalar, Binary),
    /// exp(x − scalar); with a fold, the results are also fed to the channel's running sum.
    Exponential(Option<Feed>),
    /// A scan restarted every `group` elements; `lane` is the width of a lane.
    Scan { scan: Scan, rows: Option<ScanRows>, group: usize, lane: usize },
    /// A stage with the channel's scalar, then a scan over everything that goes on from the running fold.
    CacheScan(Scalar, Scan, ScanRows),
}

/// One instruction of this kind, without its place in memory.
#[derive(Clone, Copy, Debug)]
pub struct Elementwise {
    /// Source 0, and source 1 where the body has two.
    pub sources: [Source; 2],
    pub dst: Destination,
    pub store: Store,
    pub body: Body,
}

impl Elementwise {
    /// Whether source 1 is read.
    pub fn has_second(&self) -> bool {
        matches!(self.body, Body::Binary(_) | Body::ScalarBinary(..))
    }

    /// How the row is taken apart, given which sources are in the destination's row.
    pub fn layout(&self, own: [bool; 2]) -> Layout<2> {
        let second = own[1] && self.has_second();
        Layout::find(&self.dst, [(&self.sources[0], own[0]), (&self.sources[1], second)])
    }

    /// Runs one channel. `others` are the sources' rows, `None` for the destination's own.
    pub fn run(
        &self,
        layout: Layout<2>,
        scratch: &mut Scratch,
        row: &mut [u8],
        others: [Option<&[u8]>; 2],
        channel: &mut Channel,
    ) {
        match layout {
            Layout::Apart { low, high, sides } => {
                let (below, rest) = row.split_at_mut(low);
                let (within, above) = rest.split_at_mut(high - low);
                let (below, above): (&[u8], &[u8]) = (below, above);
                let readers = [0, 1].map(|i| match sides[i] {
                    Side::Apart => Reader::new(self.sources[i], others[i], 0),
                    Side::Below => Reader::new(self.sources[i], Some(below), 0),
                    Side::Above => Reader::new(self.sources[i], Some(above), high),
                    Side::InPlace => Reader::new(self.sources[i], None, low),
                });
                let writer = Writer::new(&self.dst, within, low);
                self.stream(scratch, readers, writer, channel);
            }
            Layout::Held => {
                let mut held = std::mem::take(&mut scratch.held);
                held.resize(self.dst.walk.len() * self.dst.width, 0);
                let shared: &[u8] = row;
                let readers =
                    [0, 1].map(|i| Reader::new(self.sources[i], others[i].or(Some(shared)), 0));
                let straight = Destination { walk: Walk::run(0, self.dst.walk.len()), ..self.dst };
                let writer = Writer::new(&straight, &mut held, 0);
                self.stream(scratch, readers, writer, channel);
                Writer::new(&self.dst, row, 0).rest(&held);
                scratch.held = held;
            }
        }
    }

    /// The loops for several rows side by side, where the body has them and one group is long enough to pay.
    pub fn scan_rows(&self) -> Option<(ScanRows, Option<Scalar>, usize)> {
        match self.body {
            Body::Scan { rows: Some(rows), group, .. } if group >= LONG_GROUP => {
                Some((rows, None, group))
            }
            Body::CacheScan(first, _, rows) => Some((rows, Some(first), usize::MAX)),
            _ => None,
        }
    }

    /// Runs [`ROWS`] channels of a scan side by side; otherwise as [`Elementwise::run`]. The layout is not
    /// [`Layout::Held`] (else nothing happens and the result is false).
    pub fn run_rows(
        &self,
        (scan, first, group): (ScanRows, Option<Scalar>, usize),
        layout: Layout<2>,
        scratch: &mut Scratch,
        rows: &mut [u8],
        others: [Option<&[u8]>; ROWS],
        channels: &mut [Channel; ROWS],
    ) -> bool {
        const SHARE: usize = BLOCK_BYTES / ROWS;
        let Layout::Apart { low, high, sides: [side, _] } = layout else {
            return false;
        };
        let mut rest = rows;
        let row = rest.len() / ROWS;
        let mut streams = others.map(|other| {
            let (own, later) = std::mem::take(&mut rest).split_at_mut(row);
            rest = later;
            let (below, own) = own.split_at_mut(low);
            let (within, above) = own.split_at_mut(high - low);
            let (bytes, origin): (Option<&[u8]>, _) = match side {
                Side::Apart => (other, 0),
                Side::Below => (Some(below), 0),
                Side::Above => (Some(above), high),
                Side::InPlace => (None, low),
            };
            let reader = Reader::new(self.sources[0], bytes, origin);
            (reader, Writer::new(&self.dst, within, low))
        });
        let Scratch { raw: [raw, _], lanes: [lanes, _], middle, out, packed, .. } = scratch;
        let mut states = channels.map(|channel| channel.running);
        let mut left = self.dst.walk.len();
        while left > 0 {
            if states[0].seen >= group as u64 {
                states = [Running::default(); ROWS];
            }
            let room = left.min(group.saturating_sub(states[0].seen as usize).max(1));
            let (reader, writer) = &streams[0];
            let count = block_length(room, &[*reader], Some(writer)).min(SHARE / 8);
            let mut raw = raw.chunks_exact_mut(SHARE);
            let mut lanes = lanes.chunks_exact_mut(SHARE);
            let mut middles = middle.chunks_exact_mut(SHARE);
            let mut scalars = channels.iter().map(|channel| channel.scalars[0]);
            let blocks = streams.each_mut().map(|(reader, writer)| {
                let raw = raw.next().unwrap_or_default();
                let lanes = lanes.next().unwrap_or_default();
                let block = reader.next(count, writer.bytes(), raw, lanes);
                match (first, scalars.next()) {
                    (Some(first), Some(scalar)) => {
                        let middle = middles.next().unwrap_or_default();
                        let middle = &mut middle[..block.len()];
                        first(middle, block, scalar);
                        &*middle
                    }
                    _ => block,
                }
            });
            let len = count * self.sources[0].lane;
            let mut shares = out.chunks_exact_mut(SHARE);
            let outs = [(); ROWS].map(|()| &mut shares.next().unwrap_or_default()[..len]);
            scan(&mut states, outs, blocks);
            for ((_, writer), out) in streams.iter_mut().zip(out.chunks_exact(SHARE)) {
                writer.next(count, packed, |target| store(self.store, target, &out[..len], middle));
            }
            left -= count;
        }
        for (channel, state) in channels.iter_mut().zip(states) {
            channel.running = state;
        }
        true
    }

    fn stream(
        &self,
        scratch: &mut Scratch,
        readers: [Reader; 2],
        mut writer: Writer,
        channel: &mut Channel,
    ) {
        let Scratch { raw: [raw0, raw1], lanes: [lanes0, lanes1], middle, out, packed, .. } =
            scratch;
        let [mut first, mut second] = readers;
        let has_second = self.has_second();
        let mut left = self.dst.walk.len();
        while left > 0 {
            let count = if has_second {
                block_length(left, &[first, second], Some(&writer))
            } else {
                block_length(left, &[first], Some(&writer))
            };
            let a = first.next(count, writer.bytes(), raw0, lanes0);
            let b: &[u8] =
                if has_second { second.next(count, writer.bytes(), raw1, lanes1) } else { &[] };
            let lanes = count * self.sources[0].lane;
            writer.next(count, packed, |target| match (self.store, self.body) {
                (Store::Same, body) => body.run(target, a, b, middle, channel),
                (how, Body::Move) => store(how, target, a, middle),
                (how, body) => {
                    let out = &mut out[..lanes];
                    body.run(out, a, b, middle, channel);
                    store(how, target, out, middle);
                }
            });
            left -= count;
        }
    }
}

impl Body {
    fn run(self, out: &mut [u8], a: &[u8], b: &[u8], middle: &mut [u8], channel: &mut Channel) {
        let [s0, s1] = channel.scalars;
        match self {
            Self::Move => out.copy_from_slice(a),
            Self::Map(map) => map(out, a),
            Self::Binary(op) => op(out, a, b),
            Self::Scalars(first, None) => first(out, a, s0),
            Self::Scalars(first, Some(second)) => {
                let middle = &mut middle[..a.len()];
                first(middle, a, s0);
                second(out, middle, s1);
            }
            Self::ScalarBinary(first, second) => {
                let middle = &mut middle[..a.len()];
                first(middle, a, s0);
                second(out, middle, b);
            }
            Self::Exponential(sum) => {
                exponential(out, a, s0);
                if let Some(feed) = sum {
                    feed(&mut channel.running, out);
                }
            }
            Self::Scan { scan, group, lane, .. } => {
                scan_groups(scan, group, lane, out, a, &mut channel.running)
            }
            Self::CacheScan(first, scan, _) => {
                let middle = &mut middle[..a.len()];
                first(middle, a, s0);
                scan(&mut channel.running, out, middle);
            }
        }
    }
}

/// Scans a block that may begin and end within groups of `group` elements.
fn scan_groups(
    scan: Scan,
    group: usize,
    lane: usize,
    mut out: &mut [u8],
    mut a: &[u8],
    running: &mut Running,
) {
    while !a.is_empty() {
        if running.seen == group as u64 {
            *running = Running::default();
        }
        let piece = ((group - running.seen as usize) * lane).min(a.len());
        let (now, later) = a.split_at(piece);
        let (out_now, out_later) = out.split_at_mut(piece);
        scan(running, out_now, now);
        (a, out) = (later, out_later);
    }
}
