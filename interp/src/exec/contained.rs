//! Whether a stretch brings along all that it reads of the partitions: then nothing that stood in them before matters to
//! it, and where in SBUF and PSUM it keeps its rows is its own affair.

use std::ops::Range;

use crate::plan::Bytes;

use super::bands::Local;

/// What has been written so far, each range of bytes for some partitions.
#[derive(Default)]
struct Written(Vec<(Bytes, Range<usize>)>);

impl Written {
    /// Whether all these bytes have been written, in each of these partitions, by joining what was written there.
    fn covers(&self, bytes: &Bytes, partitions: &Range<usize>) -> bool {
        let mut at = bytes.range.start;
        while at < bytes.range.end {
            let reached = self.0.iter().filter(|(written, rows)| {
                written.place == bytes.place
                    && written.range.contains(&at)
                    && rows.start <= partitions.start
                    && rows.end >= partitions.end
            });
            match reached.map(|(written, _)| written.range.end).max() {
                Some(end) => at = end,
                None => return false,
            }
        }
        true
    }
}

/// Whether every byte that an item of the stretch reads in a partition was written by an item before it.
pub(super) fn is_self_contained(stretch: &[(usize, Local)]) -> bool {
    let mut written = Written::default();
    stretch.iter().all(|(_, local)| {
        let (partitions, reads, writes) = match local {
            Local::Word(plan) => (plan.rows(), plan.reads(), plan.writes()),
            Local::Dma(transfer, rows) => {
                (rows.partitions(), transfer.reads(rows), transfer.writes(rows))
            }
        };
        let is_known = reads.iter().all(|bytes| written.covers(bytes, &partitions));
        written.0.extend(writes.into_iter().map(|bytes| (bytes, partitions.clone())));
        is_known
    })
}
