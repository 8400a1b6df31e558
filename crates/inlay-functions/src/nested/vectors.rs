//! Lists and arrays of floats as vectors: distances, products and similarities.

use super::rows::each_known;
use super::{element, element_or_null, taken_as};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{Double, Real};
use inlay_types::nested::Sequence;
use inlay_types::{Error, LogicalType, Result};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "list_distance",
        &["list_distance(FLOAT[], FLOAT[]) -> FLOAT", "list_distance(DOUBLE[], DOUBLE[]) -> DOUBLE"],
        |args, _| resolve(args, distance),
        "the Euclidean distance of two vectors",
        "list_distance([1, 2, 3], [1, 2, 5]) = 2.0",
    ).special_nulls()
    .aliases(&["array_distance", "<->"]),
    Function::typed(
        "list_inner_product",
        &[
            "list_inner_product(FLOAT[], FLOAT[]) -> FLOAT",
            "list_inner_product(DOUBLE[], DOUBLE[]) -> DOUBLE",
        ],
        |args, _| resolve(args, product),
        "the inner product of two vectors",
        "list_inner_product([1, 2, 3], [1, 2, 5]) = 20.0",
    ).special_nulls()
    .aliases(&["list_dot_product", "array_inner_product", "array_dot_product"]),
    Function::typed(
        "list_negative_inner_product",
        &[
            "list_negative_inner_product(FLOAT[], FLOAT[]) -> FLOAT",
            "list_negative_inner_product(DOUBLE[], DOUBLE[]) -> DOUBLE",
        ],
        |args, _| resolve(args, |pairs| -product(pairs)),
        "the inner product of two vectors, negated",
        "list_negative_inner_product([1, 2, 3], [1, 2, 5]) = -20.0",
    ).special_nulls()
    .aliases(&[
        "list_negative_dot_product",
        "array_negative_inner_product",
        "array_negative_dot_product",
    ]),
    Function::typed(
        "list_cosine_similarity",
        &[
            "list_cosine_similarity(FLOAT[], FLOAT[]) -> FLOAT",
            "list_cosine_similarity(DOUBLE[], DOUBLE[]) -> DOUBLE",
        ],
        |args, _| resolve(args, similarity),
        "the cosine of the angle between two vectors",
        "list_cosine_similarity([1, 2], [1, 2]) = 1.0",
    ).special_nulls()
    .aliases(&["array_cosine_similarity"]),
    Function::typed(
        "list_cosine_distance",
        &[
            "list_cosine_distance(FLOAT[], FLOAT[]) -> FLOAT",
            "list_cosine_distance(DOUBLE[], DOUBLE[]) -> DOUBLE",
        ],
        |args, _| resolve(args, |pairs| 1.0 - similarity(pairs)),
        "1 less the cosine of the angle between two vectors",
        "list_cosine_distance([1, 2], [1, 2]) = 0.0",
    ).special_nulls()
    .aliases(&["array_cosine_distance", "<=>"]),
    Function::typed(
        "array_cross_product",
        &["array_cross_product(DOUBLE[3], DOUBLE[3]) -> DOUBLE[3]"],
        |args, _| resolve_cross(args),
        "the cross product of two vectors of three numbers",
        "array_cross_product(array_value(1.0::DOUBLE, 2.0, 3.0), array_value(2.0::DOUBLE, 3.0, 4.0)) = '[-1.0, 2.0, -1.0]'",
    ).special_nulls(),
];

type Measure = fn(&[(f64, f64)]) -> f64;

fn distance(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|(a, b)| (a - b) * (a - b)).fold(0.0, |sum: f64, square| sum + square).sqrt()
}

fn product(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|(a, b)| a * b).fold(0.0, |sum, product| sum + product)
}

fn similarity(pairs: &[(f64, f64)]) -> f64 {
    let size = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| side(pair) * side(pair)).sum::<f64>();
    let cosine = product(pairs) / (size(|pair| pair.0) * size(|pair| pair.1)).sqrt();
    cosine.clamp(-1.0, 1.0)
}

/// REAL if both are lists of REAL, else DOUBLE.
fn vectors(args: &[ArgType]) -> Option<(LogicalType, Vec<LogicalType>)> {
    let [left, right] = args else { return None };
    element(&left.ty).or(element(&right.ty))?;
    let elements = [element_or_null(left)?, element_or_null(right)?];
    if !elements.iter().all(|ty| ty.is_numeric() || *ty == LogicalType::Null) {
        return None;
    }
    let is_real = elements.iter().all(|ty| *ty == Real);
    let wanted = if is_real { Real } else { Double };
    let types = vec![taken_as(left, &wanted), taken_as(right, &wanted)];
    Some((wanted, types))
}

/// The pairs of elements of two vectors, in the place of what is there.
fn pairs(element: &LogicalType, left: &[u8], right: &[u8], pairs: &mut Vec<(f64, f64)>) -> Result<()> {
    let [left, right] = [left, right].map(|bytes| Sequence::new(element, bytes));
    let has_nulls = |list: &Sequence<'_>| !list.has_no_nulls() && (0..list.len()).any(|i| list.is_null(i));
    if has_nulls(&left) || has_nulls(&right) {
        return Err(Error::invalid_argument("a vector has a NULL element"));
    }
    if left.len() != right.len() {
        let (left, right) = (left.len(), right.len());
        return Err(Error::invalid_argument(format!("vectors of {left} and of {right} elements")));
    }
    let (Some(left), Some(right)) = (left.fixed(), right.fixed()) else {
        return Err(Error::internal(format!("vectors of {element}")));
    };
    pairs.clear();
    match element {
        Real => {
            let number = |raw: &[u8; 4]| f64::from(f32::from_le_bytes(*raw));
            let both = left.as_chunks().0.iter().zip(right.as_chunks().0);
            pairs.extend(both.map(|(left, right)| (number(left), number(right))));
        }
        _ => {
            let number = |raw: &[u8; 8]| f64::from_le_bytes(*raw);
            let both = left.as_chunks().0.iter().zip(right.as_chunks().0);
            pairs.extend(both.map(|(left, right)| (number(left), number(right))));
        }
    }
    Ok(())
}

fn resolve(args: &[ArgType], measure: Measure) -> Option<Resolved> {
    let (ty, types) = vectors(args)?;
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let mut found = Vec::new();
        each_known(args, &ty, len, out, |args, row, out| {
            let [left, right] = [0, 1].map(|arg| args.get(arg, row).unwrap_or_default());
            pairs(&ty, left, right, &mut found)?;
            let pairs = &found;
            // There is no angle between vectors of nothing.
            if pairs.is_empty() && measure(pairs).is_nan() {
                return out.push(None);
            }
            match ty {
                Real => out.push(Some(&(measure(pairs) as f32).to_le_bytes())),
                _ => out.push_double(measure(pairs)),
            }
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

fn resolve_cross(args: &[ArgType]) -> Option<Resolved> {
    let three = |arg: &ArgType| matches!(&arg.ty, LogicalType::Array(element, 3) if element.is_numeric());
    if args.len() != 2 || !args.iter().all(three) {
        return None;
    }
    let is_real = args.iter().all(|arg| element(&arg.ty) == Some(&Real));
    let wanted = if is_real { Real } else { Double };
    let ty = LogicalType::array(wanted.clone(), 3);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let [left, right] = [0, 1].map(|arg| args.get(arg, row).unwrap_or_default());
            let mut p = Vec::new();
            pairs(&wanted, left, right, &mut p)?;
            let [a, b, c] = p[..] else {
                return Err(Error::internal("a vector of three has other than three"));
            };
            let cross = [b.0 * c.1 - c.0 * b.1, c.0 * a.1 - a.0 * c.1, a.0 * b.1 - b.0 * a.1];
            let bytes: Vec<Vec<u8>> = cross
                .iter()
                .map(|x| {
                    if wanted == Real { (*x as f32).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() }
                })
                .collect();
            out.push_list(&wanted, &bytes.iter().map(|bytes| Some(&bytes[..])).collect::<Vec<_>>())
        })
    });
    Some(Resolved::fallible(vec![returns.clone(); 2], returns, kernel))
}
