use super::*;

/// Values `from..` as `count` 32-bit numbers on pages of their own.
fn filled(pool: &PagePool, from: u32, counts: &[usize]) -> Vec<Arc<Pages>> {
    let sizes: Vec<usize> = counts.iter().map(|count| count * 4).collect();
    let mut next = from;
    let mut pieces = Vec::new();
    for mut pages in pool.allocate(&sizes).expect("the system has memfd") {
        for value in pages.typed_mut::<u32>() {
            *value = next;
            next += 1;
        }
        pieces.push(pages.finish(None));
    }
    pieces
}

fn whole(pieces: &[Arc<Pages>]) -> Vec<Part> {
    pieces.iter().map(|pages| (Arc::clone(pages), 0..pages.size())).collect()
}

fn numbers(from: u32, count: usize) -> Vec<u32> {
    (from..from + count as u32).collect()
}

#[test]
fn pieces_of_any_size_are_one_range() {
    let pool = PagePool::new();
    for counts in
        [vec![1024, 2048, 1024], vec![1000, 1024, 3], vec![1024, 1, 1024, 1024], vec![0, 5, 0], vec![4096]]
    {
        let pieces = filled(&pool, 7, &counts);
        let mapped = map(whole(&pieces)).unwrap();
        assert_eq!(mapped.typed::<u32>(), numbers(7, counts.iter().sum()), "{counts:?}");
    }
}

#[test]
fn ranges_of_rows_begin_and_end_anywhere() {
    let pool = PagePool::new();
    let pieces = filled(&pool, 0, &[2048, 1024, 1500]);
    for (from, to) in
        [(0, 1), (1, 2047), (2047, 2048), (1023, 3100), (1024, 3072), (2048, 4572), (3000, 3000)]
    {
        let mut parts = Vec::new();
        let mut start = 0;
        for pages in &pieces {
            let len = pages.size() / 4;
            let (low, high) = (from.clamp(start, start + len) - start, to.clamp(start, start + len) - start);
            if high > low {
                parts.push((Arc::clone(pages), low * 4..high * 4));
            }
            start += len;
        }
        let mapped = map(parts).unwrap();
        assert_eq!(mapped.typed::<u32>(), numbers(from as u32, to - from), "{from}..{to}");
    }
}

#[test]
fn mappings_outlive_the_pool_and_others_pages() {
    let pool = PagePool::new();
    let first = filled(&pool, 0, &[1024, 1024]);
    let second = filled(&pool, 5000, &[1024]);
    let mapped = map(vec![(Arc::clone(&first[1]), 0..4096), (Arc::clone(&second[0]), 0..4096)]).unwrap();
    drop((pool, first, second));
    assert_eq!(mapped.typed::<u32>()[..1024], numbers(1024, 1024));
    assert_eq!(mapped.typed::<u32>()[1024..], numbers(5000, 1024));
}

#[test]
fn what_goes_with_pages_is_dropped_with_the_last_mapping() {
    let pool = PagePool::new();
    let with = Arc::new(());
    let mut pages = pool.allocate(&[100]).unwrap();
    let pages = pages.pop().unwrap().finish(Some(Box::new(Arc::clone(&with))));
    let mapped = map(vec![(pages, 0..100)]).unwrap();
    assert_eq!(Arc::strong_count(&with), 2);
    drop(mapped);
    assert_eq!(Arc::strong_count(&with), 1);
}

#[test]
fn a_part_beyond_its_pages_is_refused() {
    let pool = PagePool::new();
    let pieces = filled(&pool, 0, &[10]);
    assert!(map(vec![(Arc::clone(&pieces[0]), 0..44)]).is_none());
}

#[test]
fn mappings_end_before_the_systems_do() {
    assert!(Mappings::of(MAPPINGS_MAX + 1).is_none());
    let pool = PagePool::new();
    let pages = filled(&pool, 0, &[1024]).remove(0);
    let held: Vec<Buffer> =
        (0..100).map(|_| map(vec![(Arc::clone(&pages), 0..4096)]).expect("there is room")).collect();
    // Each is two: what is around it, and its one part.
    assert!(Mappings::of(MAPPINGS_MAX - 199).is_none());
    drop(held);
    assert!(Mappings::of(MAPPINGS_MAX / 2).is_some());
}
