//! How a matrix is dealt to the partitions so that the transpose of 32 × 32 blocks (ISA 8.3) turns all of it, with
//! long rows in main memory before and after.
//!
//! Each quadrant of 32 partitions has some rows and some columns of the matrix; partition `i` of it holds every 32nd
//! row, or column when turned, block beside block.

/// Rows and columns of a block.
pub const BLOCK: u64 = 32;

/// Blocks of a partition in one tile at most: 16 KiB of fp32.
pub const MAX_BLOCKS: u64 = 128;

/// Quadrants of the partitions.
const QUADRANTS: u64 = 4;

/// One tile: how many quadrants share its rows and its columns, and how many blocks of each a partition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    pub quadrants: [u64; 2],
    pub blocks: [u64; 2],
}

impl Deal {
    /// Rows and columns of the matrix.
    pub fn extent(self) -> [u64; 2] {
        [0, 1].map(|dim| BLOCK * self.quadrants[dim] * self.blocks[dim])
    }

    /// Partitions in use.
    pub fn channels(self) -> u64 {
        BLOCK * self.quadrants[0] * self.quadrants[1]
    }

    /// Elements of a partition.
    pub fn elements(self) -> u64 {
        BLOCK * self.blocks[0] * self.blocks[1]
    }

    /// Elements side by side in main memory, before and after.
    pub fn runs(self) -> [u64; 2] {
        [BLOCK * self.blocks[1], BLOCK * self.blocks[0]]
    }

    /// Tiles that fit a matrix, one for each way to share the quadrants. `long` are the runs that are wanted before
    /// and after, `most` the blocks of a partition.
    fn fitting(shape: [u64; 2], long: [u64; 2], most: u64) -> impl Iterator<Item = Self> {
        let groups = shape.map(|size| size / BLOCK);
        let quadrants = (1..=QUADRANTS).flat_map(|a| (1..=QUADRANTS / a).map(move |b| [a, b]));
        quadrants.filter_map(move |quadrants| {
            let room = [0, 1].map(|dim| groups[dim] / quadrants[dim]);
            let wanted = long[1].div_ceil(BLOCK);
            let rows = room[0].min(wanted).min(most);
            let columns = room[1].min(most.checked_div(rows)?);
            let rows = room[0].min(most.checked_div(columns)?);
            (rows * columns > 0).then_some(Self { quadrants, blocks: [rows, columns] })
        })
    }
}

/// A part of a matrix that tiles of one kind cover: where it starts, and how many tiles there are either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub start: [u64; 2],
    pub count: [u64; 2],
    pub deal: Deal,
}

/// Divides a matrix of at least one block into fields; what is no multiple of a block is covered twice. Tiles are
/// chosen by their price.
pub fn fields(
    shape: [u64; 2],
    long: [u64; 2],
    most: u64,
    price: impl Fn(Deal) -> u64,
) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut waiting = vec![([0, 0], shape)];
    while let Some((start, shape)) = waiting.pop() {
        let area = |deal: Deal| u128::from(deal.elements() * deal.channels());
        // The price of an element.
        let rank =
            |deal: &Deal| u128::from(price(*deal)).saturating_mul(1 << 20) / area(*deal).max(1);
        let Some(deal) = Deal::fitting(shape, long, most.max(1)).min_by_key(rank) else { continue };
        let extent = deal.extent();
        let count = [0, 1].map(|dim| shape[dim] / extent[dim]);
        fields.push(Field { start, count, deal });
        let covered = [0, 1].map(|dim| count[dim] * extent[dim]);
        // What is left, as whole blocks that end where the matrix does.
        let rest = [0, 1].map(|dim| (shape[dim] - covered[dim]).next_multiple_of(BLOCK));
        let last = [0, 1].map(|dim| start[dim] + shape[dim] - rest[dim].min(shape[dim]));
        if rest[0] > 0 {
            waiting.push(([last[0], start[1]], [rest[0], shape[1]]));
        }
        if rest[1] > 0 {
            waiting.push(([start[0], last[1]], [covered[0], rest[1]]));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is in a tile, none beside the matrix.
    #[test]
    fn fields_cover_the_matrix() {
        for rows in [32, 33, 64, 95, 96, 128, 130, 250, 512, 1000] {
            for columns in [32, 40, 100, 128, 192, 500, 513, 2048] {
                let mut seen = vec![false; (rows * columns) as usize];
                for field in fields([rows, columns], [128, 128], 16, |deal| 64.max(deal.elements()))
                {
                    let extent = field.deal.extent();
                    assert!(
                        field.deal.channels() <= 128
                            && field.deal.blocks[0] * field.deal.blocks[1] <= 16
                    );
                    for r in field.start[0]..field.start[0] + field.count[0] * extent[0] {
                        for c in field.start[1]..field.start[1] + field.count[1] * extent[1] {
                            assert!(r < rows && c < columns);
                            seen[(r * columns + c) as usize] = true;
                        }
                    }
                }
                assert!(seen.into_iter().all(|seen| seen), "{rows}x{columns}");
            }
        }
    }
}
