//! PostgreSQL's functions of regular expressions: `regexp_count`, `regexp_instr`, `regexp_match`, `regexp_substr`.
//!
//! Positions count characters from 1. Arguments left out have the values that PostgreSQL gives them.

use super::nested::rows::{Args, Output, each_known};
use super::regex::compile;
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, BigInt, Integer, Null, Varchar};
use inlay_types::limits::Meter;
use inlay_types::{Error, Result};
use regex::bytes::{Captures, Regex};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "regexp_count",
        &["regexp_count(text, pattern, start, options) -> INTEGER"],
        |args, _| resolve(args, &[Start, Options], Integer, count),
        "how often a regular expression occurs in a text, from a position on",
        "regexp_count('hello', 'l') = 2",
    )
    .fallible(),
    Function::typed(
        "regexp_instr",
        &["regexp_instr(text, pattern, start, nth, end_option, options, group) -> INTEGER"],
        |args, _| resolve(args, &[Start, Nth, End, Options, Group], Integer, position),
        "where the nth match begins, or, with end_option 1, where its end is; 0 if there is none",
        "regexp_instr('hello', 'l', 1, 2) = 4",
    )
    .fallible(),
    Function::typed(
        "regexp_substr",
        &["regexp_substr(text, pattern, start, nth, options, group) -> VARCHAR"],
        |args, _| resolve(args, &[Start, Nth, Options, Group], Varchar, part),
        "the nth match of a regular expression, or a group of it; NULL if there is none",
        "regexp_substr('2024-05-06', '\\d+', 1, 2) = '05'",
    )
    .fallible(),
    Function::typed(
        "regexp_match",
        &["regexp_match(text, pattern, options) -> VARCHAR[]"],
        resolve_match,
        "the groups of the first match, or the match if the expression has none; NULL if there is no match",
        "regexp_match('2024-05-06', '(\\d+)-(\\d+)') = '[2024, 05]'",
    )
    .fallible(),
];

/// An argument behind the text and the expression.
#[derive(Clone, Copy, PartialEq)]
enum Extra {
    Start,
    Nth,
    End,
    Options,
    Group,
}

use Extra::{End, Group, Nth, Options, Start};

/// A call in one row.
struct Call<'a> {
    text: &'a str,
    regex: &'a Regex,
    start: usize,
    nth: usize,
    wants_end: bool,
    group: usize,
}

type Answer = fn(&Call<'_>, &mut Output) -> Result<()>;

fn is_text(arg: &ArgType) -> bool {
    matches!(arg.ty, Varchar | Null)
}

fn resolve(args: &[ArgType], extras: &'static [Extra], ty: LogicalType, answer: Answer) -> Option<Resolved> {
    let [text, pattern, given @ ..] = args else { return None };
    let fits = |(arg, extra): (&ArgType, &Extra)| match extra {
        Options => is_text(arg),
        _ => arg.ty.is_integer() || arg.ty == Null,
    };
    if !is_text(text)
        || !is_text(pattern)
        || given.len() > extras.len()
        || !given.iter().zip(extras).all(fits)
    {
        return None;
    }
    let extras = &extras[..given.len()];
    let types = [Varchar, Varchar].into_iter();
    let types =
        types.chain(extras.iter().map(|extra| if *extra == Options { Varchar } else { BigInt })).collect();
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let mut last = None;
        each_known(args, &ty, len, out, |args, row, out| answered(args, row, extras, &mut last, answer, out))
    });
    Some(Resolved::fallible(types, returns, kernel))
}

fn answered(
    args: &Args,
    row: usize,
    extras: &[Extra],
    last: &mut Option<(String, String, Regex)>,
    answer: Answer,
    out: &mut Output,
) -> Result<()> {
    let place = |wanted: Extra| extras.iter().position(|extra| *extra == wanted).map(|index| index + 2);
    let number = |wanted: Extra, default: i64, least: i64, what: &str| {
        let value = place(wanted).and_then(|index| args.int(index, row)).unwrap_or(default);
        usize::try_from(value).ok().filter(|_| value >= least).ok_or_else(|| {
            Error::invalid_argument(format!("{what} of a regular expression is {value}"))
                .with_hint(format!("give {least} or more"))
        })
    };
    let options = place(Options).and_then(|index| args.text(index, row)).unwrap_or_default();
    let pattern = args.text(1, row).unwrap_or_default();
    if last.as_ref().is_none_or(|(known, with, _)| known != pattern || with != options) {
        *last = Some((pattern.to_string(), options.to_string(), compile(pattern, options, false, true)?));
    }
    let Some((.., regex)) = last else { return out.push(None) };
    let text = args.text(0, row).unwrap_or_default();
    let start = number(Start, 1, 1, "the start")?;
    let call = Call {
        text,
        regex,
        start: text.char_indices().nth(start - 1).map_or(text.len(), |(index, _)| index),
        nth: number(Nth, 1, 1, "the number of the match")?,
        wants_end: number(End, 0, 0, "the end_option")? != 0,
        group: number(Group, 0, 0, "the group")?,
    };
    answer(&call, out)
}

impl<'a> Call<'a> {
    /// Bounds of the nth match, or of its group.
    fn found(&self) -> Result<Option<(usize, usize)>> {
        let source = self.text.as_bytes();
        let mut meter = Meter::new();
        let mut from = self.start;
        let mut left = self.nth;
        while from <= source.len() {
            let Some(whole) = self.regex.find_at(source, from) else { return Ok(None) };
            meter.add(1)?;
            left -= 1;
            if left == 0 {
                if self.group == 0 {
                    return Ok(Some((whole.start(), whole.end())));
                }
                let groups: Option<Captures<'_>> = self.regex.captures_at(source, from);
                let group = groups.as_ref().and_then(|groups| groups.get(self.group));
                return Ok(group.map(|group| (group.start(), group.end())));
            }
            from = self.behind(whole.start(), whole.end());
        }
        Ok(None)
    }

    /// Where the search goes on: behind a match, and behind the next character if that is empty.
    fn behind(&self, start: usize, end: usize) -> usize {
        if end > start {
            return end;
        }
        end + self.text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }
}

fn count(call: &Call<'_>, out: &mut Output) -> Result<()> {
    let source = call.text.as_bytes();
    let (mut from, mut count, mut meter) = (call.start, 0i32, Meter::new());
    while from <= source.len() {
        let Some(found) = call.regex.find_at(source, from) else { break };
        meter.add(1)?;
        count += 1;
        from = call.behind(found.start(), found.end());
    }
    out.push(Some(&count.to_le_bytes()))
}

fn position(call: &Call<'_>, out: &mut Output) -> Result<()> {
    let at = call.found()?.map(|(start, end)| if call.wants_end { end } else { start });
    let position =
        at.map_or(0, |at| call.text.get(..at).map_or(0, |before| before.chars().count()) as i32 + 1);
    out.push(Some(&position.to_le_bytes()))
}

fn part(call: &Call<'_>, out: &mut Output) -> Result<()> {
    let found = call.found()?;
    out.push(found.and_then(|(start, end)| call.text.as_bytes().get(start..end)))
}

fn resolve_match(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    if !(2..=3).contains(&args.len()) || !args.iter().all(is_text) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let (returns, count) = (ty.clone(), args.len());
    let kernel = kernel(move |args, len, out| {
        let mut last: Option<(String, String, Regex)> = None;
        each_known(args, &ty, len, out, |args, row, out| {
            let (text, pattern) =
                (args.text(0, row).unwrap_or_default(), args.text(1, row).unwrap_or_default());
            let options = if count == 3 { args.text(2, row).unwrap_or_default() } else { "" };
            if last.as_ref().is_none_or(|(known, with, _)| known != pattern || with != options) {
                last = Some((
                    pattern.to_string(),
                    options.to_string(),
                    compile(pattern, options, false, false)?,
                ));
            }
            let captures = last.as_ref().and_then(|(.., regex)| regex.captures(text.as_bytes()));
            let Some(captures) = captures else { return out.push(None) };
            let skipped = usize::from(captures.len() > 1);
            let parts: Vec<_> =
                captures.iter().skip(skipped).map(|group| group.map(|g| g.as_bytes())).collect();
            out.push_list(&Varchar, &parts)
        })
    });
    Some(Resolved::fallible(vec![Varchar; count], returns, kernel))
}
