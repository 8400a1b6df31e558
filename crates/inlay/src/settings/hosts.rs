//! How a session exchanges values with its host: settings that hosts ask for while statements run.

use inlay_kernels::zone::Zone;
use inlay_types::{Error, Result, Value};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What arrays and data frames hold for DECIMAL unless the call says it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Decimals {
    /// The nearest double.
    #[default]
    Float,
    /// The value itself, as the host's type for it.
    Exact,
}

impl Decimals {
    /// The setting's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Exact => "exact",
        }
    }

    pub(super) fn of(value: &Value) -> Result<Self> {
        match value.to_string().trim().to_lowercase().as_str() {
            "float" => Ok(Self::Float),
            "exact" => Ok(Self::Exact),
            _ => Err(Error::invalid_argument(format!("decimal = {value}: expected 'float' or 'exact'"))),
        }
    }
}

/// The settings of one session, which a host asks for while another thread runs a statement there. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct HostSettings(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    exact_decimals: AtomicBool,
    keeps_nan: AtomicBool,
    /// UTC where nobody said another one.
    zone: RwLock<Option<Arc<Zone>>>,
}

impl HostSettings {
    /// Others of the same values.
    pub fn apart(&self) -> Self {
        let others = Self::default();
        others.set_decimals(self.decimals());
        others.set_nan_as_null(self.nan_as_null());
        others.set_zone(self.zone());
        others
    }

    /// What arrays and data frames hold for DECIMAL: `decimal`.
    pub fn decimals(&self) -> Decimals {
        if self.0.exact_decimals.load(Ordering::Relaxed) { Decimals::Exact } else { Decimals::Float }
    }

    pub(super) fn set_decimals(&self, decimals: Decimals) {
        self.0.exact_decimals.store(decimals == Decimals::Exact, Ordering::Relaxed);
    }

    /// Whether NaN in an array that is read as a table is NULL: `nan_as_null`.
    pub fn nan_as_null(&self) -> bool {
        !self.0.keeps_nan.load(Ordering::Relaxed)
    }

    pub(super) fn set_nan_as_null(&self, is_null: bool) {
        self.0.keeps_nan.store(!is_null, Ordering::Relaxed);
    }

    /// The session's time zone, which moments without one are of.
    pub fn zone(&self) -> Arc<Zone> {
        self.0.zone.read().clone().unwrap_or_else(Zone::utc)
    }

    pub(crate) fn set_zone(&self, zone: Arc<Zone>) {
        *self.0.zone.write() = Some(zone);
    }
}
