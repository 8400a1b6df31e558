//! Random numbers. A session has one sequence of them, which `setseed` begins anew: with one thread the same
//! statements then give the same numbers.

use super::nested::rows::each;
use crate::registry::Function;
use inlay_kernels::function::Volatility;
use inlay_kernels::function::kernel;
use inlay_kernels::random::{STEP, unit};
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, BigInt, Double, Null};
use inlay_types::nested::Sequence;
use inlay_types::{Error, Vector};
use std::sync::Arc;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "random",
        &["random() -> DOUBLE"],
        resolve_random,
        "a random number from 0 to below 1",
        "random()",
    )
    .volatile(Volatility::Volatile),
    Function::typed(
        "random_normal",
        &["random_normal(mean, deviation) -> DOUBLE"],
        resolve_normal,
        "a random number of a normal distribution, of mean 0 and deviation 1 unless others are given",
        "random_normal(5, 0) = 5.0",
    )
    .volatile(Volatility::Volatile),
    Function::typed(
        "setseed",
        &["setseed(DOUBLE) -> NULL"],
        resolve_setseed,
        "begins the session's random numbers anew, with a seed from -1 to 1",
        "setseed(0.42) = NULL",
    )
    .volatile(Volatility::Volatile)
    .fallible(),
    Function::typed(
        "array_shuffle",
        &["array_shuffle(any[]) -> any[]"],
        |args, options| resolve_sample(args, options, false),
        "the elements of a list in a random order",
        "len(array_shuffle([1, 2, 3])) = 3",
    )
    .special_nulls()
    .volatile(Volatility::Volatile),
    Function::typed(
        "array_sample",
        &["array_sample(any[], count) -> any[]"],
        |args, options| resolve_sample(args, options, true),
        "as many elements of a list, by chance and in a random order",
        "len(array_sample([1, 2, 3], 2)) = 2",
    )
    .special_nulls()
    .volatile(Volatility::Volatile)
    .fallible(),
];

fn resolve_random(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    if !args.is_empty() {
        return None;
    }
    let random = Arc::clone(&options.random);
    let kernel = kernel(move |_, len, out| {
        let from = random.take(len);
        out.reset_flat(&Double, len);
        for (index, target) in out.values_mut::<f64>().iter_mut().enumerate() {
            *target = unit(from.wrapping_add(STEP.wrapping_mul(index as u64)));
        }
        Ok(())
    });
    Some(Resolved::infallible(vec![], Double, kernel))
}

fn resolve_normal(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let fits = args.iter().all(|arg| arg.ty.is_numeric() || arg.ty == Null);
    if args.len() > 2 || !fits {
        return None;
    }
    let random = Arc::clone(&options.random);
    let kernel = kernel(move |args, len, out| {
        let flat: Vec<Vector> = args.iter().map(|arg| arg.flatten()).collect();
        let validity = inlay_kernels::apply::joint_validity(args, len);
        out.reset_flat(&Double, len);
        for (row, target) in out.values_mut::<f64>().iter_mut().enumerate() {
            let of =
                |index: usize, default: f64| flat.get(index).map_or(default, |arg| arg.values::<f64>()[row]);
            // Box and Muller; the logarithm's argument is above 0.
            let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
            let angle = std::f64::consts::TAU * random.unit();
            *target = of(0, 0.0) + of(1, 1.0) * radius * angle.cos();
        }
        out.set_validity(validity);
        Ok(())
    });
    Some(Resolved::infallible(vec![Double; args.len()], Double, kernel))
}

fn resolve_setseed(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let [seed] = args else { return None };
    if !seed.ty.is_numeric() && seed.ty != Null {
        return None;
    }
    let random = Arc::clone(&options.random);
    let kernel = kernel(move |args, len, out| {
        let flat = args[0].flatten();
        for (row, seed) in flat.values::<f64>().iter().enumerate().take(len) {
            if flat.is_null(row) {
                continue;
            }
            if !(-1.0..=1.0).contains(seed) {
                let message = format!("setseed takes a seed from -1 to 1, this is {seed}");
                return Err(Error::invalid_argument(message));
            }
            random.seed(*seed);
        }
        *out = Vector::nulls(Null, len);
        Ok(())
    });
    Some(Resolved::fallible(vec![Double], Null, kernel))
}

/// A sample of a list: of as many elements as the second argument says, or of all of them.
fn resolve_sample(args: &[ArgType], options: &ResolveOptions, is_counted: bool) -> Option<Resolved> {
    let list = args.first().filter(|_| args.len() == 1 + usize::from(is_counted))?;
    let LogicalType::List(element) = &list.ty else { return None };
    let (ty, element) = (list.ty.clone(), (**element).clone());
    let returns = ty.clone();
    let random = Arc::clone(&options.random);
    let kernel = kernel(move |args, len, out| {
        // Each row has a sample of its own, also where all rows have the same list.
        let flat: Vec<Vector> = args.iter().map(|arg| arg.flatten()).collect();
        let args: Vec<&Vector> = flat.iter().collect();
        each(&args, &ty, len, out, |args, row, out| {
            let Some(bytes) = args.get(0, row) else { return out.push(None) };
            let elements = Sequence::new(&element, bytes);
            let mut order: Vec<usize> = (0..elements.len()).collect();
            let count = match (is_counted, args.int(1, row)) {
                (false, _) => order.len(),
                (true, None) => return out.push(None),
                (true, Some(count)) => {
                    usize::try_from(count).ok().filter(|count| *count <= order.len()).ok_or_else(|| {
                        Error::invalid_argument(format!("a sample of {count} of {} elements", elements.len()))
                    })?
                }
            };
            // The first steps of Fisher and Yates.
            for index in 0..count {
                order.swap(index, index + random.below(elements.len() - index));
            }
            let parts: Vec<_> = order[..count].iter().map(|&index| elements.get(index)).collect();
            out.push_list(&element, &parts)
        })
    });
    let types = if is_counted { vec![returns.clone(), BigInt] } else { vec![returns.clone()] };
    Some(Resolved::fallible(types, returns, kernel))
}

#[cfg(test)]
mod tests {

    use inlay_kernels::random::Randomness;

    #[test]
    fn a_seed_repeats_and_numbers_are_spread() {
        let random = Randomness::default();
        let drawn = |random: &Randomness| -> Vec<usize> { (0..1000).map(|_| random.below(10)).collect() };
        random.seed(0.5);
        let first = drawn(&random);
        random.seed(0.5);
        assert_eq!(first, drawn(&random));
        assert!((0..10).all(|digit| (60..140).contains(&first.iter().filter(|d| **d == digit).count())));
    }
}
