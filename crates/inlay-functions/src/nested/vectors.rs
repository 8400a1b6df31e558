//! Lists and arrays of floats as vectors: distances, products and similarities.

use super::rows::{Args, each_known};
use super::{element, element_or_null, taken_as};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{BigInt, Double, Integer, Real};
use inlay_types::nested::{Sequence, plain_run};
use inlay_types::{Error, LogicalType, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "list_distance",
        &["list_distance(FLOAT[], FLOAT[]) -> FLOAT", "list_distance(DOUBLE[], DOUBLE[]) -> DOUBLE"],
        |args, _| resolve::<Distance>(args),
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
        |args, _| resolve::<Product<false>>(args),
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
        |args, _| resolve::<Product<true>>(args),
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
        |args, _| resolve::<Cosine<false>>(args),
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
        |args, _| resolve::<Cosine<true>>(args),
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

/// What is summed up over the pairs of two vectors, from the first to the last, and what comes of it.
trait Measure: 'static {
    type Sum;

    /// Of no pairs.
    const EMPTY: Self::Sum;

    fn add(sum: &mut Self::Sum, a: f64, b: f64);

    fn finish(sum: Self::Sum) -> f64;

    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
        let mut sum = Self::EMPTY;
        pairs.for_each(|(a, b)| Self::add(&mut sum, a, b));
        Self::finish(sum)
    }
}

/// Of Euclid.
struct Distance;

impl Measure for Distance {
    type Sum = f64;

    const EMPTY: f64 = 0.0;

    #[inline(always)]
    fn add(sum: &mut f64, a: f64, b: f64) {
        *sum += (a - b) * (a - b);
    }

    #[inline(always)]
    fn finish(sum: f64) -> f64 {
        sum.sqrt()
    }
}

/// The inner product, or what is left of 0 by it.
struct Product<const NEGATED: bool>;

impl<const NEGATED: bool> Measure for Product<NEGATED> {
    type Sum = f64;

    const EMPTY: f64 = 0.0;

    #[inline(always)]
    fn add(sum: &mut f64, a: f64, b: f64) {
        *sum += a * b;
    }

    #[inline(always)]
    fn finish(sum: f64) -> f64 {
        if NEGATED { -sum } else { sum }
    }
}

/// The cosine of the angle, or what is left of 1 by it.
struct Cosine<const IS_DISTANCE: bool>;

impl<const IS_DISTANCE: bool> Measure for Cosine<IS_DISTANCE> {
    /// The inner product, and that of each with itself.
    type Sum = [f64; 3];

    const EMPTY: [f64; 3] = [0.0; 3];

    #[inline(always)]
    fn add([product, left, right]: &mut [f64; 3], a: f64, b: f64) {
        *product += a * b;
        *left += a * a;
        *right += b * b;
    }

    #[inline(always)]
    fn finish([product, left, right]: [f64; 3]) -> f64 {
        let cosine = (product / (left * right).sqrt()).clamp(-1.0, 1.0);
        if IS_DISTANCE { 1.0 - cosine } else { cosine }
    }
}

fn both<'a>(left: &'a [f64], right: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    left.iter().copied().zip(right.iter().copied())
}

/// REAL if both are lists of REAL, else DOUBLE; and how the arguments are taken: elements that the loop knows as they are.
fn vectors(args: &[ArgType]) -> Option<(LogicalType, Vec<LogicalType>)> {
    let [left, right] = args else { return None };
    element(&left.ty).or(element(&right.ty))?;
    let elements = [element_or_null(left)?, element_or_null(right)?];
    if !elements.iter().all(|ty| ty.is_numeric() || *ty == LogicalType::Null) {
        return None;
    }
    let is_real = elements.iter().all(|ty| *ty == Real);
    let wanted = if is_real { Real } else { Double };
    let taken = |(arg, own): (&ArgType, &LogicalType)| match own {
        Integer | BigInt | Real | Double => arg.ty.clone(),
        _ => taken_as(arg, &wanted),
    };
    let types = args.iter().zip(&elements).map(taken).collect();
    Some((wanted, types))
}

/// The numbers of a vector, which has no NULL.
#[inline]
fn read_numbers(element: &LogicalType, bytes: &[u8], numbers: &mut Vec<f64>) -> Result<()> {
    let list = Sequence::new(element, bytes);
    if !list.has_no_nulls() && (0..list.len()).any(|index| list.is_null(index)) {
        return Err(Error::invalid_argument("a vector has a NULL element"));
    }
    let Some(raw) = list.fixed() else { return Err(Error::internal(format!("vectors of {element}"))) };
    numbers.clear();
    match element {
        Integer => {
            numbers.extend(raw.as_chunks().0.iter().map(|raw| f64::from(i32::from_le_bytes(*raw))));
        }
        BigInt => numbers.extend(raw.as_chunks().0.iter().map(|raw| i64::from_le_bytes(*raw) as f64)),
        Real => numbers.extend(raw.as_chunks().0.iter().map(|raw| f64::from(f32::from_le_bytes(*raw)))),
        Double => numbers.extend(raw.as_chunks().0.iter().map(|raw| f64::from_le_bytes(*raw))),
        _ => return Err(Error::internal(format!("vectors of {element}"))),
    }
    Ok(())
}

/// The numbers of both vectors of each row.
struct Pairs {
    elements: [LogicalType; 2],
    is_constant: [bool; 2],
    numbers: [Vec<f64>; 2],
    /// Whether those of the constant ones were read.
    is_read: [bool; 2],
}

impl Pairs {
    fn of(args: &[&Vector]) -> Result<Self> {
        let [left, right] = args else { return Err(Error::internal("a measure of other than two vectors")) };
        let of = |arg: &Vector| element(arg.ty()).cloned().unwrap_or(Double);
        Ok(Self {
            elements: [of(left), of(right)],
            is_constant: [left.is_constant(), right.is_constant()],
            numbers: Default::default(),
            is_read: [false; 2],
        })
    }

    fn read(&mut self, args: &Args, row: usize) -> Result<(&[f64], &[f64])> {
        for arg in 0..2 {
            if !self.is_read[arg] {
                let bytes = args.get(arg, row).unwrap_or_default();
                read_numbers(&self.elements[arg], bytes, &mut self.numbers[arg])?;
                self.is_read[arg] = self.is_constant[arg];
            }
        }
        let [left, right] = &self.numbers;
        if left.len() != right.len() {
            return Err(of_other_sizes(left.len(), right.len()));
        }
        Ok((left, right))
    }
}

/// A measure of each list and one that is constant, which is read once; whether there is anything in it to be measured by.
fn against_one<M: Measure>(lists: &Vector, one: &Vector, len: usize, out: &mut Vector) -> Result<bool> {
    let (own, other) = (element(lists.ty()).unwrap_or(&Double), element(one.ty()).unwrap_or(&Double));
    let mut wanted = Vec::new();
    let parts = Args::of(&[one]);
    let Some(bytes) = parts.get(0, 0) else { return Ok(false) };
    // What is wrong with it is wrong in a row that has something to compare.
    if lists.null_count() == lists.len() {
        return Ok(false);
    }
    read_numbers(other, bytes, &mut wanted)?;
    if wanted.is_empty() {
        return Ok(false);
    }
    let flat = lists.flatten();
    out.reset_flat(&Double, len);
    let target = out.values_mut::<f64>();
    match own {
        Integer => each_against::<M, 4>(own, &flat, &wanted, target, |raw| i32::from_le_bytes(raw).into())?,
        BigInt => each_against::<M, 8>(own, &flat, &wanted, target, |raw| i64::from_le_bytes(raw) as f64)?,
        Real => each_against::<M, 4>(own, &flat, &wanted, target, |raw| f32::from_le_bytes(raw).into())?,
        Double => each_against::<M, 8>(own, &flat, &wanted, target, f64::from_le_bytes)?,
        _ => return Err(Error::internal(format!("vectors of {own}"))),
    }
    out.set_validity(flat.validity().cloned());
    Ok(true)
}

/// The loop of [`against_one`] over elements of `WIDTH` bytes, which are measured where they lie.
fn each_against<M: Measure, const WIDTH: usize>(
    element: &LogicalType,
    lists: &Vector,
    wanted: &[f64],
    out: &mut [f64],
    number: impl Fn([u8; WIDTH]) -> f64,
) -> Result<()> {
    let heap = lists.heap().buffers();
    for (row, (target, view)) in out.iter_mut().zip(lists.views()).enumerate() {
        let bytes = view.bytes(heap);
        let numbers = plain_run(bytes, WIDTH).unwrap_or_default().as_chunks::<WIDTH>().0;
        if numbers.len() == wanted.len() {
            let mut sum = M::EMPTY;
            // Both are of one length; a zip is a call here where the compiler puts it elsewhere.
            for (index, &wanted) in wanted.iter().enumerate() {
                M::add(&mut sum, number(numbers[index]), wanted);
            }
            *target = M::finish(sum);
            continue;
        }
        *target = 0.0;
        if !lists.is_null(row) {
            // There is a NULL in it, or it has another size.
            let mut numbers = Vec::new();
            read_numbers(element, bytes, &mut numbers)?;
            return Err(of_other_sizes(numbers.len(), wanted.len()));
        }
    }
    Ok(())
}

fn of_other_sizes(left: usize, right: usize) -> Error {
    Error::invalid_argument(format!("vectors of {left} and of {right} elements"))
}

fn resolve<M: Measure>(args: &[ArgType]) -> Option<Resolved> {
    let (ty, types) = vectors(args)?;
    let returns = ty.clone();
    let kernel = kernel(move |vectors: &[&Vector], len: usize, out: &mut Vector| {
        if let ([lists, one], Double) = (vectors, &ty)
            && one.is_constant()
            && !lists.is_constant()
            && against_one::<M>(lists, one, len, out)?
        {
            return Ok(());
        }
        let mut pairs = Pairs::of(vectors)?;
        each_known(vectors, &ty, len, out, |args, row, out| {
            let (left, right) = pairs.read(args, row)?;
            let found = M::of(both(left, right));
            // There is no angle between vectors of nothing.
            if left.is_empty() && found.is_nan() {
                return out.push(None);
            }
            match ty {
                Real => out.push(Some(&(found as f32).to_le_bytes())),
                _ => out.push_double(found),
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
    let kernel = kernel(move |vectors: &[&Vector], len: usize, out: &mut Vector| {
        let mut pairs = Pairs::of(vectors)?;
        each_known(vectors, &ty, len, out, |args, row, out| {
            let (left, right) = pairs.read(args, row)?;
            let both: Vec<(f64, f64)> = both(left, right).collect();
            let [a, b, c] = both[..] else {
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
