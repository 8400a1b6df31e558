//! inlay-sql
