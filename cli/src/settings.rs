//! How answers are shown: modes and what goes with them.

use inlay::render::LargeNumbers;

/// A form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Ascii,
    Box,
    Column,
    Csv,
    Duckbox,
    Html,
    Insert,
    Json,
    JsonLines,
    Latex,
    Line,
    List,
    Markdown,
    Quote,
    Table,
    Trash,
    Tsv,
}

/// Names and what they are, in the order of `.help mode`.
pub const MODES: &[(&str, Mode, &str)] = &[
    ("ascii", Mode::Ascii, "values between the control characters 0x1F and 0x1E"),
    ("box", Mode::Box, "tables of box characters, whole"),
    ("column", Mode::Column, "columns below underlined names"),
    ("csv", Mode::Csv, "values between commas, quoted where needed"),
    ("duckbox", Mode::Duckbox, "tables with types that fit the terminal"),
    ("html", Mode::Html, "rows of an HTML table"),
    ("insert", Mode::Insert, "INSERT statements; .mode insert TABLE names the table"),
    ("json", Mode::Json, "one array of objects"),
    ("jsonlines", Mode::JsonLines, "an object per line"),
    ("latex", Mode::Latex, "a tabular environment of LaTeX"),
    ("line", Mode::Line, "a value per line"),
    ("list", Mode::List, "values between separators"),
    ("markdown", Mode::Markdown, "a table of Markdown"),
    ("quote", Mode::Quote, "values as SQL"),
    ("table", Mode::Table, "tables of + - |"),
    ("trash", Mode::Trash, "nothing"),
    ("tsv", Mode::Tsv, "values between tabs"),
];

impl Mode {
    /// The mode of a name; also by the names that other shells have.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let name = match name.as_str() {
            "tabs" => "tsv",
            "lines" => "line",
            "columns" => "column",
            "aligned" => "table",
            "unaligned" => "list",
            "ndjson" => "jsonlines",
            other => other,
        };
        MODES.iter().find(|(known, ..)| *known == name).map(|(_, mode, _)| *mode)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|(_, mode, _)| *mode == self).map_or("", |(name, ..)| name)
    }

    /// What stands for NULL unless `.nullvalue` says otherwise.
    pub fn null(self) -> &'static str {
        match self {
            Self::Duckbox | Self::Box | Self::Table | Self::Column | Self::Markdown => "NULL",
            Self::Ascii | Self::Csv | Self::Html | Self::Insert | Self::Json | Self::JsonLines => "",
            Self::Latex | Self::Line | Self::List | Self::Quote | Self::Trash | Self::Tsv => "",
        }
    }

    /// Between values and behind rows unless `.separator` says otherwise.
    pub fn separators(self) -> (&'static str, &'static str) {
        match self {
            Self::Csv | Self::Quote => (",", "\n"),
            Self::Tsv => ("\t", "\n"),
            Self::Ascii => ("\x1f", "\x1e"),
            Self::Box | Self::Column | Self::Duckbox | Self::Html | Self::Insert | Self::Json => ("|", "\n"),
            Self::JsonLines | Self::Latex | Self::Line | Self::List | Self::Markdown => ("|", "\n"),
            Self::Table | Self::Trash => ("|", "\n"),
        }
    }
}

/// When long output goes through a pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pager {
    /// Never.
    Off,
    /// When it is longer than the terminal; duckbox then shows all rows.
    On,
    /// When it is longer than the terminal and not shortened already.
    Auto,
}

/// What `.show` shows.
#[derive(Debug, Clone)]
pub struct Settings {
    pub mode: Mode,
    pub headers: bool,
    /// The mode's own without one.
    pub null: Option<String>,
    pub separator: Option<String>,
    pub row_separator: Option<String>,
    /// Table of mode insert.
    pub insert_table: String,
    pub widths: Vec<i32>,
    /// Rows of duckbox at most; 0: all.
    pub rows_max: usize,
    /// Characters of a line at most; 0: those of the terminal, or all.
    pub width_max: usize,
    pub large_numbers: LargeNumbers,
    pub thousands: Option<String>,
    pub decimal: Option<String>,
    pub timer: bool,
    pub echo: bool,
    pub bail: bool,
    pub changes: bool,
    pub progress: bool,
    pub pager: Pager,
    pub highlight: bool,
    pub prompt: String,
    pub prompt_more: String,
}

impl Settings {
    /// What a session begins with; one that is not looked at shows everything.
    pub fn new(is_terminal: bool) -> Self {
        Self {
            mode: Mode::Duckbox,
            headers: true,
            null: None,
            separator: None,
            row_separator: None,
            insert_table: "table".to_string(),
            widths: Vec::new(),
            rows_max: if is_terminal { 40 } else { 0 },
            width_max: 0,
            large_numbers: LargeNumbers::Footer,
            thousands: None,
            decimal: None,
            timer: false,
            echo: false,
            bail: false,
            changes: false,
            progress: true,
            pager: Pager::Auto,
            highlight: true,
            prompt: "inlay> ".to_string(),
            prompt_more: "  ...> ".to_string(),
        }
    }

    /// What stands for NULL.
    pub fn null(&self) -> &str {
        self.null.as_deref().unwrap_or(self.mode.null())
    }

    /// What stands between values and behind rows.
    pub fn separators(&self) -> (&str, &str) {
        let (between, behind) = self.mode.separators();
        (self.separator.as_deref().unwrap_or(between), self.row_separator.as_deref().unwrap_or(behind))
    }

    /// Changes the mode; separators are again its own.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        (self.separator, self.row_separator) = (None, None);
    }
}
