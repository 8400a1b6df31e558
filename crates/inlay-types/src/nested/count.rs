//! How much there is in a packed value, for who asks for memory before it takes the value apart or shows it.

use super::read::{Sequence, map_parts, struct_parts, union_parts};
use crate::LogicalType;
use crate::logical_type::Field;

/// What a value consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Its parts and theirs, all in all.
    pub parts: usize,
    /// Bytes of the names of fields, as often as they are shown.
    pub names: usize,
}

impl Contents {
    /// Of a packed value of a nested type; nothing of others.
    pub fn of(ty: &LogicalType, bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        contents.add(ty, bytes);
        contents
    }

    fn add(&mut self, ty: &LogicalType, bytes: &[u8]) {
        match ty {
            LogicalType::List(element) | LogicalType::Array(element, _) => {
                self.add_all(element, &Sequence::new(element, bytes));
            }
            LogicalType::Map(types) => {
                let (keys, values) = map_parts(types, bytes);
                self.add_all(&types.0, &keys);
                self.add_all(&types.1, &values);
            }
            LogicalType::Struct(fields) => {
                self.parts += fields.len();
                self.names += fields.iter().map(|field| field.name.len()).sum::<usize>();
                let parts = fields.iter().zip(struct_parts(fields, bytes));
                parts.for_each(|(field, part)| self.add_part(field, part));
            }
            LogicalType::Union(members) => {
                let (tag, part) = union_parts(bytes);
                self.parts += 1;
                members.get(usize::from(tag)).into_iter().for_each(|member| self.add_part(member, part));
            }
            _ => {}
        }
    }

    fn add_part(&mut self, field: &Field, part: Option<&[u8]>) {
        if let Some(bytes) = part.filter(|_| field.ty.is_nested()) {
            self.add(&field.ty, bytes);
        }
    }

    fn add_all(&mut self, element: &LogicalType, sequence: &Sequence<'_>) {
        self.parts = self.parts.saturating_add(sequence.len());
        if element.is_nested() {
            (0..sequence.len())
                .filter_map(|index| sequence.get(index))
                .for_each(|part| self.add(element, part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::write::push_value;
    use crate::{Result, Value};
    use std::sync::Arc;

    #[test]
    fn parts_of_parts_and_names_are_counted() -> Result<()> {
        let fields: Arc<[Field]> =
            [Field::new("key", LogicalType::BigInt), Field::new("of", LogicalType::Varchar)].into();
        let one = |text: &str| Value::Struct {
            fields: Arc::clone(&fields),
            values: vec![Value::BigInt(1), text.into()],
        };
        let element = Arc::new(LogicalType::Struct(Arc::clone(&fields)));
        let list = LogicalType::List(Arc::clone(&element));
        let value = Value::List { element, values: vec![one("a"), one("longer"), Value::Null] };
        let mut bytes = Vec::new();
        push_value(&list, &value, &mut bytes)?;
        assert_eq!(Contents::of(&list, &bytes), Contents { parts: 3 + 2 * 2, names: 2 * 5 });
        // Any bytes have some contents.
        (0..bytes.len()).for_each(|end| assert!(Contents::of(&list, &bytes[..end]).parts <= 8 * bytes.len()));
        assert_eq!(Contents::of(&LogicalType::Varchar, b"text"), Contents::default());
        Ok(())
    }
}
