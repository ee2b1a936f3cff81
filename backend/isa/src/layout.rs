//! The structs of ISA 7: from one row per field come the Rust struct, its decoder and encoder and the
//! field metadata. The rows of the bodies stand in [`crate::instruction_set`].
//!
//! Every struct holds raw integers, so every 64-byte value decodes without loss, legal or not.
//! `Default` is the blank of the struct: the values that text leaves out.

use crate::enums::{DebugCmd, UpdateMode, WaitMode};
use crate::field::{Field, FieldKind, Raw};
pub use crate::instruction_set::structs::*;
use crate::word::WORD_BYTES;

/// A struct of ISA 7 as data.
#[derive(Debug)]
pub struct Layout {
    /// The name of ISA 7, such as `S3S3D3_TT`.
    pub name: &'static str,
    pub fields: &'static [&'static Field],
}

impl Layout {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().copied().find(|field| field.name == name)
    }
}

macro_rules! layouts {
    ($(
        $(#[$doc:meta])*
        $struct:ident $module:ident $name:literal $start:literal..$end:literal {
            $($offset:literal $field:ident: $raw:ty as $kind:expr => $default:expr;)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $struct {
            $(pub $field: $raw,)*
        }

        #[doc = concat!("The fields of ", $name, " as data.")]
        pub mod $module {
            #![allow(non_upper_case_globals)]
            use super::*;

            $(pub static $field: Field = Field {
                name: stringify!($field),
                label: concat!(" ", stringify!($field), "="),
                offset: $offset,
                size: <$raw as Raw>::SIZE,
                kind: $kind,
            };)*

            pub static LAYOUT: Layout = Layout { name: $name, fields: &[$(&$field),*] };
        }

        impl $struct {
            pub const LAYOUT: &Layout = &$module::LAYOUT;

            #[inline]
            pub(crate) fn decode(word: &[u8; WORD_BYTES]) -> Self {
                Self { $($field: Raw::get(word, $offset),)* }
            }

            pub(crate) fn encode(&self, word: &mut [u8; WORD_BYTES]) {
                $(self.$field.put(word, $offset);)*
            }
        }

        impl Default for $struct {
            #[inline]
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        // The fields tile their part of the word without gap or overlap.
        const _: () = {
            let mut next = $start;
            $(
                assert!($offset == next, "field offset");
                next += <$raw as Raw>::SIZE;
            )*
            assert!(next == $end, "struct extent");
        };
    )*};
}

pub(crate) use layouts;

layouts! {
    /// Bytes 0 to 3 of every word (ISA 2.1).
    Header header "header" 0..4 {
        0 opcode: u8 as FieldKind::Opcode => 0;
        1 inst_word_len: u8 as FieldKind::Number => 16;
        2 debug_cmd: u8 as FieldKind::Enum(&DebugCmd::TABLE) => 0;
        3 debug_hint: u8 as FieldKind::Number => 0;
    }

    /// Bytes 4 to 11 of every word (ISA 2.3, 2.4).
    Events events "events" 4..12 {
        4 wait_mode: u8 as FieldKind::Enum(&WaitMode::TABLE) => 0;
        5 wait_idx: u8 as FieldKind::Number => 0;
        6 update_mode: u8 as FieldKind::Enum(&UpdateMode::TABLE) => 0;
        7 update_idx: u8 as FieldKind::Number => 0;
        8 semaphore_value: u32 as FieldKind::Number => 0;
    }
}

impl ExtendedTensorTensor {
    /// Channels that the word processes: 16 per port, all 128 when num_active_ports (bits 3 to 5 of
    /// completion_info) is 0 (ISA 7.2).
    pub const fn channels(&self) -> u32 {
        match self.completion_info >> 3 & 7 {
            0 => 128,
            ports => 16 * ports as u32,
        }
    }
}

/// The lane table that moves nothing: 0, 1, …, 31.
pub const IDENTITY_LANES: [u8; 32] = {
    let mut lanes = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        lanes[lane] = lane as u8;
        lane += 1;
    }
    lanes
};
