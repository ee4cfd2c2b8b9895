//! Starts surfpool's core on given ports, deploys programs, and stops it.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    net::TcpListener,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use solana_hash::Hash;
use surfpool_core::surfnet::{
    locker::SurfnetSvmLocker,
    svm::{SurfnetSvm, SurfnetSvmConfig},
};
use surfpool_sdk::{BlockProductionMode, SimnetCommand, SimnetEvent, SvmFeatureConfig};
use surfpool_types::{RpcConfig, SimnetConfig, SurfpoolConfig};

use crate::{
    metronome,
    options::{Options, Program},
};

const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// As on mainnet, where logs are truncated to this size.
const LOG_BYTES: usize = 10_000;

pub struct Engine {
    pub rpc_port: u16,
    pub ws_port: u16,
    pub genesis_hash: String,
    commands: Sender<SimnetCommand>,
    stop_metronome: Sender<()>,
    metronome: JoinHandle<()>,
    events: JoinHandle<()>,
}

impl Engine {
    /// Starts the engine and deploys the programs; on return every RPC method answers.
    pub fn start(options: &Options) -> Result<Self, String> {
        let binaries = read_programs(&options.programs)?;
        let (rpc_port, ws_port) = ports(options)?;
        let genesis_hash = new_genesis_hash();
        let simnet = SimnetConfig {
            offline_mode: true,
            remote_rpc_url: None,
            slot_time: options.slot_ms,
            // Slots are made by the metronome alone.
            block_production_mode: BlockProductionMode::Manual,
            instruction_profiling_enabled: false,
            max_profiles: 1,
            log_bytes_limit: Some(LOG_BYTES),
            genesis_hash: Some(genesis_hash),
            ..Default::default()
        };
        let svm_config = SurfnetSvmConfig {
            surfnet_id: simnet.surfnet_id.clone(),
            slot_time: simnet.slot_time,
            instruction_profiling_enabled: simnet.instruction_profiling_enabled,
            max_profiles: simnet.max_profiles,
            log_bytes_limit: simnet.log_bytes_limit,
            // No deltas: exactly the features active on mainnet.
            feature_config: SvmFeatureConfig::default(),
            skip_blockhash_check: false,
        };
        let config = SurfpoolConfig {
            simnets: vec![simnet],
            rpc: RpcConfig {
                bind_host: "127.0.0.1".into(),
                bind_port: rpc_port,
                ws_port,
                ..Default::default()
            },
            ..Default::default()
        };

        let (svm, events_rx, geyser_rx) =
            SurfnetSvm::new(svm_config).map_err(|e| format!("cannot set up the virtual machine: {e}"))?;
        let locker = SurfnetSvmLocker::new(svm);
        // What clients ask for goes through the metronome, which alone commands surfpool.
        let (requests, requests_rx) = crossbeam_channel::unbounded();
        let (commands, commands_rx) = crossbeam_channel::unbounded();
        {
            let locker = locker.clone();
            spawn("surfpool", move || {
                let run = surfpool_core::runloops::start_local_surfnet_runloop(
                    locker,
                    config,
                    requests,
                    commands_rx,
                    geyser_rx,
                );
                if let Err(e) = hiro_system_kit::nestable_block_on(run) {
                    // Nothing can be saved: the state is in memory. Whoever supervises us starts a new one.
                    eprintln!("the engine failed: {e}");
                    std::process::exit(1);
                }
            })?;
        }
        wait_until_started(&events_rx)?;
        for (program, bytes) in options.programs.iter().zip(&binaries) {
            deploy(&locker, program, bytes)?;
        }

        let events = spawn("events", move || log_events(&events_rx))?;
        let (stop_metronome, stopped) = crossbeam_channel::bounded(0);
        let metronome = {
            let (slot_ms, commands) = (options.slot_ms, commands.clone());
            spawn("metronome", move || metronome::run(slot_ms, &locker, &requests_rx, &commands, &stopped))?
        };
        Ok(Engine {
            rpc_port,
            ws_port,
            genesis_hash: genesis_hash.to_string(),
            commands,
            stop_metronome,
            metronome,
            events,
        })
    }

    /// Closes the RPC servers and waits a short while for them.
    pub fn stop(self) {
        drop(self.stop_metronome);
        let _ = self.metronome.join();
        let _ = self.commands.send(SimnetCommand::Terminate(None));
        let deadline = Instant::now() + STOP_TIMEOUT;
        while !self.events.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn read_programs(programs: &[Program]) -> Result<Vec<Vec<u8>>, String> {
    programs
        .iter()
        .map(|p| {
            std::fs::read(&p.path).map_err(|e| format!("cannot read the program {}: {e}", p.path.display()))
        })
        .collect()
}

/// The ports to use: those asked for, or free ones where 0 was asked for.
fn ports(options: &Options) -> Result<(u16, u16), String> {
    // Both listeners are held until both ports are known, so that they cannot be the same.
    let open = |name: &str, port: u16| -> Result<TcpListener, String> {
        TcpListener::bind(("127.0.0.1", port))
            .map_err(|e| format!("{name} port {port} on 127.0.0.1 cannot be used: {e}; choose another"))
    };
    let rpc = open("RPC", options.rpc_port)?;
    let ws = open("WebSocket", options.ws_port)?;
    let port = |l: &TcpListener| l.local_addr().map(|a| a.port()).map_err(|e| e.to_string());
    Ok((port(&rpc)?, port(&ws)?))
}

/// A genesis hash unlike that of any other start: what is signed for one local network is worthless on the next.
fn new_genesis_hash() -> Hash {
    let mut bytes = [0u8; 32];
    for (i, chunk) in bytes.chunks_mut(8).enumerate() {
        // RandomState is keyed by the operating system's random numbers; uniqueness is all that is needed here.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_usize(i);
        hasher.write_u128(std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_nanos()));
        hasher.write_u32(std::process::id());
        chunk.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    Hash::new_from_array(bytes)
}

fn wait_until_started(events: &Receiver<SimnetEvent>) -> Result<(), String> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match events.recv_deadline(deadline) {
            Ok(SimnetEvent::CoreStarted(_)) => return Ok(()),
            Ok(SimnetEvent::Aborted(reason)) => {
                return Err(format!("the engine did not start: {reason}"));
            }
            Ok(SimnetEvent::Shutdown) => return Err("the engine stopped while starting".into()),
            Ok(event) => log_event(&event),
            Err(_) => {
                return Err(format!("the engine was not ready within {} s", START_TIMEOUT.as_secs()));
            }
        }
    }
}

fn deploy(locker: &SurfnetSvmLocker, program: &Program, bytes: &[u8]) -> Result<(), String> {
    let write = locker.write_program(program.id, program.authority, 0, bytes, &None);
    hiro_system_kit::nestable_block_on(write)
        .map_err(|e| format!("cannot deploy {} at {}: {e}", program.path.display(), program.id))
}

/// Logs warnings and errors until the engine has shut down both its servers.
fn log_events(events: &Receiver<SimnetEvent>) {
    let mut servers = 2;
    while let Ok(event) = events.recv() {
        if matches!(event, SimnetEvent::Shutdown) {
            servers -= 1;
            if servers == 0 {
                return;
            }
        }
        log_event(&event);
    }
}

fn log_event(event: &SimnetEvent) {
    match event {
        SimnetEvent::ErrorLog(at, text) => eprintln!("{} error {text}", at.to_rfc3339()),
        SimnetEvent::WarnLog(at, text) => eprintln!("{} warn {text}", at.to_rfc3339()),
        SimnetEvent::InfoLog(at, text) => eprintln!("{} info {text}", at.to_rfc3339()),
        _ => {}
    }
}

fn spawn<F: FnOnce() + Send + 'static>(name: &str, body: F) -> Result<JoinHandle<()>, String> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(body)
        .map_err(|e| format!("cannot start the {name} thread: {e}"))
}
