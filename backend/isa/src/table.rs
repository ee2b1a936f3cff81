//! Look-up by code for the enumerations whose rows are tables.

/// The members of an enumeration of bytes, and their rows, by code: one load each, where a `match` over
/// scattered codes is a jump. Wants `ALL` and a `row` that can be evaluated when the crate is built.
macro_rules! by_code {
    ($member:ident, $row:ident) => {
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
        static ROWS: [&$row; 256] = {
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

pub(crate) use by_code;
