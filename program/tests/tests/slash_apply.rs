use gantry_market::constants::{FLAG_DEVICE_CHANGED, FLAG_OFFLINE, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::events::SlashApplied;
use gantry_market::state::{
    Fault, Lease, Node, Provider, Rewards, FAULT_APPLIED, NODE_ACTIVE, NODE_SUSPENDED,
};
use gantry_market::ID;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;

/// A fault of a lease whose node was silent for 50 seconds: half a token of 20 is at stake.
fn opened() -> (Testbed, Deal, Address) {
    opened_with(FLAG_OFFLINE)
}

/// The same with these flags.
fn opened_with(flags: u16) -> (Testbed, Deal, Address) {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = LeafData {
        flags,
        up_secs: 10,
        verified_secs: 10,
        downtime_secs: 50,
        ..w.good_leaf(deal.machine.node, deal.lease, period)
    };
    let proof = w.finalise(&deal.keeper, &[leaf]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    (w, deal, ix::fault_of(&proof))
}

fn applicable() -> (Testbed, Deal, Address) {
    let (mut w, deal, fault) = opened();
    w.warp(300);
    (w, deal, fault)
}

fn apply(w: &Testbed, deal: &Deal, fault: &Address) -> Instruction {
    ix::slash_apply_by(w, &deal.keeper.wallet(), fault)
}

#[test]
fn a_report_has_no_finder_and_half_is_burned_at_once() {
    let (mut w, deal, fault) = applicable();
    let supply = w.supply(&w.stake_mint);
    let keeper = w.tokens(&deal.keeper.stake);
    let meta = w.ok(apply(&w, &deal, &fault), &[&deal.keeper.key]);
    // Half of half a token, and the tenth that a finder would have.
    let (burned, pool) = (300_000_000, 200_000_000);
    assert_eq!(w.supply(&w.stake_mint), supply - burned);
    assert_eq!(w.tokens(&deal.keeper.stake), keeper);
    assert_eq!(w.tokens(&pda::payout_vault()), pool);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).payouts, pool);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (19_500_000_000, 500_000_000));
    assert_eq!((provider.pending_faults, provider.unstaking), (0, 0));
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_500_000_000);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.pending_faults, node.faulted_at), (0, w.now()));
    // The lease stays until it has had its part.
    assert_eq!(deal.state(&w).pending_faults, 1);
    let state: Fault = w.read(&fault);
    assert_eq!((state.status, state.pool, state.pool_left), (FAULT_APPLIED, pool, pool));
    // Twice the settle deadline.
    assert_eq!(state.claims_until, w.now() + 240);
    assert_emitted(
        &meta,
        &SlashApplied {
            fault,
            provider: deal.provider.provider(),
            amount: 500_000_000,
            pool,
            finder: 0,
            burned,
            claims_until: w.now() + 240,
        },
    );
}

#[test]
fn not_a_second_before_the_window_closes_and_once_only() {
    let (mut w, deal, fault) = opened();
    let instruction = apply(&w, &deal, &fault);
    let key = [&deal.keeper.key];
    w.warp(299);
    w.refused(instruction.clone(), &key, MarketError::AppealWindowOpen);
    w.warp(1);
    w.ok(instruction.clone(), &key);
    w.refused(instruction, &key, MarketError::AlreadyApplied);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).slashed_total, 500_000_000);
}

#[test]
fn there_is_no_more_to_take_than_there_is() {
    let (mut w, deal, fault) = applicable();
    w.alter(&deal.machine.node, |n: &mut Node| (n.stake, n.reserved_stake) = (30_000_000, 30_000_000));
    w.alter(&deal.provider.provider(), |p: &mut Provider| {
        (p.stake, p.locked_stake) = (30_000_000, 30_000_000)
    });
    w.alter(&fault, |f: &mut Fault| f.amount = 30_000_000);
    w.ok(apply(&w, &deal, &fault), &[&deal.keeper.key]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (0, 30_000_000));
    let state: Fault = w.read(&fault);
    assert_eq!((state.amount, state.pool), (30_000_000, 12_000_000));
}

/// What a provider has asked back is no node's any more, and stays out of a slash.
/// Finding R 4.
#[test]
fn stake_on_its_way_out_is_not_touched() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.ok(ix::provider_stake(&w, &deal.provider, 5), &[&deal.provider.key]);
    w.ok(ix::provider_request_unstake(&deal.provider, 5), &[&deal.provider.key]);
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp(600);
    let leaf = LeafData { flags: FLAG_DEVICE_CHANGED, ..w.good_leaf(deal.machine.node, deal.lease, period) };
    let proof = w.finalise(&deal.keeper, &[leaf]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    w.warp(300);
    w.ok(ix::slash_apply(&w, &ix::fault_of(&proof)), &[]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.locked_stake, provider.unstaking), (0, 0, 5));
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::provider_withdraw_stake(&deal.provider), &[&deal.provider.key]);
}

/// Two nodes of one provider: the fault of one takes that one's stake, however much the other has.
#[test]
fn nodes_of_one_provider_do_not_drain_each_other() {
    let (mut w, deal, fault) = applicable();
    w.ok(ix::provider_stake(&w, &deal.provider, 15_000_000_000), &[&deal.provider.key]);
    let other = w.machine(&deal.provider, 1);
    w.alter(&deal.machine.node, |n: &mut Node| n.stake = 500_000_000);
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.locked_stake = 10_500_000_000);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.slashed_total, provider.locked_stake), (500_000_000, 10_000_000_000));
    assert_eq!(w.read::<Node>(&deal.machine.node).stake, 0);
    assert_eq!(w.read::<Node>(&other.node).stake, 10_000_000_000);
}

#[test]
fn a_slashed_node_is_awarded_nothing_until_it_is_topped_up() {
    let (mut w, deal, fault) = applicable();
    w.ok(apply(&w, &deal, &fault), &[&deal.keeper.key]);
    let order = w.order(&deal.customer, ix::order_args(5));
    let award =
        ix::order_award(&deal.keeper, &deal.customer, &order, &deal.provider.provider(), &deal.machine.node);
    w.refused(award.clone(), &[&deal.keeper.key], MarketError::InsufficientStake);
    w.ok(ix::provider_stake(&w, &deal.provider, 500_000_000), &[&deal.provider.key]);
    w.refused(award.clone(), &[&deal.keeper.key], MarketError::InsufficientStake);
    let (provider, node) = (deal.provider.provider(), deal.machine.node);
    let top_up = ix::node_update(&deal.provider.wallet(), &provider, &node, 2_000_000, NODE_ACTIVE);
    w.ok(top_up, &[&deal.provider.key]);
    assert_eq!(w.read::<Node>(&node).stake, 20_000_000_000);
    w.ok(award, &[&deal.keeper.key]);
}

#[test]
fn a_slashed_machine_stays_suspended() {
    let (mut w, deal, fault) = opened_with(FLAG_WORK_FAILED);
    w.warp(300);
    w.ok(apply(&w, &deal, &fault), &[&deal.keeper.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.status, node.convicted, node.convictions), (NODE_SUSPENDED, 1, 1));
    let state: Fault = w.read(&fault);
    assert_eq!((node.convicted_from, state.serial), (state.window_from, 1));
    assert_eq!((node.frozen_from, node.pending_node_faults), (0, 0));
}

#[test]
fn a_gift_to_the_vault_is_not_slashed() {
    let (mut w, deal, fault) = applicable();
    w.gift(&deal.provider.provider_vault(), 77);
    w.ok(apply(&w, &deal, &fault), &[&deal.keeper.key]);
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_500_000_077);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let (mut w, deal, fault) = applicable();
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.stake += 1);
    w.refused(apply(&w, &deal, &fault), &[&deal.keeper.key], MarketError::InvariantBroken);
}

#[test]
fn a_paused_market_still_slashes() {
    let (mut w, deal, fault) = applicable();
    w.pause();
    w.ok(apply(&w, &deal, &fault), &[&deal.keeper.key]);
}

#[test]
fn money_goes_nowhere_else() {
    let (mut w, deal, fault) = applicable();
    let other = w.provider(10_000_000_000);
    let others = w.machine(&other, 1);
    let second = w.twin(&deal.lease);
    let (mint, key) = (w.stake_mint, [&deal.keeper.key]);
    let (node, provider, vault) =
        (deal.machine.node, deal.provider.provider(), deal.provider.provider_vault());
    let good = apply(&w, &deal, &fault);
    w.refused(unsigned(good.clone(), &deal.keeper.wallet()), &[], InstructionError::MissingRequiredSignature);
    for at in [pda::market(), provider, node, deal.lease, fault] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let mut without = good.clone();
    without.accounts[5] = AccountMeta::new_readonly(ID, false);
    w.refused(without, &key, MarketError::MissingAccount);
    let twin = w.twin(&vault);
    let fake_mint = w.twin(&mint);
    let payouts = w.twin(&pda::payout_vault());
    let cases: [(_, _, _, Code); 9] = [
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("vault", vault, other.provider_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("lease", deal.lease, second, MarketError::WrongAccount.into()),
        ("payout vault", pda::payout_vault(), payouts, MarketError::WrongAccount.into()),
        ("fault's type", fault, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &key, &cases);
    assert_eq!(w.read::<Lease>(&deal.lease).pending_faults, 1);
    w.ok(good, &key);
}
