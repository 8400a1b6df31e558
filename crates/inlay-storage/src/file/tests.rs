//! Claims about the database file, alone and with its log.

use super::*;
use crate::bytes::{ByteReader, ByteWriter};
use crate::io::{Fault, MemoryDisk, SimulatedDisk};
use crate::wal::{Synchronous, Tie, Wal};
use std::sync::Weak;

fn path() -> &'static Path {
    Path::new("db")
}

fn log_path() -> &'static Path {
    Path::new("db.wal")
}

/// The smallest database: its transactions append numbers, a checkpoint writes the new ones as a segment, and now and
/// then all of them as one.
struct Tiny {
    file: Arc<BlockFile>,
    wal: Wal,
    values: Vec<u64>,
    stored: usize,
    segments: Vec<Arc<StoredObject>>,
    catalog: Option<Arc<StoredObject>>,
    checkpoints: u64,
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

fn bytes_of(values: &[u64]) -> Vec<u8> {
    // Longer than a block, so that an object can be torn.
    values.iter().flat_map(|value| value.to_le_bytes().repeat(100)).collect()
}

impl Tiny {
    fn open(disk: &Arc<dyn Disk>) -> Result<Self> {
        let exists = disk.exists(path()).map_err(|error| Error::io("exists", "db", &error))?;
        let (file, root) = if exists {
            BlockFile::open(&**disk, path(), false)?
        } else {
            (BlockFile::create(&**disk, path())?, Root::default())
        };
        let (segments, catalog) = read_catalog(&file, root)?;
        let mut values = Vec::new();
        for segment in &segments {
            values.extend(numbers(&segment.read()?).into_iter().step_by(100));
        }
        let stored = values.len();
        assert_eq!(stored as u64, root.lsn);
        let tie = Tie::of(file.database_id(), root.lsn);
        let wal = Wal::open(disk, log_path(), &tie, &mut |lsn, body| {
            values.push(numbers(body)[0]);
            assert_eq!(values.len() as u64, lsn);
            Ok(())
        })?;
        Ok(Self { file, wal, values, stored, segments, catalog, checkpoints: 0 })
    }

    fn commit(&mut self) -> Result<()> {
        let value = self.values.len() as u64;
        let lsn = self.wal.append(&value.to_le_bytes().repeat(1 + (value as usize % 5) * 40))?;
        self.values.push(value);
        self.wal.sync_to(lsn, Synchronous::Full)
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.checkpoints += 1;
        let mut segments = self.segments.clone();
        let mut retired = Vec::new();
        let from = if self.checkpoints.is_multiple_of(3) {
            retired.append(&mut segments);
            0
        } else {
            self.stored
        };
        let store = |kind, payload: &[u8]| -> Result<Arc<StoredObject>> {
            let ptr = self.file.write_object(kind, 1, payload)?;
            Ok(Arc::new(StoredObject { file: self.file.clone(), ptr, kind }))
        };
        segments.push(store(ObjectKind::Segment, &bytes_of(&self.values[from..]))?);
        let mut writer = ByteWriter::new();
        segments.iter().for_each(|segment| segment.ptr.write(&mut writer));
        let catalog = store(ObjectKind::Catalog, writer.as_bytes())?;
        retired.extend(self.catalog.clone());
        let lsn = self.values.len() as u64;
        self.file.publish(Root { lsn, catalog: catalog.ptr, extra: 0 }, retired)?;
        (self.segments, self.catalog, self.stored) = (segments, Some(catalog), self.values.len());
        self.wal.restart(lsn, 0)
    }

    fn verify(&self) {
        let reached = self.segments.iter().chain(&self.catalog).map(|object| object.ptr);
        assert_eq!(self.file.verify_space(&reached.collect::<Vec<_>>()), Vec::<String>::new());
        assert_eq!(self.values, (0..self.values.len() as u64).collect::<Vec<_>>());
    }
}

type Catalog = (Vec<Arc<StoredObject>>, Option<Arc<StoredObject>>);

fn read_catalog(file: &Arc<BlockFile>, root: Root) -> Result<Catalog> {
    if root.catalog.is_none() {
        return Ok((Vec::new(), None));
    }
    let handle = |kind, ptr| Arc::new(StoredObject { file: file.clone(), ptr, kind });
    let catalog = handle(ObjectKind::Catalog, root.catalog);
    let bytes = catalog.read()?;
    let mut reader = ByteReader::new(&bytes);
    let mut segments = Vec::new();
    while reader.remaining() > 0 {
        segments.push(handle(ObjectKind::Segment, ObjectPtr::read(&mut reader)?));
    }
    Ok((segments, Some(catalog)))
}

/// Runs the script until something fails; the number of acknowledged and of attempted transactions.
fn script(disk: &Arc<dyn Disk>) -> (usize, usize) {
    let mut acknowledged = 0;
    let mut attempted = 0;
    let mut run = || -> Result<()> {
        let mut tiny = Tiny::open(disk)?;
        for round in 0..5 {
            for _ in 0..=round % 3 {
                attempted += 1;
                tiny.commit()?;
                acknowledged += 1;
            }
            tiny.checkpoint()?;
        }
        attempted += 1;
        tiny.commit()?;
        acknowledged += 1;
        Ok(())
    };
    let _ = run();
    (acknowledged, attempted)
}

fn expect_recovery(disk: SimulatedDisk, acknowledged: usize, attempted: usize, what: &str) {
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let mut tiny = Tiny::open(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let count = tiny.values.len();
    assert!((acknowledged..=attempted).contains(&count), "{what}: {count} of {acknowledged} to {attempted}");
    tiny.commit().unwrap();
    tiny.checkpoint().unwrap();
    drop(tiny);
    let tiny = Tiny::open(&disk).unwrap_or_else(|error| panic!("{what}, again: {error}"));
    assert_eq!(tiny.values.len(), count + 1);
    tiny.verify();
}

fn script_calls() -> usize {
    let disk = SimulatedDisk::new(1);
    let (acknowledged, attempted) = script(&(Arc::new(disk.clone()) as Arc<dyn Disk>));
    assert_eq!(acknowledged, attempted);
    disk.calls()
}

#[test]
fn a_power_cut_at_any_call_leaves_all_acknowledged_transactions() {
    for call in 0..script_calls() {
        let disk = SimulatedDisk::new(1);
        disk.cut_power_at(call);
        let (acknowledged, attempted) = script(&(Arc::new(disk.clone()) as Arc<dyn Disk>));
        for seed in 0..6 {
            let what = format!("cut at {call}, seed {seed}");
            expect_recovery(disk.after_power_cut(seed), acknowledged, attempted, &what);
        }
    }
}

#[test]
fn any_failing_call_leaves_all_acknowledged_transactions() {
    for call in 0..script_calls() {
        for fault in [Fault::Eio, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync] {
            let disk = SimulatedDisk::new(1);
            disk.fail_call(call, fault);
            let (acknowledged, attempted) = script(&(Arc::new(disk.clone()) as Arc<dyn Disk>));
            disk.repair();
            let what = format!("{fault:?} at {call}");
            expect_recovery(disk.after_power_cut(call as u64), acknowledged, attempted, &what);
            // The process ends and another one goes on with what the system's cache has; then the power fails.
            let (_, _) = script(&(Arc::new(disk.clone()) as Arc<dyn Disk>));
            expect_recovery(
                disk.after_power_cut(call as u64),
                acknowledged,
                1000,
                &format!("{what}, reopened"),
            );
        }
    }
}

fn small_database() -> (Arc<dyn Disk>, Vec<u64>) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut tiny = Tiny::open(&disk).unwrap();
    for _ in 0..2 {
        tiny.commit().unwrap();
        tiny.checkpoint().unwrap();
    }
    (disk, tiny.values.clone())
}

fn contents(disk: &dyn Disk, read_only: bool) -> Result<Vec<u64>> {
    let (file, root) = BlockFile::open(disk, path(), read_only)?;
    let mut values = Vec::new();
    for segment in read_catalog(&file, root)?.0 {
        values.extend(numbers(&segment.read()?).into_iter().step_by(100));
    }
    Ok(values)
}

fn bytes_in(disk: &dyn Disk) -> (Arc<dyn DiskFile>, Vec<u8>) {
    let file = disk.open(path(), OpenMode::ReadWrite).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    (file, bytes)
}

#[test]
fn any_flipped_byte_is_detected_or_without_effect() {
    let (disk, values) = small_database();
    let (file, bytes) = bytes_in(&*disk);
    let mut detected = 0;
    for (at, byte) in bytes.iter().enumerate() {
        for mask in [0xFF, 0x01, 0x80] {
            file.write_at(&[byte ^ mask], at as u64).unwrap();
            for read_only in [true, false].into_iter().take(if at.is_multiple_of(7) { 2 } else { 1 }) {
                match contents(&*disk, read_only) {
                    Ok(found) => assert_eq!(found, values, "byte {at}"),
                    Err(Error::Corrupt { .. }) => detected += 1,
                    Err(error) => panic!("byte {at}: {error}"),
                }
            }
            file.write_at(&[*byte], at as u64).unwrap();
        }
    }
    assert!(detected > 1000);
}

#[test]
fn any_cut_is_detected_or_without_effect() {
    let (disk, values) = small_database();
    let (file, bytes) = bytes_in(&*disk);
    for size in 1..bytes.len() {
        file.set_size(size as u64).unwrap();
        match contents(&*disk, true) {
            Ok(found) => assert_eq!(found, values, "cut at {size}"),
            Err(Error::Corrupt { .. } | Error::InvalidArgument { .. }) => {}
            Err(error) => panic!("cut at {size}: {error}"),
        }
        file.write_at(&bytes, 0).unwrap();
    }
}

#[test]
fn swapped_blocks_and_old_blocks_are_detected_or_without_effect() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut tiny = Tiny::open(&disk).unwrap();
    let mut olds = Vec::new();
    for _ in 0..5 {
        tiny.commit().unwrap();
        tiny.checkpoint().unwrap();
        olds.push(bytes_in(&*disk).1);
    }
    let values = tiny.values.clone();
    drop(tiny);
    let (file, bytes) = bytes_in(&*disk);
    let check = |what: &str| match contents(&*disk, true) {
        Ok(found) => assert_eq!(found, values, "{what}"),
        Err(Error::Corrupt { .. }) => {}
        Err(error) => panic!("{what}: {error}"),
    };
    let blocks: Vec<&[u8]> = bytes.chunks(BLOCK_SIZE as usize).collect();
    for a in 0..blocks.len() {
        for b in 0..a {
            file.write_at(blocks[a], b as u64 * BLOCK_SIZE).unwrap();
            file.write_at(blocks[b], a as u64 * BLOCK_SIZE).unwrap();
            check(&format!("blocks {a} and {b} swapped"));
            file.write_at(&bytes, 0).unwrap();
        }
        for old in olds.iter().filter(|old| old.len() >= (a + 1) * BLOCK_SIZE as usize) {
            file.write_at(&old[a * BLOCK_SIZE as usize..][..BLOCK_SIZE as usize], a as u64 * BLOCK_SIZE)
                .unwrap();
            check(&format!("an old block {a}"));
            file.write_at(&bytes, 0).unwrap();
        }
    }
}

#[test]
fn a_file_of_another_kind_is_named() {
    let disk = MemoryDisk::new();
    let file = disk.open(path(), OpenMode::Create).unwrap();
    for (bytes, name) in [
        (&b"SQLite format 3\0...."[..], "SQLite"),
        (b"\0\0\0\0\0\0\0\0DUCK....", "DuckDB"),
        (b"PAR1......", "Parquet"),
        (b"a,b\n1,2\n", "text"),
    ] {
        file.set_size(0).unwrap();
        file.write_at(bytes, 0).unwrap();
        for read_only in [true, false] {
            let error = BlockFile::open(&disk, path(), read_only).unwrap_err().to_string();
            assert!(error.contains("not an Inlay database") && error.contains(name), "{error}");
        }
    }
}

#[test]
fn one_process_writes_and_others_read() {
    let disk = MemoryDisk::new();
    let writer = BlockFile::create(&disk, path()).unwrap();
    let error = BlockFile::open(&disk, path(), false).unwrap_err();
    assert!(matches!(&error, Error::Locked { message } if message.contains("read_only")), "{error}");
    let (reader, _) = BlockFile::open(&disk, path(), true).unwrap();
    assert!(matches!(reader.write_object(ObjectKind::Segment, 0, b""), Err(Error::ReadOnly { .. })));
    drop(writer);
    BlockFile::open(&disk, path(), false).unwrap();
}

#[test]
fn blocks_are_reused_when_no_handle_and_no_reader_needs_them() {
    let disk = MemoryDisk::new();
    let writer = BlockFile::create(&disk, path()).unwrap();
    let object = |payload: &[u8]| {
        let kind = ObjectKind::Catalog;
        let ptr = writer.write_object(kind, 0, payload).unwrap();
        Arc::new(StoredObject { file: writer.clone(), ptr, kind })
    };
    let root = |object: &Arc<StoredObject>, lsn| Root { lsn, catalog: object.ptr, extra: 0 };
    let first = object(&[1; 20_000]);
    writer.publish(root(&first, 1), vec![]).unwrap();
    let (reader, seen) = BlockFile::open(&disk, path(), true).unwrap();
    let second = object(&[2; 100]);
    writer.publish(root(&second, 2), vec![first.clone()]).unwrap();
    drop(first);
    let before = writer.block_count();
    writer.shrink().unwrap();
    let third = object(&[3; 19_000]);
    assert_eq!(*reader.read_object(ObjectKind::Catalog, seen.catalog).unwrap(), [1; 20_000]);
    assert!(writer.block_count() > before, "the reader's blocks are not reused");
    let old = reader.generation_lock();
    let now = reader.refresh().unwrap().unwrap();
    assert_eq!(*reader.read_object(ObjectKind::Catalog, now.catalog).unwrap(), [2; 100]);
    writer.reclaim().unwrap();
    assert!(writer.space().pending_count >= 5, "a lock of the old generation is held");
    drop(old);
    writer.reclaim().unwrap();
    assert_eq!(writer.space().pending_count, 0);
    let handle = object(&[4; 19_500]);
    assert_eq!(handle.ptr.block, seen.catalog.block);
    drop((third, reader));
    writer.publish(root(&handle, 3), vec![second]).unwrap();
    assert_eq!(Weak::strong_count(&Arc::downgrade(&handle)), 1);
}

#[test]
fn a_full_disk_leaves_the_file_usable_and_a_failed_sync_does_not() {
    let disk = SimulatedDisk::new(1);
    let file = BlockFile::create(&disk, path()).unwrap();
    disk.fail_call(disk.calls(), Fault::NoSpace);
    assert!(matches!(file.write_object(ObjectKind::Segment, 0, &[1; 9000]), Err(Error::DiskFull { .. })));
    let ptr = file.write_object(ObjectKind::Segment, 0, &[1; 9000]).unwrap();
    disk.fail_call(disk.calls(), Fault::FailedSync);
    assert!(matches!(file.sync(), Err(Error::Io { .. })));
    assert!(matches!(file.sync(), Err(Error::ReadOnly { .. })));
    assert!(matches!(file.publish(Root::default(), vec![]), Err(Error::ReadOnly { .. })));
    assert_eq!(*file.read_object(ObjectKind::Segment, ptr).unwrap(), [1; 9000]);
}

#[test]
fn objects_of_the_log_are_claimed_once_and_those_of_lost_transactions_are_free() {
    let disk = MemoryDisk::new();
    let file = BlockFile::create(&disk, path()).unwrap();
    let write = |byte| file.write_object(ObjectKind::Segment, 0, &[byte; 5000]).unwrap();
    let (committed, lost, catalog) = (write(1), write(2), write(3));
    file.hold(committed, Some(7));
    file.hold(lost, None);
    file.publish(Root { lsn: 6, catalog, extra: 0 }, vec![]).unwrap();
    let late = write(4);
    drop(file);
    let (file, _) = BlockFile::open(&disk, path(), false).unwrap();
    file.claim(committed).unwrap();
    file.claim(late).unwrap();
    assert!(file.claim(committed).is_err());
    assert!(file.claim(catalog).is_err());
    assert_eq!(file.verify_space(&[committed, catalog, late]), Vec::<String>::new());
    assert_eq!(file.write_object(ObjectKind::Segment, 0, &[5; 5000]).unwrap().block, lost.block);
    assert!(!file.verify_space(&[committed, lost, lost, catalog, late]).is_empty());
}

#[test]
fn salvage_finds_what_is_intact_without_headers() {
    let (disk, _) = small_database();
    let (file, bytes) = bytes_in(&*disk);
    let mut intact = 0;
    salvage(&*disk, path(), &mut |_| {
        intact += 1;
        Ok(())
    })
    .unwrap();
    file.write_at(&[0xAA; HEADERS_SIZE], 0).unwrap();
    file.write_at(&[bytes[2 * 4096 + 100] ^ 1], 2 * 4096 + 100).unwrap();
    let mut found = Vec::new();
    let report = salvage(&*disk, path(), &mut |object| {
        found.push((object.kind, object.owner));
        Ok(())
    })
    .unwrap();
    assert_eq!((report.intact, report.damaged), (intact - 1, 1));
    assert!(found.contains(&(ObjectKind::Segment, 1)) && found.contains(&(ObjectKind::Catalog, 1)));
}

#[test]
fn verify_names_a_damaged_header_copy_and_readers_can_verify() {
    let (disk, _) = small_database();
    let (file, root) = BlockFile::open(&*disk, path(), true).unwrap();
    let (segments, catalog) = read_catalog(&file, root).unwrap();
    let reached: Vec<_> = segments.iter().chain(&catalog).map(|object| object.ptr).collect();
    assert_eq!(file.verify_space(&reached), Vec::<String>::new());
    assert!(file.verify_space(&reached[1..])[0].contains("neither reached nor free"));
    disk.open(path(), OpenMode::ReadWrite).unwrap().write_at(&[1], 100).unwrap();
    assert!(file.verify_space(&reached)[0].contains("header is damaged"));
}

#[test]
fn threads_write_objects_beside_checkpoints() {
    let disk = MemoryDisk::new();
    let file = BlockFile::create(&disk, path()).unwrap();
    let kept = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (file, kept) = (&file, &kept);
            scope.spawn(move || {
                for round in 0..100u64 {
                    let payload = vec![thread as u8; (round as usize * 977) % 20_000];
                    let ptr = file.write_object(ObjectKind::Segment, thread, &payload).unwrap();
                    if round.is_multiple_of(3) { file.discard(ptr) } else { kept.lock().push((ptr, payload)) }
                }
            });
        }
        scope
            .spawn(|| (0..20).for_each(|lsn| file.publish(Root { lsn, ..Root::default() }, vec![]).unwrap()));
    });
    let kept = kept.into_inner();
    for (ptr, payload) in &kept {
        assert_eq!(*file.read_object(ObjectKind::Segment, *ptr).unwrap(), **payload);
    }
    file.reclaim().unwrap();
    assert_eq!(
        file.verify_space(&kept.iter().map(|(ptr, _)| *ptr).collect::<Vec<_>>()),
        Vec::<String>::new()
    );
}

/// Opening says which version a file of a later program has, and what opens it.
#[test]
fn a_newer_format_is_refused_with_its_version() {
    for read_only in [true, false] {
        let (disk, _) = small_database();
        let file = disk.open(path(), OpenMode::ReadWrite).unwrap();
        let newest = read_headers(&*file, "t.db").unwrap().0.unwrap().header;
        let later = Header { version: FORMAT_VERSION_MAX + 1, ..newest };
        for (copy, offset) in header::offsets(later.generation).into_iter().enumerate() {
            file.write_at(&later.to_bytes(copy), offset).unwrap();
        }
        drop(file);
        let error = BlockFile::open(&*disk, path(), read_only).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.sqlstate(), "0A000");
        assert!(message.contains(&format!("has format version {}", FORMAT_VERSION_MAX + 1)), "{message}");
        assert!(message.contains("open it with a newer one"), "{message}");
    }
}
