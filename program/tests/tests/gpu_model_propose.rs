use gantry_market::errors::MarketError;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::GpuModel;
use gantry_market_tests::testbed::H100;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Change, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// Finding C 7.
#[test]
fn a_new_model_waits_for_the_timelock_too() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let args = GpuModelArgs { id: 0x0201, min_tier: 3, ..ix::h100() };
    w.ok(ix::gpu_model_propose(&w, args), &[&authority]);
    let model: GpuModel = w.read(&pda::gpu_model(0x0201));
    assert_eq!((model.id, model.name, model.vram_mib), (args.id, args.name, args.vram_mib));
    assert_eq!(model.version, 1);
    assert_eq!((model.since, model.min_stake, model.tflops_x10), (0, 0, args.tflops_x10));
    assert_eq!(model.pending_eta, w.now() + i64::from(w.params.timelock_secs));
    assert_eq!((model.pending.min_stake, model.pending.min_tier), (args.min_stake, 3));
    // Before it is in force everything about it may still be put right.
    let better = GpuModelArgs { vram_mib: 16, min_stake: 40 * args.min_stake, ..args };
    w.ok(ix::gpu_model_propose(&w, better), &[&authority]);
    let model: GpuModel = w.read(&pda::gpu_model(0x0201));
    assert_eq!((model.vram_mib, model.pending.min_stake), (16, better.min_stake));
}

/// Finding C 7.
#[test]
fn a_proposal_changes_nothing_yet_and_a_new_one_starts_its_own_wait() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let old: GpuModel = w.read(&pda::gpu_model(H100));
    let args = GpuModelArgs { min_stake: 2 * old.min_stake, ..ix::h100() };
    w.ok(ix::gpu_model_propose(&w, args), &[&authority]);
    let model: GpuModel = w.read(&pda::gpu_model(H100));
    assert_eq!((model.terms(), model.since), (old.terms(), old.since));
    w.warp(i64::from(w.params.timelock_secs) - 1);
    w.ok(ix::gpu_model_propose(&w, args), &[&authority]);
    w.warp(1);
    w.refused(ix::gpu_model_apply(H100), &[], MarketError::TimelockRunning);
}

#[test]
fn only_the_authority_proposes() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    let good = ix::gpu_model_propose(&w, ix::h100());
    let by_guardian = swap(good.clone(), &w.authority.pubkey(), &guardian.pubkey());
    w.refused(by_guardian, &[&guardian], MarketError::Unauthorised);
    let silent = unsigned(good, &w.authority.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
}

fn refused(w: &mut Testbed, base: GpuModelArgs, cases: &[(&str, Change<GpuModelArgs>)]) {
    let authority = w.authority.insecure_clone();
    for (name, change) in cases {
        println!("{name}");
        let mut args = base;
        change(&mut args);
        w.refused(ix::gpu_model_propose(w, args), &[&authority], MarketError::ParameterOutOfRange);
    }
}

#[test]
fn a_model_must_make_sense() {
    let cases: [(&str, Change<GpuModelArgs>); 23] = [
        ("id means any", |a| a.id = 0),
        ("nameless", |a| a.name = [0; 32]),
        ("no memory", |a| a.vram_mib = 0),
        ("no power", |a| a.tflops_x10 = 0),
        ("no stake", |a| a.min_stake = 0),
        ("for free", |a| a.reference_price = 0),
        ("tier that there is not", |a| a.min_tier = 4),
        ("products of no known order", |a| a.profile.order = 1_536),
        ("products that are too small", |a| (a.profile.order, a.profile.fold) = (512, 4)),
        ("products that are too large", |a| (a.profile.order, a.profile.fold) = (32_768, 2)),
        ("a byte that is too dear to prove", |a| (a.profile.order, a.profile.fold) = (16_384, 4)),
        ("bytes of three columns", |a| a.profile.fold = 3),
        ("rows that make no tree", |a| a.profile.rows = 1_025),
        ("too few rows", |a| a.profile.rows = 512),
        ("too many rows", |a| a.profile.rows = 1 << 21),
        ("nothing in memory", |a| a.profile.resident = 0),
        ("more rounds than a run has", |a| a.profile.resident = 4_097),
        ("more memory than the GPU has", |a| (a.profile.resident, a.profile.rows) = (4_096, 1 << 15)),
        ("too many lanes", |a| a.profile.lanes = 1 << 21),
        ("no time for rounds", |a| a.profile.chain_ms = 0),
        ("walks without end", |a| a.profile.walk_ms = 60_001),
        ("a slash that covers no harm", |a| a.min_stake /= 5),
        ("harm that no slash covers", |a| a.reference_price *= 5),
    ];
    let mut w = Testbed::new();
    refused(&mut w, GpuModelArgs { id: 2, ..ix::h100() }, &cases[1..]);
    refused(&mut w, ix::h100(), &cases[..1]);
}

/// Finding C 7.
#[test]
fn a_model_in_force_changes_by_a_factor_of_two_at_most() {
    let cases: [(&str, Change<GpuModelArgs>); 14] = [
        ("out of everyone's reach", |a| a.min_stake = 2 * a.min_stake + 1),
        ("next to no stake", |a| a.min_stake = a.min_stake / 2 - 1),
        ("dearer", |a| a.reference_price = 2 * a.reference_price + 1),
        ("cheaper", |a| a.reference_price = a.reference_price / 2 - 1),
        ("more operations", |a| a.min_operations = 2_001),
        ("less bandwidth", |a| a.min_bandwidth = 249),
        ("no bound any more", |a| a.min_operations = 0),
        ("a tier that nobody has had the time to reach", |a| a.min_tier = 2),
        ("more of the memory", |a| a.profile.resident = 33),
        ("rounds for a shorter time", |a| a.profile.chain_ms = 499),
        ("walks for a longer time", |a| a.profile.walk_ms = 1_001),
        ("another machine's memory", |a| a.vram_mib += 1),
        ("another machine's power", |a| a.tflops_x10 -= 1),
        ("another name", |a| a.name[0] = b'A'),
    ];
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    // What is not calibrated may become anything, once.
    let base = GpuModelArgs { min_operations: 1_000, min_bandwidth: 500, ..ix::h100() };
    w.model(base);
    refused(&mut w, base, &cases);
    for change in [
        |a: &mut GpuModelArgs| (a.min_stake, a.reference_price) = (2 * a.min_stake, 2 * a.reference_price),
        |a: &mut GpuModelArgs| (a.min_operations, a.min_tier) = (2_000, 1),
        |a: &mut GpuModelArgs| (a.min_operations, a.min_bandwidth) = (500, 250),
        |a: &mut GpuModelArgs| (a.profile.rows, a.profile.chain_ms) = (2_048, 2_000),
        |a: &mut GpuModelArgs| (a.profile.order, a.profile.resident, a.profile.fold) = (8_192, 2, 2),
    ] {
        let mut args = base;
        change(&mut args);
        w.ok(ix::gpu_model_propose(&w, args), &[&authority]);
    }
}

#[test]
fn the_model_stands_where_its_id_says() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let mut second = ix::h100();
    second.id = 2;
    let good = ix::gpu_model_propose(&w, second);
    // At the address of the first model, which exists, and at one where nothing is.
    let elsewhere = w.fresh_address();
    for wrong in [pda::gpu_model(1), elsewhere] {
        let instruction = swap(good.clone(), &pda::gpu_model(2), &wrong);
        w.refused(instruction, &[&authority], InstructionError::InvalidSeeds);
    }
    let forged = w.forged(&pda::market());
    let other_market = swap(good, &pda::market(), &forged);
    w.refused(other_market, &[&authority], InstructionError::IllegalOwner);
}
