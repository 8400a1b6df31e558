//! Gives the shared library its name at run time: programs find the version that they were built for, beside others.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libinlay.so.0");
        // Its threads and what threads of the program keep of it must not outlive its code: to unload it does nothing.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
