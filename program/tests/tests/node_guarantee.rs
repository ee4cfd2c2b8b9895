use gantry_market::constants::{GUARANTEE_BPS_MIN, MAX_GUARANTEE_SECS};
use gantry_market::errors::MarketError;
use gantry_market::events::UptimeGuaranteed;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{
    Guarantee, Lease, Node, Order, NODE_ACTIVE, NODE_DRAINING, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED,
};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

fn ready() -> (Testbed, Actor, Machine) {
    let mut w = Testbed::quick();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    w.warp(7);
    (w, provider, machine)
}

fn cooldown(w: &Testbed) -> i64 {
    i64::from(w.params.unstake_cooldown_secs)
}

#[test]
fn a_node_commits_itself_until_a_date() {
    let (mut w, provider, machine) = ready();
    let (now, until) = (w.now(), w.now() + cooldown(&w));
    let before: Node = w.read(&machine.node);
    let meta = w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    // The first whole period to come.
    let since = now - 7 + 60;
    let event = UptimeGuaranteed { node: machine.node, since, until, guarantee_bps: 9_900 };
    assert_emitted(&meta, &event);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.guaranteed_since, node.guaranteed_until, node.guarantee_bps), (since, until, 9_900));
    assert_eq!((node.guarantee_up_secs, node.guarantee_counted_secs), (0, 0));
    assert_eq!(node.slash_guarantee_bps, w.params.slash_guarantee_bps);
    // It is a change of the record that awards are judged by.
    assert_eq!((node.record_since, node.previous_since), (now, before.record_since));
    assert_eq!(
        (node.previous, node.previous_guarantee),
        (before.record(now).score, before.record(now).guarantee)
    );
}

/// Ten USDC of stake are an eighth of what a GPU earns in 32 hours at the reference price of 2.50.
const LONGEST: i64 = 32 * 3_600;

#[test]
fn a_guarantee_lasts_no_longer_than_the_stake_covers() {
    let (w, _, machine) = ready();
    let node: Node = w.read(&machine.node);
    let longest = |price, stake_price| node.longest_guarantee(price, stake_price).expect("fits");
    assert_eq!(longest(2_500_000, 1_000_000), LONGEST);
    assert_eq!(longest(5_000_000, 1_000_000), LONGEST / 2);
    assert_eq!(longest(2_500_000, 500_000), LONGEST / 2);
    // A year at most, also where a GPU costs nothing.
    assert_eq!((longest(1, 1_000_000), longest(0, u64::MAX)), (MAX_GUARANTEE_SECS, MAX_GUARANTEE_SECS));
}

#[test]
fn the_terms_have_bounds() {
    let (mut w, provider, machine) = ready();
    let (now, soonest) = (w.now(), w.now() + cooldown(&w));
    let latest = now - 7 + 60 + LONGEST;
    let wrong = [
        (soonest - 1, 9_900),
        (latest + 1, 9_900),
        (soonest, GUARANTEE_BPS_MIN - 1),
        (soonest, 10_001),
        (soonest, 0),
        (0, 0),
        (-1, 9_900),
        (i64::MAX, 9_900),
        (i64::MIN, 9_900),
    ];
    for (until, guarantee) in wrong {
        let commit = ix::node_guarantee(&provider, &machine.node, until, guarantee);
        w.refused(commit, &[&provider.key], MarketError::InvalidGuarantee);
    }
    for (until, guarantee) in [(soonest, GUARANTEE_BPS_MIN), (latest, 10_000)] {
        let mut w = w.fork();
        w.ok(ix::node_guarantee(&provider, &machine.node, until, guarantee), &[&provider.key]);
    }
}

/// Where stake leaves at once, a guarantee still has a period that can be counted.
#[test]
fn a_commitment_has_a_whole_period() {
    let mut w = Testbed::quick();
    let mut params = w.params;
    (params.unstake_cooldown_secs, params.appeal_secs) = (0, 0);
    w.alter(&pda::market(), |m: &mut gantry_market::state::Market| m.params = params);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let since = w.now() + 60;
    let short = ix::node_guarantee(&provider, &machine.node, since + 59, 9_900);
    w.refused(short, &[&provider.key], MarketError::InvalidGuarantee);
    w.ok(ix::node_guarantee(&provider, &machine.node, since + 60, 9_900), &[&provider.key]);
}

#[test]
fn a_running_commitment_only_grows() {
    let (mut w, provider, machine) = ready();
    let start = w.now();
    let until = start + 1_000;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_500), &[&provider.key]);
    w.alter(&machine.node, |n: &mut Node| (n.guarantee_up_secs, n.guarantee_counted_secs) = (100, 120));
    w.warp(10);
    for (until, guarantee) in [(until, 9_500), (until - 1, 9_900), (until + 1, 9_400), (until - 1, 9_400)] {
        let commit = ix::node_guarantee(&provider, &machine.node, until, guarantee);
        w.refused(commit, &[&provider.key], MarketError::InvalidGuarantee);
    }
    // Higher, later, both; what was counted stays.
    for (until, guarantee) in [(until, 9_600), (until + 50, 9_600), (until + 60, 9_700)] {
        w.ok(ix::node_guarantee(&provider, &machine.node, until, guarantee), &[&provider.key]);
        let node: Node = w.read(&machine.node);
        assert_eq!((node.guaranteed_until, node.guarantee_bps), (until, guarantee));
        assert_eq!(node.guaranteed_since, start - 7 + 60);
        assert_eq!((node.guarantee_up_secs, node.guarantee_counted_secs), (100, 120));
    }
    // Also shortly before its end, the end is as far away as a new one's.
    let until = w.read::<Node>(&machine.node).guaranteed_until;
    w.set_now(until - 1);
    let near = ix::node_guarantee(&provider, &machine.node, until, 10_000);
    w.refused(near, &[&provider.key], MarketError::InvalidGuarantee);
    let late = w.now() + cooldown(&w);
    w.fork().ok(ix::node_guarantee(&provider, &machine.node, late, 10_000), &[&provider.key]);
    // It has to end: nobody puts the reckoning off for ever.
    let since = w.read::<Node>(&machine.node).guaranteed_since;
    let endless = ix::node_guarantee(&provider, &machine.node, since + LONGEST + 1, 10_000);
    w.refused(endless, &[&provider.key], MarketError::InvalidGuarantee);
    // Once over, it is settled first.
    w.set_now(until);
    let again = ix::node_guarantee(&provider, &machine.node, until + 10_000, 10_000);
    w.refused(again, &[&provider.key], MarketError::GuaranteeOver);
}

#[test]
fn only_an_active_node_whose_stake_is_there() {
    let (mut w, provider, machine) = ready();
    let until = w.now() + 1_000;
    let commit = ix::node_guarantee(&provider, &machine.node, until, 9_900);
    for status in [NODE_HIBERNATED, NODE_DRAINING, NODE_RETIRED, NODE_SUSPENDED] {
        w.alter(&machine.node, |n: &mut Node| n.status = status);
        w.refused(commit.clone(), &[&provider.key], MarketError::WrongNodeStatus);
    }
    w.alter(&machine.node, |n: &mut Node| n.status = NODE_ACTIVE);
    w.alter(&machine.node, |n: &mut Node| n.reserved_stake = 1);
    w.refused(commit.clone(), &[&provider.key], MarketError::InsufficientStake);
    w.alter(&machine.node, |n: &mut Node| n.reserved_stake = 0);
    w.pause();
    w.ok(commit, &[&provider.key]);
}

#[test]
fn a_committed_node_stays() {
    let (mut w, provider, machine) = ready();
    let until = w.now() + 1_000;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    let update = |status| {
        ix::node_update(&machine.key.pubkey(), &provider.provider(), &machine.node, 3_000_000, status)
    };
    let retire = ix::node_retire(&provider, &machine.node);
    for now in [w.now(), until - 1] {
        w.set_now(now);
        for status in [NODE_HIBERNATED, NODE_DRAINING] {
            w.refused(update(status), &[&machine.key], MarketError::GuaranteeRunning);
        }
        w.refused(retire.clone(), &[&provider.key], MarketError::GuaranteeRunning);
        // Its stake is needed; what lies above it may leave, as ever.
        let unstake = ix::provider_request_unstake(&provider, 10_000_000_001);
        w.refused(unstake, &[&provider.key], MarketError::InsufficientStake);
        w.ok(update(NODE_ACTIVE), &[&machine.key]);
    }
    // After the end it may sleep, but not leave before the guarantee is resolved.
    w.set_now(until);
    w.ok(update(NODE_HIBERNATED), &[&machine.key]);
    w.refused(retire.clone(), &[&provider.key], MarketError::GuaranteeRunning);
    let finder = w.actor();
    w.set_now(until + 420);
    w.ok(ix::guarantee_resolve(&w, &finder, &machine.node), &[&finder.key]);
    w.ok(retire, &[&provider.key]);
}

#[test]
fn a_commitment_is_a_better_score_for_work_that_ends_before_it_does() {
    let (mut w, provider, machine) = ready();
    let keeper = w.keeper(w.params.min_bond);
    let customer = w.customer(100_000_000);
    let until = w.now() + 1_000;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    // Deadlines of award and start, and the duration.
    let last = until - (60 + 120 + 600);
    for (now, guarantee) in [(w.now(), 9_900), (last, 9_900), (last + 1, 0)] {
        let mut w = w.fork();
        w.set_now(now);
        let order = w.order(&customer, OrderArgs { duration_secs: 600, ..ix::order_args(1) });
        let reputation = reputation_bps(&w.read(&machine.node), now);
        let want = score(ASK, reputation, guarantee).expect("fits");
        assert_eq!(want < score(ASK, reputation, 0).expect("fits"), guarantee > 0);
        let award =
            ix::order_award_at(&keeper, &customer, &order, &provider.provider(), &machine.node, want - 1);
        w.refused(award, &[&keeper.key], MarketError::ScoreTooHigh);
        let award = ix::order_award_at(&keeper, &customer, &order, &provider.provider(), &machine.node, want);
        w.ok(award, &[&keeper.key]);
        assert_eq!(w.read::<Lease>(&pda::lease(&order, &machine.node)).score, want);
    }
}

#[test]
fn an_order_may_ask_for_committed_nodes() {
    let (mut w, provider, machine) = ready();
    let keeper = w.keeper(w.params.min_bond);
    let customer = w.customer(100_000_000);
    let mut args = OrderArgs { duration_secs: 600, ..ix::order_args(1) };
    args.requirement.guaranteed = 1;
    let order = w.order(&customer, args);
    let award = ix::order_award(&keeper, &customer, &order, &provider.provider(), &machine.node);
    w.refused(award.clone(), &[&keeper.key], MarketError::UnsuitableGuarantee);
    let end = w.read::<Order>(&order).latest_end().expect("fits");
    assert_eq!(end, w.now() + 60 + 120 + 600, "award deadline, start deadline, duration");
    w.ok(ix::node_guarantee(&provider, &machine.node, end - 1, 9_900), &[&provider.key]);
    w.refused(award.clone(), &[&keeper.key], MarketError::UnsuitableGuarantee);
    w.ok(ix::node_guarantee(&provider, &machine.node, end, 9_900), &[&provider.key]);
    w.ok(award, &[&keeper.key]);
    // Nothing but 0 and 1.
    args.requirement.guaranteed = 2;
    args.nonce = 2;
    w.refused(ix::order_create(&customer, args), &[&customer.key], MarketError::InvalidRequirement);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, machine) = ready();
    let other = w.provider(20_000_000_000);
    let others = w.machine(&other, 1);
    let good = ix::node_guarantee(&provider, &machine.node, w.now() + 1_000, 9_900);
    let silent = unsigned(good.clone(), &provider.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    // The machine's own key does not put its owner's stake at risk.
    let mut by_agent = good.clone();
    by_agent.accounts[0].pubkey = machine.key.pubkey();
    w.refused(by_agent, &[&machine.key], MarketError::Unauthorised);
    let (forged_node, forged_provider) = (w.forged(&machine.node), w.forged(&provider.provider()));
    let forged_market = w.forged(&pda::market());
    let cases = [
        ("signer", provider.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("market's program", pda::market(), forged_market, InstructionError::IllegalOwner.into()),
        ("provider", provider.provider(), other.provider(), MarketError::WrongAccount.into()),
        ("provider's program", provider.provider(), forged_provider, InstructionError::IllegalOwner.into()),
        ("node", machine.node, others.node, MarketError::WrongAccount.into()),
        ("node's program", machine.node, forged_node, InstructionError::IllegalOwner.into()),
        ("node's type", machine.node, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&provider.key, &other.key], &cases);
    let none: Guarantee = w.read::<Node>(&machine.node).record(0).guarantee;
    assert_eq!((none.until, none.bps), (0, 0));
}
