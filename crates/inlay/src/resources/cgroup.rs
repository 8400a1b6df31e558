//! Control groups of Linux, of both versions: where the process's groups are, and what they and their parents allow.
//!
//! `/proc/self/cgroup` names the group in each hierarchy, `/proc/self/mountinfo` says where a hierarchy, or the part of it
//! that a container sees, is mounted. A limit holds for all groups below, so the least on the way up counts.
//! Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, scheduler/sched-bwc.rst.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which hierarchy a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    /// The one of version 2.
    Unified,
    /// That of a controller, of version 1.
    Of(&'static str),
}

/// The folders of the process's groups, each with its parents, innermost first.
#[derive(Debug, Default)]
pub struct Groups {
    unified: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

impl Groups {
    /// Those of the process whose `/proc` and `/sys` are below `root`.
    pub fn of(root: &Path) -> Self {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let (Some(groups), Some(mounts)) = (read("proc/self/cgroup"), read("proc/self/mountinfo")) else {
            return Self::default();
        };
        let folders = |hierarchy| folders(root, &groups, &mounts, hierarchy).unwrap_or_default();
        Self {
            unified: folders(Hierarchy::Unified),
            cpu: folders(Hierarchy::Of("cpu")),
            memory: folders(Hierarchy::Of("memory")),
        }
    }

    /// Processors' worth of time that the groups may use.
    pub fn cpu_quota(&self) -> Option<f64> {
        self.quotas().map(|(quota, _)| quota).min_by(f64::total_cmp)
    }

    /// Processor time that all of the group with the least quota has used.
    pub fn cpu_time(&self) -> Option<Duration> {
        let (_, folder) = self.quotas().min_by(|left, right| left.0.total_cmp(&right.0))?;
        let second = || {
            let stat = text(folder, "cpu.stat")?;
            let used = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            Some(Duration::from_micros(used.parse().ok()?))
        };
        let first = || Some(Duration::from_nanos(text(folder, "cpuacct.usage")?.parse().ok()?));
        second().or_else(first)
    }

    /// Quotas on the way up, and whose they are.
    fn quotas(&self) -> impl Iterator<Item = (f64, &Path)> {
        let second = self.unified.iter().filter_map(|folder| {
            let text = text(folder, "cpu.max")?;
            let (quota, period) = text.split_once(' ')?;
            Some((share(quota, period)?, folder.as_path()))
        });
        let first = self.cpu.iter().filter_map(|folder| {
            let quota = share(&text(folder, "cpu.cfs_quota_us")?, &text(folder, "cpu.cfs_period_us")?)?;
            Some((quota, folder.as_path()))
        });
        second.chain(first)
    }

    /// Bytes of memory that the groups may use, or from which on they are slowed down.
    pub fn memory_limit(&self) -> Option<u64> {
        let second = self.unified.iter().flat_map(|folder| {
            ["memory.max", "memory.high"].map(|name| text(folder, name)?.parse::<u64>().ok())
        });
        let first = self.memory.iter().map(|folder| text(folder, "memory.limit_in_bytes")?.parse().ok());
        // 0 is a group that is being emptied.
        second.chain(first).flatten().filter(|bytes| *bytes > 0).min()
    }

    /// Bytes of memory that are left in the group that has least left, and its limit. What the system keeps of files that
    /// were not used lately counts as left.
    pub fn memory_left(&self) -> Option<(u64, u64)> {
        let left = |folder: &PathBuf, limits: &[&str], used: &str, inactive: &str| {
            let limit = limits.iter().filter_map(|name| text(folder, name)?.parse::<u64>().ok()).min()?;
            let used: u64 = text(folder, used)?.parse().ok()?;
            let stat = text(folder, "memory.stat").unwrap_or_default();
            let inactive =
                stat.lines().find_map(|line| line.strip_prefix(inactive)?.trim().parse::<u64>().ok());
            Some((limit.saturating_sub(used.saturating_sub(inactive.unwrap_or(0))), limit))
        };
        let second = self.unified.iter().filter_map(|folder| {
            left(folder, &["memory.max", "memory.high"], "memory.current", "inactive_file ")
        });
        let first = self.memory.iter().filter_map(|folder| {
            left(folder, &["memory.limit_in_bytes"], "memory.usage_in_bytes", "total_inactive_file ")
        });
        second.chain(first).min()
    }

    /// `memory.pressure` of the group itself.
    pub fn memory_pressure(&self) -> Option<String> {
        text(self.unified.first()?, "memory.pressure")
    }
}

/// `quota` of a `period`, both in microseconds; none for `max` and -1.
fn share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.trim().parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn text(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_string())
}

/// The group's folder in a hierarchy and those above it, as far as they are mounted.
fn folders(root: &Path, groups: &str, mounts: &str, hierarchy: Hierarchy) -> Option<Vec<PathBuf>> {
    let group = groups.lines().find_map(|line| group_path(line, hierarchy))?;
    let (part, mounted) = mounts.lines().find_map(|line| mount(line, hierarchy))?;
    // What is mounted may be a part of the hierarchy: that of a container.
    let inner = Path::new(group).strip_prefix(&part).unwrap_or(Path::new(""));
    let is_below = inner.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let top = root.join(mounted.strip_prefix('/')?);
    let mut folder = if is_below { top.join(inner) } else { top.clone() };
    let mut all = vec![folder.clone()];
    while folder != top && folder.pop() {
        all.push(folder.clone());
    }
    Some(all)
}

/// The path of a line of `/proc/self/cgroup`, `number:controllers:path`, if it is of this hierarchy.
fn group_path(line: &str, hierarchy: Hierarchy) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let is_it = match hierarchy {
        Hierarchy::Unified => number == "0" && controllers.is_empty(),
        Hierarchy::Of(name) => controllers.split(',').any(|controller| controller == name),
    };
    is_it.then_some(path)
}

/// What of a hierarchy a line of `/proc/self/mountinfo` mounts, and where:
/// `id parent device root point options [fields] - type source options`.
fn mount(line: &str, hierarchy: Hierarchy) -> Option<(String, String)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let is_it = match hierarchy {
        Hierarchy::Unified => name == "cgroup2",
        Hierarchy::Of(controller) => {
            name == "cgroup" && options.split(',').any(|option| option == controller)
        }
    };
    let mut place = place.split(' ').skip(3);
    is_it.then_some((unescaped(place.next()?), unescaped(place.next()?)))
}

/// The text without the escapes of `/proc/self/mountinfo`: `\040` is a space.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_string(), |text, (escape, sign)| text.replace(escape, sign))
}
