//! Keepers: bonds stay until their time, weight is what bonds weigh.

use gantry_market::state::{Keeper, Market, KEEPER_ACTIVE, KEEPER_EXITING, KEEPER_PENDING};

use super::money::amount;
use super::{must, Act, Verdict};
use crate::hostile::entity::Token;
use crate::pda;

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Keeper>() {
        let at = change.at;
        let by_owner = act.signed(&change.either().wallet);
        let vault = pda::stake_vault(&at);
        let lost = amount(act.book.get::<Token>(&vault)) - amount(act.after::<Token>(&vault));
        if let Some(keeper) = change.created() {
            must!(by_owner && keeper.bond >= market.params.min_bond, "a keeper bonds itself", "{at}");
            must!(-lost >= i128::from(keeper.bond), "the bond is in its vault", "{at}");
            must!(keeper.weight == 0 && keeper.status == KEEPER_PENDING, "a new bond weighs nothing", "{at}");
            continue;
        }
        if let Some(keeper) = change.closed() {
            let ripe = keeper.status == KEEPER_EXITING && act.now >= keeper.exit_at;
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
            (before.wallet, before.index) == (after.wallet, after.index),
            "a keeper keeps its place",
            "{at}"
        );
        let bond = i128::from(before.bond) - i128::from(after.bond);
        must!(bond == lost && bond == 0, "a bond stays", "{}: {at} lost {bond}", act.name);
        if before.status != after.status {
            match (before.status, after.status) {
                (KEEPER_PENDING, KEEPER_ACTIVE) => {
                    let due = before.registered_at + i64::from(market.params.keeper_activation_secs);
                    must!(act.now >= due, "a new bond waits", "{at}: {} of {due}", act.now);
                    let weight = after.bond.min(market.params.weight_cap);
                    must!(
                        after.weight == weight && after.active_since == act.now,
                        "weight is capped",
                        "{at}"
                    );
                }
                (KEEPER_PENDING | KEEPER_ACTIVE, KEEPER_EXITING) => {
                    let due = act.now + i64::from(market.params.keeper_exit_secs);
                    must!(by_owner && after.exit_at >= due, "an exit waits", "{at}");
                    must!(after.weight == 0, "who leaves weighs nothing", "{at}");
                }
                other => must!(false, "a keeper goes one way", "{at}: {other:?}"),
            }
        } else {
            must!(before.weight == after.weight, "weight changes with status", "{}: {at}", act.name);
            must!(before.exit_at == after.exit_at, "an exit's time stays", "{}: {at}", act.name);
        }
        let moved = before.multiaddr != after.multiaddr;
        must!(!moved || by_owner, "a keeper says where it is", "{}: {at}", act.name);
    }
    Ok(())
}
