//! Keepers: bonds stay until their time, weight is what bonds weigh.

use gantry_market::constants::CONSENT_TAG;
use gantry_market::state::{
    Keeper, Market, KEEPER_ACTIVE, KEEPER_EXITING, KEEPER_PENDING, KEEPER_SLASHED, NO_PLACE,
};

use super::money::{amount, is_open};
use super::slashes::cut_of;
use super::{must, Act, Verdict};
use crate::hostile::entity::Token;
use crate::pda;

/// Whether the keeper's signer has agreed to be it, for less time than a bond takes to leave.
fn consented(act: &Act, market: &Market, keeper: &Keeper) -> bool {
    let consent = [&CONSENT_TAG[..], &market.domain, keeper.wallet.as_ref()].concat();
    let agreed = act.verified.iter().filter(|(key, _)| *key == keeper.signer);
    let until = agreed.filter_map(|(_, text)| text.strip_prefix(&consent[..])?.try_into().ok());
    let last = act.now + i64::from(market.params.keeper_exit_secs);
    let mut times = until.map(i64::from_le_bytes);
    keeper.signer == keeper.wallet || times.any(|until| act.now < until && until <= last)
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Keeper>() {
        let at = change.at;
        let by_owner = act.signed(&change.either().wallet);
        let by_signer = act.signed(&change.either().signer);
        let vault = pda::stake_vault(&at);
        let lost = amount(act.ledger.get::<Token>(&vault)) - amount(act.after::<Token>(&vault));
        if let Some(keeper) = change.created() {
            must!(by_owner && keeper.bond >= market.params.min_bond, "a keeper bonds itself", "{at}");
            must!(-lost >= i128::from(keeper.bond), "the bond is in its vault", "{at}");
            let waits = keeper.weight == 0 && keeper.status == KEEPER_PENDING && keeper.index == NO_PLACE;
            must!(waits, "a new bond weighs nothing and has no place", "{at}");
            let first = (keeper.signer_since, keeper.signer_until) == (act.now, 0);
            must!(first && consented(act, market, keeper), "a signer has agreed", "{at}");
            continue;
        }
        if let Some(keeper) = change.closed() {
            let leaves = matches!(keeper.status, KEEPER_EXITING | KEEPER_SLASHED);
            let ripe = leaves && act.now >= keeper.exit_at;
            let paid = keeper.earned == 0 || !is_open(act, &pda::fee_vault());
            must!(paid, "a keeper leaves with its rewards", "{at}: {}", keeper.earned);
            must!(
                by_owner && ripe,
                "a bond leaves at its exit time",
                "{at}: {} of {}",
                act.now,
                keeper.exit_at
            );
            continue;
        }
        let (before, after) = change.both().expect("neither created nor closed");
        must!(
            before.wallet == after.wallet && (before.index == after.index || before.status != after.status),
            "a keeper keeps its place",
            "{at}"
        );
        let keys = |k: &Keeper| (k.signer, k.former_signer, k.signer_since, k.signer_until);
        if keys(before) != keys(after) {
            let params = &market.params;
            let records = params.period_secs + params.report_retention_secs + params.appeal_secs;
            let until = act.now + i64::from(records.max(params.keeper_exit_secs));
            let turn = (after.former_signer, after.signer_since, after.signer_until);
            must!(by_owner && turn == (before.signer, act.now, until), "its wallet names a signer", "{at}");
            must!(act.now >= before.signer_until, "two keys at most are liable", "{at}");
            must!(consented(act, market, after), "a signer has agreed", "{at}");
        }
        let bond = i128::from(before.bond) - i128::from(after.bond);
        let cut = cut_of(act, market).filter(|cut| cut.from == at);
        let costs = cut.as_ref().map_or(0, |cut| i128::from(cut.amount));
        must!(
            bond == lost && bond == costs,
            "a bond stays, but for a proof",
            "{}: {at} lost {bond}",
            act.name
        );
        if cut.is_some() {
            let light = i128::from(after.weight) <= i128::from(after.bond) && after.weight <= before.weight;
            must!(light, "a smaller bond weighs less", "{at}: {} of {}", after.weight, after.bond);
        }
        let weighed = if before.weight == after.weight {
            (before.weight_since, before.former_weight)
        } else {
            (act.now, before.weight)
        };
        must!(
            (after.weight_since, after.former_weight) == weighed,
            "a keeper says since when it weighs what it does",
            "{}: {at}",
            act.name
        );
        if before.status != after.status {
            match (before.status, after.status) {
                (KEEPER_PENDING, KEEPER_ACTIVE) => {
                    let due = before.pending_since + i64::from(market.params.keeper_activation_secs);
                    must!(act.now >= due, "a new bond waits", "{at}: {} of {due}", act.now);
                    must!(by_signer, "who does not run is not counted", "{at}");
                    let weight = after.bond.min(market.params.weight_cap);
                    must!(
                        after.weight == weight && after.active_since == act.now,
                        "weight is capped",
                        "{at}"
                    );
                }
                (KEEPER_ACTIVE, KEEPER_PENDING) => {
                    let due = before.voted_at + 24 * i64::from(market.params.period_secs);
                    let idle = market.final_reports > before.voted_reports + 24 && act.now > due;
                    must!(idle, "who votes keeps its weight", "{at}: {} of {due}", act.now);
                    let waits = after.pending_since == act.now && after.weight == 0;
                    must!(waits, "who is suspended weighs nothing and waits", "{at}");
                }
                (KEEPER_PENDING | KEEPER_ACTIVE, KEEPER_EXITING) => {
                    let due = act.now + i64::from(market.params.keeper_exit_secs);
                    let small = cut.is_some() && after.bond < market.params.min_bond;
                    must!((by_owner || small) && after.exit_at >= due, "an exit waits", "{at}");
                    must!(after.weight == 0, "who leaves weighs nothing", "{at}");
                }
                (KEEPER_PENDING | KEEPER_ACTIVE | KEEPER_EXITING, KEEPER_SLASHED) => {
                    must!(act.name == "prove_equivocation", "a proof expels", "{}: {at}", act.name);
                    let due = act.now + i64::from(market.params.keeper_exit_secs);
                    let waits = after.exit_at == if before.exit_at == 0 { due } else { before.exit_at };
                    must!(after.weight == 0 && waits, "who is expelled weighs nothing and waits", "{at}");
                }
                other => must!(false, "a keeper goes one way", "{at}: {other:?}"),
            }
        } else {
            must!(
                before.weight == after.weight || cut.is_some(),
                "weight changes with status",
                "{}: {at}",
                act.name
            );
            must!(before.exit_at == after.exit_at, "an exit's time stays", "{}: {at}", act.name);
        }
        let moved = before.multiaddr != after.multiaddr;
        must!(!moved || by_signer, "a keeper says where it is", "{}: {at}", act.name);
    }
    Ok(())
}
