//! Memory that functions take for a while beside their result: characters of a text, elements of a list, a text that is written twice.
//!
//! It is in proportion to the arguments of a row, so that one place asks for it, before the loop of the function begins. What is not
//! here takes less than one copy of its arguments, or asks by itself (trees of documents, results). Measured by
//! `crates/inlay/tests/alone/asked.rs`, which finds what is missing.

use inlay_kernels::function::{ScalarKernel, kernel};
use inlay_types::{LogicalType, PhysicalType, Result, Vector, VectorKind, View, limits};
use std::sync::Arc;

/// Names, and bytes for each byte of a row's arguments.
const TAKEN: &[(&str, usize)] = &[
    // Characters of up to four bytes as places of the text.
    ("left_grapheme", 26),
    ("right_grapheme", 26),
    ("substring_grapheme", 26),
    ("length_grapheme", 26),
    // Counts of elements: a table, their values and the order.
    ("list_histogram", 14),
    ("list_entropy", 10),
    ("list_mode", 10),
    ("strptime", 12),
    ("try_strptime", 9),
    ("hive_partition_component", 5),
    // Elements one by one.
    ("array_push_front", 5),
    ("list_append", 5),
    ("list_prepend", 5),
    ("list_reverse", 2),
    ("list_select", 4),
    ("flatten", 4),
    ("array_shuffle", 4),
    ("array_sample", 2),
    ("map", 3),
    ("list_cosine_distance", 3),
    ("list_cosine_similarity", 3),
    ("list_distance", 3),
    ("list_inner_product", 3),
    ("list_negative_inner_product", 3),
    // Documents as texts, which are quoted while they grow.
    ("to_json", 4),
    ("json_array", 4),
    ("json_object", 4),
    ("json_each_text", 4),
    // Texts and numbers of characters.
    ("hamming", 4),
    ("jaro_similarity", 3),
    ("jaro_winkler_similarity", 3),
    ("parse_ident", 4),
    ("parse_formatted_bytes", 4),
    ("parse_path", 4),
    ("from_base64", 3),
    // Texts that are written while they grow.
    ("parse_dirname", 2),
    ("parse_dirpath", 2),
    ("parse_filename", 2),
    ("unbin", 2),
    ("unhex", 2),
    ("quote_ident", 2),
    ("quote_literal", 2),
    ("quote_nullable", 2),
    ("regexp_escape", 2),
    ("url_encode", 2),
    // Bits, as they are.
    ("&", 2),
    ("|", 2),
    ("~", 3),
    ("<<", 3),
    (">>", 3),
    ("xor", 2),
];

/// The kernel of the function `name` of these types, which asks for its memory first.
pub(crate) fn asking(
    name: &str,
    types: &[LogicalType],
    inner: Arc<dyn ScalarKernel>,
) -> Arc<dyn ScalarKernel> {
    let taken = TAKEN.iter().find(|(known, _)| *known == name).map(|(_, taken)| *taken);
    let Some(taken) = taken.filter(|_| types.iter().any(|ty| ty.physical() == PhysicalType::View)) else {
        return inner;
    };
    let are_shown = !matches!(name, "&" | "|" | "~" | "<<" | ">>" | "xor");
    kernel(move |args: &[&Vector], len, out: &mut Vector| -> Result<()> {
        let sizes = args.iter().map(|arg| longest(arg, are_shown));
        limits::need(sizes.fold(0, usize::saturating_add).saturating_mul(taken))?;
        inner.eval(args, len, out)
    })
}

/// Bytes of the longest value of a vector; those of its text, if it is one of bits and they are shown.
fn longest(vector: &Vector, are_shown: bool) -> usize {
    if vector.physical_type() != PhysicalType::View {
        return 0;
    }
    let views = match vector.kind() {
        VectorKind::Flat | VectorKind::Constant => vector.views(),
        VectorKind::Dictionary(dictionary) => dictionary.values().views(),
    };
    let bytes = views.iter().map(View::len).max().unwrap_or_default();
    if are_shown && *vector.ty() == LogicalType::Bit { bytes.saturating_mul(8) } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::all_functions;
    use inlay_types::{Interrupt, MemoryBudget};

    #[test]
    fn each_name_is_a_function_and_stands_once() {
        for (index, (name, _)) in TAKEN.iter().enumerate() {
            assert!(all_functions().any(|function| function.name == *name), "{name}");
            assert!(TAKEN[..index].iter().all(|(other, _)| other != name), "{name} twice");
        }
    }

    #[test]
    fn memory_is_asked_for_before_the_function_begins() -> Result<()> {
        let never = kernel(|_: &[&Vector], _: usize, _: &mut Vector| panic!("it began"));
        let asking = asking("list_mode", &[LogicalType::Varchar], never);
        let long = Vector::constant(LogicalType::Varchar, &"a".repeat(1 << 20).into(), 1)?;
        let limits = limits::Limits::new(MemoryBudget::new(1 << 22), Interrupt::new());
        let mut out = Vector::empty(LogicalType::BigInt);
        let refused = limits::with(limits, || limits::step(1, || asking.eval(&[&long], 1, &mut out)));
        assert!(refused.is_err());
        Ok(())
    }
}
