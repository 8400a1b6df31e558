//! Compiles the variadic part, and gives the library the name by which programs look for SQLite.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/print.c");
    cc::Build::new().file("src/print.c").warnings(true).extra_warnings(true).compile("inlay_sqlite3_print");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsqlite3.so.0");
        // Its threads must not outlive its code: to unload it does nothing.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // Its own names mean its own functions, whatever else the process has loaded.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
}
