//! Look-up by code and by name for the enumerations whose rows are tables.

/// The members of an enumeration of bytes, and their rows, by code: one load each, where a `match` over
/// scattered codes is a jump. Wants `ALL` and a `row` that can be evaluated when the crate is built.
macro_rules! by_code {
    ($member:ident, $row:path) => {
        static BY_CODE: [Option<$member>; 256] = {
            let mut members = [None; 256];
            let mut i = 0;
            while i < $member::ALL.len() {
                members[$member::ALL[i] as usize] = Some($member::ALL[i]);
                i += 1;
            }
            members
        };

        /// Codes without a member hold the first row, which nothing asks for.
        static ROWS: [$row; 256] = {
            let mut rows = [$member::ALL[0].row(); 256];
            let mut i = 0;
            while i < $member::ALL.len() {
                rows[$member::ALL[i] as usize] = $member::ALL[i].row();
                i += 1;
            }
            rows
        };
    };
}

/// Slots of an index by name: several times the longest table, so that a name is found at once.
const SLOTS: usize = 512;
/// No position: a table is shorter.
const EMPTY: u8 = u8::MAX;

/// Positions of the names of a table by hash of the name, whatever its case.
pub(crate) struct NameIndex([u8; SLOTS]);

impl NameIndex {
    pub const fn new<const N: usize>(names: [&str; N]) -> Self {
        assert!(N < EMPTY as usize, "positions fit a byte");
        let mut slots = [EMPTY; SLOTS];
        let mut i = 0;
        while i < N {
            let mut slot = hash(names[i].as_bytes());
            while slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = i as u8;
            i += 1;
        }
        Self(slots)
    }

    /// The member at the first position whose name `is` the one looked for.
    #[inline]
    pub fn find<T: Copy>(&self, name: &str, all: &[T], is: impl Fn(T) -> bool) -> Option<T> {
        let mut slot = hash(name.as_bytes());
        while let Some(&member) = all.get(usize::from(self.0[slot])) {
            if is(member) {
                return Some(member);
            }
            slot = (slot + 1) % SLOTS;
        }
        None
    }
}

#[inline]
const fn hash(name: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    let mut i = 0;
    while i < name.len() {
        hash = (hash ^ name[i].to_ascii_lowercase() as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash ^ hash >> 16) as usize % SLOTS
}

/// An index of the names that a `const fn` of the members tells.
macro_rules! by_name {
    ($member:ident, $name:ident) => {
        static BY_NAME: $crate::table::NameIndex = $crate::table::NameIndex::new({
            let mut names = [""; $member::ALL.len()];
            let mut i = 0;
            while i < names.len() {
                names[i] = $member::ALL[i].info().$name;
                i += 1;
            }
            names
        });
    };
}

pub(crate) use {by_code, by_name};
