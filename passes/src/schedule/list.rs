//! List scheduling: of what may start, each queue takes what is needed first.
//!
//! How urgent a node is, a pass backwards over the program says: it fills the queues from the end, later nodes
//! first, and so gives each node the latest time at which it may start if the rest is to follow without a gap;
//! this counts the critical path and the work that is in the way. The pass forwards then goes through time.
//!
//! Tiles take bytes of a partition from the first node that names them to the end of the last. Nodes may run
//! ahead of program order only as far as that leaves the bytes that the rest takes in program order, so that what
//! is oldest can always run, and the function fits if it did.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use partita_ir::Func;
use petgraph::Direction;
use petgraph::graph::NodeIndex;
use smallvec::SmallVec;

use super::graph::Graph;
use super::model::{Clocks, Model, QUEUES, Queue};

/// An order of the nodes, and the end of the last by the model.
#[derive(Clone, Debug)]
pub struct Order {
    pub nodes: Vec<u32>,
    /// Words that another engine takes over.
    pub taken_over: Vec<(u32, Queue)>,
    pub makespan: u64,
}

/// How many nodes that do not fit are passed over in the search for one that does.
const PASSED_OVER: usize = 16;

/// Program order as it is, each queue taking its items in turn.
pub fn in_order(graph: &Graph, model: &Model) -> Order {
    let count = model.loads.len();
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); QUEUES];
    for (index, load) in model.loads.iter().enumerate() {
        queues[load.queue].push(index);
    }
    let mut missing = missing(graph);
    let mut next = [0usize; QUEUES];
    let mut clocks = Clocks::default();
    let mut ends = vec![0u64; count];
    // Heads whose predecessors are all timed, by the time at which they start.
    let mut heads: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let offer = |queue: usize, next: &[usize], missing: &[u32], clocks: &Clocks, ends: &[u64]| {
        let &head = queues[queue].get(next[queue])?;
        (missing[head] == 0)
            .then(|| Reverse((clocks.free(queue).max(ready(graph, model, ends, head)), queue)))
    };
    for queue in 0..QUEUES {
        heads.extend(offer(queue, &next, &missing, &clocks, &ends));
    }
    while let Some(Reverse((start, queue))) = heads.pop() {
        let node = queues[queue][next[queue]];
        ends[node] = clocks.run(model, model.loads[node], start).1;
        next[queue] += 1;
        let mut free = vec![queue];
        for after in graph.neighbors_directed(NodeIndex::new(node), Direction::Outgoing) {
            missing[after.index()] -= 1;
            let of = model.loads[after.index()].queue;
            let is_head = queues[of].get(next[of]) == Some(&after.index());
            if missing[after.index()] == 0 && is_head && of != queue {
                free.push(of);
            }
        }
        for queue in free {
            heads.extend(offer(queue, &next, &missing, &clocks, &ends));
        }
    }
    let makespan = ends.into_iter().max().unwrap_or(0);
    Order { nodes: (0..count as u32).collect(), taken_over: Vec::new(), makespan }
}

/// How many predecessors each node has.
fn missing(graph: &Graph) -> Vec<u32> {
    let before = |index| graph.neighbors_directed(NodeIndex::new(index), Direction::Incoming);
    (0..graph.node_count()).map(|index| before(index).count() as u32).collect()
}

fn ready(graph: &Graph, model: &Model, ends: &[u64], index: usize) -> u64 {
    let to = model.loads[index].queue;
    let before = graph.neighbors_directed(NodeIndex::new(index), Direction::Incoming);
    before.map(|node| seen(model, ends, node.index(), to)).max().unwrap_or(0)
}

/// When a node of a queue may start for another's sake. A queue of transfers completes in order, so one that
/// follows in the same queue need not wait for the end.
fn seen(model: &Model, ends: &[u64], before: usize, to: usize) -> u64 {
    let from = model.loads[before].queue;
    if from == to && Model::is_dma(to) {
        return 0;
    }
    ends[before].saturating_add(model.signal(from, to))
}

/// For each node the latest start, counted backwards from the end.
fn urgency(graph: &Graph, model: &Model) -> Vec<u64> {
    let mut clocks = Clocks::default();
    // Seen backwards: `starts` are the times from a node's start to the end of the program.
    let mut starts = vec![0u64; model.loads.len()];
    for index in (0..model.loads.len()).rev() {
        let load = model.loads[index];
        let after = graph.neighbors_directed(NodeIndex::new(index), Direction::Outgoing);
        let ready = after.map(|node| {
            let to = model.loads[node.index()].queue;
            starts[node.index()].saturating_add(model.signal(load.queue, to))
        });
        let (_, end) = clocks.run(model, load, ready.max().unwrap_or(0));
        starts[index] = end;
    }
    starts
}

/// Bytes of tiles and the nodes that name them.
struct Tiles {
    /// For each node the tiles that it names.
    named: Vec<SmallVec<[u32; 4]>>,
    bytes: Vec<u64>,
    /// The first node of each tile in program order.
    first: Vec<u32>,
    /// Nodes that have not been scheduled yet.
    left: Vec<u32>,
}

impl Tiles {
    fn new(func: &Func, graph: &Graph) -> Self {
        let mut numbers: Vec<Option<u32>> = vec![None; func.values.len()];
        let (mut bytes, mut first, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut named = Vec::with_capacity(graph.node_count());
        for (index, node) in graph.node_weights().enumerate() {
            let tiles = node.tiles.iter().map(|&value| {
                let number = *numbers[value.index()].get_or_insert_with(|| {
                    let tile = func.ty(value).as_tile();
                    let size = tile.and_then(|tile| tile.bytes_per_partition()).unwrap_or(0);
                    bytes.push(size.next_multiple_of(crate::tile::ALIGN));
                    first.push(index as u32);
                    left.push(0);
                    bytes.len() as u32 - 1
                });
                left[number as usize] += 1;
                number
            });
            named.push(tiles.collect());
        }
        Self { named, bytes, first, left }
    }

    /// For each node, the most bytes that are live from it on when the rest runs in program order.
    fn peaks(&self) -> Vec<u64> {
        let count = self.named.len();
        let mut change = vec![0i64; count + 1];
        let mut last = self.first.clone();
        for (index, tiles) in self.named.iter().enumerate() {
            tiles.iter().for_each(|&tile| last[tile as usize] = index as u32);
        }
        for (tile, &bytes) in self.bytes.iter().enumerate() {
            change[self.first[tile] as usize] += bytes as i64;
            change[last[tile] as usize + 1] -= bytes as i64;
        }
        let mut live = 0;
        let mut peaks: Vec<u64> = change[..count]
            .iter()
            .map(|change| {
                live += change;
                live.max(0) as u64
            })
            .collect();
        for index in (0..count.saturating_sub(1)).rev() {
            peaks[index] = peaks[index].max(peaks[index + 1]);
        }
        peaks
    }
}

/// The state of a schedule in the making.
struct Scheduler<'a> {
    graph: &'a Graph,
    /// Its loads change when another engine takes a word over.
    model: Model,
    taken_over: Vec<(u32, Queue)>,
    clocks: Clocks,
    tiles: Tiles,
    peaks: Vec<u64>,
    /// Bytes of a partition that there are.
    room: u64,
    /// Bytes of tiles that are in use at this time.
    live: u64,
    /// Of these, bytes of tiles that began before their turn in program order.
    ahead: u64,
    is_ahead: Vec<bool>,
    begun: Vec<bool>,
    /// The end of a tile's last node so far.
    tile_end: Vec<u64>,
    /// Tiles that give back their bytes, by time.
    returns: BinaryHeap<Reverse<(u64, u32)>>,
    scheduled: Vec<bool>,
    oldest: usize,
    ends: Vec<u64>,
    missing: Vec<u32>,
    /// Of each queue, by the time at which they may start; and those that may start now, the most urgent first.
    pending: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    available: Vec<BinaryHeap<(u64, Reverse<u32>)>>,
    /// Nothing that is available to the queue fits for now.
    blocked: [bool; QUEUES],
    urgency: Vec<u64>,
    horizon: Option<u64>,
    /// The greatest urgency: the program's length seen backwards.
    length: u64,
}

/// Schedules a graph whose tiles may take `room` bytes of a partition. With a horizon, transfers that begin tiles
/// start at most so many picoseconds before they are needed, and leave the bandwidth to others until then.
pub fn list(func: &Func, graph: &Graph, model: &Model, room: u64, horizon: Option<u64>) -> Order {
    let tiles = Tiles::new(func, graph);
    let count = graph.node_count();
    let mut scheduler = Scheduler {
        graph,
        model: model.clone(),
        taken_over: Vec::new(),
        clocks: Clocks::default(),
        peaks: tiles.peaks(),
        room,
        live: 0,
        ahead: 0,
        is_ahead: vec![false; tiles.bytes.len()],
        begun: vec![false; tiles.bytes.len()],
        tile_end: vec![0; tiles.bytes.len()],
        returns: BinaryHeap::new(),
        tiles,
        scheduled: vec![false; count],
        oldest: 0,
        ends: vec![0; count],
        missing: missing(graph),
        pending: vec![BinaryHeap::new(); QUEUES],
        available: vec![BinaryHeap::new(); QUEUES],
        blocked: [false; QUEUES],
        horizon,
        length: 0,
        urgency: urgency(graph, model),
    };
    scheduler.length = scheduler.urgency.iter().copied().max().unwrap_or(0);
    let nodes = scheduler.run();
    let makespan = scheduler.ends.into_iter().max().unwrap_or(0);
    Order { nodes, taken_over: scheduler.taken_over, makespan }
}

impl Scheduler<'_> {
    fn run(&mut self) -> Vec<u32> {
        let count = self.scheduled.len();
        let mut order = Vec::with_capacity(count);
        for index in 0..count {
            if self.missing[index] == 0 {
                self.offer(index);
            }
        }
        let mut now = 0;
        while order.len() < count {
            let next =
                (0..QUEUES).filter_map(|queue| Some((self.next_time(queue, now)?, queue))).min();
            let returned = self.returns.peek().map(|Reverse((time, _))| *time);
            // Bytes that come back may let a blocked queue go on.
            if let Some(time) = returned
                && next.is_none_or(|(at, _)| time <= at)
            {
                now = now.max(time);
                self.give_back(now);
                self.blocked = [false; QUEUES];
                continue;
            }
            let Some((time, queue)) = next else {
                // Nothing fits, nothing ends: the oldest may always run.
                let oldest = self.oldest;
                self.start(oldest, now, &mut order);
                self.blocked = [false; QUEUES];
                continue;
            };
            now = now.max(time);
            match self.pick(queue, now) {
                Some(node) => {
                    let before = self.oldest;
                    let helper = self.help(queue, node, now);
                    self.start(node, now, &mut order);
                    if let Some(other) = helper.filter(|&other| self.fits(other)) {
                        self.take_over(other);
                        self.start(other, now, &mut order);
                    }
                    if self.oldest != before {
                        self.blocked = [false; QUEUES];
                    }
                }
                None => self.blocked[queue] = true,
            }
        }
        order
    }

    /// When a queue can take something.
    fn next_time(&mut self, queue: usize, now: u64) -> Option<u64> {
        while let Some(&(_, Reverse(node))) = self.available[queue].peek() {
            if !self.scheduled[node as usize] {
                if self.blocked[queue] {
                    break;
                }
                return Some(self.clocks.free(queue).max(now));
            }
            self.available[queue].pop();
        }
        while let Some(&Reverse((ready, node))) = self.pending[queue].peek() {
            if !self.scheduled[node as usize] {
                return Some(self.clocks.free(queue).max(ready));
            }
            self.pending[queue].pop();
        }
        None
    }

    /// Makes a node known whose predecessors are all scheduled.
    fn offer(&mut self, index: usize) {
        let mut ready = ready(self.graph, &self.model, &self.ends, index);
        let queue = self.model.loads[index].queue;
        if let Some(horizon) = self.horizon
            && Model::is_dma(queue)
            && self.new_tiles(index).next().is_some()
        {
            ready = ready.max((self.length - self.urgency[index]).saturating_sub(horizon));
        }
        self.pending[queue].push(Reverse((ready, index as u32)));
    }

    /// The most urgent node of a queue that may start now and whose tiles fit.
    fn pick(&mut self, queue: usize, now: u64) -> Option<usize> {
        while let Some(&Reverse((ready, node))) = self.pending[queue].peek() {
            if ready > now {
                break;
            }
            self.pending[queue].pop();
            self.available[queue].push((self.urgency[node as usize], Reverse(node)));
        }
        let mut passed = Vec::new();
        let mut found = None;
        while let Some(entry) = self.available[queue].pop() {
            let node = entry.1.0 as usize;
            if self.scheduled[node] {
                continue;
            }
            if self.fits(node) {
                found = Some(node);
                break;
            }
            passed.push(entry);
            if passed.len() >= PASSED_OVER {
                break;
            }
        }
        self.available[queue].extend(passed);
        found
    }

    /// A word that waits behind `first` for a queue and that another, idle engine would have done earlier.
    fn help(&mut self, queue: usize, first: usize, now: u64) -> Option<usize> {
        let mut passed = Vec::new();
        let mut found = None;
        let mut turn = now.saturating_add(self.model.loads[first].work);
        while let Some(entry) = self.available[queue].pop() {
            let node = entry.1.0 as usize;
            passed.push(entry);
            if self.scheduled[node] {
                continue;
            }
            let load = self.model.loads[node];
            turn = turn.saturating_add(load.work);
            if let Some((other, work)) = load.other {
                let signals = self.model.signal(queue, other) + self.model.signal(other, queue);
                let idle = self.clocks.free(other) <= now
                    && self.next_time(other, now).is_none_or(|next| next > now);
                if idle && now.saturating_add(work + signals) < turn {
                    found = Some(node);
                    break;
                }
            }
            if passed.len() >= PASSED_OVER {
                break;
            }
        }
        self.available[queue].extend(passed);
        found
    }

    /// Gives a word to its other engine.
    fn take_over(&mut self, node: usize) {
        let load = &mut self.model.loads[node];
        if let Some((queue, work)) = load.other.take() {
            (load.queue, load.work) = (queue, work);
            self.taken_over.push((node as u32, queue));
        }
    }

    /// True when there is room for the tiles that a node begins, and for the rest in program order after it.
    fn fits(&self, node: usize) -> bool {
        let new: u64 = self.new_tiles(node).map(|tile| self.tiles.bytes[tile]).sum();
        let kept = self.peaks.get(self.oldest).copied().unwrap_or(0);
        let now = self.live + new <= self.room;
        // Loads leave half of what is to spare to the words.
        let spare = self.room.saturating_sub(kept);
        let spare = if Model::is_dma(self.model.loads[node].queue) { spare / 2 } else { spare };
        new == 0 || now && (node == self.oldest || self.ahead + new <= spare)
    }

    fn new_tiles(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let named = self.tiles.named[node].iter().map(|&tile| tile as usize);
        named.filter(|&tile| !self.begun[tile])
    }

    fn start(&mut self, node: usize, now: u64, order: &mut Vec<u32>) {
        let ready = now.max(ready(self.graph, &self.model, &self.ends, node));
        let (_, end) = self.clocks.run(&self.model, self.model.loads[node], ready);
        self.ends[node] = end;
        self.scheduled[node] = true;
        order.push(node as u32);
        let new: Vec<usize> = self.new_tiles(node).collect();
        for tile in new {
            self.begun[tile] = true;
            self.live += self.tiles.bytes[tile];
            if node != self.oldest {
                self.is_ahead[tile] = true;
                self.ahead += self.tiles.bytes[tile];
            }
        }
        for &tile in &self.tiles.named[node] {
            let tile = tile as usize;
            self.tile_end[tile] = self.tile_end[tile].max(end);
            self.tiles.left[tile] -= 1;
            if self.tiles.left[tile] == 0 {
                self.returns.push(Reverse((self.tile_end[tile], tile as u32)));
            }
        }
        while self.scheduled.get(self.oldest) == Some(&true) {
            self.oldest += 1;
            // What begins with the nodes passed is no longer ahead of them.
            let named = self.tiles.named.get(self.oldest).cloned().unwrap_or_default();
            named.into_iter().for_each(|tile| self.catch_up(tile as usize));
        }
        for after in self.graph.neighbors_directed(NodeIndex::new(node), Direction::Outgoing) {
            let index = after.index();
            self.missing[index] -= 1;
            if self.missing[index] == 0 {
                self.offer(index);
            }
        }
    }

    fn catch_up(&mut self, tile: usize) {
        if std::mem::take(&mut self.is_ahead[tile]) {
            self.ahead -= self.tiles.bytes[tile];
        }
    }

    fn give_back(&mut self, now: u64) {
        while let Some(&Reverse((time, tile))) = self.returns.peek() {
            if time > now {
                break;
            }
            self.returns.pop();
            self.live -= self.tiles.bytes[tile as usize];
            self.catch_up(tile as usize);
        }
    }
}
