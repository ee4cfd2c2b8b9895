//! Reports: votes weigh what bonds weigh, leaves are in final roots.

use std::collections::BTreeSet;

use gantry_market::constants::MAX_PROOF;
use gantry_market::math::merkle::root_of;
use gantry_market::math::periods::period_end;
use gantry_market::state::{
    Candidate, Keeper, Leaf, Lease, Market, Node, Report, KEEPER_ACTIVE, REPORT_FINAL,
};
use solana_address::Address;

use super::{must, Act, Change, Verdict, Violation};
use crate::hostile::entity::Held;
use crate::pda;

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Report>() {
        report(act, market, &change)?;
    }
    records(act)?;
    leaves(act, market)
}

pub fn bits(voters: &[u8; 32]) -> BTreeSet<u16> {
    (0..256).filter(|index| voters[usize::from(*index) / 8] & (1 << (index % 8)) != 0).collect()
}

/// Every root keeps its place; the heaviest stand in front.
fn places(at: &Address, report: &Report, were: &[Candidate], are: &[Candidate]) -> Verdict {
    let (front, behind) = are.split_at(are.len().min(report.candidates.len()));
    must!(usize::from(report.candidate_count) == front.len(), "a report counts its roots", "{at}");
    let lightest = front.iter().map(|c| c.weight).min();
    let ordered = behind.iter().all(|c| lightest.is_some_and(|lightest| c.weight <= lightest));
    must!(ordered, "the heaviest roots are in front", "{at}: {} roots", are.len());
    let different: BTreeSet<[u8; 32]> = are.iter().map(|c| c.root).collect();
    must!(different.len() == are.len(), "a root stands in one place", "{at}: {} roots", are.len());
    for old in were {
        let new = are.iter().find(|c| c.root == old.root);
        let left = old.voters == [0; 32];
        let kept = new.is_some_and(|c| left || c.proposer == old.proposer);
        must!(kept, "a root keeps its place and its finder", "{at}");
    }
    Ok(())
}

/// What became of one root.
struct Turn {
    was: u64,
    by: i128,
    came: BTreeSet<u16>,
    left: BTreeSet<u16>,
}

fn turns(were: &[Candidate], are: &[Candidate]) -> Vec<Turn> {
    let all = are.iter().map(|new| {
        let old = were.iter().find(|old| old.root == new.root);
        let (was, before) = old.map_or((0, BTreeSet::new()), |old| (old.weight, bits(&old.voters)));
        let now = bits(&new.voters);
        Turn {
            was,
            by: i128::from(new.weight) - i128::from(was),
            came: now.difference(&before).copied().collect(),
            left: before.difference(&now).copied().collect(),
        }
    });
    all.filter(|turn| turn.by != 0 || !turn.came.is_empty() || !turn.left.is_empty()).collect()
}

/// Whoever votes signs, was active in the period, and has the weight that counts.
fn voter<'a>(act: &'a Act, market: &Market, report: &Report, index: u16) -> Result<&'a Keeper, Violation> {
    let at = act.ledger.all::<Keeper>().find(|(_, keeper)| keeper.index == index);
    must!(at.is_some(), "a keeper votes", "{}: {index}", report.period);
    let (at, keeper) = at.expect("just checked");
    let end = period_end(report.period, market.params.period_secs).expect("fits");
    let fit = keeper.status == KEEPER_ACTIVE && keeper.active_since < end && act.now >= end;
    must!(fit && act.signed(&keeper.signer), "keepers active in the period vote after it", "{at}");
    Ok(keeper)
}

/// One keeper votes for the first time, or takes its vote along to another root; nothing else about votes changes.
fn ballot(act: &Act, market: &Market, change: &Change<Report>, turns: &[Turn], fresh: &[u16]) -> Verdict {
    let (at, after) = (change.at, change.after.expect("votes are there"));
    let weight: i128 = turns.iter().map(|turn| turn.by).sum();
    match (fresh, turns) {
        ([], []) => Ok(()),
        ([index], [root]) => {
            let keeper = voter(act, market, after, *index)?;
            let weighs = root.by == i128::from(keeper.weight);
            must!(weighs, "a vote weighs its keeper's weight", "{at}: {}", root.by);
            let alone = root.left.is_empty() && root.came.iter().eq(fresh);
            must!(alone, "a voter is where its vote is", "{at}: {index}");
            Ok(())
        }
        ([], [one, other]) => {
            let (from, to) = if one.left.is_empty() { (other, one) } else { (one, other) };
            let same = from.left == to.came && from.came.is_empty() && to.left.is_empty();
            must!(same && to.came.len() == 1, "a voter is where its vote is", "{at}");
            let index = *to.came.first().expect("just counted");
            let keeper = voter(act, market, after, index)?;
            let open = change.before.is_some_and(|before| before.status != REPORT_FINAL);
            must!(open, "votes on a final report stand", "{at}: {index}");
            let same = keeper.weight_since < after.created_at;
            must!(same, "a vote moves with the weight that was counted", "{at}: {}", keeper.weight_since);
            let moves = i128::from(keeper.weight);
            let along = from.by == -moves && to.by == moves;
            must!(along, "a moved vote takes its weight along", "{at}: {} and {}", from.by, to.by);
            let heavier = i128::from(to.was) + moves > i128::from(from.was);
            must!(heavier, "a vote moves to what then weighs more", "{at}: {} to {}", from.was, to.was);
            Ok(())
        }
        // Of a vote that stays counted where it was, the weight is what is wrong.
        ([], [to]) if to.came.len() == 1 => {
            must!(false, "a moved vote takes its weight along", "{at}: {weight}");
            Ok(())
        }
        _ => {
            must!(false, "one vote at a time, once for each keeper", "{at}: {fresh:?}, weight {weight}");
            Ok(())
        }
    }
}

fn report(act: &Act, market: &Market, change: &Change<Report>) -> Verdict {
    let at = change.at;
    let Some(after) = change.after else {
        let before = change.either();
        let end =
            period_end(before.period, market.params.period_secs).expect("fits").max(before.finalised_at);
        let due = end + i64::from(market.params.report_retention_secs);
        must!(act.now > due, "a report stays for its time", "{at}");
        return Ok(());
    };
    let votes = |report: Option<&Report>| report.map_or(BTreeSet::new(), |report| bits(&report.voters));
    let roots = |held: &Option<Held>| held.as_ref().map_or(vec![], Held::roots);
    let moved = act.moved.iter().find(|moved| moved.at == at).expect("a change is a move");
    let (were, are) = (roots(&moved.before), roots(&moved.after));
    places(&at, after, &were, &are)?;
    let (old, new) = (votes(change.before), votes(change.after));
    if let Some(before) = change.before {
        let kept = (before.period, before.total_weight, before.created_at, before.rent_payer)
            == (after.period, after.total_weight, after.created_at, after.rent_payer);
        must!(kept && old.is_subset(&new), "votes are never taken back", "{at}");
        if before.status == REPORT_FINAL {
            must!(before.root == after.root && after.status == REPORT_FINAL, "a final root stays", "{at}");
        }
    } else {
        must!(after.total_weight == market.total_weight, "a report measures all weight", "{at}");
    }
    let fresh: Vec<u16> = new.difference(&old).copied().collect();
    ballot(act, market, change, &turns(&were, &are), &fresh)?;
    must!(are.len() <= were.len() + fresh.len(), "a root gets its place by a first vote", "{at}");
    let mut stands = vec![];
    are.iter().for_each(|c| stands.extend(bits(&c.voters)));
    must!(stands.len() == new.len(), "a keeper votes for one root", "{at}");
    must!(stands.into_iter().collect::<BTreeSet<u16>>() == new, "who votes stands somewhere", "{at}");
    let weight: u128 = are.iter().map(|c| u128::from(c.weight)).sum();
    must!(weight <= u128::from(after.total_weight), "votes weigh at most all", "{at}");
    if after.status == REPORT_FINAL {
        let won = after.candidates.iter().find(|c| c.root == after.root && c.weight > 0);
        let enough = won.is_some_and(|c| u128::from(c.weight) * 3 > u128::from(after.total_weight) * 2);
        must!(enough, "a final root has more than two thirds", "{at}");
        must!(won.is_some_and(|c| c.proposer == after.proposer), "the first voter is the finder", "{at}");
        let was = change.before.filter(|before| before.status == REPORT_FINAL);
        let paid = bits(&after.reward_voters);
        let known =
            was.map_or_else(|| won.map_or(BTreeSet::new(), |c| bits(&c.voters)), |b| bits(&b.reward_voters));
        let grace = i64::from(market.params.period_secs / 60).max(5);
        let open = was.is_some_and(|before| act.now <= before.finalised_at + grace);
        must!(open || paid.is_subset(&known), "a late copy earns nothing", "{at}");
    }
    let finals =
        u64::from(after.status == REPORT_FINAL && change.before.is_none_or(|b| b.status != REPORT_FINAL));
    let counted =
        act.after::<Market>(&pda::market()).is_some_and(|m| m.final_reports == market.final_reports + finals);
    must!(counted, "final reports are counted", "{at}");
    Ok(())
}

/// A keeper's record has one vote for each period that it voted on, however often that vote moved.
fn records(act: &Act) -> Verdict {
    let mut first: BTreeSet<u16> = BTreeSet::new();
    for change in act.changes::<Report>() {
        let Some(after) = change.after else { continue };
        let before = change.before.map_or([0; 32], |before| before.voters);
        first.extend(bits(&after.voters).difference(&bits(&before)));
    }
    for (at, before) in act.ledger.all::<Keeper>() {
        let Some(after) = act.after::<Keeper>(at) else { continue };
        let votes = before.votes + u64::from(first.contains(&before.index));
        must!(after.votes == votes, "a vote is in its keeper's record once", "{at}: {}", after.votes);
        let same = (before.misses, before.last_vote_period) == (after.misses, after.last_vote_period);
        must!(same || votes > before.votes, "a record changes by a first vote", "{at}");
        let took_part = (before.voted_at, before.voted_reports) != (after.voted_at, after.voted_reports);
        let by_owner = act.signed(&after.signer) && matches!(act.name, "report_vote" | "keeper_activate");
        must!(!took_part || by_owner, "who takes part does so itself", "{}: {at}", act.name);
    }
    Ok(())
}

/// A leaf as it came in, when the instruction applies one.
fn leaf_of(act: &Act, market: &Market) -> Option<(Leaf, [u8; 32], usize)> {
    if !matches!(act.name, "report_apply" | "fault_open") {
        return None;
    }
    // fault_open says first what the fault is of.
    let data = act.instruction.data.get(if act.name == "fault_open" { 9 } else { 8 }..)?;
    let leaf: [u8; 176] = data.get(..176)?.try_into().ok()?;
    let path = u32::from_le_bytes(data.get(176..180)?.try_into().ok()?);
    let count = u32::from_le_bytes(data.get(180..184)?.try_into().ok()?) as usize;
    let siblings: Vec<[u8; 32]> =
        data.get(184..184 + 32 * count)?.chunks(32).map(|c| c.try_into().expect("32")).collect();
    let parsed = Leaf::parse(&leaf, market.params.period_secs).ok()?;
    Some((parsed, root_of(&leaf, path, &siblings), count))
}

/// The leaf that the instruction applies.
pub fn leaf(act: &Act, market: &Market) -> Option<Leaf> {
    leaf_of(act, market).map(|(leaf, _, _)| leaf)
}

/// Nothing about a node or a lease that only reports may say changes without a leaf of a final report.
fn leaves(act: &Act, market: &Market) -> Verdict {
    let found = leaf_of(act, market);
    let proven = |node: &Address, period: u64| {
        found.as_ref().is_some_and(|(leaf, root, depth)| {
            let report = act.ledger.get::<Report>(&crate::pda::report(leaf.period));
            let is_final = report.is_some_and(|report| report.status == REPORT_FINAL && report.root == *root);
            is_final && *depth <= MAX_PROOF && leaf.node == *node && leaf.period == period
        })
    };
    for change in act.changes::<Node>() {
        let Some((before, after)) = change.both() else { continue };
        let fields = |node: &Node| {
            let evidence = (node.evidence_expiry, node.devices_seen, node.device_root);
            (node.checks_passed, node.checks_total, node.last_report_period, node.report_window, evidence)
        };
        if fields(before) == fields(after)
            && (before.uptime_bps, before.tier) == (after.uptime_bps, after.tier)
        {
            continue;
        }
        let Some((leaf, _, _)) = &found else {
            must!(false, "a node's record comes from reports", "{}: {}", act.name, change.at);
            continue;
        };
        must!(proven(&change.at, leaf.period), "a leaf is in a final report", "{}: {}", act.name, change.at);
        let found = |node: &Node| {
            let seen = (node.devices_seen, node.device_root, node.evidence_hash);
            (
                node.tier,
                node.evidence_expiry,
                (node.operations, node.bandwidth, node.down_mbps, node.up_mbps),
                seen,
            )
        };
        let newest = leaf.period == after.last_report_period;
        must!(newest || found(before) == found(after), "older evidence replaces none", "{}", change.at);
        let behind = after.last_report_period - leaf.period;
        let bit = |node: &Node, back: u64| back < 32 && node.report_window & (1 << back) != 0;
        must!(bit(after, behind), "a leaf is marked as applied", "{}", change.at);
        if leaf.period <= before.last_report_period {
            let seen = before.last_report_period - leaf.period;
            must!(seen < 32 && !bit(before, seen), "a leaf is applied once", "{}: {}", act.name, change.at);
        }
    }
    for change in act.changes::<Lease>() {
        let Some((before, after)) = change.both() else { continue };
        if before.verified_secs == after.verified_secs
            && before.last_report_period == after.last_report_period
        {
            continue;
        }
        if before.started_at == 0 {
            continue;
        }
        let Some((leaf, _, _)) = &found else {
            must!(false, "verified time comes from reports", "{}: {}", act.name, change.at);
            continue;
        };
        must!(
            leaf.lease == change.at && proven(&before.node, leaf.period),
            "a leaf is in a final report",
            "{}",
            change.at
        );
        let gained = after.verified_secs - before.verified_secs;
        must!(gained == leaf.verified_secs, "verified time is what the leaf says", "{}", change.at);
        if leaf.period <= before.last_report_period {
            let seen = before.last_report_period - leaf.period;
            let fresh = seen < 32 && before.report_window & (1 << seen) == 0;
            must!(fresh, "a leaf is applied once", "{}: {}", act.name, change.at);
        }
    }
    Ok(())
}
