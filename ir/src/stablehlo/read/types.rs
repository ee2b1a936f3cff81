//! Types of a text, each read once.

use rustc_hash::FxHashMap;

use crate::types::{ElemType, MAX_RANK, Shape, TensorType, element_count};

/// A type of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

/// What a type of the text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HloType {
    Tensor(TensorType),
    /// Doubles, which no machine of the set computes with.
    F64(Shape),
    /// Something else, and why it cannot be compiled.
    Refused(String),
    /// No type at all, and what is wrong with it.
    Malformed(String),
}

/// How element types of the text are understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeOptions {
    /// `f8E4M3` of the machine is the OCP format, `f8E4M3FN` of the text.
    pub fp8_ocp: bool,
}

#[derive(Debug, Default)]
pub struct Types<'s> {
    known: FxHashMap<&'s str, TypeId>,
    list: Vec<(HloType, &'s str)>,
    last: Option<(&'s str, TypeId)>,
    options: TypeOptions,
}

impl<'s> Types<'s> {
    pub fn new(options: TypeOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The type with this text.
    pub fn add(&mut self, text: &'s str) -> TypeId {
        if let Some((last, id)) = self.last
            && last == text
        {
            return id;
        }
        let next = TypeId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        let id = *self.known.entry(text).or_insert(next);
        if id == next {
            self.list.push((read(text, self.options), text));
        }
        self.last = Some((text, id));
        id
    }

    pub fn get(&self, id: TypeId) -> &HloType {
        static NONE: HloType = HloType::Malformed(String::new());
        self.list.get(id.0 as usize).map_or(&NONE, |(ty, _)| ty)
    }

    /// Elements of a tensor type, 0 of any other.
    pub fn elements(&self, id: TypeId) -> u64 {
        match self.get(id) {
            HloType::Tensor(ty) => ty.elements().unwrap_or(0),
            _ => 0,
        }
    }

    pub fn text(&self, id: TypeId) -> &'s str {
        self.list.get(id.0 as usize).map_or("", |(_, text)| text)
    }
}

/// Element types that are known and not compiled, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("i2", "2-bit integers are not compiled; convert to `i8` outside"),
    ("i4", "4-bit integers are not compiled; convert to `i8` outside"),
    ("ui2", "2-bit integers are not compiled; convert to `ui8` outside"),
    ("ui4", "4-bit integers are not compiled; convert to `ui8` outside"),
    ("tf32", "`tf32` is no type of the machine; use `f32`"),
    ("f8E4M3B11FNUZ", "this 8-bit float format is not one of the machine"),
    ("f8E4M3FNUZ", "this 8-bit float format is not one of the machine"),
    ("f8E5M2FNUZ", "this 8-bit float format is not one of the machine"),
    ("f8E8M0FNU", "this 8-bit float format is not one of the machine"),
    ("f4E2M1FN", "4-bit floats are not compiled"),
    ("f6E2M3FN", "6-bit floats are not compiled"),
    ("f6E3M2FN", "6-bit floats are not compiled"),
];

const DYNAMIC: &str = "dynamic shapes are not compiled; export the function with the sizes known";

fn read(text: &str, options: TypeOptions) -> HloType {
    let refused = |why: &str| HloType::Refused(why.to_owned());
    let inner = match text.split_once('<') {
        Some(("tensor", inner)) => inner.strip_suffix('>').unwrap_or(inner),
        Some(("complex", _)) => return refused("complex numbers are not compiled"),
        Some(("tuple", _)) => return refused("tuples are not compiled; return several results"),
        _ if text.starts_with("!stablehlo.token") => return refused("tokens are not compiled"),
        _ if text.starts_with("!quant") => return refused("quantized types are not compiled"),
        _ => return HloType::Refused(format!("`{text}` is no type of tensors")),
    };
    let mut shape = Shape::new();
    let mut rest = inner.trim();
    loop {
        if rest.starts_with("?x") {
            return refused(DYNAMIC);
        }
        if rest.starts_with('*') {
            return refused("unranked tensors are not compiled");
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            break;
        }
        let (size, after) = rest.split_at(digits);
        let (Ok(size), Some(after)) = (size.parse::<u64>(), after.strip_prefix('x')) else {
            return HloType::Malformed(format!("`{size}` is no size of a dimension"));
        };
        shape.push(size);
        rest = after;
    }
    if element_count(&shape).and_then(|count| count.checked_mul(8)).is_none_or(|b| b >= 1 << 63) {
        return HloType::Malformed("the type has too many elements".to_owned());
    }
    if shape.len() > MAX_RANK {
        let why = format!("tensors of more than {MAX_RANK} dimensions are not compiled; reshape");
        return HloType::Refused(why);
    }
    // An encoding after a comma says nothing about the values.
    let elem = match rest.split_once(',') {
        Some((_, encoding)) if encoding.contains("bounds") => return refused(DYNAMIC),
        Some((elem, _)) if !elem.contains('<') => elem.trim(),
        _ => rest.trim(),
    };
    element(elem, shape, options)
}

fn element(elem: &str, shape: Shape, options: TypeOptions) -> HloType {
    let refused = |why: &str| HloType::Refused(why.to_owned());
    let tensor = |dtype| HloType::Tensor(TensorType { shape: shape.clone(), dtype });
    match elem {
        "f64" => HloType::F64(shape),
        "f32r" => HloType::Malformed("`f32r` is no element type".to_owned()),
        "f8E4M3FN" if options.fp8_ocp => tensor(ElemType::F8E4M3),
        "f8E4M3FN" => refused(
            "`f8E4M3FN` is the machine's 8-bit float on targets with `+fp8_ocp` only; choose one with --target",
        ),
        "f8E4M3" if options.fp8_ocp => {
            refused("the target's option `fp8_ocp` makes `f8E4M3FN` of this format; leave it out")
        }
        _ if elem.starts_with("complex<") => refused("complex numbers are not compiled"),
        _ if elem.starts_with("!quant") => refused("quantized types are not compiled"),
        _ => match elem.parse::<ElemType>() {
            Ok(dtype) => tensor(dtype),
            Err(_) => match REFUSED.iter().find(|(name, _)| *name == elem) {
                Some((_, why)) => refused(why),
                None => HloType::Malformed(format!("there is no element type `{elem}`")),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> HloType {
        read(text, TypeOptions::default())
    }

    #[test]
    fn shapes_and_elements() {
        let ty =
            |shape: &[u64], dtype| HloType::Tensor(TensorType::new(shape.iter().copied(), dtype));
        assert_eq!(one("tensor<4x8xf32>"), ty(&[4, 8], ElemType::F32));
        assert_eq!(one("tensor<0x3xui8>"), ty(&[0, 3], ElemType::Ui8));
        assert_eq!(one("tensor<bf16>"), ty(&[], ElemType::Bf16));
        assert_eq!(one("tensor<4xi1, #some.encoding<a>>"), ty(&[4], ElemType::I1));
        assert_eq!(one("tensor<2xf64>"), HloType::F64(Shape::from_slice(&[2])));
    }

    #[test]
    fn what_is_not_compiled() {
        for text in [
            "tensor<?x4xf32>",
            "tensor<4xcomplex<f32>>",
            "tensor<*xf32>",
            "!stablehlo.token",
            "tuple<tensor<f32>>",
            "tensor<4x!quant.uniform<i8:f32, 0.1>>",
            "tensor<4xf8E4M3FN>",
            "tensor<1x1x1x1x1x1x1x1x1xf32>",
        ] {
            assert!(matches!(one(text), HloType::Refused(_)), "{text}");
        }
        for text in ["tensor<4x>", "tensor<4xf31>", "tensor<99999999999999999999xf32>"] {
            assert!(matches!(one(text), HloType::Malformed(_)), "{text}");
        }
        let huge = "tensor<4294967296x4294967296xf32>";
        assert!(matches!(one(huge), HloType::Malformed(_)));
    }
}
