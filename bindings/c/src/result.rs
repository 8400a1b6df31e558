//! Answers of statements: what they are, and their rows as a stream of chunks or all at once.

use crate::chunk::inlay_chunk;
use crate::column::{self, Prepared};
use crate::connection::{Call, Session};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::forms::Plain;
use crate::kinds::{INLAY_TYPE_NULL, id_of, inlay_type_id};
use crate::memory::Held;
use crate::pointers::{Handle, Made, Out, Shared, given, here, make, make_some, put, text_of};
use crate::types::inlay_type;
use inlay::{Chunk, Command, Cursor, Error, QueryResult, Rest, Result, ResultKind, Unread};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// What kind of answer a result is.
pub type inlay_result_kind = u32;
/// Of a statement that gives and changes nothing.
pub const INLAY_RESULT_NOTHING: inlay_result_kind = 0;
/// Rows of a query.
pub const INLAY_RESULT_ROWS: inlay_result_kind = 1;
/// Of a statement that changes rows; how many is also there as a row of the column "Count".
pub const INLAY_RESULT_CHANGED: inlay_result_kind = 2;

/// The answer of a statement. Its rows are read either as chunks, once, or as whole columns and values, as often as wanted: then all
/// of them are computed and kept. What functions say of its columns belongs to it, and is there until the last who holds it lets go.
pub struct inlay_result {
    references: AtomicUsize,
    process: u32,
    mode: AtomicU8,
    /// What the answer is, with all of its rows or, where some are still to be computed, none.
    first: QueryResult,
    /// All rows, where some had to be computed.
    joined: OnceLock<QueryResult>,
    rows: Mutex<Rows>,
    shown: OnceLock<Box<Shown>>,
    pub(crate) texts: Mutex<Texts>,
    /// It keeps the database open, where rows are read when they are asked for.
    session: Arc<Session>,
}

/// How rows are read. What was begun goes on.
type Mode = u8;
const UNREAD: Mode = 0;
const AS_WHOLE: Mode = 1;
const AS_CHUNKS: Mode = 2;
/// Somebody else has them, or they could not be computed.
const GONE: Mode = 3;

/// Where the rows are.
enum Rows {
    /// All are there, and so many were read as chunks.
    There(usize),
    /// Some are computed when they are read.
    Waiting(Box<Cursor>),
    Gone,
}

/// What was made of the answer for the program.
pub struct Shown {
    names: OnceLock<Vec<CString>>,
    tag: OnceLock<CString>,
    pub views: Vec<OnceLock<Prepared>>,
    pub plains: Mutex<HashMap<(usize, inlay_type_id), Arc<Plain>>>,
}

/// Row, column, and whether as text.
pub type TextKey = (usize, usize, bool);

/// Values that are kept in a list, as those of one row are.
const FEW: usize = 8;

/// Single values as text or bytes, which end with NUL.
#[derive(Default)]
pub struct Texts {
    /// The first of them, and all others.
    few: Vec<(TextKey, Box<[u8]>)>,
    many: BTreeMap<TextKey, Box<[u8]>>,
    /// Bytes of all of them, and from how many on they are asked of the budget.
    pub size: usize,
    pub held: Option<Held>,
}

impl Texts {
    /// What is kept of a value.
    pub fn get(&self, key: TextKey) -> Option<&[u8]> {
        let few = self.few.iter().find(|(known, _)| *known == key).map(|(_, bytes)| bytes);
        few.or_else(|| self.many.get(&key)).map(|bytes| &**bytes)
    }

    /// Keeps a value, unless another thread was first; its bytes stay where they are.
    pub fn keep(&mut self, key: TextKey, bytes: Box<[u8]>) -> (*const u8, usize) {
        if let Some(known) = self.get(key) {
            return (known.as_ptr(), known.len());
        }
        let place = (bytes.as_ptr(), bytes.len());
        if self.few.len() < FEW {
            self.few.push((key, bytes));
        } else {
            self.many.insert(key, bytes);
        }
        place
    }
}

/// Rows that a statement gave, and those that are still to be computed.
pub type Answer = (QueryResult, Option<Rest>);

impl inlay_result {
    /// An answer of which nothing was read.
    pub fn new((first, rest): Answer, call: &Call<'_>, session: &Arc<Session>) -> Self {
        let (first, rows) = match rest {
            None => (first, Rows::There(0)),
            Some(rest) => {
                let header = first.without_rows();
                let cursor = Cursor::new(call.connection().clone(), first, Some(rest));
                (header, Rows::Waiting(Box::new(cursor)))
            }
        };
        Self {
            references: AtomicUsize::new(1),
            process: here(),
            mode: AtomicU8::new(UNREAD),
            first,
            joined: OnceLock::new(),
            rows: Mutex::new(rows),
            shown: OnceLock::new(),
            texts: Mutex::default(),
            session: Arc::clone(session),
        }
    }

    /// Runs something of a session, and puts its answer to its place; all of it is run where there is none.
    pub fn put(
        place: Out<'_, Shared<Self>>,
        session: Result<&Arc<Session>>,
        run: impl FnOnce(&Call<'_>) -> Result<Answer>,
    ) -> Result<()> {
        let Some(place) = place else {
            let call = session?.enter();
            let (_, rest) = run(&call)?;
            return rest.map_or(Ok(()), |rest| rest.run_to_end(call.host()));
        };
        place.write(Shared::none());
        let session = session?;
        let call = session.enter();
        place.write(Shared::of(Self::new(run(&call)?, &call, session)));
        Ok(())
    }

    /// Enters a call of the session that the answer is of.
    pub fn enter(&self) -> Call<'_> {
        self.session.enter()
    }

    /// What was made of it.
    pub fn shown(&self) -> &Shown {
        self.shown.get_or_init(|| {
            let views = self.first.types().iter().map(|_| OnceLock::new()).collect();
            let (names, tag) = (OnceLock::new(), OnceLock::new());
            Box::new(Shown { names, tag, views, plains: Mutex::default() })
        })
    }

    /// All rows.
    pub fn whole(&self) -> Result<&QueryResult> {
        self.check_process()?;
        if self.mode.load(Ordering::Acquire) != AS_WHOLE {
            self.read_whole()?;
        }
        Ok(self.joined.get().unwrap_or(&self.first))
    }

    fn read_whole(&self) -> Result<()> {
        let mut rows = self.rows.lock();
        match self.mode.load(Ordering::Acquire) {
            UNREAD => {}
            AS_WHOLE => return Ok(()),
            mode => return Err(read_already(mode == AS_CHUNKS)),
        }
        // What fails is not there afterwards.
        self.mode.store(GONE, Ordering::Release);
        if let Rows::Waiting(cursor) = std::mem::replace(&mut *rows, Rows::Gone) {
            let all = cursor.into_result(self.enter().host())?;
            self.joined.get_or_init(|| all);
        }
        *rows = Rows::There(0);
        self.mode.store(AS_WHOLE, Ordering::Release);
        Ok(())
    }

    /// The next rows that lie together.
    fn next_chunk(&self) -> Result<Option<Chunk>> {
        self.check_process()?;
        let mut rows = self.rows.lock();
        if self.mode.load(Ordering::Acquire) == UNREAD {
            self.mode.store(AS_CHUNKS, Ordering::Release);
        }
        match &mut *rows {
            Rows::Waiting(cursor) => {
                Ok(cursor.next_batch(self.enter().host())?.map(|batch| Chunk::new(&batch)))
            }
            Rows::There(next) => {
                let all = self.joined.get().unwrap_or(&self.first);
                if *next == all.row_count() {
                    return Ok(None);
                }
                let (_, batch) = all.slice(*next..all.row_count()).part_at(0)?;
                *next += batch.len();
                Ok(Some(Chunk::new(&batch)))
            }
            Rows::Gone => Err(read_already(false)),
        }
    }

    /// All rows that were not read, for who reads them otherwise.
    pub fn take(&self) -> Result<Unread> {
        self.check_process()?;
        let mut rows = self.rows.lock();
        if self.mode.load(Ordering::Acquire) == AS_WHOLE {
            return Ok(self.unread(0));
        }
        let taken = match std::mem::replace(&mut *rows, Rows::Gone) {
            Rows::Waiting(mut cursor) => cursor.take_rest(),
            Rows::There(next) => self.unread(next),
            Rows::Gone => return Err(read_already(false)),
        };
        self.mode.store(GONE, Ordering::Release);
        Ok(taken)
    }

    /// The rows that are there from one on, with what they need.
    fn unread(&self, from: usize) -> Unread {
        let all = self.joined.get().unwrap_or(&self.first);
        let rows = all.slice(from..all.row_count());
        Cursor::new(self.enter().connection().clone(), rows, None).take_rest()
    }

    /// Fails unless there is such a column.
    pub fn check_column(&self, column: usize) -> Result<()> {
        let count = self.first.types().len();
        if column < count {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("there is no column {column}: the result has {count}")))
    }

    fn check_process(&self) -> Result<()> {
        if self.process == here() {
            return Ok(());
        }
        let message = "the result was made by the process that this one was forked from".to_string();
        Err(Error::Closed { message })
    }

    fn row_count(&self) -> Result<usize> {
        if self.mode.load(Ordering::Acquire) == AS_CHUNKS && matches!(*self.rows.lock(), Rows::There(_)) {
            return Ok(self.first.row_count());
        }
        Ok(self.whole()?.row_count())
    }
}

fn read_already(is_streamed: bool) -> Error {
    let message = if is_streamed {
        "the rows of this result are being read as chunks, and are not kept"
    } else {
        "the rows of this result were handed over, or could not be computed"
    };
    Error::Closed { message: message.to_string() }.with_hint("run the statement again")
}

/// The result behind a handle.
pub fn of<'a>(result: Handle<'a, inlay_result>) -> Result<&'a inlay_result> {
    given(result, "result")
}

/// A command's words, which stay where they are.
pub fn command_text(command: Command) -> *const c_char {
    static TEXTS: LazyLock<Mutex<HashMap<&'static str, CString>>> = LazyLock::new(Mutex::default);
    let tag = command.tag();
    // The bytes of a text stay where they are when the map grows.
    TEXTS.lock().entry(tag).or_insert_with(|| text_of(tag)).as_ptr()
}

/// One more holds the result, who lets go of it by inlay_result_release. Any thread may.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_retain(result: Handle<'_, inlay_result>) {
    if let Some(result) = result {
        result.references.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lets go of a result, which is freed when nobody holds it any more, with all that belongs to it.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_release(result: Option<&mut Shared<inlay_result>>) {
    if let Some(result) = result {
        result.release(|result| {
            result.references.fetch_sub(1, Ordering::AcqRel) == 1 && result.process == here()
        });
    }
}

/// What kind of answer it is.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_get_kind(result: Handle<'_, inlay_result>) -> inlay_result_kind {
    plain(INLAY_RESULT_NOTHING, || {
        Some(match result?.first.kind() {
            ResultKind::Rows => INLAY_RESULT_ROWS,
            ResultKind::Changed(_) => INLAY_RESULT_CHANGED,
            ResultKind::Done => INLAY_RESULT_NOTHING,
        })
    })
}

/// What was done: "INSERT", "CREATE TABLE"; a constant.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_command(result: Handle<'_, inlay_result>) -> *const c_char {
    plain(ptr::null(), || Some(command_text(result?.first.command())))
}

/// What was done and to how many rows, as PostgreSQL tells it: "INSERT 0 3". It belongs to the result.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_tag(result: Handle<'_, inlay_result>) -> *const c_char {
    plain(ptr::null(), || {
        let result = result?;
        Some(result.shown().tag.get_or_init(|| text_of(&result.first.without_rows().command_tag())).as_ptr())
    })
}

/// How many rows the statement changed; -1 for one that changes none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_changed_rows(result: Handle<'_, inlay_result>) -> i64 {
    plain(-1, || result?.first.changed_rows().and_then(|count| i64::try_from(count).ok()))
}

/// How many rows there are; all of them are computed for that.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_row_count(
    result: Handle<'_, inlay_result>,
    count: Out<'_, usize>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put(count, of(result)?.row_count()?, "count"))
}

/// How many columns there are.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_column_count(result: Handle<'_, inlay_result>) -> usize {
    plain(0, || result.map(|result| result.first.types().len()))
}

/// The name of a column, from 0; it belongs to the result. NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_column_name(result: Handle<'_, inlay_result>, column: usize) -> *const c_char {
    plain(ptr::null(), || {
        let result = result?;
        let made = || result.first.names().iter().map(|name| text_of(name)).collect();
        result.shown().names.get_or_init(made).get(column).map(|name| name.as_ptr())
    })
}

/// The number of the type of a column, from 0; INLAY_TYPE_NULL if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_column_type(result: Handle<'_, inlay_result>, column: usize) -> inlay_type_id {
    plain(INLAY_TYPE_NULL, || result?.first.types().get(column).map(id_of))
}

/// The type of a column with all its parts. To be freed by inlay_type_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_column_full_type(
    result: Handle<'_, inlay_result>,
    column: usize,
    type_: Out<'_, Made<inlay_type>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(type_, "type", || {
            let result = of(result)?;
            result.check_column(column)?;
            Ok(inlay_type::new(result.first.types()[column].clone()))
        })
    })
}

/// The next rows, some thousand or fewer; NULL behind the last. To be freed by inlay_chunk_free. Rows that were not computed yet are
/// computed by this call, which an interrupt of the connection ends.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_next_chunk(
    result: Handle<'_, inlay_result>,
    chunk: Out<'_, Made<inlay_chunk>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || make_some(chunk, "chunk", || Ok(of(result)?.next_chunk()?.map(inlay_chunk::new))))
}

/// A column of all rows as a chunk that has it alone, for nested values. To be freed by inlay_chunk_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_result_column_chunk(
    result: Handle<'_, inlay_result>,
    column: usize,
    chunk: Out<'_, Made<inlay_chunk>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(chunk, "chunk", || {
            let result = of(result)?;
            result.check_column(column)?;
            let call = result.enter();
            let rows = result.whole()?;
            Ok(inlay_chunk::new(column::chunk_of(rows, column, &call.limits()?)?))
        })
    })
}
