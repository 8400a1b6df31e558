//! `bit_and`, `bit_or` and `bit_xor` of BIT: strings of bits of one length, folded byte by byte as they are packed.

use super::groups::for_valid;
use super::{GroupIds, GroupedAccumulator, flat, same_kind};
use crate::function::AggregateFunction;
use inlay_types::{Error, LogicalType, Result, Vector, VectorBuilder, bit};
use std::any::Any;
use std::borrow::Cow;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    And,
    Or,
    Xor,
}

struct BitStrings {
    op: Op,
    name: Cow<'static, str>,
    /// The bits so far; nothing for groups without values.
    states: Vec<Option<Box<[u8]>>>,
    bytes: usize,
}

fn boxed(function: &AggregateFunction, op: Op) -> Result<Box<dyn GroupedAccumulator>> {
    Ok(Box::new(BitStrings { op, name: function.name.clone(), states: Vec::new(), bytes: 0 }))
}

/// `bit_and` of BIT.
pub fn and(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Op::And)
}

/// `bit_or` of BIT.
pub fn or(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Op::Or)
}

/// `bit_xor` of BIT.
pub fn xor(f: &AggregateFunction, _total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    boxed(f, Op::Xor)
}

impl BitStrings {
    fn add(&mut self, group: usize, bytes: &[u8]) -> Result<()> {
        let Some(state) = &mut self.states[group] else {
            self.bytes += bytes.len();
            self.states[group] = Some(bytes.into());
            return Ok(());
        };
        if state.len() != bytes.len() || state.last() != bytes.last() {
            let message = format!(
                "{} of bit strings of {} and {} bits: all must have the same length",
                self.name,
                bit::len(state),
                bit::len(bytes)
            );
            return Err(Error::invalid_argument(message));
        }
        // The last byte says how many bits are in the one before; the lowest bit of the others is no bit of the string.
        let groups = state.len().saturating_sub(1);
        for (own, other) in state[..groups].iter_mut().zip(bytes) {
            *own = match self.op {
                Op::And => *own & other,
                Op::Or => *own | other,
                Op::Xor => (*own ^ other) & !1 | *own & 1,
            };
        }
        Ok(())
    }
}

impl GroupedAccumulator for BitStrings {
    fn resize(&mut self, groups: usize) {
        self.states.resize(groups, None);
    }

    fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        let arg = flat(args[0]);
        let (views, heap) = (arg.views(), arg.heap().buffers());
        let mut outcome = Ok(());
        let mut add = |row: usize| {
            if outcome.is_ok() {
                outcome = self.add(groups.ids()[row] as usize, views[row].bytes(heap));
            }
        };
        match arg.validity() {
            None => (0..groups.len()).for_each(&mut add),
            Some(validity) => for_valid(validity, groups.len(), &mut add),
        }
        outcome
    }

    fn merge(&mut self, other: &dyn GroupedAccumulator, source: &[u32], target: &[u32]) -> Result<()> {
        let other = same_kind::<Self>(other)?;
        for (&from, &to) in source.iter().zip(target) {
            if let Some(bytes) = &other.states[from as usize] {
                self.add(to as usize, bytes)?;
            }
        }
        Ok(())
    }

    fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        let mut builder = VectorBuilder::new(LogicalType::Bit, len);
        for state in &self.states[from..from + len] {
            match state {
                Some(bytes) => builder.push_bytes(bytes),
                None => builder.push_null(),
            }
        }
        Ok(builder.finish())
    }

    fn memory_size(&self) -> usize {
        self.states.capacity() * size_of::<Option<Box<[u8]>>>() + self.bytes
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
