//! Claims about disks.

use super::*;

fn path() -> &'static Path {
    Path::new("a file")
}

/// A directory that is removed when it goes out of scope.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("inlay-io-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn behaves_like_a_disk(disk: &dyn Disk, path: &Path) {
    assert_eq!(disk.open(path, OpenMode::ReadOnly).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(disk.identity(path).unwrap(), None);
    let file = disk.open(path, OpenMode::Create).unwrap();
    file.write_at(b"abc", 2).unwrap();
    let mut bytes = [9; 5];
    file.read_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"\0\0abc");
    assert_eq!(file.read_at(&mut bytes, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    file.set_size(3).unwrap();
    file.set_size(4).unwrap();
    file.read_at(&mut bytes[..4], 0).unwrap();
    assert_eq!(&bytes[..4], b"\0\0a\0");
    file.sync().unwrap();
    let other = disk.open(path, OpenMode::ReadOnly).unwrap();
    assert!(other.write_at(b"x", 0).is_err());
    let far = 1 << 62;
    assert!(other.try_lock(far + 7, LockKind::Shared).unwrap());
    assert!(file.is_locked(far..far + 8).unwrap());
    assert!(!file.is_locked(far..far + 7).unwrap());
    assert!(!file.try_lock(far + 7, LockKind::Exclusive).unwrap());
    drop(other);
    assert!(file.try_lock(far + 7, LockKind::Exclusive).unwrap());
    assert!(!file.is_locked(far..far + 8).unwrap(), "one's own locks do not count");
    let identity = disk.identity(path).unwrap();
    let renamed = path.with_file_name("renamed");
    disk.rename(path, &renamed).unwrap();
    assert_eq!(disk.identity(&renamed).unwrap(), identity);
    assert!(!disk.exists(path).unwrap());
    disk.sync_directory(&renamed).unwrap();
    disk.remove(&renamed).unwrap();
    assert_ne!(disk.random(), disk.random());
}

#[test]
fn all_disks_behave_alike() {
    behaves_like_a_disk(&MemoryDisk::new(), path());
    behaves_like_a_disk(&SimulatedDisk::new(1), path());
    let directory = Directory::new("alike");
    behaves_like_a_disk(&RealDisk, &directory.0.join("file"));
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_any_part_of_the_rest() {
    let disk = SimulatedDisk::new(1);
    let file = disk.open(path(), OpenMode::Create).unwrap();
    file.write_at(&[1; 1024], 0).unwrap();
    file.sync().unwrap();
    disk.sync_directory(path()).unwrap();
    file.write_at(&[2; 1536], 0).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let bytes = disk.after_power_cut(seed).file(path()).unwrap();
        assert!(bytes.chunks(512).all(|sector| sector.windows(2).all(|pair| pair[0] == pair[1])));
        seen.insert(bytes.chunks(512).map(|sector| sector[0]).collect::<Vec<_>>());
    }
    for expected in [vec![1, 1], vec![2, 1], vec![1, 2, 2], vec![2, 2, 0], vec![2, 2, 2]] {
        assert!(seen.contains(&expected), "{expected:?} is not in {seen:?}");
    }
}

#[test]
fn what_a_failed_sync_covered_may_be_lost_after_a_later_one() {
    let disk = SimulatedDisk::new(1);
    let file = disk.open(path(), OpenMode::Create).unwrap();
    file.write_at(&[1; 512], 0).unwrap();
    disk.sync_directory(path()).unwrap();
    file.sync().unwrap();
    file.write_at(&[2; 512], 0).unwrap();
    disk.fail_call(disk.calls(), Fault::FailedSync);
    assert!(file.sync().is_err());
    file.sync().unwrap();
    let values: std::collections::BTreeSet<u8> =
        (0..50).map(|seed| disk.after_power_cut(seed).file(path()).unwrap()[0]).collect();
    assert_eq!(values, [1, 2].into());
}

#[test]
fn names_are_durable_after_a_sync_of_their_directory() {
    let disk = SimulatedDisk::new(1);
    disk.open(path(), OpenMode::Create).unwrap().sync().unwrap();
    let there =
        |disk: &SimulatedDisk| (0..50).filter(|s| disk.after_power_cut(*s).file(path()).is_some()).count();
    assert!((1..50).contains(&there(&disk)));
    disk.sync_directory(path()).unwrap();
    assert_eq!(there(&disk), 50);
}
