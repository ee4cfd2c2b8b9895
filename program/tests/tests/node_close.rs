use gantry_market::errors::MarketError;
use gantry_market::events::NodeClosed;
use gantry_market::state::{DeviceClaim, Market, Node, Provider};
use gantry_market_tests::attempts::{with_account, without_last};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// The cool-down of stake.
const WAIT: i64 = 3_960;

fn retired(gpus: u8) -> (Testbed, Actor, Machine) {
    let mut w = Testbed::new();
    let provider = w.provider(80_000_000_000);
    let machine = w.machine(&provider, gpus);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    (w, provider, machine)
}

fn closable(gpus: u8) -> (Testbed, Actor, Machine) {
    let (mut w, provider, machine) = retired(gpus);
    w.warp(WAIT);
    (w, provider, machine)
}

fn close(provider: &Actor, machine: &Machine) -> Instruction {
    ix::node_close(provider, &machine.key.pubkey(), machine.gpus)
}

#[test]
fn rent_stake_and_devices_come_free() {
    let mut w = Testbed::new();
    let provider = w.provider(80_000_000_000);
    let before = w.lamports(&provider.wallet());
    let machine = w.machine(&provider, 8);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    w.warp(WAIT);
    let meta = w.ok(close(&provider, &machine), &[&provider.key]);
    assert_emitted(&meta, &NodeClosed { node: machine.node });
    assert!(!w.exists(&machine.node));
    for device in &ix::devices(&machine.key.pubkey(), 8) {
        assert!(!w.exists(&pda::device(device)));
    }
    assert_eq!(w.lamports(&provider.wallet()), before, "every lamport of rent");
    let state: Provider = w.read(&provider.provider());
    assert_eq!((state.locked_stake, state.node_count), (0, 0));
    w.ok(ix::provider_request_unstake(&provider, 80_000_000_000), &[&provider.key]);
}

#[test]
fn a_second_life_starts_afresh() {
    let (mut w, provider, machine) = closable(1);
    w.ok(close(&provider, &machine), &[&provider.key]);
    let key = machine.key.pubkey();
    w.ok(ix::node_register(&provider, &key, ix::spec(1), ASK), &[&provider.key, &machine.key]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.retired_at, node.registered_at), (0, w.now()));
    assert_eq!(node.last_report_period, w.period(), "reports of the first life do not concern it");
}

#[test]
fn not_before_stake_could_have_left() {
    let (mut w, provider, machine) = retired(1);
    // A later parameter changes nothing for a node that has retired.
    w.alter(&pda::market(), |m: &mut Market| m.params.unstake_cooldown_secs = 9_000);
    w.warp(WAIT - 1);
    w.refused(close(&provider, &machine), &[&provider.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(close(&provider, &machine), &[&provider.key]);
}

#[test]
fn not_unless_retired_nor_with_a_fault_open() {
    let mut w = Testbed::new();
    let provider = w.provider(80_000_000_000);
    let machine = w.machine(&provider, 1);
    w.warp(10 * WAIT);
    w.refused(close(&provider, &machine), &[&provider.key], MarketError::WrongNodeStatus);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    w.warp(WAIT);
    w.alter(&machine.node, |n: &mut Node| n.pending_faults = 1);
    w.refused(close(&provider, &machine), &[&provider.key], MarketError::FaultPending);
}

#[test]
fn all_its_claims_close_with_it_and_no_others() {
    let (mut w, provider, machine) = closable(2);
    let others = w.machine(&provider, 1);
    let good = close(&provider, &machine);
    let devices = ix::devices(&machine.key.pubkey(), 2);
    let foreign = pda::device(&ix::devices(&others.key.pubkey(), 1)[0]);
    w.refused(without_last(good.clone()), &[&provider.key], MarketError::DeviceCountMismatch);
    let wrong = swap(good.clone(), &pda::device(&devices[1]), &foreign);
    w.refused(wrong, &[&provider.key], MarketError::WrongAccount);
    let twice = swap(good.clone(), &pda::device(&devices[1]), &pda::device(&devices[0]));
    assert!(w.send(&[twice], &[&provider.key]).is_err(), "a claim counts once");
    let forged = w.forged(&pda::device(&devices[1]));
    let wrong = swap(good.clone(), &pda::device(&devices[1]), &forged);
    w.refused(wrong, &[&provider.key], MarketError::WrongAccount);
    // Another account is nothing to it.
    w.ok(with_account(good, AccountMeta::new(foreign, false)), &[&provider.key]);
    assert!(w.exists(&foreign));
}

/// A claim that came from another node was paid for by that node's provider, and one that evidence made by its sender.
#[test]
fn rent_goes_to_who_paid_it() {
    let (mut w, provider, machine) = closable(2);
    let (one, other) = (w.actor(), w.actor());
    let devices = ix::devices(&machine.key.pubkey(), 2);
    let rent = w.lamports(&pda::device(&devices[0]));
    w.alter(&pda::device(&devices[0]), |c: &mut DeviceClaim| c.rent_payer = one.wallet());
    w.alter(&pda::device(&devices[1]), |c: &mut DeviceClaim| c.rent_payer = other.wallet());
    let good = close(&provider, &machine);
    let payer = |who: &Actor| AccountMeta::new(who.wallet(), false);
    w.refused(good.clone(), &[&provider.key], MarketError::MissingAccount);
    let half = with_account(good.clone(), payer(&one));
    w.refused(half.clone(), &[&provider.key], MarketError::MissingAccount);
    let stranger = w.actor();
    let wrong = with_account(half.clone(), payer(&stranger));
    w.refused(wrong, &[&provider.key], MarketError::MissingAccount);
    let whole = with_account(half, payer(&other));
    let before = (w.lamports(&one.wallet()), w.lamports(&other.wallet()));
    w.ok(whole, &[&provider.key]);
    let after = (w.lamports(&one.wallet()), w.lamports(&other.wallet()));
    assert_eq!(after, (before.0 + rent, before.1 + rent));
}

/// What others took does not keep a machine from leaving.
#[test]
fn a_machine_closes_with_the_claims_that_it_has() {
    let (mut w, provider, machine) = closable(2);
    let other = w.machine(&provider, 1);
    let devices = ix::devices(&machine.key.pubkey(), 2);
    w.alter(&pda::device(&devices[1]), |c: &mut DeviceClaim| c.node = other.node);
    w.alter(&machine.node, |n: &mut Node| n.claims_missing = 1);
    let all = close(&provider, &machine);
    let none = without_last(without_last(all.clone()));
    w.refused(none, &[&provider.key], MarketError::DeviceCountMismatch);
    w.ok(without_last(all), &[&provider.key]);
    assert!(!w.exists(&pda::device(&devices[0])) && w.exists(&pda::device(&devices[1])));
}

#[test]
fn a_paused_market_still_closes_and_once_only() {
    let (mut w, provider, machine) = closable(1);
    w.pause();
    w.ok(close(&provider, &machine), &[&provider.key]);
    let again = close(&provider, &machine);
    w.refused(again, &[&provider.key], InstructionError::AccountDataTooSmall);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, machine) = closable(1);
    let other = w.provider(20_000_000_000);
    let others = w.machine(&other, 1);
    let good = close(&provider, &machine);
    let silent = unsigned(good.clone(), &provider.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (forged_node, forged_provider) = (w.forged(&machine.node), w.forged(&provider.provider()));
    let nothing: Address = w.fresh_address();
    let cases = [
        ("signer", provider.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("provider", provider.provider(), other.provider(), MarketError::WrongAccount.into()),
        ("provider's program", provider.provider(), forged_provider, InstructionError::IllegalOwner.into()),
        ("node", machine.node, others.node, MarketError::WrongAccount.into()),
        ("node's program", machine.node, forged_node, InstructionError::IllegalOwner.into()),
        ("no node", machine.node, nothing, InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&provider.key, &other.key], &cases);
}

/// Leases need their node to close: it says which of their seconds are paid.
/// Finding R 2.
#[test]
fn not_while_a_lease_is_open() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.ok(ix::node_retire(&deal.provider, &deal.machine.node), &[&deal.provider.key]);
    w.warp(100_000);
    let close = ix::node_close(&deal.provider, &deal.machine.key.pubkey(), deal.machine.gpus);
    w.refused(close.clone(), &[&deal.provider.key], MarketError::StillInUse);
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    w.ok(close, &[&deal.provider.key]);
}
