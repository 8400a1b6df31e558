use super::*;
use crate::places::tests::{Random, shapes};

const ROWS: usize = 70_000;

fn rows_of(list: &BlockList) -> Vec<u32> {
    let mut rows = Vec::new();
    list.for_each(|row| rows.push(row));
    rows
}

#[test]
fn rows_lie_where_the_paper_says() {
    let list = BlockList::from_sorted(&[0, 42, 43, 100, 90_177_535]).unwrap();
    assert_eq!(
        list.words,
        [1 << 42 | 1, 1 << 43 | 1, 2 << 43 | 1 << 14, ((1 << 21) - 1) << 43 | 1 << 42].map(|word: u64| word)
    );
    assert_eq!(ROWS_MAX, 90_177_536);
    let error = BlockList::from_sorted(&[90_177_536]).unwrap_err().to_string();
    assert!(error.contains("row 90177536 is not below 90177536"), "{error}");
    assert!(BlockList::from_sorted(&[3, 3]).is_err());
}

#[test]
fn operations_equal_those_on_sets() {
    let shapes: Vec<Vec<u32>> = shapes(ROWS as u32).into_iter().map(|(_, places)| places).collect();
    for left in &shapes {
        let list = BlockList::from_sorted(left).unwrap();
        assert_eq!(rows_of(&list), *left);
        assert_eq!(list.count(), left.len() as u64);
        assert_eq!(list.is_empty(), left.is_empty());
        let packed = list.pack();
        let (blocks, bytes) = packed.as_bytes();
        assert_eq!(PackedBlocks::from_bytes(blocks, bytes).unpack().unwrap(), list);
        for right in &shapes {
            let other = BlockList::from_sorted(right).unwrap();
            let mut flags = vec![0; ROWS];
            left.iter().for_each(|row| flags[*row as usize] |= 1);
            right.iter().for_each(|row| flags[*row as usize] |= 2);
            let rows_with = |of: &dyn Fn(i32) -> bool| -> Vec<u32> {
                (0..ROWS as u32).filter(|row| of(flags[*row as usize])).collect()
            };
            let (both, any) = (rows_with(&|flag| flag == 3), rows_with(&|flag| flag != 0));
            assert_eq!(rows_of(&list.and(&other)), both);
            assert_eq!(list.count_and(&other), both.len() as u64);
            assert_eq!(list.or(&other), BlockList::from_sorted(&any).unwrap());
        }
    }
}

#[test]
fn a_dense_block_takes_few_bits() {
    // 1 for the address, 1 for the first bit, 11 for the run of 43.
    let rows: Vec<u32> = (0..43 * 8).collect();
    assert_eq!(BlockList::from_sorted(&rows).unwrap().pack().as_bytes(), {
        let mut writer = crate::bits::BitWriter::default();
        for _ in 0..8 {
            writer.gamma(1);
            writer.bit(true);
            writer.gamma(43);
        }
        let bytes: &[u8] = Vec::leak(writer.finish());
        assert_eq!(bytes.len(), 13);
        (8, bytes)
    });
}

#[test]
fn damaged_bytes_are_errors() {
    let mut random = Random(7);
    let rows: Vec<u32> = (0..4_000).map(|row| row * 37 + row % 11).collect();
    let packed = BlockList::from_sorted(&rows).unwrap().pack();
    let (blocks, bytes) = packed.as_bytes();
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert!(PackedBlocks::from_bytes(blocks, &bytes[..cut]).unpack().is_err());
    }
    assert!(PackedBlocks::from_bytes(u32::MAX, bytes).unpack().is_err());
    for _ in 0..20_000 {
        let mut damaged = bytes.to_vec();
        let at = random.below(damaged.len() as u32) as usize;
        damaged[at] ^= 1 << random.below(8);
        // Whatever it says now is a list that can be.
        if let Ok(list) = PackedBlocks::from_bytes(blocks, &damaged).unpack() {
            assert!(rows_of(&list).is_sorted_by(|left, right| left < right));
            assert_eq!(list.pack().unpack().unwrap(), list);
        }
    }
}
