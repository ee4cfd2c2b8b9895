//! Command line of `gantry-surfnet`.

use std::path::PathBuf;

use solana_pubkey::Pubkey;

pub const USAGE: &str = "\
usage: gantry-surfnet [options]

  --rpc-port PORT       JSON-RPC port on 127.0.0.1 (default 0: any free port)
  --ws-port PORT        WebSocket port on 127.0.0.1 (default 0: any free port)
  --slot-ms MS          slot time in milliseconds, 10 to 10000 (default 50)
  --program ID FILE.so AUTHORITY
                        deploy FILE.so as an upgradeable program at address ID; AUTHORITY is its upgrade
                        authority, or `none` for an immutable program. May be given several times.
  --exit-with-parent    exit as soon as the process that started this one is gone
  --help                this text

When it is ready it prints one line of JSON on standard output: rpc, ws, genesis_hash, slot_ms. Logs go to
standard error. SIGTERM and SIGINT stop it. State is in memory only.";

/// A program to deploy before the engine reports ready.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub id: Pubkey,
    pub path: PathBuf,
    /// `None` deploys the program as immutable.
    pub authority: Option<Pubkey>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub rpc_port: u16,
    pub ws_port: u16,
    pub slot_ms: u64,
    pub programs: Vec<Program>,
    pub exit_with_parent: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    Run(Options),
    Help,
}

impl Options {
    /// Parses the arguments after the program's name; the error is one line for the user.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Parsed, String> {
        let mut options =
            Options { rpc_port: 0, ws_port: 0, slot_ms: 50, programs: Vec::new(), exit_with_parent: false };
        let mut args = args;
        while let Some(arg) = args.next() {
            let mut value = |what: &str| args.next().ok_or(format!("{arg} needs {what}"));
            match arg.as_str() {
                "--rpc-port" => options.rpc_port = port(&arg, &value("a port")?)?,
                "--ws-port" => options.ws_port = port(&arg, &value("a port")?)?,
                "--slot-ms" => {
                    let text = value("milliseconds")?;
                    options.slot_ms = match text.parse() {
                        Ok(ms @ 10..=10_000) => ms,
                        _ => {
                            return Err(format!("--slot-ms {text}: want a number from 10 to 10000"));
                        }
                    };
                }
                "--program" => options.programs.push(Program {
                    id: address(&arg, &value("ID FILE.so AUTHORITY")?)?,
                    path: value("ID FILE.so AUTHORITY")?.into(),
                    authority: match value("ID FILE.so AUTHORITY")?.as_str() {
                        "none" => None,
                        text => Some(address(&arg, text)?),
                    },
                }),
                "--exit-with-parent" => options.exit_with_parent = true,
                "--help" | "-h" => return Ok(Parsed::Help),
                _ => return Err(format!("unknown argument {arg}")),
            }
        }
        Ok(Parsed::Run(options))
    }
}

fn port(option: &str, text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("{option} {text}: want a number from 0 to 65535"))
}

fn address(option: &str, text: &str) -> Result<Pubkey, String> {
    text.parse().map_err(|_| format!("{option}: {text} is not a Solana address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Parsed, String> {
        Options::parse(line.split_whitespace().map(str::to_string))
    }

    #[test]
    fn a_full_command_line_is_understood() {
        let id = Pubkey::new_from_array([7; 32]);
        let authority = Pubkey::new_from_array([9; 32]);
        let line = format!(
            "--rpc-port 8899 --ws-port 8900 --slot-ms 100 --program {id} a.so {authority} --program {id} b.so none --exit-with-parent"
        );
        let expected = Options {
            rpc_port: 8899,
            ws_port: 8900,
            slot_ms: 100,
            programs: vec![
                Program { id, path: "a.so".into(), authority: Some(authority) },
                Program { id, path: "b.so".into(), authority: None },
            ],
            exit_with_parent: true,
        };
        assert_eq!(parse(&line), Ok(Parsed::Run(expected)));
    }

    #[test]
    fn mistakes_are_refused() {
        for line in [
            "--rpc-port",
            "--rpc-port x",
            "--rpc-port 70000",
            "--slot-ms 1",
            "--slot-ms 60000",
            "--program a.so",
            "--program nonsense a.so none",
            "--port 1",
            "extra",
        ] {
            assert!(parse(line).is_err(), "{line} was accepted");
        }
    }

    #[test]
    fn help_wins() {
        assert_eq!(parse("--slot-ms 100 --help"), Ok(Parsed::Help));
    }
}
