use gantry_market::constants::{FLAG_DEVICE_CHANGED, FLAG_OFFLINE, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::events::SlashApplied;
use gantry_market::state::{Fault, Lease, Node, Payout, Provider, Rewards, NODE_ACTIVE, NODE_SUSPENDED};
use gantry_market::ID;
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction::AccountMeta;
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

/// What waits for the deal's customer.
fn payout(w: &Testbed, deal: &Deal, fault: &Address) -> u64 {
    let at = pda::payout(&deal.customer.wallet(), fault);
    if w.exists(&at) {
        w.read::<Payout>(&at).amount
    } else {
        0
    }
}

#[test]
fn r01_half_is_burned_and_the_customers_part_waits() {
    let (mut w, deal, fault) = applicable();
    let supply = w.supply(&w.stake_mint);
    let (rent, before) = (w.lamports(&fault), w.lamports(&deal.keeper.wallet()));
    let keeper = w.tokens(&deal.keeper.stake);
    let meta = w.ok(ix::slash_apply(&w, &fault), &[]);
    let (customer, burned) = (27_777_000, 972_223_000);
    assert_eq!(payout(&w, &deal, &fault), customer);
    assert_eq!(w.tokens(&deal.customer.stake), START_STAKE);
    assert_eq!(w.tokens(&pda::payout_vault()), customer);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).payouts, customer);
    assert_eq!(w.tokens(&deal.keeper.stake), keeper, "reports have no finder");
    assert_eq!(w.supply(&w.stake_mint), supply - burned);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (19_000_000_000, 1_000_000_000));
    assert_eq!((provider.pending_faults, provider.unstaking), (0, 0));
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_000_000_000);
    assert_eq!(w.read::<Node>(&deal.machine.node).pending_faults, 0);
    assert_eq!(deal.state(&w).pending_faults, 0);
    assert!(!w.exists(&fault));
    assert_eq!(w.lamports(&deal.keeper.wallet()), before + rent);
    let provider = deal.provider.provider();
    let event = SlashApplied { fault, provider, amount: 1_000_000_000, customer, finder: 0, burned };
    assert_emitted(&meta, &event);
}

#[test]
fn r01_no_harm_takes_more_than_what_half_leaves() {
    let finder = Some(());
    let cases = [
        // Harm, whether the customer is the finder too, then what it gets of one token and what is burned.
        (0, None, 0, 1_000_000_000),
        (0, finder, 100_000_000, 900_000_000),
        (300_000_000, None, 300_000_000, 700_000_000),
        (u64::MAX, None, 400_000_000, 600_000_000),
        (u64::MAX, finder, 500_000_000, 500_000_000),
    ];
    for (harm, finder, customer, burned) in cases {
        let (mut w, deal, fault) = applicable();
        let wallet = deal.customer.wallet();
        w.alter(&fault, |f: &mut Fault| {
            f.harm = harm;
            f.finder = finder.map_or_else(Address::default, |()| wallet);
        });
        let supply = w.supply(&w.stake_mint);
        w.ok(ix::slash_apply(&w, &fault), &[]);
        assert_eq!(payout(&w, &deal, &fault), customer);
        assert_eq!(w.supply(&w.stake_mint), supply - burned);
    }
}

#[test]
fn not_a_second_before_the_window_closes_and_once_only() {
    let (mut w, deal, fault) = opened();
    let instruction = ix::slash_apply(&w, &fault);
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
    w.ok(ix::slash_apply(&w, &fault), &[]);
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
    w.ok(ix::slash_apply(&w, &fault), &[]);
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
    w.ok(ix::slash_apply(&w, &fault), &[]);
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (0, 30_000_000));
    // Half of 30,000,000, less the tenth that would be a finder's.
    assert_eq!(payout(&w, &deal, &fault), 12_000_000);
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_970_000_000);
}

#[test]
fn r04_a_slashed_node_is_awarded_nothing_until_it_is_topped_up() {
    let (mut w, deal, fault) = applicable();
    w.ok(ix::slash_apply(&w, &fault), &[]);
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
    w.ok(ix::slash_apply(&w, &fault), &[]);
    assert_eq!(w.read::<Node>(&deal.machine.node).status, NODE_SUSPENDED);
}

#[test]
fn a_gift_to_the_vault_is_not_slashed() {
    let (mut w, deal, fault) = applicable();
    w.gift(&deal.provider.provider_vault(), 77);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    assert_eq!(w.tokens(&deal.provider.provider_vault()), 19_000_000_077);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let (mut w, deal, fault) = applicable();
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.stake += 1);
    w.refused(ix::slash_apply(&w, &fault), &[], MarketError::InvariantBroken);
}

#[test]
fn a_paused_market_still_slashes() {
    let (mut w, _, fault) = applicable();
    w.pause();
    w.ok(ix::slash_apply(&w, &fault), &[]);
}

#[test]
fn accounts_that_are_needed_must_be_given() {
    let (mut w, _, fault) = applicable();
    let good = ix::slash_apply(&w, &fault);
    let lease = w.read::<Fault>(&fault).lease;
    let mut without = good.clone();
    let slot = without.accounts.iter_mut().find(|meta| meta.pubkey == lease).expect("is there");
    *slot = AccountMeta::new_readonly(ID, false);
    w.refused(without, &[], MarketError::MissingAccount);
    w.ok(good, &[]);
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
    let good = ix::slash_apply(&w, &fault);
    let payout = pda::payout(&deal.customer.wallet(), &fault);
    let silent = unsigned(ix::slash_apply_by(&w, &stranger.wallet(), &fault), &stranger.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    for at in [pda::market(), provider, node, deal.lease, fault] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let twin = w.twin(&vault);
    let fake_mint = w.twin(&mint);
    let cases: [(_, _, _, Code); 12] = [
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("vault", vault, other.provider_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("payment mint", mint, w.payment_mint, MarketError::WrongMint.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("lease", deal.lease, second, MarketError::WrongAccount.into()),
        ("rent", deal.keeper.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("payout", payout, pda::payout(&stranger.wallet(), &fault), MarketError::WrongAccount.into()),
        ("payout vault", pda::payout_vault(), pda::emission_vault(), MarketError::WrongAccount.into()),
        ("fault's type", fault, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
    assert_eq!(w.read::<Lease>(&deal.lease).pending_faults, 1);
    w.ok(good, &[]);
}
