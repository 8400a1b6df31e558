//! What `.timer on` prints behind a statement: time, CPU, memory and what went to disk.

#![expect(unsafe_code, reason = "a timer by calls of the system")]

use inlay::Database;
use std::time::{Duration, Instant};

/// A statement being timed.
pub struct Timer {
    started: Instant,
    cpu: (Duration, Duration),
    spilled: u64,
    peak: u64,
}

impl Timer {
    pub fn start(database: Option<&Database>) -> Self {
        Self {
            started: Instant::now(),
            cpu: cpu_time(),
            spilled: database.map_or(0, Database::spilled_bytes),
            peak: database.map_or(0, Database::memory_peak),
        }
    }

    /// The line. `seen`: most bytes that were seen in use meanwhile, which counts if the peak lies before it.
    pub fn line(&self, database: Option<&Database>, seen: u64) -> String {
        let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
        let cpu = cpu_time();
        let peak = database.map_or(0, Database::memory_peak);
        let used = database.map_or(0, Database::memory_used).max(seen);
        let memory = if peak > self.peak { peak } else { used };
        let spilled = database.map_or(0, Database::spilled_bytes).saturating_sub(self.spilled);
        format!(
            "Run Time (s): real {} user {} sys {}, memory {}, spilled {}",
            seconds(self.started.elapsed()),
            seconds(cpu.0.saturating_sub(self.cpu.0)),
            seconds(cpu.1.saturating_sub(self.cpu.1)),
            bytes(memory),
            bytes(spilled)
        )
    }
}

/// `1234567` as `1.2 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let (mut scaled, mut unit) = (count as f64 / 1024.0, 0);
    while scaled >= 1023.95 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// CPU time of the process: user, system.
#[cfg(unix)]
fn cpu_time() -> (Duration, Duration) {
    // SAFETY: `rusage` is plain data, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.max(0) as u64) + Duration::from_micros(time.tv_usec.max(0) as u64)
    };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

#[cfg(not(unix))]
fn cpu_time() -> (Duration, Duration) {
    Default::default()
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_short() {
        let shown: Vec<String> = [0, 1023, 1024, 1_500_000, 1 << 40].into_iter().map(bytes).collect();
        assert_eq!(shown, ["0 bytes", "1023 bytes", "1.0 KiB", "1.4 MiB", "1.0 TiB"]);
    }
}
