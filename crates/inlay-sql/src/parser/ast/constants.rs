//! Many literals side by side, as one node instead of one for each.

use super::{Expr, ExprKind, Literal, Pos};

/// Literals that follow each other in a list or in the rows of VALUES: the text that they are written in, and where each
/// lies there. A million of them are three allocations.
///
/// Kinds are those that [`crate::parser`] recognises in the text: numbers, plain strings, NULL, TRUE and FALSE.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    text: Box<str>,
    /// First byte of each and the byte behind it.
    items: Vec<(u32, u32)>,
    width: usize,
    start: Pos,
}

impl Constants {
    /// The literals at `items` of `text`, which begins at `start`: rows of `width`, or parts of a list (width 0).
    pub(crate) fn new(text: &str, items: Vec<(u32, u32)>, width: usize, start: Pos) -> Self {
        Self { text: text.into(), items, width, start }
    }

    /// Number of literals.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Literals of a row; 0 if they are parts of a list.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The literal as it is written.
    pub fn written(&self, index: usize) -> &str {
        let (start, end) = self.items[index];
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// What a string literal without doubled quotes says.
    pub fn plain_string(&self, index: usize) -> Option<&str> {
        let text = self.written(index).strip_prefix('\'')?.strip_suffix('\'')?;
        (!text.contains('\'')).then_some(text)
    }

    /// Whether a literal is a string.
    pub fn is_string(&self, index: usize) -> bool {
        self.written(index).starts_with('\'')
    }

    /// Whether a literal is a number.
    pub fn is_number(&self, index: usize) -> bool {
        self.written(index).starts_with(|first: char| first == '-' || first.is_ascii_digit())
    }

    /// One of the literals.
    pub fn literal(&self, index: usize) -> Literal {
        let written = self.written(index);
        match written.as_bytes() {
            [b'\'', .., b'\''] => {
                let text = &written[1..written.len() - 1];
                Literal::String(if text.contains('\'') { text.replace("''", "'") } else { text.into() })
            }
            [b'n' | b'N', ..] => Literal::Null,
            [b't' | b'T', ..] => Literal::Boolean(true),
            [b'f' | b'F', ..] => Literal::Boolean(false),
            _ => Literal::Number(written.into()),
        }
    }

    /// Where one of the literals stands; walks over the text in front of it.
    pub fn pos(&self, index: usize) -> Pos {
        let start = self.items.get(index).map_or(0, |item| item.0 as usize);
        advance(self.start, self.text.get(..start).unwrap_or_default())
    }

    /// Where the comma behind the first literal stands.
    pub fn first_comma(&self) -> Pos {
        let end = self.items.first().map_or(0, |item| item.1 as usize);
        let space = self.text.get(end..).and_then(|rest| rest.find(',')).unwrap_or(0);
        advance(self.start, self.text.get(..end + space).unwrap_or_default())
    }

    /// A node for each literal.
    pub fn exprs(&self) -> impl Iterator<Item = Expr> + '_ {
        let (mut pos, mut at) = (self.start, 0);
        (0..self.items.len()).map(move |index| {
            let start = self.items[index].0 as usize;
            pos = advance(pos, self.text.get(at..start).unwrap_or_default());
            at = start;
            Expr { kind: ExprKind::Literal(self.literal(index)), pos }
        })
    }
}

/// The place behind `text`, which begins at `pos`.
pub(crate) fn advance(pos: Pos, text: &str) -> Pos {
    let Pos { mut line, mut column } = pos;
    for char in text.chars() {
        if char == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += 1;
        }
    }
    Pos { line, column }
}
