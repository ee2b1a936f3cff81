//! Assembler text of a whole program, both ways: `read(&print(p))` is `p` again.
//!
//! ```text
//! .target cayman                      ; first, since addresses depend on it
//! .meta version 0.1.0                 ; who wrote it
//! .meta pass fuse                     ; one line a pass
//! .io hbm 0x2000                      ; bytes of main memory
//! .io input x f32[128,512] at 0x0     ; arguments and results, in order
//! .io output out0 f32[128,512] at 0x1000
//! .data 0x1800 00112233               ; a constant: address and bytes
//! .data + 44556677                    ; more bytes of the same constant
//! %y:                                 ; the next item comes from source op `%y`
//! .dma …                              ; one descriptor
//! %z: 3                               ; the next three words of the queue that follows
//! .engine dve                         ; words from here on are for this engine
//! copy src_mem_pattern=…              ; one word, as `partita_isa::asm` writes it
//! .word 0123…                         ; one word, as 128 hex digits
//! ```
//!
//! The order of the lines is the program order; `.engine` switches queues within it. `;` begins a comment. Names with
//! other characters than letters, digits and `_ $ . %` stand in quotes, as in JSON. Text without `.io`, `.data`, `.dma`,
//! `.meta` and labels, for at most one engine, is a block of raw words.

mod print;
mod read;

pub use print::{print, print_with};
pub use read::{AsmFile, read};

/// Bytes of a constant on one line.
const DATA_BYTES: usize = 64;

/// True of a name that needs no quotes.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'%')
}
