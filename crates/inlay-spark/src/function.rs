//! Scalar functions and operators: the same, in another form, or refused by their name.
//!
//! What is here was tried on Sail against Inlay; Spark's documentation says the same of it. A function that is not in the table is refused, one whose arguments leave
//! the part that all read alike ends the query with a message (`raise_error`) rather than give another answer.

use super::Writer;
use super::cast::{is_whole, unsigned_max};
use super::literal::{double, failure, text};
use super::pattern;
use inlay_kernels::function::{ScalarFunction, Volatility};
use inlay_sql::plan::{Expr, Place};
use inlay_types::{Interval, LogicalType as T, Value};

/// Letters whose capitals are several letters, or that Inlay and Java map in different ways.
const NOT_RAISED: &str = "[ßŉǰΐΰևẖẗẘẙẚ\u{1F50}-\u{1FFC}\u{FB00}-\u{FB17}]";
const NOT_LOWERED: &str = "[İΣẞ]";

impl Writer<'_> {
    pub(crate) fn call(&mut self, function: &ScalarFunction, args: &[Expr], place: Place) -> String {
        let name = &*function.name;
        match function.volatility {
            Volatility::Volatile => {
                return self.refuse(format!("{name}, which gives other values each time"), place);
            }
            Volatility::Immutable | Volatility::Stable => {}
        }
        if let Some(external) = &function.external {
            return self.scalar_of_host(external, args, place);
        }
        let written = match args {
            [] => None,
            [one] => self.of_one(name, one, &function.return_type, place),
            [one, other] => self.of_two(name, one, other, &function.return_type, place),
            [_, _, ..] => None,
        };
        match written.or_else(|| self.of_many(name, args, &function.return_type, place)) {
            Some(written) => written,
            None => {
                let types: Vec<String> = function.arg_types.iter().map(ToString::to_string).collect();
                self.refuse(format!("{name}({})", types.join(", ")), place)
            }
        }
    }

    /// A call whose result Spark types in its own way.
    fn typed(&mut self, text: String, ty: &T, place: Place) -> Option<String> {
        Some(format!("CAST({text} AS {})", self.type_text(ty, place)))
    }

    fn of_one(&mut self, name: &str, arg: &Expr, ty: &T, place: Place) -> Option<String> {
        let from = arg.ty();
        let is_float = matches!(from, T::Double | T::Real);
        let is_decimal = matches!(from, T::Decimal { .. });
        let x = self.operand(arg);
        match name {
            "-" if is_float => Some(format!("(-{x})")),
            "-" if is_decimal => self.typed(format!("-{x}"), ty, place),
            "-" if is_whole(&from) => Some(self.ranged(&format!("-CAST({x} AS DECIMAL(38,0))"), ty, place)),
            "+" => Some(x),
            "abs" | "@" if is_float || is_decimal => self.typed(format!("abs({x})"), ty, place),
            "abs" | "@" if is_whole(&from) => {
                Some(self.ranged(&format!("abs(CAST({x} AS DECIMAL(38,0)))"), ty, place))
            }
            "sqrt" | "exp" | "sin" | "cos" | "tan" | "atan" | "cbrt" | "degrees" | "radians"
                if from == T::Double =>
            {
                Some(format!("{name}({x})"))
            }
            "ln" | "log10" | "log2" if from == T::Double => {
                let nan = double(f64::NAN);
                let below = double(f64::NEG_INFINITY);
                Some(format!(
                    "CASE WHEN {x} < 0.0D THEN {nan} WHEN {x} = 0.0D THEN {below} ELSE {name}({x}) END"
                ))
            }
            "floor" | "ceil" | "ceiling" | "round" if is_decimal => {
                self.typed(format!("{name}({x})"), ty, place)
            }
            // Spark's are BIGINTs, which not every DOUBLE is.
            "floor" | "ceil" | "ceiling" if from == T::Double => {
                let whole = if name == "floor" { "floor" } else { "ceil" };
                Some(format!(
                    "CASE WHEN abs({x}) < 4503599627370496.0D THEN CAST({whole}({x}) AS DOUBLE) ELSE {x} END"
                ))
            }
            "round" if from == T::Double => {
                Some(format!("CASE WHEN abs({x}) < 4503599627370496.0D THEN round({x}) ELSE {x} END"))
            }
            "floor" | "ceil" | "ceiling" | "round" if is_whole(&from) => self.typed(x, ty, place),
            "sign" if from == T::Double || is_decimal || is_whole(&from) => self.typed(
                format!("CASE WHEN {x} > 0 THEN 1 WHEN {x} < 0 THEN -1 WHEN {x} = 0 THEN 0 END"),
                ty,
                place,
            ),
            "isnan" if from == T::Double => Some(format!("CASE WHEN {x} IS NOT NULL THEN isnan({x}) END")),
            "length" | "len" | "char_length" | "character_length" if from == T::Varchar => {
                self.typed(format!("char_length({x})"), ty, place)
            }
            "strlen" | "octet_length" if matches!(from, T::Varchar | T::Blob) => {
                self.typed(format!("octet_length({x})"), ty, place)
            }
            "bit_length" if from == T::Varchar => self.typed(format!("bit_length({x})"), ty, place),
            "upper" | "ucase" => Some(in_cases("upper", &x, NOT_RAISED)),
            "lower" | "lcase" => Some(in_cases("lower", &x, NOT_LOWERED)),
            "trim" => Some(format!("trim(BOTH ' ' FROM {x})")),
            "ltrim" => Some(format!("trim(LEADING ' ' FROM {x})")),
            "rtrim" => Some(format!("trim(TRAILING ' ' FROM {x})")),
            "md5" if from == T::Varchar => Some(format!("md5(CAST({x} AS BINARY))")),
            "sha256" if from == T::Varchar => Some(format!("sha2(CAST({x} AS BINARY), 256)")),
            "last_day" if matches!(from, T::Date) => Some(format!("last_day({x})")),
            "date" if from == T::Timestamp => self.typed(x, ty, place),
            "len" | "length" | "array_length" | "cardinality"
                if matches!(from, T::List(_) | T::Array(_, _)) =>
            {
                self.typed(format!("CASE WHEN {x} IS NOT NULL THEN size({x}) END"), ty, place)
            }
            "flatten" => self.typed(format!("flatten(filter({x}, l -> l IS NOT NULL))"), ty, place),
            "list_distinct" | "list_unique" => None,
            "map_keys" | "map_values" => self.typed(format!("{name}({x})"), ty, place),
            part => self.date_part(part, &x, &from, ty, place),
        }
    }

    /// A part of a date or timestamp by its name.
    fn date_part(&mut self, part: &str, x: &str, from: &T, ty: &T, place: Place) -> Option<String> {
        if !matches!(from, T::Date | T::Timestamp) {
            return None;
        }
        let is_date = *from == T::Date;
        let call = match part {
            "year" | "years" => format!("year({x})"),
            "month" | "months" => format!("month({x})"),
            "day" | "days" | "dayofmonth" => format!("day({x})"),
            "quarter" | "quarters" => format!("quarter({x})"),
            "dayofyear" | "doy" => format!("dayofyear({x})"),
            "week" | "weekofyear" | "weeks" => format!("weekofyear({x})"),
            // Spark's week begins with Sunday as 1, ours with Sunday as 0.
            "dayofweek" | "dow" | "weekday" => format!("(dayofweek({x}) - 1)"),
            "isodow" => format!("((dayofweek({x}) + 5) % 7 + 1)"),
            "hour" | "hours" if !is_date => format!("hour({x})"),
            "minute" | "minutes" if !is_date => format!("minute({x})"),
            "second" | "seconds" if !is_date => format!("second({x})"),
            "hour" | "minute" | "second" => format!("CASE WHEN {x} IS NOT NULL THEN 0 END"),
            _ => return None,
        };
        self.typed(call, ty, place)
    }

    fn of_two(&mut self, name: &str, one: &Expr, other: &Expr, ty: &T, place: Place) -> Option<String> {
        if let Some(written) = self.of_times(name, one, other, ty, place) {
            return Some(written);
        }
        match name {
            "+" | "-" | "*" | "/" | "//" | "%" | "add" | "subtract" | "multiply" | "divide" | "mod"
            | "fdiv" => {
                return self.arithmetic(name, one, other, ty, place);
            }
            _ => {}
        }
        let (a, b) = (self.operand(one), self.operand(other));
        let (left, right) = (one.ty(), other.ty());
        match name {
            "||" | "concat" if left == T::Varchar && right == T::Varchar => {
                if name == "concat" {
                    return Some(format!("concat(coalesce({a}, ''), coalesce({b}, ''))"));
                }
                Some(format!("{a} || {b}"))
            }
            "**" | "^" | "pow" | "power" if left == T::Double && right == T::Double => {
                match constant(other) {
                    Some(Value::Double(exponent)) if *exponent >= 0.0 => Some(format!("power({a}, {b})")),
                    _ => None,
                }
            }
            "atan2" => Some(format!("atan2({a}, {b})")),
            "round" => {
                let Some(digits) = constant(other).and_then(whole_of) else {
                    return Some(self.refuse("round to a number of digits that is computed", place));
                };
                match left {
                    T::Decimal { .. } => self.typed(format!("round({a}, {digits})"), ty, place),
                    // Spark rounds the decimal digits of a DOUBLE, we round its value.
                    T::Double => Some(self.refuse("round of a DOUBLE to digits; round a DECIMAL", place)),
                    _ => None,
                }
            }
            "left" | "right" if left == T::Varchar => {
                let fails = failure(
                    &format!("{name} with a negative number of characters"),
                    &beside(&b, "of", &a),
                    "STRING",
                );
                Some(format!("CASE WHEN {b} < 0 THEN {fails} ELSE {name}({a}, CAST({b} AS INT)) END"))
            }
            "substring" | "substr" if left == T::Varchar => {
                let fails = failure(
                    "substring from a place before the first character",
                    &beside(&b, "of", &a),
                    "STRING",
                );
                Some(format!("CASE WHEN {b} < 1 THEN {fails} ELSE substring({a}, CAST({b} AS INT)) END"))
            }
            "repeat" if left == T::Varchar => Some(format!("repeat({a}, CAST(greatest({b}, 0) AS INT))")),
            "starts_with" | "prefix" | "^@" => Some(format!("startswith({a}, {b})")),
            "ends_with" | "suffix" => Some(format!("endswith({a}, {b})")),
            "contains" if left == T::Varchar => Some(format!("contains({a}, {b})")),
            "strpos" | "instr" | "position" if left == T::Varchar => {
                self.typed(format!("instr({a}, {b})"), ty, place)
            }
            // What is left of an average that was made of parts.
            "avg" if *ty == T::Double => {
                Some(format!("CAST({a} AS DOUBLE) / CAST(nullif({b}, 0L) AS DOUBLE)"))
            }
            "nullif" => Some(format!("nullif({a}, {b})")),
            "like" | "~~" => pattern::like(constant(other), &a, &b, None),
            "not_like" | "!~~" => {
                pattern::like(constant(other), &a, &b, None).map(|like| format!("NOT ({like})"))
            }
            "ilike" | "~~*" => {
                let lowered = in_cases("lower", &a, NOT_LOWERED);
                let pattern = match constant(other) {
                    Some(Value::Varchar(written)) if written.contains(['İ', 'Σ', 'ẞ']) => {
                        return Some(self.refuse(
                            "ILIKE with a letter whose other case is not one letter everywhere",
                            place,
                        ));
                    }
                    Some(_) => format!("lower({b})"),
                    None => in_cases("lower", &b, NOT_LOWERED),
                };
                pattern::like(None, &format!("({lowered})"), &format!("({pattern})"), None)
            }
            "regexp_matches" | "regexp_like" | "regexp_full_match" | "~" => {
                self.matches(name, &a, other, place)
            }
            "regexp_extract" => self.extracted(&a, other, 0, place),
            "string_split" | "str_split" | "split" => match constant(other) {
                Some(Value::Varchar(separator)) if !separator.is_empty() => {
                    let quoted = text(&pattern::quoted(separator));
                    self.typed(format!("split({a}, {quoted}, -1)"), ty, place)
                }
                _ => Some(self.refuse(format!("{name} by a separator that is computed or empty"), place)),
            },
            "struct_extract" => match constant(other) {
                Some(Value::Varchar(field)) => Some(format!("{a}.{}", super::carrier::quoted(field))),
                _ => None,
            },
            "list_extract" | "array_extract" | "list_element" | "element_at" | "[]"
                if matches!(left, T::List(_) | T::Array(_, _)) =>
            {
                Some(format!("CASE WHEN {b} <> 0 THEN try_element_at({a}, CAST({b} AS INT)) END"))
            }
            "map_extract_value" | "element_at" if matches!(left, T::Map(_)) => {
                Some(format!("try_element_at({a}, {b})"))
            }
            "list_contains" | "array_contains" | "list_has" | "array_has" => Some(format!(
                "coalesce(array_contains({a}, {b}), CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL ELSE false END)"
            )),
            "list_concat" | "array_concat" | "||" if left == *ty && right == *ty => {
                let nothing = "CAST(array() AS ";
                let spark = self.type_text(ty, place);
                Some(format!(
                    "CASE WHEN {a} IS NOT NULL OR {b} IS NOT NULL THEN concat(coalesce({a}, {nothing}{spark})), coalesce({b}, {nothing}{spark}))) END"
                ))
            }
            "date_part" | "datepart" | "extract" => match constant(one) {
                Some(Value::Varchar(part)) => self.date_part(&part.to_lowercase(), &b, &right, ty, place),
                _ => None,
            },
            "date_trunc" | "datetrunc" => self.truncated(constant(one), &b, &right, ty, place),
            _ => None,
        }
    }

    /// The beginning of the year, month, ... that a time lies in.
    fn truncated(&mut self, part: Option<&Value>, x: &str, from: &T, ty: &T, place: Place) -> Option<String> {
        let Some(Value::Varchar(part)) = part else { return None };
        let part = part.to_lowercase();
        let known = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];
        if !known.contains(&part.as_str()) || !matches!(from, T::Date | T::Timestamp) {
            return None;
        }
        self.typed(format!("date_trunc('{part}', CAST({x} AS TIMESTAMP_NTZ))"), ty, place)
    }

    /// `+` and `-` of dates, timestamps and intervals.
    fn of_times(&mut self, name: &str, one: &Expr, other: &Expr, ty: &T, place: Place) -> Option<String> {
        let is_plus = name == "+";
        if !is_plus && name != "-" {
            return None;
        }
        match (one.ty(), other.ty()) {
            (T::Date | T::Timestamp, T::Interval) => self.moved(one, other, is_plus, ty, place),
            (T::Interval, T::Date | T::Timestamp) if is_plus => self.moved(other, one, true, ty, place),
            (T::Date, days) if is_whole(&days) => {
                let (date, days) = (self.operand(one), self.operand(other));
                let function = if is_plus { "date_add" } else { "date_sub" };
                Some(format!("{function}({date}, CAST({days} AS INT))"))
            }
            (days, T::Date) if is_plus && is_whole(&days) => {
                let (days, date) = (self.operand(one), self.operand(other));
                Some(format!("date_add({date}, CAST({days} AS INT))"))
            }
            (T::Date, T::Date) if !is_plus => {
                let (one, other) = (self.operand(one), self.operand(other));
                self.typed(format!("datediff({one}, {other})"), ty, place)
            }
            _ => None,
        }
    }

    fn moved(&mut self, time: &Expr, by: &Expr, is_plus: bool, ty: &T, place: Place) -> Option<String> {
        let x = self.operand(time);
        let interval = match constant(by) {
            Some(Value::Interval(interval)) => interval_text(*interval, is_plus)?,
            _ => self.counted(by, is_plus)?,
        };
        self.typed(format!("CAST({x} AS TIMESTAMP_NTZ) + {interval}"), ty, place)
    }

    /// An interval of a number of units that is computed: `to_days(n)` and its like.
    fn counted(&mut self, by: &Expr, is_plus: bool) -> Option<String> {
        let Expr::Call { function, args, .. } = by else { return None };
        let [count] = args.as_slice() else { return None };
        if !is_whole(&count.ty()) {
            return None;
        }
        let count = self.operand(count);
        let n = format!("CAST({}{count} AS INT)", if is_plus { "" } else { "-" });
        let zero = "CAST(0 AS DECIMAL(18,6))";
        Some(match &*function.name {
            "to_years" => format!("make_interval({n}, 0, 0, 0, 0, 0, {zero})"),
            "to_months" => format!("make_interval(0, {n}, 0, 0, 0, 0, {zero})"),
            "to_days" => format!("make_interval(0, 0, 0, {n}, 0, 0, {zero})"),
            "to_weeks" => format!("make_interval(0, 0, {n}, 0, 0, 0, {zero})"),
            "to_hours" => format!("make_interval(0, 0, 0, 0, {n}, 0, {zero})"),
            "to_minutes" => format!("make_interval(0, 0, 0, 0, 0, {n}, {zero})"),
            _ => return None,
        })
    }

    fn arithmetic(&mut self, name: &str, one: &Expr, other: &Expr, ty: &T, place: Place) -> Option<String> {
        let (left, right) = (one.ty(), other.ty());
        let (a, b) = (self.operand(one), self.operand(other));
        let symbol = match name {
            "add" => "+",
            "subtract" => "-",
            "multiply" => "*",
            "divide" | "fdiv" => "/",
            "mod" => "%",
            other => other,
        };
        match (symbol, ty) {
            ("/", T::Double | T::Real) if left == *ty && right == *ty => {
                Some(quotient(&a, &b, constant(other)))
            }
            ("+" | "-" | "*", T::Double | T::Real) if left == *ty && right == *ty => {
                Some(format!("{a} {symbol} {b}"))
            }
            ("+" | "-" | "*", T::Decimal { .. }) => {
                self.of_decimals(symbol, (&a, &left), (&b, &right), ty, place)
            }
            ("+" | "-" | "*", T::HugeInt) => {
                let whole = T::Decimal { precision: 38, scale: 0 };
                self.of_decimals(symbol, (&a, &whole), (&b, &whole), &whole, place)
            }
            ("+" | "-" | "*", whole) if is_whole(whole) => {
                let wide = if *whole == T::BigInt || unsigned_max(whole) == Some(u64::MAX) {
                    "DECIMAL(20,0)"
                } else {
                    "BIGINT"
                };
                Some(self.ranged(&format!("CAST({a} AS {wide}) {symbol} CAST({b} AS {wide})"), whole, place))
            }
            ("//" | "%", whole) if is_whole(whole) && constant(other).and_then(Value::as_i128) == Some(0) => {
                // Sail computes constants even where there are no rows, and fails.
                Some(self.refuse("a division by the constant 0", place))
            }
            ("//" | "%", whole) if is_whole(whole) && !matches!(whole, T::HugeInt | T::UBigInt) => {
                let operator = if symbol == "//" { "div" } else { "%" };
                Some(self.ranged(
                    &format!("CAST({a} AS BIGINT) {operator} CAST({b} AS BIGINT)"),
                    whole,
                    place,
                ))
            }
            _ => None,
        }
    }

    /// A sum, difference or product of decimals. Where its type has all the digits that there may be, Spark's own is right. Else Spark
    /// may give digits behind the point away, and engines may not see that the others are too many: the first is refused, the second
    /// looked for.
    fn of_decimals(
        &mut self,
        symbol: &str,
        (a, left): (&str, &T),
        (b, right): (&str, &T),
        ty: &T,
        place: Place,
    ) -> Option<String> {
        let (T::Decimal { precision: p1, scale: s1 }, T::Decimal { precision: p2, scale: s2 }) =
            (left, right)
        else {
            return None;
        };
        let (digits, scale) = match symbol {
            "*" => (p1 + p2 + 1, s1 + s2),
            _ => ((p1 - s1).max(p2 - s2) + 1 + s1.max(s2), *s1.max(s2)),
        };
        let spark = self.type_text(ty, place);
        let plain = format!("CAST({a} {symbol} {b} AS {spark})");
        if digits <= 38 {
            return Some(plain);
        }
        if scale > 6 {
            let what = format!("{left} {symbol} {right}, of whose digits Spark gives some away");
            return Some(self.refuse(what, place));
        }
        let fails = failure("an overflow of DECIMAL", &beside(a, symbol, b), &spark);
        let limit = 10f64.powi(38 - i32::from(scale)) * (1.0 - 1e-12);
        Some(format!(
            "CASE WHEN abs(CAST({a} AS DOUBLE) {symbol} CAST({b} AS DOUBLE)) >= {} THEN {fails} ELSE {plain} END",
            double(limit)
        ))
    }

    fn of_many(&mut self, name: &str, args: &[Expr], ty: &T, place: Place) -> Option<String> {
        let texts: Vec<String> = args.iter().map(|arg| self.operand(arg)).collect();
        match (name, args) {
            ("concat", _) if args.iter().all(|arg| arg.ty() == T::Varchar) => {
                let parts: Vec<String> = texts.iter().map(|text| format!("coalesce({text}, '')")).collect();
                Some(format!("concat({})", parts.join(", ")))
            }
            ("concat_ws", _) if args.iter().all(|arg| arg.ty() == T::Varchar) => {
                Some(format!("concat_ws({})", texts.join(", ")))
            }
            ("greatest" | "least", [one, _, ..]) if super::carrier::is_compared_alike(&one.ty()) => {
                Some(format!("{name}({})", texts.join(", ")))
            }
            ("greatest" | "least", [_]) => texts.into_iter().next(),
            ("substring" | "substr", [one, _, _]) if one.ty() == T::Varchar => {
                let (x, from, count) = (&texts[0], &texts[1], &texts[2]);
                let fails = failure(
                    "substring from a place before the first character, or of a negative length",
                    &beside(from, "of", x),
                    "STRING",
                );
                Some(format!(
                    "CASE WHEN {from} < 1 OR {count} < 0 THEN {fails} ELSE substring({x}, CAST({from} AS INT), CAST({count} AS INT)) END"
                ))
            }
            ("replace", [_, _, _]) => Some(format!("replace({})", texts.join(", "))),
            ("lpad" | "rpad", [_, _, fill]) => match constant(fill) {
                Some(Value::Varchar(fill)) if !fill.is_empty() => {
                    Some(format!("{name}({}, CAST({} AS INT), {})", texts[0], texts[1], texts[2]))
                }
                _ => None,
            },
            ("like_escape" | "not_like_escape", [_, _, escape]) => {
                let like = pattern::like(constant(&args[1]), &texts[0], &texts[1], constant(escape))?;
                Some(if name == "like_escape" { like } else { format!("NOT ({like})") })
            }
            ("regexp_extract", [_, regex, group]) => {
                let group = constant(group).and_then(whole_of)?;
                self.extracted(&texts[0], regex, group, place)
            }
            ("regexp_replace", [_, regex, by]) => self.replaced(&texts[0], regex, by, place),
            ("split_part", [_, separator, _]) => match constant(separator) {
                Some(Value::Varchar(separator)) if !separator.is_empty() => {
                    Some(format!("split_part({}, {}, CAST({} AS INT))", texts[0], texts[1], texts[2]))
                }
                _ => None,
            },
            ("date_diff" | "datediff", [part, from, to]) => {
                self.difference(constant(part), (&texts[1], &from.ty()), (&texts[2], &to.ty()), ty, place)
            }
            ("make_date", [_, _, _]) => Some(format!(
                "make_date(CAST({} AS INT), CAST({} AS INT), CAST({} AS INT))",
                texts[0], texts[1], texts[2]
            )),
            ("if" | "iif", [_, _, _]) => {
                Some(format!("CASE WHEN {} THEN {} ELSE {} END", texts[0], texts[1], texts[2]))
            }
            ("list_value" | "list_pack" | "array_value", _) => {
                self.typed(format!("array({})", texts.join(", ")), ty, place)
            }
            ("struct_pack" | "row", _) => {
                let T::Struct(fields) = ty else { return None };
                let items: Vec<String> = fields
                    .iter()
                    .zip(&texts)
                    .map(|(field, value)| format!("{}, {value}", text(&field.name)))
                    .collect();
                self.typed(format!("named_struct({})", items.join(", ")), ty, place)
            }
            _ => None,
        }
    }

    /// How often the boundary of a part is crossed between two times.
    fn difference(
        &mut self,
        part: Option<&Value>,
        (from, from_type): (&str, &T),
        (to, to_type): (&str, &T),
        ty: &T,
        place: Place,
    ) -> Option<String> {
        let Some(Value::Varchar(part)) = part else { return None };
        if !matches!(from_type, T::Date | T::Timestamp) || !matches!(to_type, T::Date | T::Timestamp) {
            return None;
        }
        let months = |x: &str| format!("(year({x}) * 12 + month({x}))");
        let call = match part.to_lowercase().trim_end_matches('s') {
            "day" => format!("datediff(CAST({to} AS DATE), CAST({from} AS DATE))"),
            "year" => format!("(year({to}) - year({from}))"),
            "month" => format!("({} - {})", months(to), months(from)),
            "quarter" => format!("((year({to}) * 4 + quarter({to})) - (year({from}) * 4 + quarter({from})))"),
            _ => return None,
        };
        self.typed(call, ty, place)
    }
}

/// A constant argument.
pub(crate) fn constant(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal { value, .. } if !value.is_null() => Some(value),
        _ => None,
    }
}

fn whole_of(value: &Value) -> Option<i64> {
    value.as_i128().and_then(|whole| i64::try_from(whole).ok())
}

/// Two values as the text of a failure, of which one is not constant: see [`failure`].
fn beside(a: &str, word: &str, b: &str) -> String {
    format!("concat(CAST({a} AS STRING), ' {word} ', CAST({b} AS STRING))")
}

/// A change of case, where both engines change it alike.
fn in_cases(function: &str, x: &str, apart: &str) -> String {
    let fails = failure(
        &format!("{function} of a letter whose other case is not one letter everywhere"),
        x,
        "STRING",
    );
    format!("CASE WHEN {x} RLIKE {} THEN {fails} ELSE {function}({x}) END", text(apart))
}

/// A quotient as IEEE 754 has it, where Spark in ANSI mode fails for a divisor of zero.
fn quotient(a: &str, b: &str, divisor: Option<&Value>) -> String {
    let is_not_zero = match divisor {
        Some(Value::Double(d)) => *d != 0.0,
        Some(Value::Real(d)) => *d != 0.0,
        _ => false,
    };
    if is_not_zero {
        return format!("{a} / {b}");
    }
    let (nan, infinity, below) = (double(f64::NAN), double(f64::INFINITY), double(f64::NEG_INFINITY));
    format!(
        "CASE WHEN {b} = 0.0D THEN CASE WHEN {a} IS NULL THEN NULL WHEN isnan({a}) OR {a} = 0.0D THEN {nan} \
         WHEN ({a} > 0.0D) = (CAST({b} AS STRING) NOT LIKE '-%') THEN {infinity} ELSE {below} END ELSE {a} / {b} END"
    )
}

/// An interval as Spark makes one: months, days and seconds.
fn interval_text(interval: Interval, is_plus: bool) -> Option<String> {
    let Interval { months, days, micros } = interval;
    let (months, days, micros) = if is_plus {
        (months, days, micros)
    } else {
        (months.checked_neg()?, days.checked_neg()?, micros.checked_neg()?)
    };
    let (hours, rest) = (micros / 3_600_000_000, micros % 3_600_000_000);
    let hours = i32::try_from(hours).ok()?;
    let seconds = super::literal::digits(i128::from(rest), 6);
    Some(format!("make_interval(0, {months}, 0, {days}, {hours}, 0, CAST('{seconds}' AS DECIMAL(18,6)))"))
}
