use gantry_market::state::{Dispute, Keeper, Lease, KEEPER_ACTIVE, LEASE_RUNNING};
use solana_address::Address;

use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix;

/// Often followed by votes at once, most of them for one side.
pub fn dispute_open(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(8);
    let (at, _) =
        s.any_where::<Lease>(|lease| any || (lease.status >= LEASE_RUNNING && lease.disputed == 0))?;
    let kind = if s.once_in(12) { s.below(256) as u8 } else { 1 + s.below(2) as u8 };
    let hash = s.r.bytes();
    let mut plan = vec![Step::Send(vec![ix::dispute_open(&s.a.w, &at, kind, hash)])];
    if s.once_in(2) {
        let uphold = u8::from(s.once_in(2));
        let voters: Vec<Address> =
            s.a.ledger
                .all::<Keeper>()
                .filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE)
                .map(|(_, keeper)| keeper.wallet)
                .collect();
        for wallet in voters {
            let keeper = s.who(&wallet)?;
            if s.once_in(4) {
                continue;
            }
            let vote = if s.once_in(8) { 1 - uphold } else { uphold };
            plan.push(Step::Send(vec![ix::dispute_vote(keeper, &at, vote)]));
        }
        if s.once_in(2) {
            let payer = s.actor().wallet();
            plan.push(Step::Send(vec![ix::dispute_uphold(&s.a.w, &payer, &at)]));
        }
    }
    Some(plan)
}

pub fn dispute_vote(s: &mut Scene) -> Option<Plan> {
    let (_, dispute) = s.any::<Dispute>()?;
    let (_, keeper) = s.any::<Keeper>()?;
    let who = s.who(&keeper.wallet)?;
    let vote = if s.once_in(12) { s.below(256) as u8 } else { s.below(2) as u8 };
    one(ix::dispute_vote(who, &dispute.lease, vote))
}

pub fn dispute_resolve(s: &mut Scene) -> Option<Plan> {
    let (_, dispute) = s.any::<Dispute>()?;
    s.a.ledger.get::<Lease>(&dispute.lease)?;
    one(ix::dispute_resolve(&s.a.w, &dispute.lease))
}

pub fn dispute_uphold(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(6);
    let (_, dispute) = s.any_where::<Dispute>(|dispute| any || dispute.upheld_weight > 0)?;
    s.a.ledger.get::<Lease>(&dispute.lease)?;
    let payer = s.actor().wallet();
    one(ix::dispute_uphold(&s.a.w, &payer, &dispute.lease))
}
