//! The program `inlay`.

use std::process::ExitCode;

fn main() -> ExitCode {
    inlay_cli::run(std::env::args_os())
}
