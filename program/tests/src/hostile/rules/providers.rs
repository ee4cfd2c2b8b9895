//! Stake and machines: who may take stake out, when, and what a slash may cost.

use std::collections::BTreeMap;

use gantry_market::math::evidence::{device_root, key_root};
use gantry_market::state::{
    DeviceClaim, Fault, FraudProof, GpuModel, Keeper, Lease, Market, Node, Payout, Provider, NODE_ACTIVE,
    NODE_RETIRED, NODE_SUSPENDED,
};
use solana_address::Address;

use super::faults::{pools, Shares};
use super::money::amount;
use super::slashes::{cut_of, finder_of_bond};
use super::{must, Act, Change, Verdict};
use crate::hostile::entity::Token;
use crate::pda;

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Provider>() {
        provider(act, market, &change)?;
    }
    stake_arrives(act, market)?;
    for change in act.changes::<Node>() {
        node(act, market, &change)?;
    }
    for change in act.changes::<DeviceClaim>() {
        let of = change.either().node;
        let with_node = act.changes::<Node>().any(|node| node.at == of && node.both().is_none());
        let moved = change.after.filter(|_| act.name == "node_set_evidence");
        let locked = act.name == "node_report_dead" && change.both().is_some_and(|(a, b)| a.node == b.node);
        must!(
            with_node || locked || moved.is_some(),
            "a claim lives with its node",
            "{}: {}",
            act.name,
            change.at
        );
        if let Some(after) = moved {
            evidence(act, &change, after)?;
        }
    }
    Ok(())
}

/// A claim follows evidence that keepers have found, and none that is worth as much.
fn evidence(act: &Act, change: &Change<DeviceClaim>, after: &DeviceClaim) -> Verdict {
    let at = change.at;
    let node =
        act.ledger.get::<Node>(&after.node).filter(|_| act.instruction.accounts[1].pubkey == after.node);
    must!(node.is_some(), "a claim goes to the node of its evidence", "{at}");
    let node = node.expect("just checked");
    let keys = after.key == 1;
    let tier = if keys { node.tier } else { node.tier_at(act.now) };
    let checked =
        if keys { tier == 3 && act.now <= node.evidence_expiry } else { tier >= 2 && node.devices_seen == 1 };
    must!(checked, "a claim needs evidence that was checked", "{at}: {tier}");
    let works = !matches!(node.status, NODE_RETIRED | NODE_SUSPENDED);
    must!(works, "a machine that left takes nothing", "{at}");
    let devices: Vec<[u8; 32]> = act.instruction.data.get(8..264).map_or(vec![], |data| {
        let all = data.chunks(32).map(|c| c.try_into().expect("32"));
        all.take_while(|device| *device != [0; 32]).collect()
    });
    let root = device_root(&devices).unwrap_or_default();
    let own = if keys { root.starts_with(key_root(&node.evidence_hash)) } else { root == node.device_root };
    must!(own && devices.contains(&after.device), "a node claims what it has", "{at}");
    let terms = (after.tier, after.expires()) == (tier, node.evidence_expiry);
    must!(terms, "a claim is worth what its evidence is", "{at}: {}", after.tier);
    if let Some(before) = change.before {
        let kept =
            (before.device, before.rent_payer, before.bump) == (after.device, after.rent_payer, after.bump);
        must!(kept, "a claim stays that of its device", "{at}");
        let standing = before.tier_at(act.now);
        let better = if before.node == after.node { standing <= tier } else { standing < tier };
        must!(better, "evidence as good stays", "{at}: {standing} and {tier}");
    } else {
        must!(act.signed(&after.rent_payer), "who sends pays the rent", "{at}");
    }
    Ok(())
}

/// The fault that the act slashes for, if any: it is applied and its provider loses stake.
fn slashed<'a>(act: &'a Act, provider: &Address) -> Option<(Address, &'a Fault)> {
    act.changes::<Fault>()
        .filter_map(|fault| fault.both().map(|(before, after)| (fault.at, before, after)))
        .find(|(_, before, after)| before.status != after.status && before.provider == *provider)
        .map(|(at, before, _)| (at, before))
}

fn held(provider: Option<&Provider>) -> i128 {
    provider.map_or(0, |found| i128::from(found.stake) + i128::from(found.unstaking))
}

fn provider(act: &Act, market: &Market, change: &Change<Provider>) -> Verdict {
    let by_owner = act.signed(&change.either().wallet);
    let vault = pda::stake_vault(&change.at);
    let lost = amount(act.ledger.get::<Token>(&vault)) - amount(act.after::<Token>(&vault));
    let out = held(change.before) - held(change.after);
    if let Some(created) = change.created() {
        must!(by_owner && held(Some(created)) == 0, "a provider starts empty", "{}", change.at);
        return Ok(());
    }
    if let Some(closed) = change.closed() {
        let idle = closed.node_count == 0 && closed.pending_faults == 0 && held(Some(closed)) == 0;
        must!(idle && by_owner, "a provider with stake stays", "{}", change.at);
        return Ok(());
    }
    let (before, after) = change.both().expect("neither created nor closed");
    must!(
        after.stake >= after.locked_stake,
        "a provider's stake covers its nodes'",
        "{}: {}",
        act.name,
        change.at
    );
    must!(lost == out, "the stake vault moves with the stake", "{}: {out}, {lost}", act.name);
    must!(before.wallet == after.wallet, "a provider keeps its wallet", "{}", change.at);
    if before.payout != after.payout {
        let token = act.ledger.get::<Token>(&after.payout);
        let own = token.is_some_and(|t| t.mint == market.payment_mint && t.owner == after.wallet);
        must!(by_owner && own, "a payout account is the provider's, of payment tokens", "{}", act.name);
    }
    if let Some((_, fault)) = slashed(act, &change.at) {
        must!(act.now >= fault.applicable_at, "a slash waits for its appeal", "{}", act.name);
        // What it has reserved is there, and what has come free since is taken too.
        let free = act.ledger.get::<Node>(&fault.node).map_or(0, Node::available_stake);
        let want = i128::from(fault.cost()).min(i128::from(fault.amount) + i128::from(free));
        must!(out == want, "a slash takes what the fault says", "{out}, want {want}");
        let total = after.slashed_total.checked_sub(before.slashed_total).map(i128::from);
        must!(total == Some(out), "what is slashed is counted", "{}", change.at);
        return Ok(());
    }
    if let Some(cut) = cut_of(act, market).filter(|cut| cut.from == change.at) {
        let most = held(change.before).min(i128::from(cut.amount));
        must!(out == most, "a proof takes what it costs, within the stake", "{out}, want {most}");
        let total = after.slashed_total.checked_sub(before.slashed_total).map(i128::from);
        must!(total == Some(out), "what is slashed is counted", "{}", change.at);
        return Ok(());
    }
    if out > 0 {
        let ripe = act.now >= before.unstake_at && before.unstake_at != 0;
        must!(by_owner, "stake leaves by its owner", "{}", act.name);
        must!(
            ripe,
            "stake leaves after its cool-down",
            "{} at {}, due {}",
            act.name,
            act.now,
            before.unstake_at
        );
        must!(after.stake >= before.stake, "only unstaked stake leaves", "{}", act.name);
        must!(out == i128::from(before.unstaking), "what was asked for leaves", "{}: {out}", act.name);
    }
    if after.unstaking > before.unstaking {
        let due = act.now + i64::from(market.params.unstake_cooldown_secs);
        must!(
            by_owner && after.unstake_at >= due,
            "unstaking waits",
            "{}: {} < {due}",
            act.name,
            after.unstake_at
        );
        must!(after.stake >= after.locked_stake, "stake that machines need stays", "{}", act.name);
    }
    Ok(())
}

fn slash_of(act: &Act, market: &Market) -> Shares {
    let Shares { mut owed, mut burned, held: mut kept } = pools(act);
    for change in act.changes::<Provider>() {
        let out = held(change.before) - held(change.after);
        let Some((at, fault)) = slashed(act, &change.at).filter(|_| out > 0) else { continue };
        let finder_bps = fault.finder_bps.min(gantry_market::constants::FINDER_BPS_MAX);
        // At least half is burned; of the rest the finder of a dispute gets its share, and victims may claim the pool.
        let half = out / 2;
        let finder = (out * i128::from(finder_bps) / 10_000).min(half);
        let part = if fault.finder == Address::default() { 0 } else { finder };
        *owed.entry((fault.finder, at)).or_default() += part;
        kept += half - finder + part;
        burned += out - (half - finder + part);
    }
    if let Some(cut) = cut_of(act, market) {
        let whole = act.ledger.get::<Provider>(&cut.from).map_or(i128::MAX, |found| held(Some(found)));
        let out = i128::from(cut.amount).min(whole);
        let share = (out * i128::from(market.params.finder_bps) / 10_000).min(out / 2);
        let share = match act.ledger.get::<Keeper>(&cut.from) {
            Some(keeper) => finder_of_bond(keeper, share, market, act.now),
            None => share,
        };
        let part = cut.finder.map_or(0, |_| share);
        *owed.entry((cut.finder.unwrap_or_default(), cut.source)).or_default() += part;
        kept += part;
        burned += out - part;
    }
    owed.retain(|_, part| *part != 0);
    Shares { owed, burned, held: kept }
}

/// What a slash leaves for somebody waits as long as stake or bond would have.
fn payouts(act: &Act, market: &Market, mut owed: BTreeMap<(Address, Address), i128>) -> Verdict {
    for change in act.changes::<Payout>() {
        let at = change.at;
        let payout = change.either();
        let name = (payout.beneficiary, payout.source);
        if change.closed().is_some() {
            let due = act.name == "payout_claim" && act.now >= payout.payable_at;
            must!(due, "a payout waits for its time", "{}: {at} until {}", act.name, payout.payable_at);
            continue;
        }
        let after = change.after.expect("not closed");
        let gained = i128::from(after.amount) - change.before.map_or(0, |before| i128::from(before.amount));
        let due = owed.remove(&name).unwrap_or(0);
        must!(gained == due, "a payout grows by what is owed", "{}: {at} {gained} of {due}", act.name);
        let of_keeper = act.ledger.get::<gantry_market::state::Keeper>(&payout.source).is_some();
        let params = &market.params;
        let delay = match act.ledger.get::<Fault>(&payout.source) {
            Some(fault) => fault.payout_secs,
            None if of_keeper => params.keeper_exit_secs,
            None => params.unstake_cooldown_secs,
        };
        let least = change.before.map_or(0, |before| before.payable_at).max(act.now + i64::from(delay));
        must!(after.payable_at == least, "stake leaves by no slash before its delay", "{at}");
    }
    must!(owed.is_empty(), "what a slash owes is noted", "{}: {owed:?}", act.name);
    Ok(())
}

/// Stake tokens that leave a vault end with the owner, in the payout vault, or in the fire.
fn stake_arrives(act: &Act, market: &Market) -> Verdict {
    let Shares { owed, mut burned, held } = slash_of(act, market);
    let mut due: BTreeMap<Address, i128> = BTreeMap::new();
    *due.entry(pda::market()).or_default() += held;
    for paid in act.changes::<Payout>().filter_map(|change| change.closed()) {
        *due.entry(pda::market()).or_default() -= i128::from(paid.amount);
        *due.entry(paid.beneficiary).or_default() += i128::from(paid.amount);
    }
    payouts(act, market, owed)?;
    burned += super::rewards::bought_back(act);
    let mut gained: BTreeMap<Address, i128> = BTreeMap::new();
    let mut all = 0;
    for change in act.changes::<Token>().filter(|change| change.either().mint == market.stake_mint) {
        let owner = change.either().owner;
        let gain = amount(change.after) - amount(change.before);
        all += gain;
        let of_market = act.ledger.get::<Provider>(&owner).is_some()
            || act.ledger.get::<gantry_market::state::Keeper>(&owner).is_some()
            || act.after::<Provider>(&owner).is_some()
            || act.after::<gantry_market::state::Keeper>(&owner).is_some();
        let lent =
            act.name == "rewards_buy_back" && change.before.is_some_and(|token| act.signed(&token.delegate));
        // Emission leaves a vault of the market's own: see the rules about rewards.
        let emission = change.at == pda::emission_vault();
        if !of_market && !lent && !emission {
            *gained.entry(owner).or_default() += gain;
        }
    }
    must!(
        -all == burned,
        "what is burned is what the slash leaves",
        "{}: {} burned, want {burned}",
        act.name,
        -all
    );
    for (owner, gain) in gained {
        let due = due.remove(&owner).unwrap_or(0);
        must!(
            gain == due || act.signed(&owner),
            "stake tokens go where they are due",
            "{}: {owner} gained {gain}, was due {due}",
            act.name
        );
    }
    let missing: Vec<_> = due.iter().filter(|(_, amount)| **amount != 0).collect();
    must!(missing.is_empty(), "the slashed stake arrives", "{}: {missing:?}", act.name);
    Ok(())
}

fn node(act: &Act, market: &Market, change: &Change<Node>) -> Verdict {
    let at = change.at;
    let node = change.either();
    let owner = act.ledger.get::<Provider>(&node.provider);
    must!(owner.is_some(), "a node has a provider", "{at}");
    let owner = owner.expect("just checked");
    let by_owner = act.signed(&owner.wallet);
    if let Some(node) = change.created() {
        must!(by_owner && act.signed(&node.node_key), "owner and machine sign a registration", "{at}");
        let model = act.ledger.get::<GpuModel>(&pda::gpu_model(node.spec.model));
        let required = model.map(|model| model.min_stake * u64::from(node.spec.gpus));
        must!(required == Some(node.required_stake), "a node needs its model's stake", "{at}");
        let after = act.after::<Provider>(&node.provider).expect("exists");
        must!(after.stake >= after.locked_stake, "stake covers every machine", "{at}");
        must!(
            (node.stake, node.reserved_stake) == (required.unwrap_or(0), 0),
            "a node has its stake",
            "{at}"
        );
        must!(
            node.spec.simulated <= market.params.allow_simulated,
            "simulated machines only where allowed",
            "{at}"
        );
        must!(node.tier <= 1 && (node.spec.simulated == 0 || node.tier == 0), "a tier is earned", "{at}");
        return Ok(());
    }
    if let Some(node) = change.closed() {
        let due = node.closes_at;
        must!(due >= node.retired_at, "a node's stake stays for the cool-down", "{at}");
        let over = node.status == NODE_RETIRED
            && act.now >= due
            && node.pending_faults == 0
            && node.live_leases == 0;
        must!(over && by_owner, "a node closes when nothing can concern it", "{at}: {} of {due}", act.now);
        return Ok(());
    }
    let (before, after) = change.both().expect("neither created nor closed");
    // Only how it isolates jobs and the CUDA of its driver may change, while it takes none.
    let mut spec = before.spec;
    if act.name == "node_update" && before.status != NODE_ACTIVE {
        (spec.isolation, spec.cuda) = (after.spec.isolation, after.spec.cuda);
    }
    let fixed = (before.provider, before.node_key, before.required_stake, before.registered_at)
        == (after.provider, after.node_key, after.required_stake, after.registered_at)
        && bytemuck::bytes_of(&spec) == bytemuck::bytes_of(&after.spec)
        && (before.device_root == after.device_root || before.device_root == [0; 32]);
    must!(fixed, "a node is what it registered as", "{}: {at}", act.name);
    must!(before.version == after.version, "a layout stays", "{}: {at}", act.name);
    let by_agent = act.signed(&before.node_key);
    own_stake(act, change.at, before, after)?;
    must!(
        (before.price, before.spot_bps) == (after.price, after.spot_bps) || by_owner || by_agent,
        "owner or machine set the ask",
        "{}: {at}",
        act.name
    );
    let terms = |node: &Node| (node.terms_at, node.min_operations, node.min_bandwidth);
    if terms(before) != terms(after) {
        must!(by_owner || by_agent, "owner or machine accept other terms", "{}: {at}", act.name);
    }
    if before.status != after.status {
        let fraud_proven = act.changes::<FraudProof>().any(|of| of.closed().is_some_and(|of| of.node == at));
        let proof = act.name == "prove_wrong_cell";
        let proven = proof && fraud_proven && after.status == NODE_SUSPENDED;
        let dead = act.name == "node_report_dead" && (by_owner || by_agent) && after.status == NODE_SUSPENDED;
        must!(
            dead || after.status != NODE_ACTIVE || act.now >= before.dead_until,
            "a dead GPU does not work",
            "{at}"
        );
        let faulted = proven || dead || act.changes::<Fault>().any(|fault| fault.either().node == at);
        must!(by_owner || by_agent || faulted, "owner or machine set the status", "{}: {at}", act.name);
        must!(before.status != NODE_RETIRED, "retired is for good", "{at}");
        if before.status == NODE_SUSPENDED {
            let retires = by_owner && after.status == NODE_RETIRED;
            let freed = retires || (by_owner && before.pending_node_faults == 0) || faulted;
            must!(freed, "a suspended node waits for its fault and its owner", "{at}");
        }
        if after.status == NODE_RETIRED {
            must!(by_owner && after.live_leases == 0, "an idle node is retired by its owner", "{at}");
            must!(before.convicted == 0, "a convicted node is mended before it leaves", "{at}");
            let due = act.now + i64::from(market.params.unstake_cooldown_secs);
            must!(after.closes_at == due, "a node's stake stays for the cool-down", "{at}");
        }
    }
    if before.gpu_mask != after.gpu_mask {
        let with_lease = act.changes::<Lease>().any(|lease| lease.either().node == at);
        must!(with_lease, "GPUs are taken and freed with a lease", "{}: {at}", act.name);
    }
    let grows = after.jobs_completed >= before.jobs_completed
        && after.jobs_failed >= before.jobs_failed
        && after.checks_total >= before.checks_total
        && after.fees_completed >= before.fees_completed
        && after.fees_failed >= before.fees_failed
        && after.rating_weight >= before.rating_weight;
    let swept =
        amount(act.after::<Token>(&market.fee_vault)) - amount(act.ledger.get::<Token>(&market.fee_vault));
    let counted = i128::from(after.fees_completed) - i128::from(before.fees_completed);
    let closed = act.changes::<Lease>().any(|lease| lease.closed().is_some_and(|lease| lease.node == at));
    let earned = counted == 0 || (closed && counted <= swept);
    must!(earned, "only fees that are swept complete a lease", "{}: {at}", act.name);
    must!(grows, "a record only grows", "{}: {at}", act.name);
    Ok(())
}

/// A node's stake leaves by its own fault or proof; its owner or agent levels it.
fn own_stake(act: &Act, at: Address, before: &Node, after: &Node) -> Verdict {
    if before.stake == after.stake {
        return Ok(());
    }
    if act.name == "node_update" {
        let level = after.stake == after.required_stake + after.reserved_stake;
        must!(level, "a node is topped up to what it needs", "{at}: {}", after.stake);
        return Ok(());
    }
    let faulted = act.changes::<Fault>().any(|fault| fault.either().node == at);
    let proven = matches!(act.name, "node_report_dead" | "output_forfeit");
    must!(
        after.stake < before.stake && (faulted || proven),
        "nodes' stakes never cross",
        "{}: {at}",
        act.name
    );
    Ok(())
}
