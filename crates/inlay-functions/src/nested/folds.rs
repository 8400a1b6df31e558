//! `list_sum` and its like: aggregate functions over the elements of each list, one group per list.

use super::integers::Fold;
use super::rows::{computed, finish};
use super::{element_or_null, explained, literal_text, taken_as};
use crate::registry::{Function, resolve_aggregate};
use inlay_kernels::aggregate::{GroupIds, create};
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::nested::{extract_elements, unpack_lists};
use inlay_types::{Bitmap, Error, LogicalType, Result, Vector, limits};

macro_rules! fold {
    ($list:literal, $name:literal, $shown:literal, $description:literal, $example:literal) => {
        explained($list, &[$shown], |args, _| resolve_named($name, args, &[]), $description, $example)
    };
}

/// See the module documentation.
#[rustfmt::skip]
pub(crate) static FUNCTIONS: &[Function] = &[
    explained(
        "list_aggregate",
        &["list_aggregate(LIST, name, ...) -> any"],
        resolve,
        "an aggregate function, given by name, of the elements",
        "list_aggregate([1, 2, NULL], 'min') = 1",
    )
    .aliases(&["list_aggr", "array_aggregate", "array_aggr"]),
    fold!("list_any_value", "any_value", "list_any_value(LIST) -> any", "the first element that is not NULL", "list_any_value([NULL, 3, 4]) = 3"),
    fold!("list_approx_count_distinct", "approx_count_distinct", "list_approx_count_distinct(LIST) -> BIGINT", "about how many different elements there are", "list_approx_count_distinct([1, 1, 2]) = 2"),
    fold!("list_avg", "avg", "list_avg(LIST) -> DOUBLE", "the mean of the elements", "list_avg([1, 2, NULL]) = 1.5"),
    fold!("list_bit_and", "bit_and", "list_bit_and(LIST) -> any", "the bits that all elements have", "list_bit_and([7, 5]) = 5"),
    fold!("list_bit_or", "bit_or", "list_bit_or(LIST) -> any", "the bits that some element has", "list_bit_or([1, 4]) = 5"),
    fold!("list_bit_xor", "bit_xor", "list_bit_xor(LIST) -> any", "the bits that an odd number of elements have", "list_bit_xor([7, 5]) = 2"),
    fold!("list_bool_and", "bool_and", "list_bool_and(LIST) -> BOOLEAN", "whether all elements are true", "list_bool_and([true, NULL]) = true"),
    fold!("list_bool_or", "bool_or", "list_bool_or(LIST) -> BOOLEAN", "whether some element is true", "list_bool_or([true, false]) = true"),
    fold!("list_count", "count", "list_count(LIST) -> BIGINT", "number of elements that are not NULL", "list_count([1, 2, NULL]) = 2"),
    fold!("list_entropy", "entropy", "list_entropy(LIST) -> DOUBLE", "the entropy of the elements in bits", "list_entropy([1, 2]) = 1.0"),
    fold!("list_first", "first", "list_first(LIST) -> any", "the first element", "list_first([3, 4]) = 3"),
    fold!("list_histogram", "histogram", "list_histogram(LIST) -> MAP", "how often each element occurs", "list_histogram([1, 1, 2]) = '{1=2, 2=1}'"),
    fold!("list_kurtosis", "kurtosis", "list_kurtosis(LIST) -> DOUBLE", "the excess kurtosis of the elements", "list_kurtosis([1, 2, 3, 10])"),
    fold!("list_kurtosis_pop", "kurtosis_pop", "list_kurtosis_pop(LIST) -> DOUBLE", "the excess kurtosis of the elements, without correction", "list_kurtosis_pop([1, 2, 3, 10])"),
    fold!("list_last", "last", "list_last(LIST) -> any", "the last element", "list_last([3, 4]) = 4"),
    fold!("list_mad", "mad", "list_mad(LIST) -> any", "the median distance from the median", "list_mad([1, 2, 4]) = 1.0"),
    fold!("list_max", "max", "list_max(LIST) -> any", "the largest element", "list_max([3, 4]) = 4"),
    fold!("list_median", "median", "list_median(LIST) -> any", "the element in the middle, or the mean of the two", "list_median([1, 2]) = 1.5"),
    fold!("list_min", "min", "list_min(LIST) -> any", "the smallest element", "list_min([3, 4]) = 3"),
    fold!("list_mode", "mode", "list_mode(LIST) -> any", "the most frequent element", "list_mode([1, 2, 2]) = 2"),
    fold!("list_product", "product", "list_product(LIST) -> DOUBLE", "the product of the elements", "list_product([2, 3]) = 6.0"),
    fold!("list_sem", "sem", "list_sem(LIST) -> DOUBLE", "the standard error of the mean", "list_sem([1, 1]) = 0.0"),
    fold!("list_skewness", "skewness", "list_skewness(LIST) -> DOUBLE", "the skewness of the elements", "list_skewness([1, 2, 10])"),
    fold!("list_stddev_pop", "stddev_pop", "list_stddev_pop(LIST) -> DOUBLE", "the standard deviation of all", "list_stddev_pop([1, 3]) = 1.0"),
    fold!("list_stddev_samp", "stddev_samp", "list_stddev_samp(LIST) -> DOUBLE", "the standard deviation of a sample", "list_stddev_samp([1, 1]) = 0.0"),
    fold!("list_string_agg", "string_agg", "list_string_agg(LIST) -> VARCHAR", "the elements joined by commas", "list_string_agg(['a', 'b']) = 'a,b'"),
    fold!("list_sum", "sum", "list_sum(LIST) -> any", "the sum of the elements", "list_sum([1, 2, NULL]) = 3"),
    fold!("list_var_pop", "var_pop", "list_var_pop(LIST) -> DOUBLE", "the variance of all", "list_var_pop([1, 3]) = 1.0"),
    fold!("list_var_samp", "var_samp", "list_var_samp(LIST) -> DOUBLE", "the variance of a sample", "list_var_samp([1, 3]) = 2.0"),
];

fn resolve(args: &[ArgType], _: &ResolveOptions) -> Result<Option<Resolved>> {
    let [list, name, others @ ..] = args else { return Ok(None) };
    let Some(name) = literal_text(name) else {
        return Err(Error::bind("which aggregate function is meant has to be a literal"));
    };
    if !others.iter().all(|arg| arg.is_literal) {
        return Err(Error::bind("what else an aggregate function of a list takes has to be a literal"));
    }
    // The name itself stands between the list and the other arguments.
    let Some(mut resolved) = resolve_named(name, std::slice::from_ref(list), others)? else {
        return Ok(None);
    };
    resolved.arg_types.insert(1, LogicalType::Varchar);
    Ok(Some(resolved))
}

/// The function `name` of the elements of the one argument; `others` stand from the third argument on.
fn resolve_named(name: &str, args: &[ArgType], others: &[ArgType]) -> Result<Option<Resolved>> {
    let [list] = args else { return Ok(None) };
    let Some(element) = element_or_null(list) else { return Ok(None) };
    let element = if element == LogicalType::Null { LogicalType::Integer } else { element };
    let mut taken = vec![ArgType::of(element)];
    taken.extend_from_slice(others);
    let function = resolve_aggregate(name, &taken)?;
    let Some((first, rest)) = function.arg_types.split_first() else { return Ok(None) };
    let mut types = vec![taken_as(list, first)];
    types.extend_from_slice(rest);
    let returns = function.return_type.clone();
    let is_any_value = name.eq_ignore_ascii_case("any_value");
    let of_integers = Fold::of(&function);
    let kernel = kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        let (rows, taken) = computed(args, len);
        let lists = taken[0].flatten();
        if is_any_value && let Some(found) = first_elements(&lists)? {
            return finish(found, rows, len, out);
        }
        if let Some(fold) = of_integers {
            return finish(fold.run(&lists, &function.return_type)?, rows, len, out);
        }
        let (child, offsets) = unpack_lists(&lists)?;
        // An accumulator may keep all elements, and sort them.
        limits::need(child.len().saturating_mul(size_of::<u32>()) + lists.text_size().saturating_mul(2))?;
        let mut groups = Vec::with_capacity(child.len());
        for row in 0..rows {
            groups.resize(offsets[row + 1] as usize, row as u32);
        }
        let others: Vec<Vector> = taken.iter().skip(2).map(|arg| arg.take(&groups)).collect();
        let mut columns = vec![&child];
        columns.extend(&others);
        let mut accumulator = create(&function, false)?;
        accumulator.resize(rows);
        accumulator.start_morsel(0);
        for part in limits::steps(groups.len()) {
            let part = part?;
            let (from, len) = (part.start, part.len());
            let columns: Vec<Vector> = columns.iter().map(|column| column.slice(from, len)).collect();
            let columns: Vec<&Vector> = columns.iter().collect();
            accumulator.update(&columns, GroupIds::new(&groups[part], rows))?;
        }
        let mut found = accumulator.finish(0, rows)?;
        if lists.validity().is_some() {
            found = found.flatten();
            let known = |row: usize| !lists.is_null(row) && !found.is_null(row);
            let validity = Bitmap::from_fn(rows, known);
            found.set_validity(Some(validity));
        }
        finish(found, rows, len, out)
    });
    Ok(Some(Resolved::fallible(types, returns, kernel)))
}

/// The first element of each list, NULL of those without elements; `None` if one is NULL that another may stand for.
fn first_elements(lists: &Vector) -> Result<Option<Vector>> {
    let mut without = 0;
    let found = extract_elements(lists, |_, count| {
        without += usize::from(count == 0);
        Some(0)
    })?;
    Ok((found.null_count() == lists.null_count() + without).then_some(found))
}
