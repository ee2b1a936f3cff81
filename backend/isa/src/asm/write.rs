//! Digits and names, appended to a line. Plain loops instead of the formatting machinery, which takes
//! most of the time of a disassembler.

/// A number in decimal.
#[inline]
pub(super) fn decimal(out: &mut Vec<u8>, number: u32) {
    // Most counts and steps have one digit.
    if number < 10 {
        out.push(b'0' + number as u8);
        return;
    }
    let mut digits = [b'0'; 10];
    let mut first = digits.len();
    let mut rest = number;
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        first = at;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(first..).unwrap_or_default());
}

/// A signed number in decimal.
#[inline]
pub(super) fn signed(out: &mut Vec<u8>, number: i32) {
    if number < 0 {
        out.push(b'-');
    }
    decimal(out, number.unsigned_abs());
}

/// `0x` and a number in hex, of at least that many digits.
#[inline]
pub(super) fn hex(out: &mut Vec<u8>, number: u32, at_least: u32) {
    out.extend_from_slice(b"0x");
    let needed = (u32::BITS - number.leading_zeros()).div_ceil(4).max(at_least).max(1);
    for place in (0..needed).rev() {
        out.push(HEX[(number >> (4 * place) & 0xf) as usize]);
    }
}

/// Bytes as pairs of hex digits.
pub(super) fn hex_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend([HEX[(byte >> 4) as usize], HEX[(byte & 0xf) as usize]]);
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A name of a table, or the code in hex where the table has none.
#[inline]
pub(super) fn named(out: &mut Vec<u8>, name: Option<&'static str>, code: u8) {
    match name {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => hex(out, code.into(), 2),
    }
}

/// The shortest decimal text of an fp32 value that reads back as it; the bits of a NaN.
pub(super) fn fp32(out: &mut Vec<u8>, bits: u32) {
    const EXACT: f32 = 1_000_000.0;
    let value = f32::from_bits(bits);
    if value.is_nan() {
        hex(out, bits, 8);
    } else if value.abs() < EXACT && value == value.trunc() && !(value == 0.0 && bits != 0) {
        signed(out, value as i32);
        out.extend_from_slice(b".0");
    } else {
        use std::io::Write;
        // Writing to a vector cannot fail.
        let _ = write!(out, "{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn numbers_read_as_the_standard_library_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 4_294_967_295, 1_000_000_000, 123_456] {
            assert_eq!(text(|out| decimal(out, number)), number.to_string());
            assert_eq!(text(|out| hex(out, number, 0)), format!("{number:#x}"));
            assert_eq!(text(|out| hex(out, number, 2)), format!("{number:#04x}"));
            assert_eq!(text(|out| hex(out, number, 8)), format!("{number:#010x}"));
        }
        assert_eq!(text(|out| signed(out, i32::MIN)), i32::MIN.to_string());
    }

    #[test]
    fn floats_read_as_the_standard_library_writes_them() {
        let values = [0.0, -0.0, 1.0, -3.0, 999_999.0, 1e6, 2.5, 1e-6, 1e30, f32::INFINITY];
        for value in values {
            assert_eq!(text(|out| fp32(out, f32::to_bits(value))), format!("{value:?}"));
        }
        assert_eq!(text(|out| fp32(out, 0x7fc0_0001)), "0x7fc00001");
    }
}
