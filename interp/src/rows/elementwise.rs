//! Opcodes whose results match their source elements one to one.

use crate::numeric::convert::Store;
use crate::numeric::kernels::{
    Binary, Convert, Feed, FeedRows, Pair, ROWS, Running, Scalar, Scan, ScanRows,
};
use crate::numeric::streaming;
use crate::walk::Walk;

use super::stream::{Destination, Layout, Reader, Side, Source, Writer, block_length};
use super::{BLOCK, Channel, LONG_GROUP, SHARE, SIDE_BLOCK, Scratch, store};

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
    /// Two stages with the channel's scalars in one loop.
    Pair(Pair),
    /// exp(x − scalar); with a fold, the results are also fed to the channel's running sum.
    Exponential(Scalar, Option<(Feed, FeedRows)>),
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
    #[inline]
    pub fn has_second(&self) -> bool {
        matches!(self.body, Body::Binary(_) | Body::ScalarBinary(..))
    }

    /// Bytes of a row's operands.
    #[inline]
    pub fn row_bytes(&self) -> usize {
        let second = if self.has_second() { self.sources[1].width } else { 0 };
        self.dst.walk.len() * (self.sources[0].width + second + self.dst.width)
    }

    /// Whether elements are only moved.
    #[inline]
    pub fn is_copy(&self) -> bool {
        matches!((self.store, self.body), (Store::Same, Body::Move))
    }

    /// How the row is taken apart, given which sources are in the destination's row.
    #[inline]
    pub fn layout(&self, own: [bool; 2]) -> Layout<2> {
        let second = own[1] && self.has_second();
        Layout::find(&self.dst, [(&self.sources[0], own[0]), (&self.sources[1], second)])
    }

    /// The body that goes from row to row without a buffer when the operands are runs of neighbours; `None` when a
    /// buffer is needed even then.
    #[inline]
    fn direct(&self) -> Option<Body> {
        match (self.store, self.body) {
            (Store::Same, body) if !body.has_middle() => Some(body),
            (Store::Once(convert), Body::Move) => Some(Body::Map(convert)),
            _ => None,
        }
    }

    /// The instruction as one loop over each row, if its operands are runs that need no buffer. `streams` lets its
    /// results go past the caches.
    #[inline]
    pub fn straight(&self, layout: Layout<2>, streams: bool) -> Option<Straight> {
        let Layout::Apart { low, high, sides } = layout else { return None };
        let body = self.direct()?;
        let len = self.dst.walk.len();
        let start = |side: Side, source: &Source| {
            let at = source.walk.as_run().filter(|_| source.load.is_none())? * source.width;
            match side {
                Side::Apart | Side::Below => Some(at),
                Side::Above => Some(at - high),
                Side::InPlace => None,
            }
        };
        let mut starts = [start(sides[0], &self.sources[0])?, 0];
        if self.has_second() {
            starts[1] = start(sides[1], &self.sources[1])?;
        }
        let to = self.dst.walk.as_run()? * self.dst.width - low;
        Some(Straight {
            body,
            bounds: [low, high],
            to: [to, to + len * self.dst.width],
            sides,
            starts,
            lens: self.sources.map(|source| len * source.width),
            has_second: self.has_second(),
            streams,
        })
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

    /// The loops for several rows side by side, where the body has them, the layout allows it and they pay.
    pub fn side_by_side(&self, layout: Layout<2>) -> Option<SideBySide> {
        let Layout::Apart { low, high, sides: [side, _] } = layout else { return None };
        let how = match self.body {
            Body::Scan { rows: Some(rows), group, .. } if group >= LONG_GROUP => {
                How::Scan { rows, first: None, group }
            }
            Body::CacheScan(first, _, rows) => {
                How::Scan { rows, first: Some(first), group: usize::MAX }
            }
            Body::Exponential(map, Some((_, sum))) => How::MapSum { map, sum },
            _ => return None,
        };
        Some(SideBySide { how, bounds: [low, high], side })
    }

    /// Runs [`ROWS`] channels side by side; otherwise as [`Elementwise::run`].
    pub fn run_rows(
        &self,
        SideBySide { how, bounds: [low, high], side }: SideBySide,
        scratch: &mut Scratch,
        rows: &mut [u8],
        others: [Option<&[u8]>; ROWS],
        channels: &mut [Channel; ROWS],
    ) {
        let mut rest = rows;
        let row = rest.len() / ROWS;
        let streams = others.map(|other| {
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
        let mut readers = streams.each_ref().map(|(reader, _)| *reader);
        let mut writers = streams.map(|(_, writer)| writer);
        let group = match how {
            How::Scan { group, .. } => group,
            How::MapSum { .. } => usize::MAX,
        };
        let mut states = channels.map(|channel| channel.running);
        let scalars = channels.map(|channel| channel.scalars[0]);
        let mut left = self.dst.walk.len();
        while left > 0 {
            if states[0].seen >= group as u64 {
                states = [Running::default(); ROWS];
            }
            let room = left.min(group.saturating_sub(states[0].seen as usize).max(1));
            let (reader, writer) = (&readers[0], &writers[0]);
            let straight = room.min(reader.straight()).min(writer.straight());
            if matches!(self.store, Store::Same) && straight >= SIDE_BLOCK {
                // From row to row, without a copy.
                match how {
                    How::Scan { rows: scan, first: None, .. } => {
                        let blocks = Self::blocks(&mut readers, straight);
                        let outs = writers.each_mut().map(|writer| writer.take(straight));
                        scan(&mut states, outs, blocks);
                        left -= straight;
                        continue;
                    }
                    How::MapSum { map, sum } => {
                        let blocks = Self::blocks(&mut readers, SIDE_BLOCK);
                        let mut operands = blocks.into_iter().zip(scalars);
                        let outs = writers.each_mut().map(|writer| {
                            let out = writer.take(SIDE_BLOCK);
                            if let Some((block, scalar)) = operands.next() {
                                map(out, block, scalar);
                            }
                            &*out
                        });
                        sum(&mut states, outs);
                        left -= SIDE_BLOCK;
                        continue;
                    }
                    How::Scan { .. } => {}
                }
            }
            let count = block_length(room, SIDE_BLOCK, &[*reader], Some(writer));
            let streams = (&mut readers, &mut writers);
            self.step_rows(how, count, scratch, streams, &mut states, scalars);
            left -= count;
        }
        for (channel, state) in channels.iter_mut().zip(states) {
            channel.running = state;
        }
    }

    /// The next elements of each row as they stand there.
    fn blocks<'a>(readers: &mut [Reader<'a>; ROWS], count: usize) -> [&'a [u8]; ROWS] {
        readers.each_mut().map(|reader| reader.take(count))
    }

    /// One block of each row, by way of the buffers.
    fn step_rows(
        &self,
        how: How,
        count: usize,
        scratch: &mut Scratch,
        (readers, writers): (&mut [Reader; ROWS], &mut [Writer; ROWS]),
        states: &mut [Running; ROWS],
        scalars: [u64; ROWS],
    ) {
        let Scratch { raw: [raw, _], lanes: [lanes, _], middle, out, packed, .. } = scratch;
        let mut raw = raw.chunks_exact_mut(SHARE);
        let mut lanes = lanes.chunks_exact_mut(SHARE);
        let mut middles = middle.chunks_exact_mut(SHARE);
        let mut scalars = scalars.into_iter();
        let mut own = writers.iter().map(Writer::bytes);
        let blocks = readers.each_mut().map(|reader| {
            let raw = raw.next().unwrap_or_default();
            let lanes = lanes.next().unwrap_or_default();
            let block = reader.next(count, own.next().unwrap_or_default(), raw, lanes);
            let middle = middles.next().unwrap_or_default();
            let scalar = scalars.next().unwrap_or_default();
            match how {
                How::Scan { first: None, .. } => block,
                How::Scan { first: Some(map), .. } | How::MapSum { map, .. } => {
                    let middle = &mut middle[..block.len()];
                    map(middle, block, scalar);
                    &*middle
                }
            }
        });
        let len = count * self.sources[0].lane;
        match how {
            How::Scan { rows: scan, .. } => {
                let mut shares = out.chunks_exact_mut(SHARE);
                let outs = [(); ROWS].map(|()| &mut shares.next().unwrap_or_default()[..len]);
                scan(states, outs, blocks);
                for (writer, out) in writers.iter_mut().zip(out.chunks_exact(SHARE)) {
                    let out = &out[..len];
                    writer.next(count, packed, |target| store(self.store, target, out, middle));
                }
            }
            How::MapSum { sum, .. } => {
                sum(states, blocks);
                for (writer, block) in writers.iter_mut().zip(blocks) {
                    writer.next(count, packed, |target| store(self.store, target, block, out));
                }
            }
        }
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
        let is_direct = self.direct().is_some();
        let mut left = self.dst.walk.len();
        while left > 0 {
            let mut straight = 0;
            if is_direct {
                straight = left.min(first.straight()).min(writer.straight());
                if has_second {
                    straight = straight.min(second.straight());
                }
            }
            let count = match has_second {
                _ if straight >= BLOCK => straight,
                true => block_length(left, BLOCK, &[first, second], Some(&writer)),
                false => block_length(left, BLOCK, &[first], Some(&writer)),
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

/// An instruction whose operands are runs of bytes: see [`Elementwise::straight`].
#[derive(Clone, Copy, Debug)]
pub struct Straight {
    body: Body,
    /// The part of the row that the destination lies in.
    bounds: [usize; 2],
    /// The destination's bytes in that part.
    to: [usize; 2],
    sides: [Side; 2],
    /// Where the sources begin in their parts.
    starts: [usize; 2],
    /// Bytes of the sources.
    lens: [usize; 2],
    has_second: bool,
    /// Whether results go past the caches.
    streams: bool,
}

/// Bytes of results that are made at a time where they go past the caches.
const STREAMED: usize = 1024;

impl Straight {
    /// Runs one channel; see [`Elementwise::run`].
    pub fn run(&self, row: &mut [u8], others: [Option<&[u8]>; 2], channel: &mut Channel) {
        let [low, high] = self.bounds;
        let (below, rest) = row.split_at_mut(low);
        let (within, above) = rest.split_at_mut(high - low);
        let source = |i: usize| {
            let bytes: &[u8] = match self.sides[i] {
                Side::Apart => others[i].unwrap_or_default(),
                Side::Below => below,
                Side::Above | Side::InPlace => above,
            };
            &bytes[self.starts[i]..][..self.lens[i]]
        };
        let second = if self.has_second { source(1) } else { &[] };
        let out = &mut within[self.to[0]..self.to[1]];
        if self.streams {
            self.stream(out, source(0), second, channel);
        } else {
            self.body.run(out, source(0), second, &mut [], channel);
        }
    }

    /// Follows the last of the rows that one thread runs.
    pub fn settle(&self) {
        if self.streams {
            streaming::settle();
        }
    }

    /// The results of a row past the caches, but for what does not fill a line.
    fn stream(&self, out: &mut [u8], first: &[u8], second: &[u8], channel: &mut Channel) {
        let len = out.len();
        let mut buffer = [0; STREAMED];
        let mut done = 0;
        // As long as the part of the results.
        let part = |bytes: &'_ [u8], done: usize, count: usize| {
            let scale = |at: usize| at * bytes.len() / len;
            scale(done)..scale(done + count)
        };
        let mut count = streaming::before_line(out);
        while done < len {
            let now = &mut out[done..done + count];
            let a = &first[part(first, done, count)];
            let b = &second[part(second, done, count)];
            if now.len() < streaming::CACHE_LINE {
                self.body.run(now, a, b, &mut [], channel);
            } else {
                let buffer = &mut buffer[..count];
                self.body.run(buffer, a, b, &mut [], channel);
                streaming::copy(now, buffer);
            }
            done += count;
            count = STREAMED.min(len - done);
        }
    }
}

/// Rows that are run side by side: how, the part of each that the destination lies in, and where the source is.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide {
    how: How,
    bounds: [usize; 2],
    side: Side,
}

/// How several rows are run at once.
#[derive(Clone, Copy, Debug)]
enum How {
    /// A scan restarted every `group` elements, after a stage with the channel's scalar.
    Scan { rows: ScanRows, first: Option<Scalar>, group: usize },
    /// A function with the channel's scalar, whose results are also summed.
    MapSum { map: Scalar, sum: FeedRows },
}

impl Body {
    /// Whether lanes are kept between two stages.
    #[inline]
    fn has_middle(self) -> bool {
        matches!(self, Self::Scalars(_, Some(_)) | Self::ScalarBinary(..) | Self::CacheScan(..))
    }

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
            Self::Pair(pair) => pair(out, a, [s0, s1]),
            Self::Exponential(map, sum) => {
                map(out, a, s0);
                if let Some((feed, _)) = sum {
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
