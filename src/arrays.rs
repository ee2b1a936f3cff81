//! Between NumPy's items and the tensors of a program.

use npyz::{TypeChar, TypeStr};
use partita::ir::eval::convert::Fp8Options;
use partita::ir::{ElemType, TensorData, TensorType};

use crate::npy::{Array, Head};

/// How the file's items become elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// The bytes are the elements.
    Same,
    /// Elements of this type, cast.
    Cast(ElemType),
    /// Doubles, rounded.
    FromDouble,
}

/// The type string of an element type: bf16 and fp8 are raw items, since npy has no name for them.
fn item_name(dtype: ElemType) -> &'static str {
    use ElemType::*;
    match dtype {
        I1 => "|b1",
        I8 => "|i1",
        I16 => "<i2",
        I32 => "<i4",
        I64 => "<i8",
        Ui8 => "|u1",
        Ui16 => "<u2",
        Ui32 => "<u4",
        Ui64 => "<u8",
        F32 | F32r => "<f4",
        F16 => "<f2",
        Bf16 => "|V2",
        F8E3M4 | F8E4M3 | F8E5M2 => "|V1",
    }
}

fn same_item(item: &TypeStr, name: &str) -> bool {
    name.parse::<TypeStr>().is_ok_and(|want| {
        (want.type_char(), want.num_bytes()) == (item.type_char(), item.num_bytes())
    })
}

/// The element type that stores such items natively.
fn native(item: &TypeStr) -> Option<ElemType> {
    if item.type_char() == TypeChar::RawData {
        return None;
    }
    ElemType::ALL.iter().copied().find(|&dtype| same_item(item, item_name(dtype)))
}

fn route(item: &TypeStr, dtype: ElemType, cast: bool) -> Result<Route, String> {
    if same_item(item, item_name(dtype)) {
        return Ok(Route::Same);
    }
    let is_double = item.type_char() == TypeChar::Float && item.num_bytes() == Some(8);
    let narrow_float = matches!(item_name(dtype), "|V2" | "|V1");
    match native(item) {
        Some(ElemType::F32) if narrow_float => Ok(Route::Cast(ElemType::F32)),
        Some(from) if cast => Ok(Route::Cast(from)),
        _ if cast && is_double => Ok(Route::FromDouble),
        Some(_) => {
            Err(format!("items are `{item}`, the argument is {dtype}; --cast-inputs casts them"))
        }
        _ if is_double => Err(format!(
            "items are 64-bit floats (`{item}`), the argument is {dtype}; --cast-inputs casts them"
        )),
        None => Err(format!("items of type `{item}` cannot become {dtype}")),
    }
}

/// Refuses a header whose array cannot become a tensor of this type.
///
/// # Errors
/// A text that names the difference.
pub fn check(head: &Head, ty: &TensorType, cast: bool) -> Result<(), String> {
    if head.shape != ty.shape[..] {
        return Err(format!(
            "shape is {}, expected {}",
            shape_text(&head.shape),
            shape_text(&ty.shape)
        ));
    }
    route(&head.item, ty.dtype, cast).map(|_| ())
}

/// The array as a tensor of this type, for an array whose header passed [`check`].
///
/// # Errors
/// A text; the item type does not fit, or the memory is not there.
pub fn to_tensor(
    array: Array,
    ty: &TensorType,
    cast: bool,
    fp8: Fp8Options,
) -> Result<TensorData, String> {
    let tensor = match route(&array.item, ty.dtype, cast)? {
        Route::Same => TensorData::new(ty.clone(), array.bytes),
        Route::Cast(from) => TensorData::new(ty.with_dtype(from), array.bytes)
            .and_then(|data| data.cast(ty.dtype, fp8)),
        Route::FromDouble => {
            let doubles: Vec<f64> = array
                .bytes
                .chunks_exact(8)
                .filter_map(|item| Some(f64::from_le_bytes(item.try_into().ok()?)))
                .collect();
            from_doubles(&doubles, ty, fp8)
        }
    };
    tensor.map_err(|error| error.to_string())
}

fn from_doubles(
    doubles: &[f64],
    ty: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, partita::ir::data::DataError> {
    if ty.dtype.is_float() {
        let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
        TensorData::from_f32(ty.with_dtype(ElemType::F32), &singles)?.cast(ty.dtype, fp8)
    } else {
        let whole: Vec<i128> = doubles.iter().map(|x| x.round_ties_even() as i128).collect();
        TensorData::from_ints(ty.clone(), &whole)
    }
}

/// A tensor as an array to write.
pub fn from_tensor(tensor: &TensorData) -> Result<Array, String> {
    let item = item_name(tensor.dtype()).parse().map_err(|error| format!("{error}"))?;
    Ok(Array { item, shape: tensor.shape().to_vec(), bytes: tensor.bytes().to_vec() })
}

/// `128x512`, or `scalar`.
pub fn shape_text(shape: &[u64]) -> String {
    match shape {
        [] => "scalar".to_owned(),
        _ => shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(item: &str, bytes: &[u8]) -> Array {
        let item: TypeStr = item.parse().unwrap();
        let shape = vec![(bytes.len() / item.num_bytes().unwrap()) as u64];
        Array { item, shape, bytes: bytes.to_vec() }
    }

    fn convert(array: Array, dtype: ElemType, cast: bool) -> Result<Vec<u8>, String> {
        let ty = TensorType::new(array.shape.clone(), dtype);
        to_tensor(array, &ty, cast, Fp8Options::default()).map(TensorData::into_bytes)
    }

    #[test]
    fn every_element_type_is_written_as_items_that_read_back_as_it() {
        for &dtype in ElemType::ALL {
            let bytes = vec![1; dtype.size_bytes() as usize];
            let data = TensorData::new(TensorType::new([1], dtype), bytes.clone()).unwrap();
            assert_eq!(
                convert(from_tensor(&data).unwrap(), dtype, false).unwrap(),
                bytes,
                "{dtype}"
            );
        }
    }

    #[test]
    fn single_floats_are_cast_to_the_types_that_npy_lacks_and_to_no_other() {
        let one = array("<f4", &1.0f32.to_le_bytes());
        assert_eq!(convert(one.clone(), ElemType::Bf16, false).unwrap(), [0x80, 0x3f]);
        assert_eq!(convert(one.clone(), ElemType::F8E4M3, false).unwrap(), [0x38]);
        assert!(convert(one.clone(), ElemType::F16, false).unwrap_err().contains("--cast-inputs"));
        assert_eq!(convert(one, ElemType::F16, true).unwrap(), [0x00, 0x3c]);
    }

    #[test]
    fn doubles_need_the_flag_and_round_to_nearest_even() {
        let half = array("<f8", &2.5f64.to_le_bytes());
        assert!(convert(half.clone(), ElemType::F32, false).unwrap_err().contains("--cast-inputs"));
        assert_eq!(convert(half.clone(), ElemType::F32, true).unwrap(), 2.5f32.to_le_bytes());
        assert_eq!(convert(half, ElemType::I8, true).unwrap(), [2]);
        let big = array("<f8", &1e30f64.to_le_bytes());
        assert_eq!(convert(big, ElemType::I16, true).unwrap(), i16::MAX.to_le_bytes());
    }

    #[test]
    fn raw_items_stand_only_for_types_of_their_size() {
        assert!(convert(array("|V2", &[0, 0]), ElemType::F16, true).is_err());
        assert!(convert(array("|V1", &[0]), ElemType::Bf16, false).is_err());
        assert_eq!(convert(array("|V1", &[0x38]), ElemType::F8E5M2, false).unwrap(), [0x38]);
    }
}
