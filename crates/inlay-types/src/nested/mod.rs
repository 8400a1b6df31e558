//! Lists, arrays, structs, maps and unions.

pub mod text;
