use gantry_market::state::{Keeper, Provider, Report, Rewards, REPORT_FINAL};

use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// Mostly the newest final report; older ones are refused, and some come too early.
pub fn rewards_accrue(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(8);
    let last = s.a.ledger.get::<Rewards>(&pda::rewards())?.last_period;
    let running = s.a.w.period();
    let (_, report) = s.any_where::<Report>(|report| {
        let ripe = report.period > last && report.period + 1 < running;
        any || (ripe && report.status == REPORT_FINAL)
    })?;
    let mut accrue = ix::rewards_accrue(&s.a.w, report.period);
    if s.once_in(5) {
        // To the sender instead of the treasury.
        let (sender, mint) = (s.actor().wallet(), s.a.w.payment_mint);
        accrue.accounts[4].pubkey = s.tokens_of(&sender, &mint)?;
    }
    one(accrue)
}

/// By anybody, to the keeper's tokens; of a rewarded report, of another, or of none.
pub fn rewards_claim(s: &mut Scene) -> Option<Plan> {
    let (_, keeper) = s.any::<Keeper>()?;
    let who = s.who(&keeper.wallet)?;
    let any = s.once_in(6);
    let report = s.any_where::<Report>(|report| any || report.reward_left > 0);
    let period = report.map(|(_, report)| report.period).filter(|_| keeper.earned == 0 || !any);
    one(ix::rewards_claim(who, period))
}

pub fn rewards_buy_back(s: &mut Scene) -> Option<Plan> {
    let rewards = *s.a.ledger.get::<Rewards>(&pda::rewards())?;
    let cost = rewards.buy_back_cost(&s.a.w.params, s.a.now()).unwrap_or(u64::MAX);
    let limit = match s.below(6) {
        0 => cost,
        1 => cost.saturating_sub(1),
        2 => s.about(cost),
        _ => u64::MAX,
    };
    let buyer = s.actor();
    one(ix::rewards_buy_back(&s.a.w, buyer, limit))
}

/// Somebody fills the vault first, now and then.
pub fn emission_claim(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(4);
    let (at, _) = s.any_where::<Provider>(|provider| any || provider.emission > 0)?;
    let claim = Step::Send(vec![ix::emission_claim(&at)]);
    if s.once_in(2) {
        return Some(vec![claim]);
    }
    let amount = s.r.below(2_000_000);
    Some(vec![Step::Tokens(pda::emission_vault(), amount), claim])
}
