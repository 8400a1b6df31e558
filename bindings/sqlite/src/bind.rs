//! Values of parameters, and the parameters of statements.

use crate::failure::{MISUSE, NOMEM, OK, RANGE, TOOBIG, export, failed};
use crate::pointers::{Destructor, Handle, bytes_of, destroy, slice_of, utf16_of};
use crate::statement::S;
use crate::value::{Cell, sqlite3_value, text_cell};
use std::ffi::{c_char, c_int, c_void};

const SIZE_MAX: u64 = 1_000_000_000;

fn bind(statement: S<'_>, number: c_int, cell: Cell) -> c_int {
    let Some(statement) = statement else { return MISUSE };
    let free = statement.look().filter(|inner| !inner.is_running());
    let Some(mut inner) = free else {
        return statement.db.note(Err(failed(MISUSE, "bad parameter or other API misuse")));
    };
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    match place.and_then(|place| inner.bound.get_mut(place)) {
        Some(place) => *place = cell,
        None => {
            drop(inner);
            return statement.db.note(Err(failed(RANGE, "column index out of range")));
        }
    }
    OK
}

fn too_big(statement: S<'_>) -> c_int {
    statement.map_or(MISUSE, |statement| statement.db.note(Err(failed(TOOBIG, "string or blob too big"))))
}

fn bind_text(
    statement: S<'_>,
    number: c_int,
    text: *const c_char,
    bytes: i64,
    destructor: Destructor,
) -> c_int {
    let code = match bytes > SIZE_MAX as i64 {
        true => too_big(statement),
        false => match (text_cell(text, bytes), statement) {
            (Ok(cell), _) => bind(statement, number, cell),
            (Err(failure), Some(statement)) => statement.db.note(Err(failure)),
            (Err(_), None) => MISUSE,
        },
    };
    freed(text.cast(), destructor);
    code
}

fn bind_blob(
    statement: S<'_>,
    number: c_int,
    data: *const c_void,
    bytes: u64,
    destructor: Destructor,
) -> c_int {
    let code = match usize::try_from(bytes) {
        Ok(size) if bytes <= SIZE_MAX => {
            let cell = if data.is_null() { Cell::Null } else { Cell::Blob(slice_of(data, size).to_vec()) };
            bind(statement, number, cell)
        }
        _ => too_big(statement),
    };
    freed(data, destructor);
    code
}

/// Frees what a program gave, if it gave anything.
fn freed(data: *const c_void, destructor: Destructor) {
    if !data.is_null() {
        destroy(data.cast_mut(), destructor);
    }
}

export! {
    /// Binds NULL.
    fn sqlite3_bind_null(statement: S<'_>, number: c_int) -> c_int [MISUSE] { bind(statement, number, Cell::Null) }

    /// Binds an integer.
    fn sqlite3_bind_int(statement: S<'_>, number: c_int, value: c_int) -> c_int [MISUSE] {
        bind(statement, number, Cell::Integer(i64::from(value)))
    }

    /// Binds an integer.
    fn sqlite3_bind_int64(statement: S<'_>, number: c_int, value: i64) -> c_int [MISUSE] {
        bind(statement, number, Cell::Integer(value))
    }

    /// Binds a number; NaN is NULL.
    fn sqlite3_bind_double(statement: S<'_>, number: c_int, value: f64) -> c_int [MISUSE] {
        bind(statement, number, if value.is_nan() { Cell::Null } else { Cell::Real(value) })
    }

    /// Binds a text, which is copied.
    fn sqlite3_bind_text(statement: S<'_>, number: c_int, text: *const c_char, bytes: c_int, destructor: Destructor) -> c_int [MISUSE] {
        bind_text(statement, number, text, i64::from(bytes), destructor)
    }

    /// Binds a text, which is copied.
    fn sqlite3_bind_text64(statement: S<'_>, number: c_int, text: *const c_char, bytes: u64, destructor: Destructor, _encoding: u8) -> c_int [MISUSE] {
        bind_text(statement, number, text, i64::try_from(bytes).unwrap_or(i64::MAX), destructor)
    }

    /// Binds a text in UTF-16.
    fn sqlite3_bind_text16(statement: S<'_>, number: c_int, text: *const c_void, bytes: c_int, destructor: Destructor) -> c_int [MISUSE] {
        let code = bind(statement, number, utf16_of(text, bytes).map_or(Cell::Null, Cell::Text));
        freed(text, destructor);
        code
    }

    /// Binds bytes, which are copied.
    fn sqlite3_bind_blob(statement: S<'_>, number: c_int, data: *const c_void, bytes: c_int, destructor: Destructor) -> c_int [MISUSE] {
        bind_blob(statement, number, data, u64::try_from(bytes).unwrap_or(0), destructor)
    }

    /// Binds bytes, which are copied.
    fn sqlite3_bind_blob64(statement: S<'_>, number: c_int, data: *const c_void, bytes: u64, destructor: Destructor) -> c_int [MISUSE] {
        bind_blob(statement, number, data, bytes, destructor)
    }

    /// Binds so many zeros.
    fn sqlite3_bind_zeroblob(statement: S<'_>, number: c_int, bytes: c_int) -> c_int [NOMEM] {
        bind(statement, number, Cell::Blob(vec![0; usize::try_from(bytes).unwrap_or(0)]))
    }

    /// Binds so many zeros.
    fn sqlite3_bind_zeroblob64(statement: S<'_>, number: c_int, bytes: u64) -> c_int [NOMEM] {
        if bytes > SIZE_MAX { too_big(statement) } else { bind(statement, number, Cell::Blob(vec![0; bytes as usize])) }
    }

    /// Binds a value.
    fn sqlite3_bind_value(statement: S<'_>, number: c_int, value: Handle<'_, sqlite3_value>) -> c_int [MISUSE] {
        bind(statement, number, value.map_or(Cell::Null, |value| value.cell.clone()))
    }

    /// There are no pointers among values: binds NULL.
    fn sqlite3_bind_pointer(statement: S<'_>, number: c_int, data: *mut c_void, _name: *const c_char, destructor: Destructor) -> c_int [MISUSE] {
        let code = bind(statement, number, Cell::Null);
        destroy(data, destructor);
        code
    }

    /// Binds NULL to all parameters.
    fn sqlite3_clear_bindings(statement: S<'_>) -> c_int [MISUSE] {
        let Some(statement) = statement else { return MISUSE };
        let Some(mut inner) = statement.look() else { return MISUSE };
        inner.bound.fill(Cell::Null);
        OK
    }

    /// The largest number of a parameter.
    fn sqlite3_bind_parameter_count(statement: S<'_>) -> c_int [0] {
        statement.map_or(0, |statement| statement.names.len() as c_int)
    }

    /// The name of a parameter, with its sign.
    fn sqlite3_bind_parameter_name(statement: S<'_>, number: c_int) -> *const c_char [std::ptr::null()] {
        let Some(statement) = statement else { return std::ptr::null() };
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        place.and_then(|place| statement.names.get(place)?.as_ref()).map_or(std::ptr::null(), |name| name.as_ptr())
    }

    /// The number of a parameter of a name, or 0.
    fn sqlite3_bind_parameter_index(statement: S<'_>, name: *const c_char) -> c_int [0] {
        let (Some(statement), Some(name)) = (statement, bytes_of(name)) else { return 0 };
        let place = statement.names.iter().position(|known| known.as_ref().is_some_and(|known| known.as_bytes() == name));
        place.map_or(0, |place| place as c_int + 1)
    }

    /// Moves what is bound to another statement.
    fn sqlite3_transfer_bindings(from: S<'_>, to: S<'_>) -> c_int [MISUSE] {
        let (Some(from), Some(to)) = (from, to) else { return MISUSE };
        let Some(values) = from.look().map(|inner| inner.bound.clone()) else { return MISUSE };
        let Some(mut inner) = to.look() else { return MISUSE };
        if inner.bound.len() != values.len() {
            return crate::failure::ERROR;
        }
        inner.bound = values;
        OK
    }
}
