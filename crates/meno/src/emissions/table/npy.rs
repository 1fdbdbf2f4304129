//! NumPy arrays: the bytes of an `.npy` file to numbers or strings. An `.npz` file is a ZIP archive of them.
//!
//! Read are floats of 4 and 8 bytes, integers of any size, and strings (`dtype=str`), of either byte order, row after
//! row or column after column. The size of the data is compared with the shape before anything is allocated by it.
//! The format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use std::io::{Cursor, Read};

use zip::ZipArchive;

/// An array, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) values: Values,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
    Texts(Vec<String>),
}

/// An array of an `.npz` file has no more bytes: a few kilobytes can unpack to gigabytes of zeros.
const LARGEST: u64 = 1 << 30;

/// The arrays of an `.npz` file.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
}

impl<'a> Archive<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, String> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("not an .npz file: {error}"))?;
        Ok(Archive { zip })
    }

    pub(super) fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().flatten();
        names.map(|name| name.trim_end_matches(".npy").to_owned()).collect()
    }

    /// An array by its name; `None` if there is none.
    pub(super) fn array(&mut self, name: &str) -> Result<Option<Array>, String> {
        let mut file = match self.zip.by_name(&format!("{name}.npy")) {
            Ok(file) => file,
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(format!("the array `{name}` cannot be unpacked: {error}")),
        };
        let too_large = |size: u64| {
            format!("the array `{name}` unpacks to {size} bytes; more than {LARGEST} are not read")
        };
        if file.size() > LARGEST {
            return Err(too_large(file.size()));
        }
        let mut bytes = Vec::new();
        // The size in the archive may be a lie.
        (&mut file)
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("the array `{name}` cannot be unpacked: {error}"))?;
        if bytes.len() as u64 > LARGEST {
            return Err(too_large(bytes.len() as u64));
        }
        parse(&bytes).map(Some).map_err(|problem| format!("the array `{name}`: {problem}"))
    }
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an `.npy` file.
pub(super) fn parse(bytes: &[u8]) -> Result<Array, String> {
    let (header, data) = split(bytes).ok_or("not of the .npy format")?;
    let header = Header::parse(header).ok_or_else(|| format!("a header that is not understood: {header}"))?;
    let n_values = header.shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
    let n_bytes = n_values.and_then(|n| n.checked_mul(header.item_size));
    if n_bytes != Some(data.len()) {
        let (shape, found) = (&header.shape, data.len());
        return Err(format!("{found} bytes do not fill the shape {shape:?} of `{}`", header.descr));
    }
    let values = header.values(data)?;
    let values = if header.by_columns { values.transposed(&header.shape) } else { values };
    Ok(Array { shape: header.shape, values })
}

/// The header and the data.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = if version[0] == 1 {
        let (length, rest) = rest.split_first_chunk::<2>()?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        (u32::from_le_bytes(*length) as usize, rest)
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?.trim_end(), data))
}

struct Header<'a> {
    descr: &'a str,
    is_big_endian: bool,
    kind: char,
    item_size: usize,
    by_columns: bool,
    shape: Vec<usize>,
}

impl<'a> Header<'a> {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`
    fn parse(header: &'a str) -> Option<Self> {
        let value = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start());
        let descr = value("'descr':")?.strip_prefix('\'')?.split('\'').next()?;
        let by_columns = value("'fortran_order':")?.starts_with("True");
        let shape = value("'shape':")?.strip_prefix('(')?.split(')').next()?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape = sizes.map(|size| size.parse().ok()).collect::<Option<Vec<usize>>>()?;
        let mut letters = descr.chars();
        let is_big_endian = letters.next()? == '>';
        let kind = letters.next()?;
        let length: usize = letters.as_str().parse().ok()?;
        let item_size = if kind == 'U' { length.checked_mul(4)? } else { length };
        Some(Header { descr, is_big_endian, kind, item_size, by_columns, shape })
    }

    fn values(&self, data: &[u8]) -> Result<Values, String> {
        let items = data.chunks_exact(self.item_size.max(1));
        Ok(match (self.kind, self.item_size) {
            ('f', 4) => Values::Floats(items.map(|item| f32::from_bits(self.bits(item) as u32)).collect()),
            ('f', 8) => Values::Floats(items.map(|item| f64::from_bits(self.bits(item)) as f32).collect()),
            ('i', 1 | 2 | 4 | 8) => Values::Integers(items.map(|item| self.signed(item)).collect()),
            ('u', 1 | 2 | 4) => Values::Integers(items.map(|item| self.bits(item) as i64).collect()),
            ('U', 4..) => Values::Texts(items.map(|item| self.text(item)).collect::<Result<_, _>>()?),
            ('O', _) => return Err("Python objects are not read".to_owned()),
            _ => return Err(format!("the type `{}` is not read", self.descr)),
        })
    }

    fn bits(&self, item: &[u8]) -> u64 {
        let add = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.is_big_endian { item.iter().fold(0, add) } else { item.iter().rev().fold(0, add) }
    }

    fn signed(&self, item: &[u8]) -> i64 {
        let unused = 64 - 8 * item.len() as u32;
        (self.bits(item) << unused) as i64 >> unused
    }

    /// Four bytes a character, filled up with zeros.
    fn text(&self, item: &[u8]) -> Result<String, String> {
        let character = |bytes: &[u8]| {
            let code = self.bits(bytes) as u32;
            char::from_u32(code).ok_or_else(|| format!("{code:#x} is not the code of a character"))
        };
        let text: String = item.chunks_exact(4).map(character).collect::<Result<_, _>>()?;
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

impl Values {
    /// The rows of a matrix that was stored column after column; other shapes stay as they are.
    fn transposed(self, shape: &[usize]) -> Self {
        // Without columns there may be any number of rows.
        let &[n_rows, n_columns @ (1..)] = shape else { return self };
        fn turn<T: Clone>(values: &[T], n_rows: usize, n_columns: usize) -> Vec<T> {
            let row = |row_idx| (0..n_columns).map(move |column_idx| column_idx * n_rows + row_idx);
            (0..n_rows).flat_map(row).map(|idx| values[idx].clone()).collect()
        }
        match self {
            Values::Floats(values) => Values::Floats(turn(&values, n_rows, n_columns)),
            Values::Integers(values) => Values::Integers(turn(&values, n_rows, n_columns)),
            Values::Texts(values) => Values::Texts(turn(&values, n_rows, n_columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    fn check(descr: &str, order: &str, shape: &str, data: &[u8], expected: Result<Values, &str>) {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        let found = parse(&file(&header, data)).map(|array| array.values);
        assert_eq!(found, expected.map_err(str::to_owned), "{header}");
    }

    #[test]
    fn reads_numbers_and_strings() {
        let one = 1f32.to_le_bytes();
        check("<f4", "False", "(1,)", &one, Ok(Values::Floats(vec![1.0])));
        check(">f8", "False", "(1, 1)", &(-2.5f64).to_be_bytes(), Ok(Values::Floats(vec![-2.5])));
        check("<i8", "False", "(1,)", &(-7i64).to_le_bytes(), Ok(Values::Integers(vec![-7])));
        check("|i1", "False", "(2,)", &[255, 3], Ok(Values::Integers(vec![-1, 3])));
        check("<u2", "False", "(1,)", &[1, 2], Ok(Values::Integers(vec![513])));
        check("<i4", "False", "()", &[9, 0, 0, 0], Ok(Values::Integers(vec![9])));
        let text = [b'O', 0, 0, 0, 0xe9, 0, 0, 0, 0, 0, 0, 0];
        check("<U3", "False", "(1,)", &text, Ok(Values::Texts(vec!["O\u{e9}".to_owned()])));
        check("|i1", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6], Ok(Values::Integers(vec![1, 2, 3, 4, 5, 6])));
        check("<f4", "False", "(0, 3)", &[], Ok(Values::Floats(vec![])));
        check("<f4", "True", "(18446744073709551615, 0)", &[], Ok(Values::Floats(vec![])));
    }

    #[test]
    fn believes_nothing() {
        let short = "3 bytes do not fill the shape [2] of `<f4`";
        check("<f4", "False", "(2,)", &[0; 3], Err(short));
        let huge = "(4294967296, 4294967296, 4294967296)";
        let message = "0 bytes do not fill the shape [4294967296, 4294967296, 4294967296] of `<f4`";
        check("<f4", "False", huge, &[], Err(message));
        check("<U0", "False", "(4294967296,)", &[], Err("the type `<U0` is not read"));
        check("|O8", "False", "(1,)", &[0; 8], Err("Python objects are not read"));
        check("<c8", "False", "(1,)", &[0; 8], Err("the type `<c8` is not read"));
        check("<U1", "False", "(1,)", &[0, 0xd8, 0, 0], Err("0xd800 is not the code of a character"));
        assert!(parse(b"\x93NUMPY\x01\x00\xff").is_err());
        assert!(parse(&file("{'descr': [('a', '<f4')], }", &[])).is_err());
    }
}
