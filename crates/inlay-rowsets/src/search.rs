//! The next place of a sorted list, near to where the last one was.

/// From this few on, items are looked at one by one.
const FEW: usize = 8;

/// The first position from `from` on whose key is not below `target`; the length if there is none. Steps double until they are past
/// the target, the last one is halved, and the rest looked through: time grows with the logarithm of the distance, as in
/// Bentley and Yao, "An almost optimal algorithm for unbounded searching" (1976).
pub(crate) fn advance<T: Copy, K: Ord + Copy>(
    items: &[T],
    from: usize,
    target: K,
    key: impl Fn(T) -> K,
) -> usize {
    let mut low = from;
    let mut step = 1;
    let mut high = from;
    while high < items.len() && key(items[high]) < target {
        low = high + 1;
        high = from + step;
        step *= 2;
    }
    high = high.min(items.len());
    while high - low > FEW {
        let middle = low + (high - low) / 2;
        if key(items[middle]) < target {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while low < high && key(items[low]) < target {
        low += 1;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::advance;

    #[test]
    fn the_next_item_is_what_a_search_from_the_start_finds() {
        for len in [0usize, 1, 2, 7, 8, 9, 16, 17, 100, 1000] {
            let items: Vec<u32> = (0..len as u32).map(|number| number * 3 + 1).collect();
            for from in [0, len / 3, len.saturating_sub(1), len] {
                for target in 0..len as u32 * 3 + 5 {
                    let expected = from.max(items.partition_point(|item| *item < target));
                    assert_eq!(advance(&items, from, target, |item| item), expected);
                }
            }
        }
    }
}
