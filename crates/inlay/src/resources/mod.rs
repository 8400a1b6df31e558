//! What the machine, and the container on it, leave to this process.
//!
//! Everything is read from files below a root, `/` but in tests, so that a folder can stand for any machine. Where a file
//! is missing, as on systems without `/proc`, nothing is known and nothing is limited.
//!
//! - `cgroup`: limits and use of control groups. They and [`Machine`] give the defaults of `threads` and `memory_limit`.
//! - `sample`, `decide`, [`Adaptive`]: what happens on the machine, what follows from it, and who is told.

mod adaptive;
mod cgroup;
mod decide;
mod sample;

pub use adaptive::{Adaptive, Seen};

use cgroup::Groups;
use std::path::PathBuf;

/// A machine's files, or a folder that stands for them.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

/// The machine that this process is on.
pub fn here() -> Machine {
    Machine { root: PathBuf::from("/") }
}

impl Machine {
    /// Processors that this process may use: those it may be scheduled on, and at most what the quotas of its control
    /// groups come to, rounded to whole ones. At least 1; `None` if nothing is known.
    pub fn processors(&self) -> Option<usize> {
        let quota = Groups::of(&self.root).cpu_quota().map(|cpus| (cpus.round() as usize).max(1));
        [quota, self.allowed()].into_iter().flatten().min()
    }

    /// Processors that this process may be scheduled on.
    fn allowed(&self) -> Option<usize> {
        allowed_processors(&self.text("proc/self/status")?)
    }

    /// Bytes of memory that this process may use: the machine's, or the least of its control groups' limits.
    pub fn memory(&self) -> Option<u64> {
        let physical = self.text("proc/meminfo").and_then(|text| meminfo(&text, "MemTotal:"));
        [physical, Groups::of(&self.root).memory_limit()].into_iter().flatten().min()
    }

    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }
}

/// The bytes of a line of `/proc/meminfo`.
fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// How many processors `/proc/self/status` allows: `Cpus_allowed_list: 0-3,8` are five.
fn allowed_processors(status: &str) -> Option<usize> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let count = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.parse::<usize>().ok()?, to.parse::<usize>().ok()?);
        Some(to.checked_sub(from)? + 1)
    };
    let total: usize = list.trim().split(',').map(count).sum::<Option<usize>>()?;
    (total > 0).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder of made-up files, gone with it.
    pub(super) struct Tree(PathBuf);

    impl Tree {
        pub(super) fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("inlay-machine-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(root)
        }

        pub(super) fn machine(&self) -> Machine {
            Machine { root: self.0.clone() }
        }

        pub(super) fn write(&self, path: &str, text: &str) {
            std::fs::write(self.0.join(path), text).unwrap();
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\n");
    const STATUS: (&str, &str) =
        ("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\n");
    const MOUNT_V2: (&str, &str) = (
        "proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    );

    #[test]
    fn a_machine_without_groups_is_what_it_says() {
        let tree = Tree::new("plain", &[MEMINFO, STATUS]);
        assert_eq!(tree.machine().processors(), Some(5));
        assert_eq!(tree.machine().memory(), Some(16_000_000 << 10));
        let nothing = Tree::new("nothing", &[("other", "")]);
        assert_eq!((nothing.machine().processors(), nothing.machine().memory()), (None, None));
    }

    #[test]
    fn the_least_limit_on_the_way_up_counts() {
        let tree = Tree::new(
            "v2",
            &[
                MEMINFO,
                STATUS,
                MOUNT_V2,
                ("proc/self/cgroup", "0::/kube/pod/box\n"),
                ("sys/fs/cgroup/kube/pod/box/memory.max", "max\n"),
                ("sys/fs/cgroup/kube/pod/box/memory.high", "900000000\n"),
                ("sys/fs/cgroup/kube/pod/box/cpu.max", "400000 100000\n"),
                ("sys/fs/cgroup/kube/pod/memory.max", "800000000\n"),
                ("sys/fs/cgroup/kube/pod/cpu.max", "250000 100000\n"),
                ("sys/fs/cgroup/kube/cpu.max", "max 100000\n"),
            ],
        );
        assert_eq!(tree.machine().memory(), Some(800_000_000));
        assert_eq!(tree.machine().processors(), Some(3), "2.5 rounded");
    }

    #[test]
    fn a_share_of_one_processor_is_one_worker() {
        let own = ("proc/self/cgroup", "0::/\n");
        let tree = Tree::new("share", &[STATUS, MOUNT_V2, own, ("sys/fs/cgroup/cpu.max", "10000 100000\n")]);
        assert_eq!(tree.machine().processors(), Some(1));
    }

    #[test]
    fn the_first_version_has_a_folder_per_controller() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 /docker/abc /sys/fs/cgroup/memory\\040x ro - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let tree = Tree::new(
            "v1",
            &[
                MEMINFO,
                STATUS,
                ("proc/self/mountinfo", mounts),
                ("proc/self/cgroup", "4:memory:/docker/abc/in\n1:cpuacct,cpu:/jobs/one\n0::/\n"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "200000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/memory x/in/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/memory x/memory.limit_in_bytes", "1000000000\n"),
            ],
        );
        assert_eq!(tree.machine().memory(), Some(1_000_000_000));
        assert_eq!(tree.machine().processors(), Some(2));
    }

    /// In a container without a namespace of its own the group's path is the host's; only the mount is to be seen.
    #[test]
    fn a_path_outside_the_mount_means_the_mount() {
        let tree = Tree::new(
            "outside",
            &[
                MEMINFO,
                MOUNT_V2,
                ("proc/self/cgroup", "0::/../other\n"),
                ("sys/fs/cgroup/memory.max", "5000\n"),
            ],
        );
        assert_eq!(tree.machine().memory(), Some(5000));
    }
}
