//! Claims about the log.

use super::*;
use crate::io::{Fault, MemoryDisk, RealDisk, SimulatedDisk};

const ID: u128 = 7;

fn path() -> &'static Path {
    Path::new("db.wal")
}

fn memory() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

fn body(lsn: u64) -> Vec<u8> {
    // Sizes around those of sectors, and bodies full of zeroes, which look most like what was never written.
    let size = [0, 1, 100, 400, 504, 1200, 2000][lsn as usize % 7];
    vec![if lsn.is_multiple_of(2) { 0 } else { lsn as u8 }; size]
}

fn open(disk: &Arc<dyn Disk>, after_lsn: u64) -> Result<(Wal, Vec<u64>)> {
    let mut seen = Vec::new();
    let wal = Wal::open(disk, path(), &Tie::of(ID, after_lsn), &mut |lsn, found| {
        assert_eq!(found, body(lsn));
        seen.push(lsn);
        Ok(())
    })?;
    Ok((wal, seen))
}

fn commit(wal: &Wal) -> Result<u64> {
    let lsn = wal.append(&body(wal.last_lsn() + 1))?;
    wal.sync_to(lsn, Synchronous::Full)?;
    Ok(lsn)
}

fn bytes_of(disk: &Arc<dyn Disk>) -> Vec<u8> {
    let file = disk.open(path(), OpenMode::ReadOnly).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn disk_with(bytes: &[u8]) -> Arc<dyn Disk> {
    let disk = memory();
    disk.open(path(), OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
    disk
}

/// What a reader finds in a log.
fn read(disk: &Arc<dyn Disk>) -> Result<Vec<u64>> {
    let mut seen = Vec::new();
    let end = WalReader::open(disk, Some(path()), Tie::of(ID, 0)).poll(&mut |lsn, found| {
        assert_eq!(found, body(lsn));
        seen.push(lsn);
        Ok(())
    });
    match end? {
        Poll::Unfit(error) => Err(error),
        Poll::UpTo(_) | Poll::Behind => Ok(seen),
    }
}

/// A log with `count` records, without most of the zeroes at its end.
fn log_of(count: u64) -> Vec<u8> {
    let disk = memory();
    let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
    (0..count).for_each(|_| assert!(commit(&wal).is_ok()));
    let mut bytes = bytes_of(&disk);
    bytes.truncate(wal.size() as usize + 700);
    bytes
}

#[test]
fn records_come_back_in_order_and_old_ones_are_forgotten() {
    let disk = memory();
    let (wal, seen) = open(&disk, 0).unwrap();
    assert!(seen.is_empty());
    (1..=20).for_each(|lsn| assert_eq!(commit(&wal).unwrap(), lsn));
    wal.restart(15, 0).unwrap();
    commit(&wal).unwrap();
    wal.verify().unwrap();
    drop(wal);
    assert_eq!(open(&disk, 15).unwrap().1, [16, 17, 18, 19, 20, 21]);
    assert_eq!(open(&disk, 18).unwrap().1, [19, 20, 21]);
    let (wal, seen) = open(&disk, 30).unwrap();
    assert_eq!((seen.len(), wal.append(b"").unwrap()), (0, 31));
}

#[test]
fn a_gap_and_a_log_of_another_database_are_refused() {
    let disk = memory();
    let wal = Wal::create(&disk, path(), &Tie::of(ID, 5), None).unwrap();
    commit(&wal).unwrap();
    drop(wal);
    let refused = |id, after| {
        Wal::open(&disk, path(), &Tie::of(id, after), &mut |_, _| Ok(())).unwrap_err().to_string()
    };
    assert!(refused(ID, 4).contains("begins after transaction 5"));
    assert!(refused(ID + 1, 5).contains("another database"));
}

#[test]
fn a_log_without_records_gives_way_to_that_of_another_database() {
    let disk = memory();
    let orphan = || Wal::expect_no_orphan(&disk, path(), Path::new("db"));
    orphan().unwrap();
    drop(Wal::create(&disk, path(), &Tie::of(ID + 1, 5), None).unwrap());
    orphan().unwrap();
    let (wal, seen) = open(&disk, 0).unwrap();
    assert!(seen.is_empty());
    commit(&wal).unwrap();
    drop(wal);
    let before = bytes_of(&disk);
    assert!(orphan().unwrap_err().to_string().contains("has transactions"));
    assert!(Wal::open(&disk, path(), &Tie::of(ID + 1, 0), &mut |_, _| Ok(())).is_err());
    assert_eq!(bytes_of(&disk), before);
    assert_eq!(open(&disk, 0).unwrap().1, [1]);
}

/// Two copies of a database have the same id. A log fits the file that names it, or whose state it was made for.
#[test]
fn a_log_fits_one_state_of_one_file() {
    let disk = memory();
    let made_for = |base| Tie { base, ..Tie::of(ID, 0) };
    let named = |salt, base| Tie { salt, base, ..Tie::of(ID, 0) };
    let wal = Wal::create(&disk, path(), &made_for(11), None).unwrap();
    commit(&wal).unwrap();
    let salt = wal.salt();
    drop(wal);
    let before = bytes_of(&disk);
    for (tie, fits) in [
        (named(salt, 12), true),
        (named(salt ^ 1, 11), true),
        (named(0, 12), true),
        (named(salt ^ 1, 12), false),
        (Tie { database_id: ID + 1, ..named(salt, 11) }, false),
    ] {
        let mut seen = 0;
        let opened = Wal::open(&disk, path(), &tie, &mut |_, _| {
            seen += 1;
            Ok(())
        });
        assert_eq!((opened.is_ok(), seen), (fits, u64::from(fits)), "{tie:?}");
        let unchanged = opened.is_err();
        drop(opened);
        assert!(!unchanged || bytes_of(&disk) == before);
        disk.open(path(), OpenMode::Truncate).unwrap().write_at(&before, 0).unwrap();
    }
}

#[test]
fn a_log_that_the_file_needs_has_to_be_there_and_long_enough() {
    let disk = memory();
    let tie = |expected| Tie { expected, file: "db".to_string(), ..Tie::of(ID, 0) };
    let error =
        |expected| Wal::open(&disk, path(), &tie(expected), &mut |_, _| Ok(())).unwrap_err().to_string();
    assert!(error(1).contains("does not exist"));
    assert!(!disk.exists(path()).unwrap());
    drop(Wal::create(&disk, path(), &Tie::of(ID + 1, 0), None).unwrap());
    assert!(error(1).contains("without transactions"));
    let (wal, _) = open(&disk, 0).unwrap();
    commit(&wal).unwrap();
    drop(wal);
    assert!(error(2).contains("ends with transaction 1"));
    assert!(Wal::open(&disk, path(), &tie(1), &mut |_, _| Ok(())).is_ok());
}

#[test]
fn a_log_in_use_is_not_taken_and_one_that_was_put_in_its_place_is_not_replaced() {
    let disk = memory();
    let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
    let taken = Wal::open(&disk, path(), &Tie::of(ID + 1, 0), &mut |_, _| Ok(()));
    assert!(matches!(taken, Err(Error::Locked { .. })));
    disk.rename(path(), Path::new("away.wal")).unwrap();
    assert_eq!(wal.leads().unwrap(), Leads::Nowhere);
    let other = Wal::create(&disk, path(), &Tie::of(ID + 1, 0), None).unwrap();
    assert_eq!(wal.leads().unwrap(), Leads::Elsewhere);
    commit(&other).unwrap();
    let before = bytes_of(&disk);
    assert!(matches!(wal.restart(0, 0), Err(Error::Locked { .. })));
    assert_eq!(bytes_of(&disk), before);
    assert!(!disk.exists(Path::new("db.wal.new")).unwrap());
    commit(&wal).unwrap();
}

#[test]
fn any_flipped_byte_is_detected_or_without_effect() {
    for count in [1, 2, 3, 4, 5, 6, 9] {
        let bytes = log_of(count);
        let disk = memory();
        let mut detected = 0;
        // The zeroes between the copies of the header are passed over in all but one log.
        let header = (0..600).chain(2000..2600);
        for at in header.chain(4096..bytes.len()) {
            for mask in [0xFF, 0x01, 0x80] {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                disk.open(path(), OpenMode::Truncate).unwrap().write_at(&flipped, 0).unwrap();
                let as_read = read(&disk);
                assert!(
                    !matches!(&as_read, Ok(seen) if seen.len() as u64 != count),
                    "byte {at} of {count} records"
                );
                match open(&disk, 0) {
                    Ok((_, seen)) => assert_eq!(seen.len() as u64, count, "byte {at} of {count} records"),
                    Err(Error::Corrupt { .. }) => detected += 1,
                    Err(error) => panic!("byte {at}: {error}"),
                }
            }
        }
        assert!(detected > 0);
    }
}

#[test]
fn a_log_cut_anywhere_is_a_prefix() {
    let bytes = log_of(9);
    let mut last = 0;
    for size in 0..=bytes.len() {
        let disk = disk_with(&bytes[..size]);
        let as_read = read(&disk).unwrap();
        let seen = match open(&disk, 0) {
            Ok((_, seen)) => seen,
            Err(error) => panic!("cut at {size}: {error}"),
        };
        assert_eq!(as_read, seen);
        assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
        assert!(seen.len() >= last);
        last = seen.len();
    }
    assert_eq!(last, 9);
}

#[test]
fn a_lost_sector_behind_which_others_were_acknowledged_is_detected() {
    let bytes = log_of(12);
    // The last record begins in the sector after which nothing proves anything.
    let sectors = (log_of(11).len() - 4096 - 700) / 512;
    let mut detected = 0;
    for sector in 0..sectors {
        let mut lost = bytes.clone();
        lost[4096 + sector * 512..][..512].fill(0);
        let disk = disk_with(&lost);
        assert!(matches!(read(&disk), Err(Error::Corrupt { .. })));
        match open(&disk, 0) {
            Ok((_, seen)) => panic!("sector {sector}: {} records", seen.len()),
            Err(Error::Corrupt { .. }) => detected += 1,
            Err(error) => panic!("sector {sector}: {error}"),
        }
    }
    assert_eq!(detected, sectors);
}

#[test]
fn unsynced_records_are_lost_torn_or_there_but_never_damage() {
    for synchronous in [Synchronous::Full, Synchronous::Normal, Synchronous::Off] {
        for seed in 0..150 {
            let simulated = SimulatedDisk::new(seed);
            let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
            let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
            let mut durable = 0;
            for _ in 0..seed % 9 {
                durable = commit(&wal).unwrap();
            }
            for _ in 0..12 {
                let lsn = wal.append(&body(wal.last_lsn() + 1)).unwrap();
                if synchronous != Synchronous::Full {
                    wal.sync_to(lsn, synchronous).unwrap();
                }
            }
            // In Full mode a group of twelve is in flight when the power fails at its sync.
            simulated.cut_power_at(simulated.calls() + usize::from(synchronous == Synchronous::Full));
            let _ = wal.sync_to(wal.last_lsn(), Synchronous::Full);
            let after: Arc<dyn Disk> = Arc::new(simulated.after_power_cut(seed));
            let (wal, seen) =
                open(&after, 0).unwrap_or_else(|error| panic!("{synchronous:?}, {seed}: {error}"));
            assert!(seen.len() as u64 >= durable);
            commit(&wal).unwrap();
        }
    }
}

#[test]
fn a_failed_sync_fails_everyone_from_then_on() {
    let simulated = SimulatedDisk::new(1);
    let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
    let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
    commit(&wal).unwrap();
    simulated.fail_call(simulated.calls() + 1, Fault::FailedSync);
    assert!(matches!(commit(&wal), Err(Error::Io { .. })));
    assert!(matches!(commit(&wal), Err(Error::ReadOnly { .. })));
    assert!(matches!(wal.restart(1, 0), Err(Error::ReadOnly { .. })));
}

/// The disk is full at one call after the other; what was acknowledged until then and afterwards is there, and no more.
#[test]
fn a_full_disk_fails_the_records_that_have_no_room_and_the_log_goes_on() {
    for (call, fault) in (0..6).flat_map(|call| [(call, Fault::Full), (call, Fault::ShortWrite)]) {
        let simulated = SimulatedDisk::new(1);
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
        (0..3).for_each(|_| assert!(commit(&wal).is_ok()));
        match fault {
            Fault::Full => simulated.fail_from(simulated.calls() + call, fault),
            _ => simulated.fail_call(simulated.calls() + call, fault),
        }
        let mut acknowledged = 3;
        let error = loop {
            // A write that was to stop short was a sync.
            if acknowledged > 20 {
                break None;
            }
            // Larger than what the file has grown by.
            let body = vec![acknowledged as u8 + 1; 200_000];
            match wal.append(&body).and_then(|lsn| wal.sync_to(lsn, Synchronous::Full)) {
                Ok(()) => acknowledged += 1,
                Err(error) => break Some(error),
            }
        };
        let Some(error) = error else { continue };
        assert!(matches!(error.sqlstate(), "53100" | "58030"), "{call}: {error}");
        assert_eq!(wal.failure(), None, "{call}");
        // Whoever appended before cannot take the numbers for its own.
        let (epoch, kept) = wal.epoch(0);
        assert_eq!((epoch, kept), (1, Some(acknowledged)));
        assert!(wal.sync_in(0, acknowledged + 1, Synchronous::Full).is_err());
        assert!(wal.append_in(0, b"x").is_err());
        wal.sync_in(0, acknowledged, Synchronous::Full).unwrap();
        simulated.repair();
        let lsn = wal.append(&[9; 300]).unwrap();
        assert_eq!(lsn, acknowledged + 1);
        wal.sync_to(lsn, Synchronous::Full).unwrap();
        wal.verify().unwrap();
        drop(wal);
        for disk in [simulated.after_power_cut(call as u64), simulated] {
            let disk: Arc<dyn Disk> = Arc::new(disk);
            let mut seen = Vec::new();
            Wal::open(&disk, path(), &Tie::of(ID, 0), &mut |lsn, body| {
                seen.push((lsn, body.len()));
                Ok(())
            })
            .unwrap();
            assert_eq!(seen.len() as u64, lsn);
            assert_eq!(seen.last(), Some(&(lsn, 300)));
        }
    }
}

#[test]
fn committers_share_a_sync() {
    let simulated = SimulatedDisk::new(1);
    let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
    let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let lsn = wal.append(b"x").unwrap();
                    wal.sync_to(lsn, Synchronous::Full).unwrap();
                    assert!(wal.durable_lsn() >= lsn);
                }
            });
        }
        scope.spawn(|| (0..10).for_each(|_| wal.restart(wal.durable_lsn(), 0).unwrap()));
    });
    assert_eq!(wal.durable_lsn(), 400);
}

#[test]
fn a_reader_follows_and_notices_a_restart() {
    let disk = memory();
    let mut reader = WalReader::open(&disk, Some(path()), Tie::of(ID, 0));
    let mut seen = Vec::new();
    let poll = |reader: &mut WalReader, seen: &mut Vec<u64>| {
        reader
            .poll(&mut |lsn, _| {
                seen.push(lsn);
                Ok(())
            })
            .unwrap()
    };
    assert_eq!(poll(&mut reader, &mut seen), Poll::UpTo(0));
    let wal = Wal::create(&disk, path(), &Tie::of(ID, 0), None).unwrap();
    commit(&wal).unwrap();
    assert_eq!(poll(&mut reader, &mut seen), Poll::UpTo(1));
    commit(&wal).unwrap();
    commit(&wal).unwrap();
    wal.restart(1, 0).unwrap();
    assert_eq!(poll(&mut reader, &mut seen), Poll::UpTo(3));
    commit(&wal).unwrap();
    wal.restart(4, 0).unwrap();
    assert_eq!(poll(&mut reader, &mut seen), Poll::Behind);
    reader.advance_to(4);
    commit(&wal).unwrap();
    assert_eq!(poll(&mut reader, &mut seen), Poll::UpTo(5));
    assert_eq!(seen, [1, 2, 3, 5]);
}

/// Prints how long commits take; run by name.
#[test]
#[ignore = "measures the disk"]
fn speed_of_commits() {
    let directory = std::env::current_dir().unwrap().join(format!("inlay-wal-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let wal = Wal::create(&disk, &directory.join("log"), &Tie::of(ID, 0), None).unwrap();
    let start = std::time::Instant::now();
    for _ in 0..1000 {
        let lsn = wal.append(&[1; 60]).unwrap();
        wal.sync_to(lsn, Synchronous::Full).unwrap();
    }
    println!("1,000 commits: {:?}", start.elapsed());
    let file = std::fs::File::create(directory.join("growing")).unwrap();
    let start = std::time::Instant::now();
    for at in 0..1000 {
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 120], at * 120).unwrap();
        file.sync_data().unwrap();
    }
    println!("1,000 syncs of a growing file: {:?}", start.elapsed());
    std::fs::remove_dir_all(&directory).unwrap();
}
