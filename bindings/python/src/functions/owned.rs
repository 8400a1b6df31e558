//! The common result of a function: a NumPy array of its own in the very form of the declared type, taken over as it lies.
//!
//! Looks at few attributes, so that what a call costs hardly depends on it; whatever else functions give is told apart by
//! [`super::results`].

#![expect(unsafe_code, reason = "memory of arrays that Python keeps")]

use crate::register;
use inlay::types::{LogicalType, Vector};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

/// An array of `len` values of type `ty` as a vector over its memory; `None` for anything else. Nobody but the caller may
/// hold `value`: who does could change the vector.
pub fn vector<'py>(value: &Bound<'py, PyAny>, ty: &LogicalType, len: usize) -> PyResult<Option<Vector>> {
    static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    let Some(typestr) = typestr_of(ty) else { return Ok(None) };
    if !value.get_type().is(ARRAY.import(py, "numpy", "ndarray")?) {
        return Ok(None);
    }
    let owns_memory = value.getattr(pyo3::intern!(py, "flags"))?.getattr(pyo3::intern!(py, "owndata"))?;
    if !owns_memory.extract::<bool>()? {
        return Ok(None);
    }
    let interface = value.getattr(pyo3::intern!(py, "__array_interface__"))?;
    let interface = interface.cast::<PyDict>().map_err(PyErr::from)?;
    let of = |key: &Bound<'py, PyString>| interface.as_any().get_item(key);
    let is_contiguous = of(pyo3::intern!(py, "strides"))?.is_none();
    let has_type = of(pyo3::intern!(py, "typestr"))?.eq(typestr)?;
    let has_len = of(pyo3::intern!(py, "shape"))?.eq((len,))?;
    let (address, _): (usize, bool) = of(pyo3::intern!(py, "data"))?.extract()?;
    if !(is_contiguous && has_type && has_len && address.is_multiple_of(ty.physical().size())) {
        return Ok(None);
    }
    // SAFETY: NumPy says that `len` values of `ty`, with no gaps and in the order of bytes that this machine has, lie at
    // the address, which is aligned (checked), in memory that the array owns.
    unsafe { register::over(value.clone(), address, ty.clone(), len) }.map(Some)
}

/// What NumPy calls the form in which vectors of a type lie; `None` where arrays lie otherwise.
fn typestr_of(ty: &LogicalType) -> Option<&'static str> {
    use LogicalType as T;
    match ty {
        T::TinyInt => Some("|i1"),
        T::SmallInt => Some("<i2"),
        T::Integer => Some("<i4"),
        T::BigInt => Some("<i8"),
        T::UTinyInt => Some("|u1"),
        T::USmallInt => Some("<u2"),
        T::UInteger => Some("<u4"),
        T::UBigInt => Some("<u8"),
        T::Real => Some("<f4"),
        T::Double => Some("<f8"),
        _ => None,
    }
}
