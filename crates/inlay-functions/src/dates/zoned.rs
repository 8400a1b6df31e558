//! Functions of TIMESTAMP WITH TIME ZONE: those of TIMESTAMP at the local time of the session's zone.

use crate::registry::Loop;
use inlay_kernels::apply::{null_argument, try_map};
use inlay_kernels::function::ScalarKernel;
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{Timestamp, TimestampTz};
use inlay_types::datetime::{is_timestamp, write_timestamp};
use inlay_types::{Error, LogicalType, Result, Vector};
use std::borrow::Cow;
use std::sync::Arc;

/// A loop of TIMESTAMP run at local time: arguments with a zone become local, a result with a zone is brought back.
pub(crate) struct AtLocalTime {
    pub(crate) zone: Arc<Zone>,
    pub(crate) kernel: Loop,
    pub(crate) returns: LogicalType,
}

impl ScalarKernel for AtLocalTime {
    fn eval(&self, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        if null_argument(args, &self.returns, len, out) {
            return Ok(());
        }
        let local: Vec<Cow<'_, Vector>> =
            args.iter().map(|arg| to_local(&self.zone, arg)).collect::<Result<_>>()?;
        let local: Vec<&Vector> = local.iter().map(AsRef::as_ref).collect();
        (self.kernel)(&local, len, out)?;
        if self.returns == TimestampTz {
            let result = std::mem::replace(out, Vector::empty(Timestamp));
            *out = to_utc(&self.zone, result)?;
        }
        Ok(())
    }
}

/// A loop that is given the session's zone.
pub(crate) type ZonedLoop = fn(&Zone, &[&Vector], usize, &mut Vector) -> Result<()>;

/// Such a loop and the zone.
pub(crate) struct InZone {
    pub(crate) zone: Arc<Zone>,
    pub(crate) kernel: ZonedLoop,
}

impl ScalarKernel for InZone {
    fn eval(&self, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        (self.kernel)(&self.zone, args, len, out)
    }
}

/// A vector of TIMESTAMP WITH TIME ZONE as local TIMESTAMPs; any other as it is.
pub(crate) fn to_local<'a>(zone: &Zone, vector: &'a Vector) -> Result<Cow<'a, Vector>> {
    if vector.logical_type() != TimestampTz {
        return Ok(Cow::Borrowed(vector));
    }
    let mut out = Vector::empty(Timestamp);
    local_loop(zone, vector, &mut out)?;
    Ok(Cow::Owned(out))
}

pub(crate) fn local_loop(zone: &Zone, vector: &Vector, out: &mut Vector) -> Result<()> {
    let flagged = |value: Option<i64>| (value.unwrap_or_default(), value.is_none());
    let len = vector.len();
    if zone.is_utc() {
        return try_map(vector, &Timestamp, len, out, |at: i64| (at, false), |at| beyond(at, zone));
    }
    try_map(vector, &Timestamp, len, out, |at| flagged(zone.to_local(at)), |at| beyond(at, zone))
}

/// A vector of local TIMESTAMPs as the moments they are.
pub(crate) fn to_utc(zone: &Zone, vector: Vector) -> Result<Vector> {
    let mut out = Vector::empty(TimestampTz);
    utc_loop(zone, &vector, &mut out)?;
    Ok(out)
}

pub(crate) fn utc_loop(zone: &Zone, vector: &Vector, out: &mut Vector) -> Result<()> {
    let flagged = |value: Option<i64>| (value.unwrap_or_default(), value.is_none());
    let len = vector.len();
    if zone.is_utc() {
        return try_map(vector, &TimestampTz, len, out, |at: i64| (at, false), |at| beyond(at, zone));
    }
    try_map(vector, &TimestampTz, len, out, |at| flagged(zone.to_utc(at)), |at| beyond(at, zone))
}

/// `at` leaves the range of timestamps when it is brought into or out of a zone.
pub(crate) fn beyond(at: i64, zone: &Zone) -> Error {
    let mut text = String::new();
    write_timestamp(&mut text, at);
    Error::out_of_range(format!("timestamp {text} is out of range in the time zone {}", zone.name()))
}

/// A finite TIMESTAMP of microseconds, or the error that names `what`.
pub(super) fn checked(micros: Option<i64>, what: impl FnOnce() -> String) -> Result<i64> {
    micros
        .filter(|at| is_timestamp(*at))
        .ok_or_else(|| Error::out_of_range(format!("{} is out of range for TIMESTAMP", what())))
}
