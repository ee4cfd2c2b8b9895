use gantry_market::errors::MarketError;
use gantry_market::events::NodeRegistered;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{DeviceClaim, GpuModel, Node, NodeSpec, Provider, NODE_ACTIVE};
use gantry_market_tests::actors::START_LAMPORTS;
use gantry_market_tests::attempts::{with_account, without_last, ALREADY_IN_USE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::testbed::{real_params, H100};
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Testbed};
use solana_instruction::AccountMeta;
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer;

/// A provider whose stake is enough for two GPUs, and the key of a machine.
fn ready() -> (Testbed, Actor, Keypair) {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let key = w.fresh_key();
    (w, provider, key)
}

#[test]
fn a_machine_is_on_offer_and_holds_its_devices() {
    let (mut w, provider, key) = ready();
    let meta = w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(2), ASK), &[&provider.key, &key]);
    let at = pda::node(&provider.provider(), &key.pubkey());
    let node: Node = w.read(&at);
    assert_eq!((node.provider, node.node_key), (provider.provider(), key.pubkey()));
    assert_eq!((node.price, node.ask_since, node.available_since), (ASK, w.now(), w.now()));
    assert_eq!((node.required_stake, node.registered_at), (20_000_000_000, w.now()));
    assert_eq!((node.status, node.tier, node.uptime_bps), (NODE_ACTIVE, 1, 10_000));
    assert_eq!((node.gpu_mask, node.live_leases, node.version), (0, 0, 1));
    assert_eq!((node.last_report_period, node.report_window), (w.period(), u32::MAX));
    assert_eq!(bytemuck::bytes_of(&node.spec), bytemuck::bytes_of(&ix::spec(2)));
    let state: Provider = w.read(&provider.provider());
    assert_eq!((state.locked_stake, state.node_count, state.stake), (20_000_000_000, 1, 20_000_000_000));
    assert_eq!((node.stake, node.reserved_stake, node.covered_since), (20_000_000_000, 0, w.now()));
    for device in &ix::devices(&key.pubkey(), 2)[..2] {
        let claim: DeviceClaim = w.read(&pda::device(device));
        assert_eq!((claim.node, claim.device), (at, *device));
        assert_eq!((claim.rent_payer, claim.tier, claim.version), (provider.wallet(), 1, 1));
    }
    assert_emitted(
        &meta,
        &NodeRegistered {
            node: at,
            provider: provider.provider(),
            model: H100,
            gpus: 2,
            price: ASK,
            simulated: 0,
        },
    );
}

#[test]
fn eight_gpus_are_the_most() {
    let mut w = Testbed::new();
    let (provider, key) = (w.provider(80_000_000_000), w.fresh_key());
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(8), ASK), &[&provider.key, &key]);
    let node: Node = w.read(&pda::node(&provider.provider(), &key.pubkey()));
    assert_eq!(node.free_gpus(), 8);
}

#[test]
fn simulated_gpus_are_tier_zero_and_only_where_allowed() {
    let spec = NodeSpec { simulated: 1, ..ix::spec(1) };
    let (mut w, provider, key) = ready();
    w.ok(ix::node_register(&provider, &key.pubkey(), spec, ASK), &[&provider.key, &key]);
    assert_eq!(w.read::<Node>(&pda::node(&provider.provider(), &key.pubkey())).tier, 0);
    assert_eq!(w.read::<DeviceClaim>(&pda::device(&ix::devices(&key.pubkey(), 1)[0])).tier, 0);

    let mut w = Testbed::with(real_params());
    let (provider, key) = (w.provider(20_000_000_000), w.fresh_key());
    let register = ix::node_register(&provider, &key.pubkey(), spec, ASK);
    w.refused(register, &[&provider.key, &key], MarketError::SimulatedNotAllowed);
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK), &[&provider.key, &key]);
}

#[test]
fn an_impossible_machine_is_refused() {
    let (mut w, provider, key) = ready();
    let free = ix::node_register(&provider, &key.pubkey(), ix::spec(1), 0);
    w.refused(free, &[&provider.key, &key], MarketError::ZeroPrice);
    let cases: [(&str, Change<NodeSpec>); 7] = [
        ("another model", |s| s.model = 2),
        ("no GPU", |s| s.gpus = 0),
        ("nine GPUs", |s| s.gpus = 9),
        ("no memory", |s| s.vram_mib = 0),
        ("unknown interconnect", |s| s.interconnect = 3),
        ("half simulated", |s| s.simulated = 2),
        ("isolation", |s| s.isolation = 3),
    ];
    for (what, change) in cases {
        println!("{what}");
        let mut spec = ix::spec(1);
        change(&mut spec);
        let mut register = ix::node_register(&provider, &key.pubkey(), spec, ASK);
        if spec.model != H100 {
            register = swap(register, &pda::gpu_model(spec.model), &pda::gpu_model(H100));
        }
        w.refused(register, &[&provider.key, &key], MarketError::InvalidSpec);
    }
}

#[test]
fn every_gpu_has_its_own_claim() {
    let (mut w, provider, key) = ready();
    let signers: &[&Keypair] = &[&provider.key, &key];
    let good = ix::node_register(&provider, &key.pubkey(), ix::spec(2), ASK);
    let stray = AccountMeta::new(w.fresh_address(), false);
    w.refused(without_last(good.clone()), signers, MarketError::DeviceCountMismatch);
    w.refused(with_account(good.clone(), stray), signers, MarketError::DeviceCountMismatch);

    let mut devices = ix::devices(&key.pubkey(), 2);
    let elsewhere = swap(good, &pda::device(&devices[1]), &pda::device(&[5; 32]));
    w.refused(elsewhere, signers, MarketError::WrongAccount);
    devices[2] = [9; 32];
    let three = ix::node_register_with(&provider, &key.pubkey(), ix::spec(2), ASK, devices);
    w.refused(three, signers, MarketError::DeviceCountMismatch);
    devices[2] = [0; 32];
    devices[1] = [0; 32];
    let nameless = ix::node_register_with(&provider, &key.pubkey(), ix::spec(2), ASK, devices);
    w.refused(nameless, signers, MarketError::WrongDevices);
    devices[1] = devices[0];
    let twice = ix::node_register_with(&provider, &key.pubkey(), ix::spec(2), ASK, devices);
    w.refused(twice, signers, MarketError::WrongDevices);
    devices.swap(0, 2);
    let zero_first = ix::node_register_with(&provider, &key.pubkey(), ix::spec(2), ASK, devices);
    w.refused(zero_first, signers, MarketError::WrongDevices);
    let mut descending = ix::devices(&key.pubkey(), 2);
    descending.swap(0, 1);
    let descending = ix::node_register_with(&provider, &key.pubkey(), ix::spec(2), ASK, descending);
    w.refused(descending, signers, MarketError::WrongDevices);
}

#[test]
fn a_device_is_registered_once() {
    let (mut w, provider, key) = ready();
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK), &[&provider.key, &key]);
    let (thief, other) = (w.provider(20_000_000_000), w.fresh_key());
    let devices = ix::devices(&key.pubkey(), 1);
    let again = ix::node_register_with(&thief, &other.pubkey(), ix::spec(1), ASK, devices);
    let (claim, until) = (pda::device(&devices[0]), w.now() + 100);
    w.alter(&claim, |c: &mut DeviceClaim| c.set(2, until).expect("fits"));
    w.refused(again, &[&thief.key, &other], MarketError::DeviceClaimed);
    let held: DeviceClaim = w.read(&claim);
    assert_eq!((held.node, held.tier), (pda::node(&provider.provider(), &key.pubkey()), 2));
}

/// Who only claims a device cannot keep its owner from registering it; until evidence decides, the first holds it.
#[test]
fn over_a_mere_claim_a_machine_registers_and_waits_for_evidence() {
    let (mut w, provider, key) = ready();
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(2), ASK), &[&provider.key, &key]);
    let (owner, other) = (w.provider(20_000_000_000), w.fresh_key());
    let mut devices = ix::devices(&other.pubkey(), 2);
    devices[0] = ix::devices(&key.pubkey(), 1)[0];
    devices[..2].sort_unstable();
    let held = pda::device(&ix::devices(&key.pubkey(), 1)[0]);
    // Evidence that has lapsed is no more than a claim.
    let until = w.now() - 1;
    w.alter(&held, |c: &mut DeviceClaim| c.set(3, until).expect("fits"));
    let before: DeviceClaim = w.read(&held);
    let over = ix::node_register_with(&owner, &other.pubkey(), ix::spec(2), ASK, devices);
    w.ok(over, &[&owner.key, &other]);
    let node: Node = w.read(&pda::node(&owner.provider(), &other.pubkey()));
    assert_eq!((node.claims_missing, node.status), (1, NODE_ACTIVE));
    assert_eq!(bytemuck::bytes_of(&w.read::<DeviceClaim>(&held)), bytemuck::bytes_of(&before));
    let first: Node = w.read(&pda::node(&provider.provider(), &key.pubkey()));
    assert_eq!(first.claims_missing, 0);
}

#[test]
fn stake_must_cover_every_node() {
    let (mut w, provider, key) = ready();
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK), &[&provider.key, &key]);
    let second = w.fresh_key();
    let two = ix::node_register(&provider, &second.pubkey(), ix::spec(2), ASK);
    w.refused(two, &[&provider.key, &second], MarketError::InsufficientStake);
    w.ok(ix::provider_request_unstake(&provider, 1), &[&provider.key]);
    let one = ix::node_register(&provider, &second.pubkey(), ix::spec(1), ASK);
    w.refused(one.clone(), &[&provider.key, &second], MarketError::InsufficientStake);
    w.ok(ix::provider_stake(&w, &provider, 1), &[&provider.key]);
    w.ok(one, &[&provider.key, &second]);
    assert_eq!(w.read::<Provider>(&provider.provider()).locked_stake, 20_000_000_000);
}

#[test]
fn required_stake_does_not_wrap() {
    let (mut w, provider, key) = ready();
    w.alter(&pda::gpu_model(H100), |m: &mut GpuModel| m.min_stake = u64::MAX);
    let register = ix::node_register(&provider, &key.pubkey(), ix::spec(2), ASK);
    w.refused(register, &[&provider.key, &key], MarketError::Overflow);
}

#[test]
fn a_gift_of_lamports_to_its_addresses_stops_nobody() {
    let (mut w, provider, key) = ready();
    w.prefund(&pda::node(&provider.provider(), &key.pubkey()));
    w.prefund(&pda::device(&ix::devices(&key.pubkey(), 1)[0]));
    let before = w.lamports(&provider.wallet());
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK), &[&provider.key, &key]);
    assert!(w.lamports(&provider.wallet()) < before && before < START_LAMPORTS);
}

#[test]
fn a_paused_market_still_registers() {
    let (mut w, provider, key) = ready();
    w.pause();
    w.ok(ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK), &[&provider.key, &key]);
}

#[test]
fn once_only() {
    let (mut w, provider, key) = ready();
    let register = ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK);
    w.ok(register.clone(), &[&provider.key, &key]);
    w.refused(register, &[&provider.key, &key], ALREADY_IN_USE);
    assert_eq!(w.read::<Provider>(&provider.provider()).node_count, 1);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, key) = ready();
    let other = w.provider(20_000_000_000);
    let good = ix::node_register(&provider, &key.pubkey(), ix::spec(1), ASK);
    let missing = InstructionError::MissingRequiredSignature;
    w.refused(unsigned(good.clone(), &provider.wallet()), &[&key], missing.clone());
    w.refused(unsigned(good.clone(), &key.pubkey()), &[&provider.key], missing);
    let theft = swap(good.clone(), &provider.wallet(), &other.wallet());
    w.refused(theft, &[&other.key, &key], MarketError::Unauthorised);
    let market = w.forged(&pda::market());
    let forged = w.forged(&provider.provider());
    let model = w.forged(&pda::gpu_model(H100));
    let elsewhere = w.fresh_address();
    let cases: [(_, _, _, Code); 6] = [
        ("market", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("model's type", pda::gpu_model(H100), pda::market(), InstructionError::InvalidAccountData.into()),
        ("provider", provider.provider(), forged, InstructionError::IllegalOwner.into()),
        ("model", pda::gpu_model(H100), model, InstructionError::IllegalOwner.into()),
        (
            "node",
            pda::node(&provider.provider(), &key.pubkey()),
            elsewhere,
            InstructionError::InvalidSeeds.into(),
        ),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps(&good, &[&provider.key, &key], &cases);
}

/// Finding C 7.
#[test]
fn a_model_that_waits_for_its_timelock_takes_no_nodes() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    w.ok(ix::gpu_model_propose(&w, GpuModelArgs { id: 2, ..ix::h100() }), &[&authority]);
    let (provider, key) = (w.provider(10_000_000_000), w.fresh_key());
    let spec = NodeSpec { model: 2, ..ix::spec(1) };
    let register = ix::node_register(&provider, &key.pubkey(), spec, 2_000_000);
    w.refused(register.clone(), &[&provider.key, &key], MarketError::UnsuitableModel);
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::gpu_model_apply(2), &[]);
    w.ok(register, &[&provider.key, &key]);
}
