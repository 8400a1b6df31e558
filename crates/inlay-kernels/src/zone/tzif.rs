//! Reader of TZif data (RFC 8536): the 64-bit block and the rule behind it.

use super::rule::Rule;

/// What a TZif file says.
#[derive(Debug, Default)]
pub(super) struct Tzif {
    /// Seconds since 1970 (UTC) at which an offset begins, ascending.
    pub times: Vec<i64>,
    /// For each of `times`, the offset from then on.
    pub kinds: Vec<Kind>,
    /// Before the first of `times`.
    pub first: Kind,
    /// Behind the last of `times`.
    pub rule: Option<Rule>,
}

/// An offset to UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Seconds east of Greenwich.
    pub offset: i32,
    /// Whether it is summer time.
    pub is_dst: bool,
    /// Such as `CET`, padded with zeros.
    pub abbreviation: [u8; 8],
}

const HEADER_BYTES: usize = 44;

struct Header {
    counts: [usize; 6],
}

impl Header {
    fn read(data: &[u8]) -> Option<Self> {
        if data.get(..4)? != b"TZif" {
            return None;
        }
        let mut counts = [0; 6];
        for (index, count) in counts.iter_mut().enumerate() {
            let at = 20 + 4 * index;
            *count = u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?) as usize;
        }
        Some(Self { counts })
    }

    /// Bytes of the block behind the header, whose times have `width` bytes.
    fn block_bytes(&self, width: usize) -> usize {
        let [ut, std, leap, times, kinds, chars] = self.counts;
        times * width + times + kinds * 6 + chars + leap * (width + 4) + std + ut
    }
}

/// Reads version 2 or later; `None` for anything else.
pub(super) fn read(data: &[u8]) -> Option<Tzif> {
    let old = Header::read(data)?;
    let data = data.get(HEADER_BYTES + old.block_bytes(4)..)?;
    let header = Header::read(data)?;
    let body = data.get(HEADER_BYTES..)?;
    let rule_text = body.get(header.block_bytes(8)..)?;
    let [_, _, _, times, kinds, chars] = header.counts;
    let indexes = body.get(times * 8..times * 9)?;
    let entries = body.get(times * 9..times * 9 + kinds * 6)?;
    let names = body.get(times * 9 + kinds * 6..times * 9 + kinds * 6 + chars)?;
    let kind = |index: usize| -> Option<Kind> {
        let entry = entries.get(index * 6..index * 6 + 6)?;
        let name = names.get(usize::from(entry[5])..)?;
        let length = name.iter().position(|b| *b == 0)?;
        Some(Kind {
            offset: i32::from_be_bytes(entry[..4].try_into().ok()?),
            is_dst: entry[4] != 0,
            abbreviation: padded(&name[..length]),
        })
    };
    let mut zone = Tzif { first: kind(0)?, ..Tzif::default() };
    for (index, its) in indexes.iter().take(times).enumerate() {
        zone.times.push(i64::from_be_bytes(body.get(index * 8..index * 8 + 8)?.try_into().ok()?));
        zone.kinds.push(kind(usize::from(*its))?);
    }
    let rule = std::str::from_utf8(rule_text).ok()?.trim_matches('\n');
    zone.rule = Rule::parse(rule);
    Some(zone)
}

/// The first eight bytes of a name.
pub(super) fn padded(name: &[u8]) -> [u8; 8] {
    let mut bytes = [0; 8];
    let length = name.len().min(8);
    bytes[..length].copy_from_slice(&name[..length]);
    bytes
}
