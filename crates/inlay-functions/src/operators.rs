//! The table of operators; their rules and loops are in [`inlay_kernels::arithmetic`].

use crate::registry::Function;
use inlay_kernels::arithmetic::{self as rules, BitOp, Op};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "+",
        &["number + number", "date + days", "date + interval", "date + time"],
        |args, options| match args {
            [arg] => rules::resolve_plus(arg),
            _ => rules::resolve_binary(Op::Add, args, options),
        },
        "sum",
        "1 + 2 = 3",
    )
    .aliases(&["add"]),
    Function::typed(
        "-",
        &["number - number", "date - date", "date - days", "date - interval", "- number"],
        |args, options| match args {
            [_] => rules::resolve_negate(args),
            _ => rules::resolve_binary(Op::Subtract, args, options),
        },
        "difference, or the negated number",
        "3 - 2 = 1",
    )
    .aliases(&["subtract"]),
    Function::typed(
        "*",
        &["number * number", "interval * number"],
        |args, options| rules::resolve_binary(Op::Multiply, args, options),
        "product",
        "2 * 3 = 6",
    )
    .aliases(&["multiply"]),
    Function::typed(
        "/",
        &["number / number", "interval / number"],
        rules::resolve_divide,
        "quotient",
        "1 / 2 = 0.5",
    ),
    Function::typed(
        "//",
        &["number // number"],
        |args, options| rules::resolve_binary(Op::IntegerDivide, args, options),
        "quotient of integers, truncated",
        "7 // 2 = 3",
    )
    .aliases(&["divide", "div"]),
    Function::typed(
        "%",
        &["number % number"],
        |args, options| rules::resolve_binary(Op::Modulo, args, options),
        "remainder, with the sign of the dividend",
        "-7 % 2 = -1",
    )
    .aliases(&["mod"]),
    Function::typed(
        "&",
        &["integer & integer"],
        |args, _| rules::resolve_bits(BitOp::And, args),
        "bitwise and",
        "5 & 3 = 1",
    ),
    Function::typed(
        "|",
        &["integer | integer"],
        |args, _| rules::resolve_bits(BitOp::Or, args),
        "bitwise or",
        "5 | 3 = 7",
    ),
    Function::typed(
        "xor",
        &["xor(integer, integer)"],
        |args, _| rules::resolve_bits(BitOp::Xor, args),
        "bitwise exclusive or",
        "xor(5, 3) = 6",
    )
    .aliases(&["#"]),
    Function::typed(
        "<<",
        &["integer << integer"],
        |args, _| rules::resolve_bits(BitOp::ShiftLeft, args),
        "bits shifted left",
        "1 << 3 = 8",
    ),
    Function::typed(
        ">>",
        &["integer >> integer"],
        |args, _| rules::resolve_bits(BitOp::ShiftRight, args),
        "bits shifted right",
        "8 >> 2 = 2",
    ),
    Function::typed("~", &["~ integer"], |args, _| rules::resolve_complement(args), "bitwise not", "~5 = -6"),
    Function::typed("abs", &["abs(number)"], |args, _| rules::resolve_abs(args), "magnitude", "abs(-3) = 3")
        .aliases(&["@"]),
];
