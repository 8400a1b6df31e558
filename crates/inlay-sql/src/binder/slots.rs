//! Parameters as slots: a statement bound once so that what it means can be carried out with other values.
//!
//! Usually a parameter is bound as the literal that its value is, and the value takes part in what the statement means: a
//! literal adapts to the type of the column beside it, and calls of literals are computed. With [`Slots`] it is bound as
//! an expression that nothing looks into: `COALESCE` of one column that no plan makes, whose id is from a range of its own.
//! A slot adapts as a literal does in comparisons and assignments, by the sample value it is bound with, and remembers
//! how; so who fills it with another value ([`Slot::fill`]) learns whether that would have adapted in the same way.
//!
//! Whether the statement means the same without its values is for the caller to check: the slots filled with their samples
//! ([`Slots::filled`]) must be the statement as it is bound from literals.

use super::Binder;
use super::coerce::{exact, number_beyond};
use crate::plan::{ColumnId, Expr};
use inlay_kernels::cast::implied_value_in_zone;
use inlay_kernels::zone::Zone;
use inlay_types::{Error, LogicalType, Result, Value};
use std::cell::RefCell;
use std::sync::Arc;

/// The first id of a slot's column.
const FIRST: u32 = 1 << 31;

/// How a value got the type of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Adapted {
    /// It had it.
    Same,
    /// The type holds the same quantity, which decided what it is compared as.
    Exactly,
    /// As a literal that is converted, whatever becomes of it.
    Converted,
}

/// The place of a parameter's value in a bound statement.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Which parameter: positions count from 0, names follow them.
    pub parameter: usize,
    /// Its type there.
    pub ty: LogicalType,
    /// The value that it was bound with, of that type.
    sample: Value,
    adapted: Adapted,
    zone: Arc<Zone>,
}

impl Slot {
    /// A value of the parameter, of the sample's type, as it is in this place; `None` if it does not get there as the sample
    /// did, or not at all.
    pub fn fill(&self, value: &Value) -> Option<Value> {
        match self.adapted {
            Adapted::Same => (value.logical_type() == self.ty).then(|| value.clone()),
            Adapted::Exactly => exact(value, &self.ty),
            // It would be compared as a number of more digits.
            Adapted::Converted if number_beyond(value, &self.ty).is_some() => None,
            Adapted::Converted => {
                exact(value, &self.ty).or_else(|| implied_value_in_zone(value, &self.ty, &self.zone).ok())
            }
        }
    }
}

/// The slots of a statement that is being bound, by the ids of their columns.
#[derive(Debug, Default)]
pub struct Slots(RefCell<Vec<Slot>>, Option<Probe>);

/// What types the places of parameters want that have no values yet.
#[derive(Debug)]
struct Probe {
    /// Those that are looked at; others are NULL.
    parameters: Vec<bool>,
    /// The first type that each is converted to.
    wanted: RefCell<Vec<Option<LogicalType>>>,
}

impl Slots {
    /// The slots; those of earlier types of an adapted one are among them.
    pub fn into_slots(self) -> Vec<Slot> {
        self.0.into_inner()
    }

    /// Slots for parameters without values: each of those that are looked at is a column of NULL's type, and what it is converted to
    /// is noted.
    pub fn probing(parameters: Vec<bool>) -> Self {
        let wanted = RefCell::new(vec![None; parameters.len()]);
        Self(RefCell::default(), Some(Probe { parameters, wanted }))
    }

    /// The types that were wanted, by the numbers of the parameters.
    pub fn into_wanted(self) -> Vec<Option<LogicalType>> {
        self.1.map_or_else(Vec::new, |probe| probe.wanted.into_inner())
    }

    /// Whether a column stands for a parameter.
    pub(super) fn is_slot(id: ColumnId) -> bool {
        id.0 >= FIRST
    }

    /// Notes what a parameter without a value is converted to; returns whether the expression is one.
    pub(super) fn notes(&self, expr: &Expr, ty: &LogicalType) -> bool {
        let (Some(probe), Expr::Column { id, .. }) = (&self.1, expr) else { return false };
        let Some(number) = id.0.checked_sub(FIRST) else { return false };
        if let Some(place) = probe.wanted.borrow_mut().get_mut(number as usize)
            && place.is_none()
        {
            *place = Some(ty.clone());
        }
        true
    }

    /// A parameter that is looked at.
    fn probed(&self, parameter: usize) -> Option<Expr> {
        let is_wanted = self.1.as_ref()?.parameters.get(parameter).copied().unwrap_or(false);
        is_wanted.then(|| Expr::Column { id: Self::column(parameter), ty: LogicalType::Null })
    }

    /// The number of the slot that an expression is.
    pub fn number(expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Coalesce { args, .. } => match args.as_slice() {
                [Expr::Column { id, .. }] => id.0.checked_sub(FIRST).map(|number| number as usize),
                _ => None,
            },
            _ => None,
        }
    }

    /// The column that stands for a slot where programs are made for batches that hold its value.
    pub fn column(number: usize) -> ColumnId {
        ColumnId(FIRST + number as u32)
    }

    /// An expression whose slots are the literals that they were bound with.
    pub fn filled(slots: &[Slot], mut expr: Expr) -> Expr {
        if let Some(slot) = Self::number(&expr).and_then(|number| slots.get(number)) {
            return Expr::Literal { value: slot.sample.clone(), ty: slot.ty.clone() };
        }
        for child in expr.children_mut() {
            let old = std::mem::replace(child, Expr::boolean(true));
            *child = Self::filled(slots, old);
        }
        expr
    }

    fn add(&self, slot: Slot) -> Expr {
        let mut slots = self.0.borrow_mut();
        let (id, ty) = (Self::column(slots.len()), slot.ty.clone());
        slots.push(slot);
        Expr::Coalesce { args: vec![Expr::Column { id, ty: ty.clone() }], ty }
    }

    fn get(&self, expr: &Expr) -> Option<Slot> {
        self.0.borrow().get(Self::number(expr)?).cloned()
    }
}

impl Binder<'_> {
    /// A parameter of a value; a literal where there are no slots.
    pub(super) fn slot_or_literal(&self, parameter: usize, value: &Value) -> Result<Expr> {
        if let Some(probed) = self.context.slots.and_then(|slots| slots.probed(parameter)) {
            return Ok(probed);
        }
        let Some(slots) = self.context.slots.filter(|_| !value.is_null()) else {
            return Ok(Expr::literal(value.clone()));
        };
        if self.row_scopes > 0 {
            return Err(Error::unsupported("a slot among columns that are positions"));
        }
        let (ty, zone) = (value.logical_type(), Arc::clone(&self.context.options.zone));
        Ok(slots.add(Slot { parameter, ty, sample: value.clone(), adapted: Adapted::Same, zone }))
    }

    /// The value of a slot, by which it adapts.
    pub(super) fn sample(&self, expr: &Expr) -> Option<Value> {
        self.context.slots?.get(expr).map(|slot| slot.sample)
    }

    /// A slot as a value of another type, as [`Binder::cast_to`] has it for a literal.
    pub(super) fn adapted_slot(&self, expr: &Expr, ty: &LogicalType) -> Result<Option<Expr>> {
        if self.context.slots.is_some_and(|slots| slots.notes(expr, ty)) {
            return Ok(Some(Expr::Literal { value: Value::Null, ty: ty.clone() }));
        }
        let Some(slot) = self.context.slots.and_then(|slots| slots.get(expr)) else { return Ok(None) };
        if self.reads_bytea(&slot.ty, ty) {
            return Err(Error::unsupported("a slot that is read as bytea"));
        }
        match exact(&slot.sample, ty) {
            Some(sample) => self.slot_from(slot, ty, sample, Adapted::Exactly),
            None => {
                let sample = self.implied_literal(&slot.sample, ty)?;
                self.slot_from(slot, ty, sample, Adapted::Converted)
            }
        }
    }

    /// A slot on its way into a column.
    pub(super) fn assigned_slot(&self, expr: &Expr, ty: &LogicalType) -> Result<Option<Expr>> {
        if self.context.slots.is_some_and(|slots| slots.notes(expr, ty)) {
            return Ok(Some(Expr::Literal { value: Value::Null, ty: ty.clone() }));
        }
        let Some(slot) = self.context.slots.and_then(|slots| slots.get(expr)) else { return Ok(None) };
        if slot.ty == *ty {
            return Ok(Some(expr.clone()));
        }
        if self.reads_bytea(&slot.ty, ty) {
            return Err(Error::unsupported("a slot that is read as bytea"));
        }
        let sample = match exact(&slot.sample, ty) {
            Some(sample) => sample,
            None => self.implied_literal(&slot.sample, ty)?,
        };
        self.slot_from(slot, ty, sample, Adapted::Converted)
    }

    fn slot_from(
        &self,
        slot: Slot,
        ty: &LogicalType,
        sample: Value,
        adapted: Adapted,
    ) -> Result<Option<Expr>> {
        match self.context.slots {
            Some(slots) if slot.adapted == Adapted::Same => {
                Ok(Some(slots.add(Slot { ty: ty.clone(), sample, adapted, ..slot })))
            }
            _ => Err(Error::unsupported("a slot that adapts twice")),
        }
    }
}
