use gantry_market::constants::{FLAG_DEVICE_CHANGED, FLAG_OFFLINE, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::events::SlashApplied;
use gantry_market::state::{Fault, Lease, Node, Provider, NODE_ACTIVE, NODE_SUSPENDED};
use gantry_market::ID;
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;

/// A fault of a lease whose node was silent for 50 seconds: 1 token of 20 is at stake, the harm is 0.027777.
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
    let fault = pda::fault(&deal.machine.node, &deal.lease, period);
    (w, deal, fault)
}

fn applicable() -> (Testbed, Deal, Address) {
    let (mut w, deal, fault) = opened();
    w.warp(300);
    (w, deal, fault)
}

fn apply(w: &Testbed, deal: &Deal, fault: &Address) -> Instruction {
    ix::slash_apply(w, fault, Some(deal.customer.stake), deal.keeper.stake)
}

#[test]
fn the_customer_first_then_the_finder_and_the_rest_is_burned() {
    let (mut w, deal, fault) = applicable();
    let supply = w.supply(&w.stake_mint);
    let (rent, before) = (w.lamports(&fault), w.lamports(&deal.keeper.wallet()));
    let finder = w.tokens(&deal.keeper.stake);
    let meta = w.ok(apply(&w, &deal, &fault), &[]);
    let shares = (27_777_000, 100_000_000, 872_223_000);
    assert_eq!(w.tokens(&deal.customer.stake), START_STAKE + shares.0);
    assert_eq!(w.tokens(&deal.keeper.stake), finder + shares.1);
    assert_eq!(w.supply(&w.stake_mint), supply - shares.2);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (19_000_000_000, 1_000_000_000));
    assert_eq!((provider.pending_faults, provider.unstaking), (0, 0));
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_000_000_000);
    assert_eq!(w.read::<Node>(&deal.machine.node).pending_faults, 0);
    assert_eq!(deal.state(&w).pending_faults, 0);
    assert!(!w.exists(&fault));
    assert_eq!(w.lamports(&deal.keeper.wallet()), before + rent);
    assert_emitted(
        &meta,
        &SlashApplied {
            fault,
            provider: deal.provider.provider(),
            amount: 1_000_000_000,
            customer: shares.0,
            finder: shares.1,
            burned: shares.2,
        },
    );
}

#[test]
fn no_customer_gets_more_than_the_slash_nor_a_finder_more_than_the_rest() {
    let cases = [
        // Harm, then what customer, finder and fire get of one token.
        (0, 0, 100_000_000, 900_000_000),
        (900_000_000, 900_000_000, 100_000_000, 0),
        (950_000_000, 950_000_000, 50_000_000, 0),
        (u64::MAX, 1_000_000_000, 0, 0),
    ];
    for (harm, customer, finder, burned) in cases {
        let (mut w, deal, fault) = applicable();
        w.alter(&fault, |f: &mut Fault| f.harm = harm);
        let (supply, keeper) = (w.supply(&w.stake_mint), w.tokens(&deal.keeper.stake));
        w.ok(apply(&w, &deal, &fault), &[]);
        assert_eq!(w.tokens(&deal.customer.stake), START_STAKE + customer);
        assert_eq!(w.tokens(&deal.keeper.stake), keeper + finder);
        assert_eq!(w.supply(&w.stake_mint), supply - burned);
    }
}

#[test]
fn not_a_second_before_the_window_closes_and_once_only() {
    let (mut w, deal, fault) = opened();
    let instruction = apply(&w, &deal, &fault);
    w.warp(299);
    w.refused(instruction.clone(), &[], MarketError::AppealWindowOpen);
    w.warp(1);
    w.ok(instruction.clone(), &[]);
    w.refused(instruction, &[], InstructionError::AccountDataTooSmall);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).slashed_total, 1_000_000_000);
}

/// What a provider has asked back is no node's any more, and stays out of a slash.
#[test]
fn r04_stake_on_its_way_out_is_not_touched() {
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
    let fault = pda::fault(&deal.machine.node, &deal.lease, period);
    w.ok(apply(&w, &deal, &fault), &[]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.locked_stake, provider.unstaking), (0, 0, 5));
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::provider_withdraw_stake(&deal.provider), &[&deal.provider.key]);
}

/// Two nodes of one provider: the fault of one takes that one's stake, however much the other has.
#[test]
fn r04_nodes_of_one_provider_do_not_drain_each_other() {
    let (mut w, deal, fault) = applicable();
    w.ok(ix::provider_stake(&w, &deal.provider, 15_000_000_000), &[&deal.provider.key]);
    let other = w.machine(&deal.provider, 1);
    w.alter(&deal.machine.node, |n: &mut Node| n.stake = 600_000_000);
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.locked_stake = 10_600_000_000);
    w.ok(apply(&w, &deal, &fault), &[]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.slashed_total, provider.locked_stake), (600_000_000, 10_000_000_000));
    assert_eq!(w.read::<Node>(&deal.machine.node).stake, 0);
    assert_eq!(w.read::<Node>(&other.node).stake, 10_000_000_000);
}

#[test]
fn there_is_no_more_to_take_than_there_is() {
    let (mut w, deal, fault) = applicable();
    w.alter(&deal.machine.node, |n: &mut Node| n.stake = 30_000_000);
    w.alter(&deal.provider.provider(), |p: &mut Provider| {
        (p.stake, p.locked_stake) = (30_000_000, 30_000_000)
    });
    w.ok(apply(&w, &deal, &fault), &[]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (0, 30_000_000));
    // 27,777,000 for the harm, 10 % of 30,000,000 at most for the finder: 2,223,000 are left.
    assert_eq!(w.tokens(&deal.customer.stake), START_STAKE + 27_777_000);
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_970_000_000);
}

#[test]
fn r04_a_slashed_node_is_awarded_nothing_until_it_is_topped_up() {
    let (mut w, deal, fault) = applicable();
    w.ok(apply(&w, &deal, &fault), &[]);
    let order = w.order(&deal.customer, ix::order_args(5));
    let award =
        ix::order_award(&deal.keeper, &deal.customer, &order, &deal.provider.provider(), &deal.machine.node);
    w.refused(award.clone(), &[&deal.keeper.key], MarketError::InsufficientStake);
    w.ok(ix::provider_stake(&w, &deal.provider, 1_000_000_000), &[&deal.provider.key]);
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
    w.ok(apply(&w, &deal, &fault), &[]);
    assert_eq!(w.read::<Node>(&deal.machine.node).status, NODE_SUSPENDED);
}

#[test]
fn a_gift_to_the_vault_is_not_slashed() {
    let (mut w, deal, fault) = applicable();
    w.gift(&deal.provider.provider_vault(), 77);
    w.ok(apply(&w, &deal, &fault), &[]);
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_000_000_077);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let (mut w, deal, fault) = applicable();
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.stake += 1);
    w.refused(apply(&w, &deal, &fault), &[], MarketError::InvariantBroken);
}

#[test]
fn a_paused_market_still_slashes() {
    let (mut w, deal, fault) = applicable();
    w.pause();
    w.ok(apply(&w, &deal, &fault), &[]);
}

#[test]
fn accounts_that_are_needed_must_be_given() {
    let (mut w, deal, fault) = applicable();
    let without = ix::slash_apply(&w, &fault, None, deal.keeper.stake);
    w.refused(without, &[], MarketError::MissingAccount);
    let mut without = apply(&w, &deal, &fault);
    without.accounts[5] = AccountMeta::new_readonly(ID, false);
    w.refused(without, &[], MarketError::MissingAccount);
    // Without harm there is no customer to pay.
    w.alter(&fault, |f: &mut Fault| f.harm = 0);
    w.ok(ix::slash_apply(&w, &fault, None, deal.keeper.stake), &[]);
}

#[test]
fn money_goes_nowhere_else() {
    let (mut w, deal, fault) = applicable();
    let (stranger, other) = (w.actor(), w.provider(10_000_000_000));
    let others = w.machine(&other, 1);
    let order = w.order(&deal.customer, ix::order_args(2));
    let second = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    let mint = w.stake_mint;
    let (node, provider, vault) =
        (deal.machine.node, deal.provider.provider(), deal.provider.provider_vault());
    let good = apply(&w, &deal, &fault);
    for at in [pda::market(), provider, node, deal.lease, fault, deal.customer.stake, deal.keeper.stake] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let twin = w.twin(&vault);
    let fake_mint = w.twin(&mint);
    let cases: [(_, _, _, Code); 14] = [
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("vault", vault, other.provider_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("payment mint", mint, w.payment_mint, MarketError::WrongMint.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("lease", deal.lease, second, MarketError::WrongAccount.into()),
        ("rent", deal.keeper.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("customer", deal.customer.stake, stranger.stake, MarketError::WrongTokenOwner.into()),
        ("customer's mint", deal.customer.stake, deal.customer.payment, MarketError::WrongMint.into()),
        ("finder", deal.keeper.stake, stranger.stake, MarketError::WrongTokenOwner.into()),
        ("finder's mint", deal.keeper.stake, deal.keeper.payment, MarketError::WrongMint.into()),
        ("fault's type", fault, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
    assert_eq!(w.read::<Lease>(&deal.lease).pending_faults, 1);
    w.ok(good, &[]);
}
