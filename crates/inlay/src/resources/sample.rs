//! Samples of a Linux machine: what others use of its processors, and what is left of its memory.
//!
//! All counters grow from the machine's or the group's start; a sample is made of two readings. Files are read whole: each
//! takes some microseconds.

use super::cgroup::Groups;
use super::decide::Sample;
use super::{Machine, meminfo};
use inlay_exec::Activity;
use std::time::{Duration, Instant};

/// Counters as they are at a moment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    /// Processor time that was used: on the machine, in the group, in this process, by the pool's workers.
    machine: Duration,
    group: Option<Duration>,
    process: Duration,
    workers: Option<Duration>,
    /// Time in which something waited for a processor, and for memory.
    cpu_wait: Option<Duration>,
    memory_wait: Option<Duration>,
}

/// Makes samples. The first reading has nothing before it.
#[derive(Debug)]
pub struct Sampler {
    machine: Machine,
    groups: Groups,
    before: Option<Reading>,
}

/// Milliseconds of the unit of the times in `/proc/stat`, which Linux fixes for programs.
const TICK_MS: u64 = 10;
/// Readings closer to each other say too little, as ticks are long.
const ELAPSED_MIN: Duration = Duration::from_millis(40);
/// Readings further apart say little about now.
const ELAPSED_MAX: Duration = Duration::from_secs(2);

impl Sampler {
    /// A sampler of a machine; `None` where its processors' times are not to be seen.
    pub fn new(machine: Machine) -> Option<Self> {
        let groups = Groups::of(&machine.root);
        let mut sampler = Self { machine, groups, before: None };
        sampler.read(&Activity::default())?;
        sampler.before = None;
        Some(sampler)
    }

    /// What happened since the last sample; `None` if that was just now or long ago.
    pub fn sample(&mut self, activity: &Activity) -> Option<Sample> {
        let now = self.read(activity)?;
        let before = self.before?;
        let elapsed = now.at.duration_since(before.at);
        if elapsed < ELAPSED_MIN {
            return None;
        }
        self.before = Some(now);
        (elapsed <= ELAPSED_MAX).then(|| self.between(&before, &now, elapsed, activity))
    }

    fn between(&self, before: &Reading, now: &Reading, elapsed: Duration, activity: &Activity) -> Sample {
        let share =
            |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / elapsed.as_secs_f64();
        let share_of =
            |from: Option<Duration>, to: Option<Duration>| from.zip(to).map(|(from, to)| share(from, to));
        let process = share(before.process, now.process);
        let own = own_share(process, share_of(before.workers, now.workers), activity);
        let others = (share(before.machine, now.machine) - own).max(0.0);
        let processors = self.machine.allowed().unwrap_or(1) as f64;
        // In a group with a quota its other members count; the quota is had on top of what the machine has left.
        let quota = self.groups.cpu_quota();
        let in_group =
            share_of(before.group, now.group).map_or((process - own).max(0.0), |all| (all - own).max(0.0));
        let (processors, others) = match quota {
            Some(quota) if quota - in_group < processors - others => (quota, in_group),
            _ => (processors, others),
        };
        let (available, total) = self.memory();
        Sample {
            elapsed,
            processors,
            others,
            cpu_pressure: share_of(before.cpu_wait, now.cpu_wait).unwrap_or(0.0),
            memory_pressure: share_of(before.memory_wait, now.memory_wait).unwrap_or(0.0),
            memory_available: available,
            memory_total: total,
        }
    }

    /// Bytes that are left, and all there are: the machine's, or the group's if that has less left.
    fn memory(&self) -> (u64, u64) {
        let text = self.machine.text("proc/meminfo").unwrap_or_default();
        let of_machine = meminfo(&text, "MemAvailable:").zip(meminfo(&text, "MemTotal:")).unwrap_or((0, 0));
        match self.groups.memory_left() {
            Some((left, limit)) if limit < of_machine.1 && left < of_machine.0 => (left, limit),
            _ => of_machine,
        }
    }

    /// Reads all counters, and keeps the first reading.
    fn read(&mut self, activity: &Activity) -> Option<Reading> {
        let machine = machine_time(&self.machine.text("proc/stat")?)?;
        let process = process_time(&self.machine.text("proc/self/stat")?)?;
        let reading = Reading {
            at: Instant::now(),
            machine,
            group: self.groups.cpu_time(),
            process,
            workers: activity.workers_time,
            cpu_wait: self.machine.text("proc/pressure/cpu").and_then(|text| stalled(&text)),
            memory_wait: self.memory_wait(),
        };
        self.before.get_or_insert(reading);
        Some(reading)
    }

    /// Of the group where it is counted, or of the machine.
    fn memory_wait(&self) -> Option<Duration> {
        let text = self.groups.memory_pressure().or_else(|| self.machine.text("proc/pressure/memory"))?;
        stalled(&text)
    }
}

/// Processors' worth of time of the engine's threads. The workers' is measured; that of the threads that called them is
/// taken to be as much each, and no more than is left of the process's.
fn own_share(process: f64, workers: Option<f64>, activity: &Activity) -> f64 {
    let (callers, helpers) = (activity.callers as f64, activity.helpers as f64);
    let Some(workers) = workers else { return process.min(callers + helpers) };
    let each = if helpers > 0.0 { (workers / helpers).min(1.0) } else { 1.0 };
    workers + (callers * each).min((process - workers).max(0.0))
}

fn of_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks.saturating_mul(TICK_MS))
}

/// The time all processors were busy, of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal ...`.
fn machine_time(stat: &str) -> Option<Duration> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let busy = |index: usize| ticks.get(index).copied().unwrap_or(0);
    (ticks.len() >= 4).then(|| of_ticks([0, 1, 2, 5, 6, 7].map(busy).iter().sum()))
}

/// The time a process used, of `/proc/self/stat`, whose second field is a name in parentheses that may have spaces.
fn process_time(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ').skip(11);
    let (user, system): (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(of_ticks(user + system))
}

/// `total` of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=123` in microseconds.
fn stalled(pressure: &str) -> Option<Duration> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(Duration::from_micros(total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Tree;
    use super::*;

    /// Counters of a made-up machine: ticks of the machine and of the process, microseconds of waiting.
    fn write(tree: &Tree, machine: u64, process: u64, waited: u64) {
        let stat = format!("cpu  {machine} 0 0 5000 7 0 0 0 0 0\ncpu0 1 1 1 1\n");
        tree.write("proc/stat", &stat);
        let own = format!("12 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 {process} 0 0 0 20 0 9 0\n");
        tree.write("proc/self/stat", &own);
        let waits =
            format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={waited}\nfull avg10=0.00 total=0\n");
        tree.write("proc/pressure/cpu", &waits);
    }

    const FILES: [(&str, &str); 5] = [
        ("proc/stat", ""),
        ("proc/self/stat", ""),
        ("proc/self/status", "Cpus_allowed_list:\t0-3\n"),
        ("proc/pressure/cpu", ""),
        ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n"),
    ];

    /// The share of the elapsed time, which the test cannot choose, is compared with another of it.
    fn is_about(found: f64, expected: f64) -> bool {
        (found - expected).abs() < expected * 0.01 + 1e-6
    }

    #[test]
    fn others_are_what_the_pool_did_not_use() {
        let tree = Tree::new("sample", &FILES);
        assert!(Sampler::new(tree.machine()).is_none(), "empty files say nothing");
        write(&tree, 100, 50, 0);
        let mut sampler = Sampler::new(tree.machine()).unwrap();
        let activity =
            |millis| Activity { callers: 1, helpers: 2, workers_time: Some(Duration::from_millis(millis)) };
        assert!(sampler.sample(&activity(0)).is_none());
        std::thread::sleep(Duration::from_millis(100));
        // In 100 ms or more: the machine 400 ms, the process 260 ms, of which the two workers had 120 ms.
        write(&tree, 140, 76, 30_000);
        let sample = sampler.sample(&activity(120)).unwrap();
        let seconds = sample.elapsed.as_secs_f64();
        // Workers had 60 ms each, so the caller did, too.
        assert!(is_about(sample.others, (0.4 - 0.18) / seconds), "{sample:?}");
        assert!(is_about(sample.cpu_pressure, 0.03 / seconds), "{sample:?}");
        assert!(is_about(sample.processors, 4.0));
        assert_eq!((sample.memory_available, sample.memory_total), (400 << 10, 1000 << 10));
        assert!(sampler.sample(&activity(120)).is_none(), "too soon");
    }

    #[test]
    fn a_group_with_less_left_counts() {
        let mut files = FILES.to_vec();
        files.extend([
            ("proc/self/cgroup", "0::/box\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/box/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/box/cpu.stat", "usage_usec 1000\nuser_usec 5\n"),
            ("sys/fs/cgroup/box/memory.max", "300000\n"),
            ("sys/fs/cgroup/box/memory.current", "290000\n"),
            ("sys/fs/cgroup/box/memory.stat", "anon 5\ninactive_file 40000\n"),
        ]);
        let tree = Tree::new("sample-group", &files);
        write(&tree, 100, 50, 0);
        let mut sampler = Sampler::new(tree.machine()).unwrap();
        assert!(sampler.sample(&Activity::default()).is_none());
        std::thread::sleep(Duration::from_millis(60));
        write(&tree, 100, 50, 0);
        tree.write("sys/fs/cgroup/box/cpu.stat", "usage_usec 61000\n");
        let sample = sampler.sample(&Activity::default()).unwrap();
        assert!(is_about(sample.processors, 1.5));
        assert!(is_about(sample.others, 0.06 / sample.elapsed.as_secs_f64()), "{sample:?}");
        assert_eq!((sample.memory_available, sample.memory_total), (50_000, 300_000));
    }
}
