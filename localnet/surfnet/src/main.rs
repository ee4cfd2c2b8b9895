//! The embedded Solana engine of Gantry's local network.
//!
//! It runs surfpool's virtual machine with mainnet's feature set behind the ordinary JSON-RPC and WebSocket interfaces,
//! on ports chosen by the caller, with programs deployed as upgradeable. What the SDK's own builder cannot do is done
//! here: fixed ports, a genesis hash of its own for every start, and a chain clock that follows wall-clock time (see
//! `metronome`).

mod engine;
mod lifetime;
mod metronome;
mod options;

use std::io::Write;

use options::{Options, Parsed};

fn main() -> std::process::ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Help) => {
            println!("{}", options::USAGE);
            return std::process::ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("gantry-surfnet: {message}\n\n{}", options::USAGE);
            return std::process::ExitCode::from(2);
        }
    };
    match run(options) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gantry-surfnet: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<(), String> {
    // Taken before anything starts, so that a parent that dies during start-up is noticed.
    let watch = lifetime::Watch::new(options.exit_with_parent)?;
    let engine = engine::Engine::start(&options)?;
    let endpoint = serde_json::json!({
        "rpc": format!("http://127.0.0.1:{}", engine.rpc_port),
        "ws": format!("ws://127.0.0.1:{}", engine.ws_port),
        "genesis_hash": engine.genesis_hash,
        "slot_ms": options.slot_ms,
    });
    // The one line on stdout is the contract with whoever started this process: the engine is ready.
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{endpoint}")
        .and_then(|()| stdout.flush())
        .map_err(|e| format!("cannot write the endpoint to standard output: {e}"))?;
    let reason = watch.wait();
    eprintln!("stopping: {reason}");
    engine.stop();
    Ok(())
}
