//! Which compression the next chunk has: the one by which a row arrives first, as far as was measured.
//!
//! While a chunk is compressed, the system sends the one before; so a byte of a body costs the larger of the time in the compressor and
//! the time in the link, and a part of the former, as the query's workers want the processor, too.
//!
//! What the socket takes at once says only that the link is no slower than what it was given. The estimate follows what writes that
//! wait say, rises with what others let through, and is tried higher now and then, so that it finds a link that became faster.
//!
//! The controller has no clock: it is told what others measured.

use crate::compression::Compression;

/// From the lightest to the heaviest.
const METHODS: [Compression; 5] =
    [Compression::None, Compression::Lz4, Compression::Zstd(1), Compression::Zstd(3), Compression::Zstd(9)];

/// What is believed before anything was measured: bytes of a body that are compressed in a second, and bytes that come of one.
const BELIEVED: [(f64, f64); 5] =
    [(f64::INFINITY, 1.0), (500e6, 0.60), (220e6, 0.45), (120e6, 0.42), (25e6, 0.38)];

/// The part of the compressor's time that counts though the link is slower.
const PROCESSOR_SHARE: f64 = 0.25;
/// A write that lets more bytes through in a second did not wait for the link.
const AT_ONCE: f64 = 1.5e9;
/// How much the latest measure counts.
const WEIGHT: f64 = 0.3;
/// Chunks after which a link that makes nobody wait is believed to be faster.
const PATIENCE: u32 = 16;

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Controller {
    is_local: bool,
    features: u32,
    measured: [Measured; 5],
    /// Bytes of the link in a second.
    link: Option<f64>,
    /// Seconds that the compressor took for the chunk that is about to be sent.
    compressing: f64,
    /// Chunks since a write waited.
    at_once: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// Seconds per byte of a body, and bytes that come of one.
    known: Option<(f64, f64)>,
}

impl Controller {
    /// For a peer that knows the compressions of `features`. One on this machine gets none.
    pub fn new(is_local: bool, features: u32) -> Self {
        Self {
            is_local,
            features,
            measured: [Measured::default(); 5],
            link: None,
            compressing: 0.0,
            at_once: 0,
        }
    }

    /// What the next chunk is compressed by.
    pub fn choose(&self) -> Compression {
        if self.is_local {
            return Compression::None;
        }
        let is_known = |method: &Compression| method.feature() & !self.features == 0;
        let Some(link) = self.link else {
            // The light one, until the link was seen.
            return if is_known(&Compression::Lz4) { Compression::Lz4 } else { Compression::None };
        };
        let (mut best, mut least) = (Compression::None, f64::INFINITY);
        for (index, method) in METHODS.iter().enumerate().filter(|(_, method)| is_known(method)) {
            let (seconds, ratio) = self.expected(index);
            let cost = seconds.max(ratio / link) + PROCESSOR_SHARE * seconds;
            if cost < least {
                (best, least) = (*method, cost);
            }
        }
        best
    }

    /// Seconds per byte, and bytes per byte, of a method: as measured, or as believed in the light of what was measured of another.
    fn expected(&self, index: usize) -> (f64, f64) {
        if index == 0 {
            return (0.0, 1.0);
        }
        if let Some(known) = self.measured[index].known {
            return known;
        }
        let (speed, ratio) = BELIEVED[index];
        let nearest = (1..METHODS.len())
            .filter(|other| self.measured[*other].known.is_some())
            .min_by_key(|other| other.abs_diff(index));
        let Some((other, (seconds, found))) =
            nearest.and_then(|other| Some((other, self.measured[other].known?)))
        else {
            return (1.0 / speed, ratio);
        };
        let (other_speed, other_ratio) = BELIEVED[other];
        ((seconds * other_speed) / speed, (ratio * found / other_ratio).min(1.0))
    }

    /// A body of so many bytes became so many others in so many seconds.
    pub fn compressed(&mut self, method: Compression, body: usize, packed: usize, seconds: f64) {
        self.compressing += seconds;
        let Some(index) = METHODS.iter().position(|known| *known == method) else { return };
        if index == 0 || body == 0 {
            return;
        }
        let now = (seconds / body as f64, packed as f64 / body as f64);
        let known = &mut self.measured[index].known;
        *known = Some(match *known {
            Some((time, ratio)) => (time + WEIGHT * (now.0 - time), ratio + WEIGHT * (now.1 - ratio)),
            None => now,
        });
    }

    /// So many bytes went to the socket in so many seconds.
    pub fn sent(&mut self, bytes: usize, seconds: f64) {
        let compressing = std::mem::take(&mut self.compressing);
        let bytes = bytes as f64;
        if bytes <= 0.0 {
            return;
        }
        let let_through = bytes / (seconds + compressing).max(1e-9);
        if bytes / seconds.max(1e-9) < AT_ONCE {
            self.at_once = 0;
            // What the link took while the compressor worked came on top.
            self.link = Some(self.link.map_or(let_through, |link| link + WEIGHT * (let_through - link)));
            return;
        }
        self.at_once += 1;
        let link = self.link.map_or(let_through, |link| link.max(let_through));
        self.link = Some(if self.at_once.is_multiple_of(PATIENCE) { link * 1.5 } else { link });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::{LZ4, ZSTD};

    /// A link with room for some bytes that are on their way, and a processor: seconds are counted, not measured.
    struct World {
        bytes_per_second: f64,
        room: f64,
        waiting: f64,
        /// Speed and ratio of each method.
        methods: [(f64, f64); 5],
    }

    const CHUNK: usize = 1 << 20;

    impl World {
        fn new(bytes_per_second: f64) -> Self {
            let methods = [(f64::INFINITY, 1.0), (450e6, 0.55), (200e6, 0.38), (110e6, 0.35), (20e6, 0.31)];
            Self { bytes_per_second, room: 4e6, waiting: 0.0, methods }
        }

        fn send(&mut self, controller: &mut Controller) -> Compression {
            let method = controller.choose();
            let index = METHODS.iter().position(|known| *known == method).unwrap();
            let (speed, ratio) = self.methods[index];
            let (compressing, packed) = (CHUNK as f64 / speed, CHUNK as f64 * ratio);
            controller.compressed(method, CHUNK, packed as usize, compressing);
            self.waiting = (self.waiting - compressing * self.bytes_per_second).max(0.0);
            let over = (self.waiting + packed - self.room).max(0.0);
            let copying = packed / 4e9;
            let seconds = over / self.bytes_per_second + copying;
            self.waiting = (self.waiting + packed - seconds * self.bytes_per_second).max(0.0);
            controller.sent(packed as usize, seconds);
            method
        }

        /// What most of the last chunks had.
        fn settled(&mut self, controller: &mut Controller, chunks: usize) -> Compression {
            let chosen: Vec<Compression> = (0..chunks).map(|_| self.send(controller)).collect();
            let last = &chosen[chunks / 2..];
            *last.iter().max_by_key(|one| last.iter().filter(|other| other == one).count()).unwrap()
        }
    }

    fn remote() -> Controller {
        Controller::new(false, LZ4 | ZSTD)
    }

    #[test]
    fn a_peer_on_this_machine_gets_no_compression() {
        let mut controller = Controller::new(true, LZ4 | ZSTD);
        assert_eq!(World::new(3e9).settled(&mut controller, 100), Compression::None);
    }

    #[test]
    fn a_gigabit_gets_the_light_one_and_a_tenth_of_it_the_heavier() {
        assert_eq!(World::new(125e6).settled(&mut remote(), 200), Compression::Lz4);
        assert!(matches!(World::new(12.5e6).settled(&mut remote(), 200), Compression::Zstd(_)));
        assert_eq!(World::new(1.25e6).settled(&mut remote(), 200), Compression::Zstd(9));
    }

    #[test]
    fn a_link_as_fast_as_memory_gets_none_though_it_is_not_known_to_be_local() {
        assert_eq!(World::new(5e9).settled(&mut remote(), 400), Compression::None);
    }

    #[test]
    fn what_does_not_get_smaller_is_sent_as_it_is() {
        let mut world = World::new(125e6);
        world.methods = [(f64::INFINITY, 1.0), (450e6, 1.0), (200e6, 0.99), (110e6, 0.99), (20e6, 0.99)];
        assert_eq!(world.settled(&mut remote(), 200), Compression::None);
    }

    #[test]
    fn a_link_that_changes_is_found_out() {
        let (mut controller, mut world) = (remote(), World::new(12.5e6));
        assert!(matches!(world.settled(&mut controller, 200), Compression::Zstd(_)));
        world.bytes_per_second = 5e9;
        assert_eq!(world.settled(&mut controller, 1000), Compression::None);
        world.bytes_per_second = 12.5e6;
        assert!(matches!(world.settled(&mut controller, 200), Compression::Zstd(_)));
    }

    #[test]
    fn what_the_peer_does_not_know_is_not_chosen() {
        let mut controller = Controller::new(false, LZ4);
        assert_eq!(World::new(1.25e6).settled(&mut controller, 100), Compression::Lz4);
        let mut controller = Controller::new(false, 0);
        assert_eq!(World::new(1.25e6).settled(&mut controller, 100), Compression::None);
    }
}
