//! The `foretell` command: see the library of this crate.

fn main() -> std::process::ExitCode {
    foretell_cli::run(&std::env::args_os().collect::<Vec<_>>()).into()
}
