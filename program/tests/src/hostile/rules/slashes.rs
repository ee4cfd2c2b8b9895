//! Proofs: stake and bonds that a proof takes, with nobody's vote.

use gantry_market::constants::{AWARD_VIEW_SECS, FLAG_WORK_FAILED, MODE_INSTANT};
use gantry_market::math::fees::bps_of;
use gantry_market::math::reputation::reputation_of;
use gantry_market::math::score::score;
use gantry_market::state::{
    Fault, FraudProof, GpuModel, Keeper, Lease, Manifest, Market, MeasureProfile, Node, Order, Provider,
    Statement, FAULT_WORK, NODE_ACTIVE, OUTPUT_WITHHELD,
};
use solana_address::Address;

use super::leases::ask;
use super::{must, omitted, Act, Verdict};
use crate::measure::Measured;
use crate::pda;
use crate::testbed::DOMAIN;

/// What a proof may take from a provider's or keeper's vault, and who it is for.
pub struct Cut {
    /// The provider's or keeper's account.
    pub from: Address,
    /// Within what is there.
    pub amount: u64,
    /// Nobody where nothing is paid out.
    pub finder: Option<Address>,
    /// What the finder's payout is named after.
    pub source: Address,
}

/// What the act's proof costs, computed from the state before it.
pub fn cut_of(act: &Act, market: &Market) -> Option<Cut> {
    let params = &market.params;
    let finder = act.instruction.accounts.first()?.pubkey;
    match act.name {
        "node_report_dead" => {
            let (at, node, dead) =
                act.changes::<Node>().find_map(|change| change.both().map(|(a, b)| (change.at, a, b)))?;
            let share = 100u64 << (u32::from(dead.deaths) - 1).min(7);
            let due = bps_of(node.required_stake, share.min(10_000) as u16).ok()?;
            let amount = due.min(node.available_stake());
            // Nobody has a part of it.
            Some(Cut { from: node.provider, amount, finder: None, source: at })
        }
        "prove_equivocation" => {
            let change = act.changes::<Keeper>().next()?;
            let amount = bps_of(change.before?.bond, params.slash_equivocation_bps).ok()?;
            Some(Cut { from: change.at, amount, finder: Some(finder), source: change.at })
        }
        "prove_better_ask" => {
            let (lease, _) = act.changes::<Lease>().find_map(|change| change.both())?;
            let better = act.ledger.get::<Node>(&act.instruction.accounts[4].pubkey)?;
            let order = act.ledger.get::<Order>(&lease.order)?;
            let offer = (ask(better, order), score_of_better(act, lease)?);
            unjust_cut(act, market, lease, offer)
        }
        "prove_omitted_bid" => omitted::cut_of(act, market),
        "output_forfeit" => {
            let (lease, _) = act.changes::<Lease>().find_map(|change| change.both())?;
            let node = act.ledger.get::<Node>(&lease.node)?;
            let amount = lease.forfeit.min(node.available_stake());
            let withheld = lease.output == OUTPUT_WITHHELD;
            withheld.then_some(Cut { from: lease.provider, amount, finder: None, source: lease.node })
        }
        _ => None,
    }
}

/// What an unjust award costs: a share of the bond, or eight times what it made the lease dearer in the time to contest
/// it, compared with the better offers' prices or with the price at which its node would have scored like the best of
/// them; less what earlier proofs of the same award have cost.
pub fn unjust_cut(act: &Act, market: &Market, lease: &Lease, (price, score): (u64, u64)) -> Option<Cut> {
    let from = pda::keeper(&lease.keeper);
    let (bond, params) = (act.ledger.get::<Keeper>(&from)?.bond, &market.params);
    let share = u128::from(bond) * u128::from(params.slash_unjust_award_bps) / 10_000;
    let alike = u128::from(lease.award_price) * u128::from(score) / u128::from(lease.award_score.max(1));
    let worth = alike.min(u128::from(price)).min(u128::from(lease.price));
    let dearer = u128::from(lease.award_price).saturating_sub(worth);
    let seconds = u128::try_from(lease.challenge_until - lease.awarded_at).ok()?;
    let money = dearer * u128::from(lease.gpus) * seconds / 3_600 * 8;
    let cover = money * 1_000_000_000 / u128::from(params.stake_price.max(1));
    let known = u128::from(lease.unjust_due);
    let least = if known == 0 { share } else { known };
    let amount = (least.max(cover) - known).min(u128::from(bond)) as u64;
    let finder = act.instruction.accounts.first()?.pubkey;
    Some(Cut { from, amount, finder: Some(finder), source: from })
}

/// Of a bond, what a proof leaves for its finder: a tenth at most, and so that no more than a twentieth of the bond leaves
/// by slashes in the time that the bond itself would take.
pub fn finder_of_bond(keeper: &Keeper, share: i128, market: &Market, now: i64) -> i128 {
    let over = now >= keeper.paid_out_at + i64::from(market.params.keeper_exit_secs);
    let (bond, spent) = if over { (keeper.bond, 0) } else { (keeper.paid_out_of, keeper.paid_out) };
    share.min((i128::from(bond) / 20 - i128::from(spent)).max(0))
}

/// Whether the node has a lease of the same order.
fn had_a_part(act: &Act, lease: &Lease, node: &Address) -> bool {
    act.ledger.all::<Lease>().any(|(_, other)| other.order == lease.order && other.node == *node)
}

/// The score of the better ask at its worst, from a while before the order, or the failure, until the award, when its
/// reputation was lowest; none when what is compared has moved.
fn score_of_better(act: &Act, lease: &Lease) -> Option<u64> {
    let order = act.ledger.get::<Order>(&lease.order)?;
    let better = act.ledger.get::<Node>(&act.instruction.accounts[4].pubkey)?;
    let moved = lease.continues == 1;
    let asked_at = if moved { lease.failed_at } else { order.created_at };
    let known_at = if moved { lease.awarded_at } else { order.created_at };
    let since = asked_at - AWARD_VIEW_SECS;
    let free = better.availability.free_throughout(since, lease.awarded_at);
    let stood = better.ask_since.max(better.available_since) < since
        && free.is_some_and(|free| free >= order.gpus_per_node)
        && better.healthy_throughout(since, known_at);
    let record = better.worst_throughout(since, lease.awarded_at).filter(|_| stood)?;
    let reputation = reputation_of(&record.score, since);
    let end = if moved {
        order.start_by(lease.awarded_at).ok()? + i64::from(lease.duration_secs)
    } else {
        order.latest_end().ok()?
    };
    score(ask(better, order), reputation, record.guarantee.bps_until(end)).ok()
}

/// What a proof of an unjust award does to its lease: no share for its keeper, and no higher price than the better offer's
/// for what is not paid yet.
pub fn repriced(at: &Address, before: &Lease, after: &Lease, price: u64, now: i64) -> Verdict {
    let served = before.billable_secs(now);
    let worth = |lease: &Lease| lease.owed(served).ok();
    must!(worth(before) == worth(after), "time that was served keeps its price", "{at}: {served} seconds");
    must!(after.award_bps == 0, "an unjust award earns nothing", "{at}: {}", after.award_bps);
    let due = before.price.min(price);
    must!(after.price == due, "an unjust award is repriced to the better offer", "{at}: {}", after.price);
    let paid = (after.paid_secs, after.paid, after.reserved);
    must!(paid == (before.paid_secs, before.paid, before.reserved), "a proof moves no pay", "{at}");
    let marked = (after.repriced == 1) == (due < before.price || before.repriced == 1);
    must!(marked, "a lease says that its price fell", "{at}: {}", after.repriced);
    Ok(())
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<FraudProof>() {
        if let Some((before, after)) = change.both() {
            let fixed =
                |p: &FraudProof| (p.node, p.finder, p.seed, p.root, p.profile, (p.period, p.rounds, p.gpu));
            let leaf = act.name == "fraud_proof_leaf" && fixed(before) == fixed(after);
            must!(leaf, "an fraud_proof stays as it is", "{}: {}", act.name, change.at);
        }
        must!(act.signed(&change.either().finder), "an fraud_proof is its finder's", "{}", change.at);
        if let Some(made) = change.created() {
            let node = act.ledger.get::<Node>(&made.node);
            let signed = node.is_some_and(|node| act.verified.iter().any(|(key, _)| *key == node.node_key));
            must!(signed, "the machine signed the commitment", "{}", change.at);
        }
    }
    match act.name {
        "prove_wrong_cell" => bad_work(act, market),
        "prove_equivocation" => equivocation(act),
        "prove_better_ask" => better_ask(act),
        "prove_omitted_bid" => omitted::check(act, market),
        _ => Ok(()),
    }
}

/// The byte of a measurement as it should be.
fn byte(shown: &FraudProof, profile: MeasureProfile, market: &Market) -> u8 {
    let measured = Measured {
        domain: market.domain,
        node: shown.node,
        period: shown.period,
        instant: shown.seed,
        profile,
        gpu: shown.gpu,
        rounds: shown.rounds,
        round: shown.round,
        before: shown.before,
        at: shown.row,
        group: shown.column as u8,
        leaf: [0; 256],
        path: vec![],
        round_path: vec![],
        others: vec![],
    };
    measured.right()
}

fn bad_work(act: &Act, market: &Market) -> Verdict {
    let found = act.changes::<FraudProof>().find_map(|change| change.closed());
    let Some((shown, node)) = found.and_then(|shown| Some((shown, act.ledger.get::<Node>(&shown.node)?)))
    else {
        must!(false, "a proof has its fraud_proof", "{}", act.name);
        return Ok(());
    };
    let period = u64::try_from(act.now).expect("after 1970") / u64::from(market.params.period_secs);
    let fresh = shown.period > node.bad_work_period && shown.period <= period;
    must!(fresh, "one proof covers all periods before it", "{}: {}", shown.node, shown.period);
    let model = act.ledger.get::<GpuModel>(&pda::gpu_model(node.spec.model));
    let profile = model.and_then(|model| model.profile_of(&shown.profile));
    must!(profile.is_some(), "a machine is judged by its model's profile", "{}", shown.node);
    let right = i32::from(byte(shown, profile.expect("just checked"), market));
    must!(right != shown.claimed, "right work is not slashed", "{}: {right}", shown.node);
    let after = act.after::<Node>(&shown.node);
    must!(
        after.is_some_and(|node| node.bad_work_period == period),
        "a proof is remembered",
        "{}",
        shown.node
    );
    must!(act.ledger.get::<Provider>(&node.provider).is_some(), "a node has a provider", "{}", shown.node);
    let (made, after) =
        (act.changes::<Fault>().find_map(|change| change.created()), after.expect("just checked"));
    let Some(fault) = made else {
        must!(false, "proven bad work is a fault", "{}", shown.node);
        return Ok(());
    };
    let due = node.cause_left(market.params.slash_bad_work_bps, act.now).unwrap_or(u64::MAX);
    let amount = due.min(node.available_stake());
    must!(due > 0 && fault.amount == amount, "bad work costs what the terms say", "{}", shown.node);
    let length = i64::from(market.params.period_secs);
    let start = shown.period as i64 * length;
    let from = node.good_since.min(start).max(start + length - 7 * 86_400);
    let window = (from, act.now.min(start + length), node.spec.gpus);
    must!(
        (fault.window_from, fault.window_until, fault.gpus) == window,
        "bad work is about the time since the machine was good",
        "{}",
        shown.node
    );
    let terms = (fault.kind, fault.flags, fault.applicable_at) == (FAULT_WORK, FLAG_WORK_FAILED, act.now)
        && (fault.node, fault.provider, fault.finder) == (shown.node, node.provider, Address::default())
        && fault.rent_payer == shown.finder
        && (fault.stake_price, fault.reference_price) == (market.params.stake_price, node.reference_price);
    must!(terms, "bad work has the terms of its day", "{}", shown.node);
    let convicted = after.convicted == 1 && after.convicted_from != 0 && after.convicted_from <= from;
    must!(
        convicted && after.frozen_from != 0 && after.frozen_from <= from,
        "proven bad work convicts its machine",
        "{}",
        shown.node
    );
    Ok(())
}

fn equivocation(act: &Act) -> Verdict {
    let Some((before, _)) = act.changes::<Keeper>().find_map(|change| change.both()) else {
        must!(false, "a proof is about a keeper", "{}", act.name);
        return Ok(());
    };
    let statements: Vec<Statement> = act
        .verified
        .iter()
        .filter(|(key, _)| before.answers_for(key, act.now))
        .filter_map(|(_, text)| Statement::parse(&<[u8; 144]>::try_from(text.as_slice()).ok()?).ok())
        .collect();
    let manifests: Vec<Manifest> = act
        .verified
        .iter()
        .filter(|(key, _)| before.answers_for(key, act.now))
        .filter_map(|(_, text)| Manifest::parse(&<[u8; 64]>::try_from(text.as_slice()).ok()?).ok())
        .collect();
    let by_manifests = manifests.iter().any(|one| {
        manifests.iter().any(|other| {
            (one.domain, one.period) == (DOMAIN, other.period)
                && other.domain == DOMAIN
                && one.set != other.set
        })
    });
    let by_statements = statements.iter().any(|one| {
        statements.iter().any(|other| {
            (one.node, one.lease, one.period, one.kind, one.checked_at)
                == (other.node, other.lease, other.period, other.kind, other.checked_at)
                && one.passed != other.passed
        })
    });
    must!(
        by_statements || by_manifests || manifests.is_empty(),
        "who is expelled for manifests signed two of a period",
        "{}",
        before.wallet
    );
    must!(
        by_statements || by_manifests,
        "who is expelled signed both passed and failed",
        "{}",
        before.wallet
    );
    Ok(())
}

fn better_ask(act: &Act) -> Verdict {
    let change = act.changes::<Lease>().find_map(|change| change.both());
    let Some((before, after)) = change else {
        must!(false, "an unjust award is of a lease", "{}", act.name);
        return Ok(());
    };
    let better = score_of_better(act, before);
    must!(
        before.score != 0 && better == Some(after.score),
        "a proof keeps the better score",
        "{}",
        before.order
    );
    let until = before.challenge_until;
    must!(act.now <= until, "an award is contested in time", "{} of {until}", act.now);
    let at = act.instruction.accounts[4].pubkey;
    let (order, better) = (act.ledger.get::<Order>(&before.order), act.ledger.get::<Node>(&at));
    let sound = order.zip(better).is_some_and(|(order, node)| {
        let (moved, alone) = (before.continues == 1, order.nodes_wanted == 1 && before.continues == 0);
        let most = if moved { before.award_price } else { order.max_price };
        (order.mode == MODE_INSTANT || moved)
            && order.redundant == 0
            && (alone || !had_a_part(act, before, &at))
            && node.status == NODE_ACTIVE
            && (1..=most).contains(&ask(node, order))
            && at != before.node
    });
    must!(sound, "a better node could have had the order", "{at}");
    let lower = score_of_better(act, before);
    must!(lower.is_some(), "what is compared has not moved", "{at}");
    let lower = lower.is_some_and(|score| score < before.score);
    must!(lower, "an award is unjust when another node scored lower", "{at}: {}", before.score);
    let price = order.zip(better).map_or(0, |(order, better)| ask(better, order));
    repriced(&at, before, after, price, act.now)
}
