//! Rewards: every µUSDC of the fee vault waits for somebody, and leaves to exactly that one.

use gantry_market::constants::{BPS, DAY, STAKE_UNIT};
use gantry_market::math::periods::period_end;
use gantry_market::state::{Credits, Keeper, Market, Params, Provider, Report, Rewards, REPORT_FINAL};
use solana_address::Address;

use super::money::amount;
use super::{must, Act, Verdict};
use crate::hostile::entity::Token;
use crate::pda;

fn sides<'a>(act: &'a Act) -> Option<(&'a Rewards, &'a Rewards)> {
    act.ledger.get::<Rewards>(&pda::rewards()).zip(act.after::<Rewards>(&pda::rewards()))
}

fn held(found: &Rewards) -> i128 {
    [found.pending, found.earned, found.allocated, found.buy_back].into_iter().map(i128::from).sum()
}

/// What a token account gained.
fn gain(act: &Act, at: &Address) -> i128 {
    amount(act.after::<Token>(at)) - amount(act.ledger.get::<Token>(at))
}

/// Stake tokens that the act burned for the fees that wait for a buy-back.
pub fn bought_back(act: &Act) -> i128 {
    sides(act).map_or(0, |(before, after)| i128::from(after.bought_back) - i128::from(before.bought_back))
}

/// What must be burned at least: half of the governance price at first, twice after a day, in a straight line.
fn least(params: &Params, before: &Rewards, now: i64) -> i128 {
    let elapsed = i128::from(now - before.buy_back_since).clamp(0, i128::from(DAY));
    let bps = 5_000 + elapsed * 15_000 / i128::from(DAY);
    let (wanted, price) = (
        i128::from(before.buy_back) * i128::from(STAKE_UNIT) * i128::from(BPS),
        i128::from(params.stake_price) * bps,
    );
    (wanted + price - 1) / price
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    let Some((before, after)) = sides(act) else { return Ok(()) };
    let (vault, moved) = (gain(act, &market.fee_vault), held(after) - held(before));
    must!(vault == moved, "the fee vault moves with what is owed", "{}: {vault} and {moved}", act.name);
    let grows = after.bought_back >= before.bought_back
        && after.emitted_total >= before.emitted_total
        && after.last_period >= before.last_period;
    must!(grows, "what was burned and emitted stays counted", "{}", act.name);
    let fixed = (before.emission_vault, before.payout_vault, before.bump)
        == (after.emission_vault, after.payout_vault, after.bump);
    must!(fixed, "the vaults are fixed", "{}", act.name);
    let (vault, moved) =
        (gain(act, &before.payout_vault), i128::from(after.payouts) - i128::from(before.payouts));
    must!(vault == moved, "the payout vault moves with what is owed", "{}: {vault} and {moved}", act.name);
    if act.name != "rewards_buy_back" {
        must!(bought_back(act) == 0, "only a buy-back burns for fees", "{}", act.name);
        must!(after.buy_back >= before.buy_back, "fees wait for their buyer", "{}", act.name);
    }
    if act.name != "rewards_accrue" {
        // A part of a rejected dispute's deposit waits for a buy-back too, what a customer pays for a machine that it
        // kept, and work whose output lost; what they may be is in the rules about money.
        let adds = matches!(act.name, "dispute_resolve" | "lease_decline" | "lease_close");
        let more = after.buy_back > before.buy_back && !adds;
        let same = (before.last_period, more) == (after.last_period, false);
        must!(same, "only a split sets shares aside", "{}", act.name);
        if adds {
            aged(act, before, after)?;
        }
    }
    match act.name {
        "rewards_accrue" => split(act, market, before, after),
        "rewards_claim" => claim(act, market, before, after),
        "rewards_buy_back" => buy_back(act, market, before, after),
        "emission_claim" => emission(act, market, before, after),
        _ => {
            let treasury = gain(act, &market.treasury);
            let owner = act.ledger.get::<Token>(&market.treasury).map(|token| token.owner);
            let own = owner.is_some_and(|owner| act.signed(&owner));
            // Whoever holds the treasury may give it away, and its new owner may be paid there.
            let payout = act.ledger.all::<Provider>().any(|(_, found)| found.payout == market.treasury);
            // The authority may have named a customer's vault: its deposits come there too.
            let vault = owner.is_some_and(|owner| act.ledger.get::<Credits>(&owner).is_some());
            must!(
                treasury <= 0 || own || payout || vault,
                "the treasury gets its share alone",
                "{}: {treasury}",
                act.name
            );
            must!(before.emitted_total == after.emitted_total, "only a claim emits", "{}", act.name);
            Ok(())
        }
    }
}

fn split(act: &Act, market: &Market, before: &Rewards, after: &Rewards) -> Verdict {
    let whole = i128::from(BPS) - i128::from(market.params.award_bps);
    let of = |bps: u16| i128::from(before.pending) * i128::from(bps) / whole;
    let (mut treasury, mut burn) = (of(market.params.treasury_bps), of(market.params.burn_bps));
    // A treasury that cannot be paid leaves its share to the buy-back.
    if act.ledger.get::<Token>(&market.treasury).is_none_or(|token| token.frozen) {
        (treasury, burn) = (0, treasury + burn);
    }
    must!(gain(act, &market.treasury) == treasury, "the treasury gets its share", "want {treasury}");
    let set = i128::from(after.buy_back) - i128::from(before.buy_back);
    must!(set == burn, "the buy-back gets its share", "{set}, want {burn}");
    let change = act.changes::<Report>().find_map(|change| change.both());
    let Some((was, report)) = change else {
        must!(false, "a split rewards a report", "{}", act.name);
        return Ok(());
    };
    let pool = i128::from(before.pending) - treasury - burn;
    must!(
        after.pending == 0 && i128::from(report.reward) == pool && report.reward_left == report.reward,
        "voters get the rest",
        "{} of {pool}",
        report.reward
    );
    let due = period_end(report.period + 1, market.params.period_secs).expect("fits");
    must!(
        report.status == REPORT_FINAL && act.now >= due,
        "slower voters have their time",
        "{}",
        report.period
    );
    must!(
        report.period > before.last_period && was.reward == 0,
        "a report is rewarded once",
        "{}",
        report.period
    );
    let winner = report.candidates.iter().find(|found| found.root == report.root && found.weight > 0);
    let shared = winner.is_some_and(|found| {
        let others = report.reward_voters.iter().zip(&found.voters).any(|(paid, voted)| paid & !voted != 0);
        !others && report.reward_weight <= found.weight && report.reward_weight > 0
    });
    must!(shared, "who voted for the final root shares its reward", "{}", report.period);
    aged(act, before, after)
}

/// What waits for its buyer has waited for the mean of all its parts, weighted by what they are.
fn aged(act: &Act, before: &Rewards, after: &Rewards) -> Verdict {
    let age = |rewards: &Rewards| (act.now - rewards.buy_back_since).clamp(0, DAY as i64);
    let product = |rewards: &Rewards, age: i64| i128::from(rewards.buy_back) * i128::from(age);
    let (was, is) = (product(before, age(before)), product(after, age(after)));
    let mean = is <= was && was < is + i128::from(after.buy_back.max(1));
    must!(mean, "what comes new to an offer makes it younger", "{}: {was} and {is}", act.now);
    Ok(())
}

fn claim(act: &Act, market: &Market, before: &Rewards, after: &Rewards) -> Verdict {
    let out = -gain(act, &market.fee_vault);
    let at = act.instruction.accounts[2].pubkey;
    let keeper = act.ledger.get::<Keeper>(&at);
    must!(keeper.is_some(), "rewards are a keeper's", "{at}");
    let keeper = keeper.expect("just checked");
    let arrives: i128 = act
        .changes::<Token>()
        .filter(|change| change.at != market.fee_vault && change.either().owner == keeper.wallet)
        .map(|change| amount(change.after) - amount(change.before))
        .sum();
    must!(out > 0 && arrives == out, "rewards go to their keeper", "{at}: {arrives} of {out}");
    let by_awards = i128::from(keeper.earned);
    must!(act.after::<Keeper>(&at).is_some_and(|now| now.earned == 0), "rewards are claimed once", "{at}");
    must!(
        i128::from(before.earned) - i128::from(after.earned) == by_awards && before.pending == after.pending,
        "a claim takes what was earned",
        "{at}"
    );
    let by_vote = out - by_awards;
    let Some((was, now)) = act.changes::<Report>().find_map(|change| change.both()) else {
        must!(by_vote == 0, "a share is of a report", "{at}: {by_vote}");
        return Ok(());
    };
    let most = i128::from(was.reward) * i128::from(keeper.weight) / i128::from(was.reward_weight.max(1));
    must!(by_vote <= most, "a share is by weight", "{at}: {by_vote} of {most}");
    let (byte, bit) = (usize::from(keeper.index) / 8, 1u8 << (keeper.index % 8));
    let once = was.reward_voters[byte] & bit != 0 && now.reward_voters[byte] & bit == 0;
    must!(once, "a share is taken once, by a voter", "{at} of period {}", was.period);
    must!(keeper.active_since < was.created_at, "who became active since did not vote", "{at}");
    let left = i128::from(was.reward_left) - i128::from(now.reward_left);
    must!(left == by_vote, "a share is taken from its report", "{at}: {left} and {by_vote}");
    Ok(())
}

fn buy_back(act: &Act, market: &Market, before: &Rewards, after: &Rewards) -> Verdict {
    let (paid, burned) = (-gain(act, &market.fee_vault), bought_back(act));
    must!(
        paid == i128::from(before.buy_back) && after.buy_back == 0 && paid > 0,
        "a buyer takes all that waits",
        "{paid} of {}",
        before.buy_back
    );
    let want = least(&market.params, before, act.now);
    must!(burned >= want, "a buy-back burns its price", "{burned} of {want}");
    let limit = act.instruction.data.get(8..16).and_then(|data| data.try_into().ok()).map(u64::from_le_bytes);
    must!(
        limit.is_some_and(|limit| burned <= i128::from(limit)),
        "a buyer's limit holds",
        "{burned}, {limit:?}"
    );
    must!(after.buy_back_since == act.now, "an offer begins anew", "{}", act.now);
    let given = act.instruction.accounts[6].pubkey;
    must!(gain(act, &given) == paid, "a buyer is paid where it says", "{given}");
    Ok(())
}

fn emission(act: &Act, market: &Market, before: &Rewards, after: &Rewards) -> Verdict {
    let emitted = i128::from(after.emitted_total) - i128::from(before.emitted_total);
    let out = -gain(act, &pda::emission_vault());
    must!(emitted == out && out > 0, "what is emitted is counted", "{emitted} and {out}");
    let day = u64::try_from(act.now).expect("after 1970") / DAY;
    let spent = if before.emission_day == day { before.emitted_today } else { 0 };
    let today = i128::from(spent) + out;
    must!(
        after.emission_day == day && i128::from(after.emitted_today) == today,
        "a day's emission is counted",
        "{today}"
    );
    must!(today <= i128::from(market.params.emission_cap), "a day's emission has its cap", "{today}");
    let Some((was, now)) = act.changes::<Provider>().find_map(|change| change.both()) else {
        must!(false, "emission is a provider's stake", "{}", act.name);
        return Ok(());
    };
    let staked = i128::from(now.stake) - i128::from(was.stake);
    must!(staked == out, "emission is a provider's stake", "{staked} of {out}");
    let taken = i128::from(was.emission) - i128::from(now.emission);
    must!(taken == out, "emission is what was earned", "{out} of {taken}");
    Ok(())
}
