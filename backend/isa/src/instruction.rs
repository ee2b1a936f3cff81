//! A word decoded into header, events and the struct of its opcode, without loss.

use crate::field::Raw;
pub use crate::instruction_set::structs::{Body, BodyKind};
use crate::layout::{Events, Header};
use crate::opcode::Opcode;
use crate::word::{WORD_BYTES, Word};

/// The structs of ISA 7 as one type.
macro_rules! bodies {
    ($($body:ident)*) => {
        /// Bytes 12 to 63 of a word, read as the struct that the opcode is bound to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Body {
            $($body($body),)*
            /// The opcode is not one of this subset.
            Unknown([u8; 52]),
        }

        /// Which struct of ISA 7 an opcode is bound to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BodyKind {
            $($body,)*
        }

        impl BodyKind {
            pub fn layout(self) -> &'static $crate::layout::Layout {
                match self {
                    $(Self::$body => $body::LAYOUT,)*
                }
            }

            #[inline]
            pub(crate) fn decode(self, word: &[u8; $crate::word::WORD_BYTES]) -> Body {
                match self {
                    $(Self::$body => Body::$body($body::decode(word)),)*
                }
            }

            /// The blank of the struct in a word without events; the opcode is 0.
            pub(crate) fn blank_word(self) -> &'static $crate::word::Word {
                match self {
                    $(Self::$body => {
                        static BLANK: std::sync::LazyLock<$crate::word::Word> = std::sync::LazyLock::new(|| {
                            let body = BodyKind::$body.blank();
                            $crate::instruction::Instruction::of_body(body).encode()
                        });
                        &BLANK
                    })*
                }
            }

            /// The blank of the struct.
            pub fn blank(self) -> Body {
                match self {
                    $(Self::$body => Body::$body($body::default()),)*
                }
            }
        }

        impl Body {
            /// `None` for a body whose opcode is not one of this subset.
            pub fn kind(&self) -> Option<BodyKind> {
                match self {
                    $(Self::$body(_) => Some(BodyKind::$body),)*
                    Self::Unknown(_) => None,
                }
            }

            pub(crate) fn encode(&self, word: &mut [u8; $crate::word::WORD_BYTES]) {
                match self {
                    $(Self::$body(body) => body.encode(word),)*
                    Self::Unknown(bytes) => $crate::field::Raw::put(*bytes, word, 12),
                }
            }
        }

        $(impl<'a> TryFrom<&'a Body> for &'a $body {
            /// The body is of another struct.
            type Error = ();

            fn try_from(body: &'a Body) -> Result<Self, ()> {
                match body {
                    Body::$body(body) => Ok(body),
                    _ => Err(()),
                }
            }
        })*

        $(impl From<$body> for Body {
            fn from(body: $body) -> Self {
                Self::$body(body)
            }
        })*
    };
}

pub(crate) use bodies;

/// A decoded word. `encode(decode(w)) == w` for every 64-byte value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    pub header: Header,
    pub events: Events,
    pub body: Body,
}

impl Instruction {
    /// An instruction without events. The body should be of the opcode's struct: its bytes are what
    /// a decoder will read under that opcode.
    pub fn new(opcode: Opcode, body: impl Into<Body>) -> Self {
        let mut instruction = Self::of_body(body.into());
        instruction.header.opcode = opcode.number();
        instruction
    }

    /// A body under opcode 0.
    pub(crate) fn of_body(body: Body) -> Self {
        Self { header: Header::default(), events: Events::default(), body }
    }

    /// The opcode's blank: what text that names no field stands for. One FP32 element at address 0
    /// for every operand, 128 channels.
    pub fn blank(opcode: Opcode) -> Self {
        Self::new(opcode, opcode.info().body.blank())
    }

    #[inline]
    pub fn decode(word: &Word) -> Self {
        let word = &word.0;
        let body = match Opcode::from_number(word[0]) {
            Some(opcode) => opcode.info().body.decode(word),
            None => Body::Unknown(Raw::get(word, 12)),
        };
        Self { header: Header::decode(word), events: Events::decode(word), body }
    }

    pub fn encode(&self) -> Word {
        let mut word = [0; WORD_BYTES];
        self.header.encode(&mut word);
        self.events.encode(&mut word);
        self.body.encode(&mut word);
        Word(word)
    }

    /// `None` when the opcode is not one of this subset.
    pub fn opcode(&self) -> Option<Opcode> {
        Opcode::from_number(self.header.opcode)
    }
}
