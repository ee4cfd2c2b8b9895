//! Builds the IDL of an Anchor program and writes it with all type aliases inlined.

mod addresses;
mod inline;

use std::{path::PathBuf, process::ExitCode};

use anchor_lang_idl::build::IdlBuilder;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gantry-idl: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(program), Some(output), None) = (args.next(), args.next(), args.next()) else {
        return Err("usage: gantry-idl PROGRAM_DIR OUTPUT.json".into());
    };
    if std::env::var_os("RUSTUP_TOOLCHAIN").is_some() {
        // The builder would try to install a toolchain of that name, and the program's own pin would be ignored.
        return Err("unset RUSTUP_TOOLCHAIN: the program's rust-toolchain.toml decides".into());
    }
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    let idl = IdlBuilder::new()
        .program_path(program)
        .skip_lint(true)
        .cargo_args(vec!["--lib".into(), "--locked".into()])
        .build()
        .map_err(|e| format!("cannot build the IDL: {e:#}"))?;
    let mut idl = serde_json::to_value(idl).map_err(|e| e.to_string())?;
    inline::aliases(&mut idl)?;
    addresses::drop_field_paths(&mut idl);
    let mut text = serde_json::to_string_pretty(&idl).map_err(|e| e.to_string())?;
    text.push('\n');
    std::fs::write(&output, text).map_err(|e| format!("cannot write {}: {e}", output.display()))
}
