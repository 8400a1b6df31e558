//! A page of values, and which of its rows have one.

use super::delta::Delta;
use super::number::Number;
use super::runs::Runs;
use super::{Damage, Layout, Read, Validity, Words};
use inlay_types::{Buffer, View};
use parquet::basic::Encoding;
use parquet::column::page::Page;

const CUT: Damage = Damage("a page that is cut");

/// A page that is being read.
#[derive(Debug)]
pub(super) struct DataPage {
    bytes: Buffer,
    /// Rows that are not read yet.
    pub left: usize,
    levels: Levels,
    values: Values,
}

/// Which rows hold a value.
#[derive(Debug)]
enum Levels {
    All,
    /// Runs of bits that end at a byte.
    Runs(Runs, usize),
    /// Bits, the highest of a byte first, from bit `next` on: the way of old files.
    Packed {
        next: usize,
    },
}

/// Where the next value lies.
#[derive(Debug)]
enum Values {
    Plain { at: usize },
    Bits { bit: usize },
    Codes(Runs),
    BitRuns(Runs),
    Delta(Delta, usize),
}

impl DataPage {
    /// An unpacked page.
    pub fn new(page: Page, is_optional: bool, layout: Layout) -> Read<Self> {
        let encoding = page.encoding();
        let left = page.num_values() as usize;
        let (buf, levels, at) = match page {
            Page::DataPage { buf, def_level_encoding, .. } => match (is_optional, def_level_encoding) {
                (false, _) => (buf, Levels::All, 0),
                #[expect(deprecated, reason = "old files have it")]
                (true, Encoding::BIT_PACKED) => (buf, Levels::Packed { next: 0 }, left.div_ceil(8)),
                (true, _) => {
                    let size = u32::from_le_bytes(*buf.first_chunk::<4>().ok_or(CUT)?) as usize;
                    let end = size.checked_add(4).filter(|&end| end <= buf.len()).ok_or(CUT)?;
                    (buf, Levels::Runs(Runs::new(1, 4)?, end), end)
                }
            },
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let from = rep_levels_byte_len as usize;
                let end = from.checked_add(def_levels_byte_len as usize);
                let end = end.filter(|&end| end <= buf.len()).ok_or(CUT)?;
                let levels = if is_optional { Levels::Runs(Runs::new(1, from)?, end) } else { Levels::All };
                (buf, levels, end)
            }
            Page::DictionaryPage { .. } => return Err(Damage("a dictionary among its pages").into()),
        };
        let bytes = Buffer::from_vec(Vec::from(buf));
        let values = Values::new(encoding, layout, bytes.bytes(), at)?;
        Ok(Self { bytes, left, levels, values })
    }

    /// The unpacked page, which views point into.
    pub fn bytes(&self) -> Buffer {
        self.bytes.clone()
    }

    /// Whether values are codes of a dictionary.
    pub fn has_codes(&self) -> bool {
        matches!(self.values, Values::Codes(_))
    }

    /// Takes the next `count` rows, which are those from `row` on of a vector: notes NULLs and returns how many values follow.
    pub fn levels(&mut self, count: usize, row: usize, validity: &mut Validity) -> Read<usize> {
        let present = self.levels.take(self.bytes.bytes(), count, &mut |from, to| {
            validity.clear(row + from, row + to);
        })?;
        self.left -= count;
        Ok(present)
    }

    /// Decodes the next numbers.
    pub fn numbers<N: Number>(
        &mut self,
        number: N,
        words: Option<&Words>,
        codes: &mut Vec<u32>,
        out: &mut [N::Out],
    ) -> Read<()> {
        let bytes = self.bytes.bytes();
        match &mut self.values {
            Values::Plain { at } => {
                let size = out.len() * number.width();
                let raw = bytes.get(*at..*at + size).ok_or(CUT)?;
                *at += size;
                number.decode(raw, out)?;
            }
            Values::Codes(runs) => {
                let words = words.ok_or(Damage("codes without a dictionary"))?;
                codes.resize(out.len(), 0);
                runs.read(bytes, codes)?;
                let known = &words.values.typed::<N::Out>()[..words.count];
                let mut fits = true;
                for (out, &code) in out.iter_mut().zip(codes.iter()) {
                    match known.get(code as usize) {
                        Some(value) => *out = *value,
                        None => fits = false,
                    }
                }
                if !fits {
                    return Err(BAD_CODE.into());
                }
            }
            Values::Delta(delta, from) => {
                let mut done = 0;
                while done < out.len() {
                    let values = delta.take(&bytes[*from..], out.len() - done)?;
                    for (out, &value) in out[done..].iter_mut().zip(values) {
                        *out = number.of_integer(value)?;
                    }
                    done += values.len();
                }
            }
            Values::Bits { .. } | Values::BitRuns(_) => return Err(Damage("bits in place of numbers").into()),
        }
        Ok(())
    }

    /// Decodes the next booleans.
    pub fn bits(&mut self, codes: &mut Vec<u32>, out: &mut [u8]) -> Read<()> {
        let bytes = self.bytes.bytes();
        match &mut self.values {
            Values::Bits { bit } => {
                if (*bit + out.len()).div_ceil(8) > bytes.len() {
                    return Err(CUT.into());
                }
                for (index, out) in out.iter_mut().enumerate() {
                    let at = *bit + index;
                    *out = bytes[at / 8] >> (at % 8) & 1;
                }
                *bit += out.len();
            }
            Values::BitRuns(runs) => {
                codes.resize(out.len(), 0);
                runs.read(bytes, codes)?;
                for (out, &code) in out.iter_mut().zip(codes.iter()) {
                    *out = u8::from(code != 0);
                }
            }
            _ => return Err(Damage("no bits in place of booleans").into()),
        }
        Ok(())
    }

    /// Decodes the next codes, all below `known`.
    pub fn codes(&mut self, known: usize, out: &mut [u32]) -> Read<()> {
        let Values::Codes(runs) = &mut self.values else {
            return Err(Damage("no codes").into());
        };
        runs.read(self.bytes.bytes(), out)?;
        let largest = out.iter().copied().max().unwrap_or(0);
        if !out.is_empty() && largest as usize >= known {
            return Err(BAD_CODE.into());
        }
        Ok(())
    }

    /// Views of the next texts, in the heap's buffer `number`.
    pub fn texts(&mut self, number: u32, is_text: bool, out: &mut [View]) -> Read<()> {
        let Values::Plain { at } = &mut self.values else {
            return Err(Damage("numbers in place of text").into());
        };
        let from = *at;
        views_of(self.bytes.bytes(), at, number, out)?;
        if is_text {
            check_text(self.bytes.bytes(), from, *at)?;
        }
        Ok(())
    }

    /// Passes over `count` rows, whose values have `width` bytes if they are of one size.
    pub fn skip(&mut self, count: usize, width: Option<usize>) -> Read<()> {
        let bytes = self.bytes.bytes();
        let present = self.levels.take(bytes, count, &mut |_, _| ())?;
        match (&mut self.values, width) {
            (Values::Plain { at }, Some(width)) => *at += present * width,
            (Values::Plain { at }, None) => {
                for _ in 0..present {
                    text_at(bytes, at)?;
                }
            }
            (Values::Bits { bit }, _) => *bit += present,
            (Values::Codes(runs) | Values::BitRuns(runs), _) => runs.skip(bytes, present)?,
            (Values::Delta(delta, from), _) => {
                let mut done = 0;
                while done < present {
                    done += delta.take(&bytes[*from..], present - done)?.len();
                }
            }
        }
        self.left -= count;
        Ok(())
    }
}

const BAD_CODE: Damage = Damage("a code that its dictionary does not have");

impl Values {
    /// Values that begin at byte `at`.
    fn new(encoding: Encoding, layout: Layout, bytes: &[u8], at: usize) -> Read<Self> {
        Ok(match encoding {
            Encoding::PLAIN if layout == Layout::Bits => Self::Bits { bit: at * 8 },
            Encoding::PLAIN => Self::Plain { at },
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => match bytes.get(at) {
                Some(&width) => Self::Codes(Runs::new(width.into(), at + 1)?),
                // A page of NULLs may have nothing here.
                None => Self::Codes(Runs::default()),
            },
            // The size that comes first says nothing that the page does not say.
            Encoding::RLE if layout == Layout::Bits => Self::BitRuns(Runs::new(1, at + 4)?),
            Encoding::DELTA_BINARY_PACKED if matches!(layout.width(), Some(4 | 8)) => {
                if at >= bytes.len() {
                    return Ok(Self::Plain { at });
                }
                Self::Delta(Delta::new(&bytes[at..])?, at)
            }
            other => return Err(format!("a page is written as {other}, which its footer does not say")),
        })
    }
}

impl Levels {
    /// Takes the levels of `count` rows; tells `null` of ranges of rows without a value. Returns how many have one.
    fn take(&mut self, bytes: &[u8], count: usize, null: &mut dyn FnMut(usize, usize)) -> Read<usize> {
        let mut present = 0;
        match self {
            Self::All => present = count,
            Self::Packed { next } => {
                let from = *next;
                if (from + count).div_ceil(8) > bytes.len() {
                    return Err(CUT.into());
                }
                for row in 0..count {
                    let at = from + row;
                    if bytes[at / 8] >> (7 - at % 8) & 1 == 1 {
                        present += 1;
                    } else {
                        null(row, row + 1);
                    }
                }
                *next += count;
            }
            Self::Runs(runs, end) => {
                let bytes = &bytes[..*end];
                let mut row = 0;
                while row < count {
                    if let Some((level, same)) = runs.alike(bytes, count - row)? {
                        if level == 0 {
                            null(row, row + same);
                        } else {
                            present += same;
                        }
                        row += same;
                        continue;
                    }
                    let mut levels = [0u32; 256];
                    let packed = runs.packed((count - row).min(256));
                    runs.read(bytes, &mut levels[..packed])?;
                    for (index, &level) in levels[..packed].iter().enumerate() {
                        if level == 0 {
                            null(row + index, row + index + 1);
                        } else {
                            present += 1;
                        }
                    }
                    row += packed;
                }
            }
        }
        Ok(present)
    }
}

/// The text at `at`, a length and as many bytes.
fn text_at<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], Damage> {
    let rest = bytes.get(*at..).ok_or(CUT)?;
    let (len, rest) = rest.split_first_chunk::<4>().ok_or(CUT)?;
    let len = u32::from_le_bytes(*len) as usize;
    let text = rest.get(..len).ok_or(CUT)?;
    *at += 4 + len;
    Ok(text)
}

/// Views of the texts from `at` on, in the heap's buffer `number`, which is `bytes`.
pub(super) fn views_of(bytes: &[u8], at: &mut usize, number: u32, out: &mut [View]) -> Result<(), Damage> {
    for view in out {
        let text = text_at(bytes, at)?;
        // Pages have at most 2 GiB.
        *view = View::new(text, number, (*at - text.len()) as u32);
    }
    Ok(())
}

/// An error unless the texts between two bytes of a page are UTF-8.
pub(super) fn check_text(bytes: &[u8], from: usize, to: usize) -> Read<()> {
    let range = bytes.get(from..to).unwrap_or_default();
    // Lengths below 128 are ASCII, too.
    if range.is_ascii() {
        return Ok(());
    }
    let mut at = 0;
    while at < range.len() {
        let text = text_at(range, &mut at)?;
        if std::str::from_utf8(text).is_err() {
            return Err("it has text that is not UTF-8".to_string());
        }
    }
    Ok(())
}
