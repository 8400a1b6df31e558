//! Levenshtein's distance, for functions and for hints at near names.

/// Levenshtein's distance in bytes.
pub fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        next_distances(&mut row, i, *x, b);
    }
    row[b.len()]
}

/// From the distances of `a[..i]` to each start of `b` to those of `a[..=i]`, where `x` is `a[i]`.
pub fn next_distances(row: &mut [usize], i: usize, x: u8, b: &[u8]) {
    let mut diagonal = row[0];
    row[0] = i + 1;
    for (j, y) in b.iter().enumerate() {
        let substituted = diagonal + usize::from(x != *y);
        diagonal = row[j + 1];
        row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
    }
}
