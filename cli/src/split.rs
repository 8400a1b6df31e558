//! Cuts a text into statements and commands, line by line, as far as it has been read.
//!
//! A statement ends at a `;` that is in no quotes and no comment: `'..'`, `E'..'`, `"..."`, `$tag$..$tag$`, `--`, `/* */`
//! (which nest), and in no body of a function in braces. A line that begins with `.` or `\` where no statement has begun is a command, to its end. The text is
//! looked at once, however it is cut into lines, and what has been handed out is forgotten.

/// What a script is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// SQL without the `;`, and the line that it begins on, counted from 1.
    Statement { text: String, line: usize },
    /// A command with its dot or backslash.
    Command { text: String, line: usize },
}

/// Where the text stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Within {
    #[default]
    Nothing,
    /// Quotes of this kind, with backslashes before what they escape or not.
    Quotes(u8, bool),
    /// `$tag$`.
    Dollars(String),
    LineComment,
    /// `/*`, so many of them.
    BlockComment(usize),
}

/// What a reader of a script knows: lines in, pieces out.
#[derive(Debug, Default)]
pub struct Splitter {
    /// What is not yet handed out.
    text: String,
    /// How much of it has been looked at.
    seen: usize,
    within: Within,
    /// Line of the first character of `text`, counted from 0.
    line: usize,
    /// Whether `text` has anything but blanks and comments up to `seen`.
    has_begun: bool,
}

impl Splitter {
    /// Adds text; without its last line's break, that line may go on.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Whether a statement has begun and not ended; or a comment.
    pub fn is_open(&self) -> bool {
        self.has_begun || !matches!(self.within, Within::Nothing | Within::LineComment)
    }

    /// The next complete statement or command.
    pub fn next_piece(&mut self) -> Option<Piece> {
        loop {
            let bytes = self.text.as_bytes();
            let at = self.seen;
            let &byte = bytes.get(at)?;
            match &self.within {
                Within::Nothing => {
                    if !self.has_begun {
                        if byte.is_ascii_whitespace() {
                            self.seen += 1;
                            continue;
                        }
                        if byte == b';' {
                            self.drop_text(at + 1);
                            continue;
                        }
                        if (byte == b'.' || byte == b'\\') && self.is_at_line_start(at) {
                            let end = at + memchr(b'\n', &bytes[at..])?;
                            return Some(self.command(at, end));
                        }
                    }
                    if byte == b';' {
                        if is_within_trigger(&self.text[..at]) {
                            self.seen += 1;
                            continue;
                        }
                        return Some(self.statement(at));
                    }
                    self.step(at, byte)?;
                }
                Within::Quotes(quote, escapes) => {
                    let skipped = if *escapes && byte == b'\\' { 2 } else { 1 };
                    if skipped == 2 && at + 1 >= bytes.len() {
                        return None;
                    }
                    if byte == *quote {
                        self.within = Within::Nothing;
                    }
                    self.seen += skipped;
                }
                Within::Dollars(tag) => match self.text[at..].find(tag.as_str()) {
                    Some(found) => {
                        self.seen = at + found + tag.len();
                        self.within = Within::Nothing;
                    }
                    None => {
                        // The tag may be cut by the end of the text.
                        let keep = self.text.len().saturating_sub(tag.len()).max(at);
                        self.seen = (keep..=self.text.len()).find(|&p| self.text.is_char_boundary(p))?;
                        return None;
                    }
                },
                Within::LineComment => match memchr(b'\n', &bytes[at..]) {
                    Some(end) => {
                        self.seen = at + end + 1;
                        self.within = Within::Nothing;
                    }
                    None => {
                        self.seen = bytes.len();
                        return None;
                    }
                },
                Within::BlockComment(depth) => {
                    let depth = *depth;
                    match (byte, bytes.get(at + 1)) {
                        (b'*' | b'/', None) => return None,
                        (b'*', Some(b'/')) => {
                            self.within =
                                if depth == 1 { Within::Nothing } else { Within::BlockComment(depth - 1) };
                            self.seen += 2;
                        }
                        (b'/', Some(b'*')) => {
                            self.within = Within::BlockComment(depth + 1);
                            self.seen += 2;
                        }
                        _ => self.seen += 1,
                    }
                }
            }
        }
    }

    /// What is left when nothing more comes: a command without a line break, a statement without `;`.
    pub fn finish(&mut self) -> Option<Piece> {
        self.push("\n");
        if let Some(piece) = self.next_piece() {
            return Some(piece);
        }
        // Quotes and comments that do not end are for the parser to complain of.
        if !self.is_open() {
            self.drop_text(self.text.len());
            return None;
        }
        let end = self.text.len();
        self.text.push(';');
        Some(self.statement(end))
    }

    /// The rest of the line is nothing, and so many lines were read by somebody else.
    pub fn skip_lines(&mut self, lines: usize) {
        self.drop_text(self.text.len());
        self.line += lines;
    }

    /// Forgets what has begun.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// One step outside of quotes and comments.
    fn step(&mut self, at: usize, byte: u8) -> Option<()> {
        let bytes = self.text.as_bytes();
        let next = bytes.get(at + 1).copied();
        match byte {
            b'-' | b'/' if next.is_none() => return None,
            b'-' if next == Some(b'-') => {
                self.within = Within::LineComment;
                self.seen += 2;
                return Some(());
            }
            b'/' if next == Some(b'*') => {
                self.within = Within::BlockComment(1);
                self.seen += 2;
                return Some(());
            }
            b'\'' | b'"' => {
                let is_prefix = |c: u8| c == b'e' || c == b'E';
                let escapes = byte == b'\''
                    && at > 0
                    && is_prefix(bytes[at - 1])
                    && (at < 2 || !is_word(bytes[at - 2]));
                self.within = Within::Quotes(byte, escapes);
            }
            b'$' if at == 0 || !is_word(bytes[at - 1]) => {
                let length = bytes[at + 1..].iter().take_while(|b| is_word(**b) && **b != b'$').count();
                let after = bytes.get(at + 1 + length)?;
                let is_tag = *after == b'$' && !bytes[at + 1].is_ascii_digit();
                if is_tag {
                    let tag = self.text[at..at + length + 2].to_string();
                    self.seen += tag.len();
                    self.within = Within::Dollars(tag);
                    self.has_begun = true;
                    return Some(());
                }
            }
            // The body of a function is no SQL.
            b'{' if inlay::sql::expects_body(&self.text[..at]) => {
                self.has_begun = true;
                self.seen = inlay::sql::end_of_body(bytes, at)?;
                return Some(());
            }
            _ => {}
        }
        self.has_begun = true;
        self.seen += 1;
        Some(())
    }

    fn is_at_line_start(&self, at: usize) -> bool {
        self.text.as_bytes()[..at].iter().rev().take_while(|b| **b != b'\n').all(u8::is_ascii_whitespace)
    }

    fn command(&mut self, start: usize, end: usize) -> Piece {
        let text = self.text[start..end].trim_end().to_string();
        let line = self.line_of(start);
        self.drop_text(end + 1);
        Piece::Command { text, line }
    }

    fn statement(&mut self, end: usize) -> Piece {
        let whole = &self.text[..end];
        let start = whole.len() - whole.trim_start().len();
        let text = whole[start..].trim_end().to_string();
        let line = self.line_of(start);
        self.drop_text(end + 1);
        Piece::Statement { text, line }
    }

    fn line_of(&self, at: usize) -> usize {
        self.line + breaks(&self.text[..at]) + 1
    }

    fn drop_text(&mut self, end: usize) {
        let end = end.min(self.text.len());
        self.line += breaks(&self.text[..end]);
        self.text.drain(..end);
        (self.seen, self.within, self.has_begun) = (0, Within::Nothing, false);
    }
}

/// Whether a `;` behind this text is one between the statements of a trigger of SQLite, which end with `; END`.
fn is_within_trigger(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let mut next_is = |wanted: &str| words.next().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    if !next_is("create") {
        return false;
    }
    let mut words =
        words.skip_while(|word| ["temp", "temporary"].iter().any(|known| word.eq_ignore_ascii_case(known)));
    let is_trigger = words.next().is_some_and(|word| word.eq_ignore_ascii_case("trigger"));
    let has_body = words.any(|word| word.eq_ignore_ascii_case("begin"));
    let before_end = text.trim_end().len().checked_sub(3).and_then(|at| {
        let (before, end) = text.trim_end().split_at_checked(at)?;
        end.eq_ignore_ascii_case("end").then(|| before.trim_end())
    });
    is_trigger && has_body && !before_end.is_some_and(|before| before.ends_with(';'))
}

fn breaks(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}

fn memchr(wanted: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == wanted)
}

/// Bytes of names; of those that are not ASCII it is not asked what they are.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let shown = |piece: Piece| match piece {
            Piece::Statement { text, line } => format!("{line}: {text}"),
            Piece::Command { text, line } => format!("{line}! {text}"),
        };
        let mut splitter = Splitter::default();
        splitter.push(text);
        let mut all: Vec<String> = std::iter::from_fn(|| splitter.next_piece()).map(shown).collect();
        all.extend(std::iter::from_fn(|| splitter.finish()).map(shown));
        // Byte by byte it is the same.
        let mut splitter = Splitter::default();
        let mut slowly = Vec::new();
        for c in text.chars() {
            splitter.push(c.encode_utf8(&mut [0; 4]));
            slowly.extend(std::iter::from_fn(|| splitter.next_piece()).map(shown));
        }
        slowly.extend(std::iter::from_fn(|| splitter.finish()).map(shown));
        assert_eq!(all, slowly);
        all
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        assert_eq!(pieces("SELECT 1; SELECT 2"), ["1: SELECT 1", "1: SELECT 2"]);
        assert_eq!(pieces("SELECT ';', \";\" ; x"), ["1: SELECT ';', \";\"", "1: x"]);
        assert_eq!(pieces("SELECT 'it''s;'; x"), ["1: SELECT 'it''s;'", "1: x"]);
        assert_eq!(pieces(r"SELECT E'a\';', e'\\'; x"), [r"1: SELECT E'a\';', e'\\'", "1: x"]);
        assert_eq!(pieces(r"SELECT 'a\'; x"), [r"1: SELECT 'a\'", "1: x"]);
        assert_eq!(pieces("SELECT $$;$$, $a$;$$;$a$; x"), ["1: SELECT $$;$$, $a$;$$;$a$", "1: x"]);
        assert_eq!(pieces("SELECT $1; SELECT a$b; x"), ["1: SELECT $1", "1: SELECT a$b", "1: x"]);
        assert_eq!(
            pieces("a -- ;\n; /* ; /* ; */ ; */ b; c"),
            ["1: a -- ;", "2: /* ; /* ; */ ; */ b", "2: c"]
        );
    }

    #[test]
    fn bodies_of_functions_are_whole() {
        let create = "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON_MAP";
        let body = "{\n  # it's; }\n  x = {1}; return '};'\n}";
        assert_eq!(pieces(&format!("{create} {body}; x")), [format!("1: {create} {body}"), "4: x".into()]);
        assert_eq!(pieces("SELECT {'a': 1}; x"), ["1: SELECT {'a': 1}", "1: x"]);
        assert_eq!(pieces(&format!("{create} {{ ;")), [format!("1: {create} {{ ;")]);
    }

    #[test]
    fn triggers_of_sqlite_are_whole() {
        let trigger = "CREATE TEMP TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM a; SELECT CASE 1 WHEN 1 THEN 2 END; END";
        assert_eq!(pieces(&format!("{trigger}; x")), [format!("1: {trigger}"), "1: x".into()]);
        assert_eq!(
            pieces("CREATE TABLE trigger_begin (a); x"),
            ["1: CREATE TABLE trigger_begin (a)", "1: x"]
        );
    }

    #[test]
    fn what_is_empty_is_nothing() {
        assert_eq!(pieces(" ;; \n -- only a comment\n;"), Vec::<String>::new());
        assert_eq!(pieces(""), Vec::<String>::new());
    }

    #[test]
    fn commands_are_lines_where_no_statement_has_begun() {
        assert_eq!(pieces(".mode csv\nSELECT\n.5;\n.q"), ["1! .mode csv", "2: SELECT\n.5", "4! .q"]);
        assert_eq!(pieces("-- head\n\\dt t\n  .tables\nx"), ["2! \\dt t", "3! .tables", "4: x"]);
        assert_eq!(pieces("SELECT 1; .tables\n"), ["1: SELECT 1", "1! .tables"]);
    }

    #[test]
    fn what_does_not_end_is_for_the_parser() {
        assert_eq!(pieces("SELECT 'a; b"), ["1: SELECT 'a; b"]);
        assert_eq!(pieces("SELECT /* ;"), ["1: SELECT /* ;"]);
        assert_eq!(pieces("\n\nSELECT $x$ ;"), ["3: SELECT $x$ ;"]);
        assert_eq!(pieces("SELECT 'ü' -"), ["1: SELECT 'ü' -"]);
    }

    #[test]
    fn open_is_what_waits_for_more() {
        let open = |text: &str| {
            let mut splitter = Splitter::default();
            splitter.push(text);
            while splitter.next_piece().is_some() {}
            splitter.is_open()
        };
        assert!(open("SELECT 1") && open("SELECT 1; SELECT") && open("/* ") && open("SELECT ';"));
        assert!(!open("SELECT 1;") && !open("") && !open("-- x\n") && !open("SELECT 1; -- x"));
    }
}
