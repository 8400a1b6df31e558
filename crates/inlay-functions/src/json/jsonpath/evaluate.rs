//! Following a path through a document.
//!
//! The parts that it leads to are given to a visitor one by one, in order, so that who needs only one can stop there.
//! A condition whose operands cannot be followed is neither true nor false.

use super::number::Number;
use super::parse::{Arithmetic, Base, Comparison, Condition, Expr, Method, Path, Step};
use inlay_kernels::json::value::Json;
use inlay_types::Error;
use inlay_types::limits::Meter;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

/// A part of the document, or a value that was made.
pub(super) type Found<'j> = Cow<'j, Json<'j>>;

/// Why following ends.
#[derive(Debug)]
pub(super) enum Stop {
    /// The visitor has what it needs.
    Enough,
    /// The document is not as the path has it.
    Failed(String),
    /// The statement cannot go on.
    Broken(Error),
}

type Flow = Result<(), Stop>;

type Visitor<'v, 'j> = &'v mut dyn FnMut(Found<'j>) -> Flow;

/// What a condition says; `None` is unknown.
type Truth = Option<bool>;

/// A path and what it is followed through.
pub(super) struct Query<'j> {
    is_lax: bool,
    root: &'j Json<'j>,
    vars: Option<&'j Json<'j>>,
    /// What `@` is.
    current: RefCell<Found<'j>>,
    /// Whether parts that are not there are passed over.
    is_forgiving: Cell<bool>,
    /// Size of the array that is indexed: what `last` is of.
    array_size: Cell<usize>,
    /// Objects that `.keyvalue()` has seen.
    objects: Cell<u64>,
    meter: RefCell<Meter>,
}

fn failed<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(message.into()))
}

/// The bytes that a visit counts for.
const VISIT_BYTES: usize = 32;

impl<'j> Query<'j> {
    pub(super) fn new(path: &Path, root: &'j Json<'j>, vars: Option<&'j Json<'j>>) -> Self {
        Self {
            is_lax: path.is_lax,
            root,
            vars,
            current: RefCell::new(Cow::Borrowed(root)),
            is_forgiving: Cell::new(path.is_lax),
            array_size: Cell::new(0),
            objects: Cell::new(0),
            meter: RefCell::new(Meter::new()),
        }
    }

    /// All that an expression leads to.
    pub(super) fn all(&self, expr: &'j Expr) -> Result<Vec<Found<'j>>, Stop> {
        self.list(expr, false)
    }

    /// Whether an expression leads anywhere. A lax path is followed no further than to its first part.
    pub(super) fn exists(&self, expr: &'j Expr) -> Result<bool, Stop> {
        if !self.is_lax {
            return Ok(!self.list(expr, false)?.is_empty());
        }
        match self.follow(expr, &mut |_| Err(Stop::Enough)) {
            Ok(()) => Ok(false),
            Err(Stop::Enough) => Ok(true),
            Err(other) => Err(other),
        }
    }

    /// All that an expression leads to; of a lax path with the items of arrays in their place if so wanted.
    fn list(&self, expr: &'j Expr, unwraps: bool) -> Result<Vec<Found<'j>>, Stop> {
        let mut found = Vec::new();
        self.follow(expr, &mut |part| {
            match &*part {
                Json::Array(_) if unwraps && self.is_lax => found.extend(elements(&part)),
                _ => found.push(part),
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn count(&self) -> Flow {
        self.meter.borrow_mut().add(VISIT_BYTES).map_err(Stop::Broken)
    }

    fn follow(&self, expr: &'j Expr, visit: Visitor<'_, 'j>) -> Flow {
        self.count()?;
        match expr {
            Expr::Path { base, steps } => self.follow_base(base, steps, visit),
            Expr::Negate(inner) | Expr::Plus(inner) => {
                let sign = if matches!(expr, Expr::Negate(_)) { "-" } else { "+" };
                for part in self.list(inner, true)? {
                    let Some(number) = Number::of(&part) else {
                        return failed(format!("operand of unary {sign} is not a number"));
                    };
                    let number = if sign == "-" { number.negated() } else { number };
                    visit(Cow::Owned(number.json()))?;
                }
                Ok(())
            }
            Expr::Arithmetic(operator, left, right) => {
                let number = self.arithmetic(*operator, left, right)?;
                visit(Cow::Owned(number.json()))
            }
        }
    }

    fn arithmetic(&self, operator: Arithmetic, left: &'j Expr, right: &'j Expr) -> Result<Number, Stop> {
        let single = |expr, side: &str| match self.list(expr, true)?.as_slice() {
            [only] if Number::of(only).is_some() => Ok(Number::of(only)),
            _ => failed(format!("{side} operand of {} is not a single number", operator.sign())),
        };
        let (left, right) = (single(left, "left")?, single(right, "right")?);
        let (Some(left), Some(right)) = (left, right) else { return failed("not a number") };
        let number = match operator {
            Arithmetic::Add => Some(left.add(right)),
            Arithmetic::Subtract => Some(left.subtract(right)),
            Arithmetic::Multiply => Some(left.multiply(right)),
            Arithmetic::Divide => left.divide(right),
            Arithmetic::Remainder => left.remainder(right),
        };
        number.map_or_else(|| failed("division by zero"), Ok)
    }

    fn follow_base(&self, base: &'j Base, steps: &'j [Step], visit: Visitor<'_, 'j>) -> Flow {
        let start: Found<'j> = match base {
            Base::Root => Cow::Borrowed(self.root),
            Base::Current => self.current.borrow().clone(),
            Base::Last => Cow::Owned(Number::Exact(self.array_size.get() as i128 - 1, 0).json()),
            Base::Value(value) => Cow::Borrowed(value),
            Base::Variable(name) => match self.vars {
                Some(Json::Object(members)) => match members.iter().rev().find(|(key, _)| key == name) {
                    Some((_, value)) => Cow::Borrowed(value),
                    None => return self.no_variable(name),
                },
                _ => return self.no_variable(name),
            },
            Base::Condition(condition) => {
                let truth = self.truth(condition)?;
                Cow::Owned(truth.map_or(Json::Null, Json::Bool))
            }
            Base::Expr(inner) => {
                return self.follow(inner, &mut |part| self.walk(steps, part, self.is_lax, visit));
            }
        };
        self.walk(steps, start, self.is_lax, visit)
    }

    fn no_variable(&self, name: &str) -> Flow {
        let message = format!("JSON path variable \"{name}\" is not among the variables that are given");
        Err(Stop::Broken(Error::invalid_argument(message)))
    }

    /// Takes steps from a part. The first goes into the items of an array if it does not take arrays and `unwraps`.
    fn walk(&self, steps: &'j [Step], part: Found<'j>, unwraps: bool, visit: Visitor<'_, 'j>) -> Flow {
        self.count()?;
        let Some((step, rest)) = steps.split_first() else { return visit(part) };
        let takes_arrays = matches!(
            step,
            Step::AllItems | Step::Items(_) | Step::Deep(..) | Step::Call(Method::Type | Method::Size)
        );
        if unwraps && !takes_arrays && matches!(&*part, Json::Array(_)) {
            return elements(&part).into_iter().try_for_each(|item| self.walk(steps, item, false, visit));
        }
        match step {
            Step::Key(key) => match member(&part, key) {
                Some(Some(value)) => self.walk(rest, value, self.is_lax, visit),
                Some(None) => self.missing(|| format!("the object has no key \"{key}\"")),
                None => self.missing(|| format!("key \"{key}\" is asked of {}", kind_of(&part))),
            },
            Step::AllMembers => match &*part {
                Json::Object(_) => self.each(elements(&part), rest, visit),
                _ => self.missing(|| format!(".* is asked of {}", kind_of(&part))),
            },
            Step::AllItems => match &*part {
                Json::Array(_) => self.each(elements(&part), rest, visit),
                _ if self.is_lax => self.walk(rest, part, self.is_lax, visit),
                _ => self.missing(|| format!("[*] is asked of {}", kind_of(&part))),
            },
            Step::Items(ranges) => self.items(ranges, rest, part, visit),
            Step::Deep(first, last) => self.deep((*first, *last), 0, rest, part, visit),
            Step::Filter(condition) => {
                let outer = self.current.replace(part.clone());
                let truth = self.truth(condition);
                self.current.replace(outer);
                match truth? {
                    Some(true) => self.walk(rest, part, self.is_lax, visit),
                    Some(false) | None => Ok(()),
                }
            }
            Step::Call(method) => self.call(*method, rest, part, visit),
        }
    }

    fn each(&self, parts: Vec<Found<'j>>, steps: &'j [Step], visit: Visitor<'_, 'j>) -> Flow {
        parts.into_iter().try_for_each(|part| self.walk(steps, part, self.is_lax, visit))
    }

    /// What a path in lax mode passes over, and one in strict mode fails with.
    fn missing(&self, message: impl FnOnce() -> String) -> Flow {
        if self.is_forgiving.get() { Ok(()) } else { failed(message()) }
    }

    fn items(
        &self,
        ranges: &'j [(Expr, Option<Expr>)],
        rest: &'j [Step],
        part: Found<'j>,
        visit: Visitor<'_, 'j>,
    ) -> Flow {
        let items = match &*part {
            Json::Array(_) => elements(&part),
            _ if self.is_lax => vec![part],
            _ => return self.missing(|| format!("an index is asked of {}", kind_of(&part))),
        };
        let outer = self.array_size.replace(items.len());
        for (from, to) in ranges {
            self.array_size.set(items.len());
            let first = self.index(from)?;
            let last = to.as_ref().map_or(Ok(first), |to| self.index(to))?;
            let size = items.len() as i64;
            if first < 0 || first > last || last >= size {
                self.missing(|| format!("index {first} is outside of an array of {size}"))?;
            }
            for index in first.max(0)..=last.min(size - 1) {
                let Some(item) = usize::try_from(index).ok().and_then(|index| items.get(index)) else {
                    break;
                };
                self.array_size.set(outer);
                self.walk(rest, item.clone(), self.is_lax, visit)?;
            }
        }
        self.array_size.set(outer);
        Ok(())
    }

    fn index(&self, expr: &'j Expr) -> Result<i64, Stop> {
        let found = self.list(expr, false)?;
        let number = match found.as_slice() {
            [only] => Number::of(only),
            _ => None,
        };
        let Some(number) = number else { return failed("an index is not a single number") };
        let whole = number.truncated();
        if whole.abs() > f64::from(i32::MAX) {
            return failed(format!("index {whole} is out of range"));
        }
        Ok(whole as i64)
    }

    /// The parts below a part, from one level to another.
    fn deep(
        &self,
        levels: (u32, u32),
        level: u32,
        rest: &'j [Step],
        part: Found<'j>,
        visit: Visitor<'_, 'j>,
    ) -> Flow {
        let (first, last) = levels;
        let is_leaf = !matches!(&*part, Json::Array(_) | Json::Object(_));
        // `last` as the first level means the parts without parts.
        if level >= first || first == u32::MAX && is_leaf && level > 0 {
            let strictness = self.is_forgiving.replace(true);
            let walked = self.walk(rest, part.clone(), self.is_lax, visit);
            self.is_forgiving.set(strictness);
            walked?;
        }
        if level >= last || is_leaf {
            return Ok(());
        }
        elements(&part).into_iter().try_for_each(|inner| self.deep(levels, level + 1, rest, inner, visit))
    }

    fn call(&self, method: Method, rest: &'j [Step], part: Found<'j>, visit: Visitor<'_, 'j>) -> Flow {
        let made = match method {
            Method::Type => Json::Text(Cow::Borrowed(type_of(&part))),
            Method::Size => match &*part {
                Json::Array(items) => Json::Unsigned(items.len() as u64),
                _ if self.is_lax => Json::Unsigned(1),
                _ => return self.missing(|| format!(".size() is asked of {}", kind_of(&part))),
            },
            Method::Abs | Method::Floor | Method::Ceiling => {
                let Some(number) = Number::of(&part) else {
                    return failed(format!(".{}() is asked of {}", method.name(), kind_of(&part)));
                };
                let made = match method {
                    Method::Abs => number.abs(),
                    Method::Floor => number.floor(),
                    _ => number.ceiling(),
                };
                made.json()
            }
            Method::Double => double(&part)?,
            Method::KeyValue => {
                let Json::Object(members) = &*part else {
                    return failed(format!(".keyvalue() is asked of {}", kind_of(&part)));
                };
                let id = self.objects.replace(self.objects.get() + 1);
                let made: Vec<Found<'j>> = members
                    .iter()
                    .map(|(key, value)| {
                        let key = Json::Text(Cow::Owned(key.to_string()));
                        let named = |name: &'static str, value| (Cow::Borrowed(name), value);
                        let parts = [
                            named("id", Json::Unsigned(id)),
                            named("key", key),
                            named("value", value.clone()),
                        ];
                        Cow::Owned(Json::Object(parts.into()))
                    })
                    .collect();
                return self.each(made, rest, visit);
            }
        };
        self.walk(rest, Cow::Owned(made), self.is_lax, visit)
    }

    fn truth(&self, condition: &'j Condition) -> Result<Truth, Stop> {
        self.count()?;
        Ok(match condition {
            Condition::And(left, right) => match self.truth(left)? {
                Some(false) => Some(false),
                left => match self.truth(right)? {
                    Some(true) => left,
                    right => right,
                },
            },
            Condition::Or(left, right) => match self.truth(left)? {
                Some(true) => Some(true),
                left => match self.truth(right)? {
                    Some(false) => left,
                    right => right,
                },
            },
            Condition::Not(inner) => self.truth(inner)?.map(|truth| !truth),
            Condition::IsUnknown(inner) => Some(self.truth(inner)?.is_none()),
            Condition::Exists(expr) => known(self.exists(expr))?,
            Condition::Compare(comparison, left, right) => {
                let Some(left) = known(self.list(left, true))? else { return Ok(None) };
                let Some(right) = known(self.list(right, true))? else { return Ok(None) };
                let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
                self.any(pairs, |(left, right)| compare(*comparison, left, right))?
            }
            Condition::StartsWith(text, start) => {
                let Some(texts) = known(self.list(text, true))? else { return Ok(None) };
                let Some(starts) = known(self.list(start, false))? else { return Ok(None) };
                let pairs = texts.iter().flat_map(|text| starts.iter().map(move |start| (text, start)));
                self.any(pairs, |(text, start)| match (&**text, &**start) {
                    (Json::Text(text), Json::Text(start)) => Some(text.starts_with(&**start)),
                    _ => None,
                })?
            }
            Condition::Matches(text, pattern) => {
                let Some(texts) = known(self.list(text, true))? else { return Ok(None) };
                self.any(texts.iter(), |text| match &**text {
                    Json::Text(text) => Some(pattern.0.is_match(text.as_bytes())),
                    _ => None,
                })?
            }
        })
    }

    /// Whether something holds for any of some operands. A strict path looks at all of them, and knows nothing if one
    /// cannot be looked at.
    fn any<T>(&self, operands: impl Iterator<Item = T>, holds: impl Fn(T) -> Truth) -> Result<Truth, Stop> {
        let (mut found, mut is_unknown) = (false, false);
        for operand in operands {
            self.count()?;
            match holds(operand) {
                Some(true) if self.is_lax => return Ok(Some(true)),
                Some(true) => found = true,
                Some(false) => {}
                None if self.is_lax => is_unknown = true,
                None => return Ok(None),
            }
        }
        Ok((found || !is_unknown).then_some(found))
    }
}

/// What was found out, or nothing if the document is not as the path has it.
fn known<T>(found: Result<T, Stop>) -> Result<Option<T>, Stop> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Stop::Failed(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The items of an array, the values of an object.
fn elements<'j>(part: &Found<'j>) -> Vec<Found<'j>> {
    match part {
        Cow::Borrowed(Json::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Json::Object(members)) => {
            members.iter().map(|(_, value)| Cow::Borrowed(value)).collect()
        }
        Cow::Owned(Json::Array(items)) => items.iter().cloned().map(Cow::Owned).collect(),
        Cow::Owned(Json::Object(members)) => {
            members.iter().map(|(_, value)| Cow::Owned(value.clone())).collect()
        }
        _ => Vec::new(),
    }
}

/// The value of a key; `None` for what is no object. Of equal keys the last one counts.
fn member<'j>(part: &Found<'j>, key: &str) -> Option<Option<Found<'j>>> {
    match part {
        Cow::Borrowed(Json::Object(members)) => {
            Some(members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| Cow::Borrowed(value)))
        }
        Cow::Owned(Json::Object(members)) => {
            let found = members.iter().rev().find(|(name, _)| name == key);
            Some(found.map(|(_, value)| Cow::Owned(value.clone())))
        }
        _ => None,
    }
}

fn type_of(json: &Json<'_>) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Unsigned(_) | Json::Negative(_) | Json::Real(_) | Json::Digits(_) => "number",
        Json::Text(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn kind_of(json: &Json<'_>) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a truth value",
        Json::Unsigned(_) | Json::Negative(_) | Json::Real(_) | Json::Digits(_) => "a number",
        Json::Text(_) => "a text",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

fn double<'j>(json: &Json<'j>) -> Result<Json<'j>, Stop> {
    let value = match json {
        Json::Text(text) => match text.trim().parse::<f64>() {
            Ok(value) => value,
            Err(_) => return failed(format!("'{text}' is no number for .double()")),
        },
        other => match Number::of(other) {
            Some(number) => number.real(),
            None => return failed(format!(".double() is asked of {}", kind_of(other))),
        },
    };
    if !value.is_finite() {
        return failed("NaN and Infinity are no numbers for .double()");
    }
    Ok(Number::whole_or_real(value).json())
}

fn compare(comparison: Comparison, left: &Json<'_>, right: &Json<'_>) -> Truth {
    let order = match (left, right) {
        (Json::Null, Json::Null) => Ordering::Equal,
        (Json::Null, _) | (_, Json::Null) => return Some(comparison == Comparison::NotEqual),
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        (Json::Text(left), Json::Text(right)) => left.cmp(right),
        _ => match (Number::of(left), Number::of(right)) {
            (Some(left), Some(right)) => left.compare(right),
            _ => return None,
        },
    };
    Some(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}
