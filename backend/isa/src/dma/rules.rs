//! The rules of DMA descriptors, as data.

use crate::names::rule_id;
use crate::rule::{Confidence, Rule};

macro_rules! dma_rules {
    ($($name:ident $text:literal, $fix:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub static $name: Rule = Rule {
            id: rule_id!(stringify!($name)),
            // The descriptor is our own, so is every limit of it.
            confidence: Confidence::L,
            text: $text,
            fix: $fix,
        };)*

        /// Every DMA rule.
        pub static ALL: &[&Rule] = &[$(&$name),*];
    };
}

dma_rules! {
    DMA_1 "the queue is 0 to 15", "use one of the sixteen queues";
    DMA_2 "the element has 1, 2, 4 or 8 bytes; an accumulating descriptor takes FP32, BFLOAT16, FP16, INT32 or UINT32", "use another element type";
    DMA_3 "every count is at least 1 and the walk has fewer than 2^32 elements", "drop empty descriptors, split long ones";
    DMA_4 "every byte lies in the HBM arena", "move the address, or enlarge the arena";
    DMA_5 "every element lies inside the active bytes of one SBUF partition, and a dimension moves by a fixed number of partitions and bytes", "use one dimension for partitions and others within a partition";
    DMA_6 "addresses and strides are multiples of the element size", "use smaller elements, or align both sides";
    DMA_7 "a destination dimension of more than one element does not have stride 0", "drop the dimension";
    DMA_8 "no destination byte is written twice", "make the destination strides at least as large as what lies inside them";
}
