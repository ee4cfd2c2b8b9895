//! Governance: who changed what, and when.

use gantry_market::state::{GpuModel, Market, Params};

use super::{must, Act, Change, Verdict};
use crate::pda;

pub fn check(act: &Act, before: &Market) -> Verdict {
    for change in act.changes::<GpuModel>() {
        model(act, before, &change)?;
    }
    let Some(change) = act.changes::<Market>().find(|change| change.at == pda::market()) else {
        return Ok(());
    };
    must!(change.after.is_some(), "the market stays", "{}", act.name);
    let after = change.after.expect("just checked");
    let by_authority = act.signed(&before.authority);
    if after.authority != before.authority {
        let named = after.authority == before.pending_authority && act.signed(&after.authority);
        must!(named, "authority is taken by the one named", "{}", act.name);
    }
    roles(act, before, after, by_authority)?;
    if after.paused != before.paused {
        must!(by_authority || act.signed(&before.guardian), "the guardian pauses", "{}", act.name);
    }
    if bytemuck::bytes_of(&after.params) != bytemuck::bytes_of(&before.params) {
        let proposed = bytemuck::bytes_of(&after.params) == bytemuck::bytes_of(&before.pending_params);
        must!(proposed, "parameters come from the proposal", "{}", act.name);
        let due = before.pending_eta != 0 && act.now >= before.pending_eta;
        must!(due, "parameters wait for their timelock", "{}, due {}", act.now, before.pending_eta);
        must!(after.params.period_secs == before.params.period_secs, "the period is fixed", "{}", act.name);
        must!(after.params.validate().is_ok(), "parameters are sound", "{}", act.name);
        let steps = steps(&before.params).into_iter().zip(steps(&after.params));
        must!(steps.into_iter().all(|(a, b)| near(a, b)), "governance moves in steps", "{}", act.name);
    }
    if after.pending_eta != before.pending_eta && after.pending_eta != 0 {
        must!(by_authority, "the authority proposes", "{}", act.name);
        let earliest = act.now + i64::from(before.params.timelock_secs);
        must!(after.pending_eta >= earliest, "a proposal waits", "{} before {earliest}", after.pending_eta);
    }
    let fixed = (after.payment_mint, after.stake_mint, after.fee_vault, after.domain)
        == (before.payment_mint, before.stake_mint, before.fee_vault, before.domain);
    must!(fixed, "mints, vault and domain are fixed", "{}", act.name);
    Ok(())
}

/// What moves in steps.
fn steps(params: &Params) -> Vec<u64> {
    let slashes = [
        params.slash_fraud_bps,
        params.slash_bad_work_bps,
        params.slash_work_failed_bps,
        params.slash_offline_bps,
        params.slash_guarantee_bps,
        params.slash_unjust_award_bps,
        params.slash_equivocation_bps,
    ];
    let amounts = [params.min_bond, params.weight_cap, params.stake_price, params.emission_cap];
    amounts.into_iter().chain(slashes.map(u64::from)).collect()
}

/// Whether neither is more than twice the other.
fn near(a: u64, b: u64) -> bool {
    u128::from(a) <= 2 * u128::from(b) && u128::from(b) <= 2 * u128::from(a)
}

fn roles(act: &Act, before: &Market, after: &Market, by_authority: bool) -> Verdict {
    let (is, was) = (
        [after.authority, after.guardian, after.treasury],
        [before.authority, before.guardian, before.treasury],
    );
    if is != was {
        let pending = [before.pending_authority, before.pending_guardian, before.pending_treasury];
        must!(is == pending, "roles come from the proposal", "{}", act.name);
        let due = before.pending_roles_eta != 0 && act.now >= before.pending_roles_eta;
        must!(due, "roles wait", "{}, due {}", act.now, before.pending_roles_eta);
    }
    let applied = after.pending_roles_eta == 0 && before.pending_roles_eta != 0;
    if after.pending_roles_eta != before.pending_roles_eta && !applied {
        must!(by_authority, "the authority proposes", "{}", act.name);
        let earliest = act.now + i64::from(before.params.timelock_secs);
        must!(
            after.pending_roles_eta >= earliest,
            "a proposal waits",
            "{} before {earliest}",
            after.pending_roles_eta
        );
    }
    Ok(())
}

/// A model's terms change only by a proposal of the authority, after its timelock, a step at a time; what the model is
/// never changes.
fn model(act: &Act, market: &Market, change: &Change<GpuModel>) -> Verdict {
    let at = change.at;
    must!(change.closed().is_none(), "models stay", "{at}");
    let Some(after) = change.after else { return Ok(()) };
    let (since, eta) = change.before.map_or((0, 0), |model| (model.since, model.pending_eta));
    if after.pending_eta != eta && after.pending_eta != 0 {
        must!(act.signed(&market.authority), "the authority proposes models", "{}: {at}", act.name);
        let earliest = act.now + i64::from(market.params.timelock_secs);
        must!(after.pending_eta >= earliest, "a proposal waits", "{} before {earliest}", after.pending_eta);
    }
    let Some(before) = change.before.filter(|_| since != 0) else {
        must!(after.since == 0 || (eta != 0 && act.now >= eta), "models wait for their timelock", "{at}");
        return Ok(());
    };
    let fixed = (before.name, before.vram_mib, before.tflops_x10, before.id)
        == (after.name, after.vram_mib, after.tflops_x10, after.id);
    must!(fixed, "a model stays what it is", "{at}");
    if before.terms() != after.terms() {
        let due = before.pending_eta != 0 && act.now >= before.pending_eta;
        must!(due, "models wait for their timelock", "{}: {at}", act.name);
        must!(after.terms() == before.pending, "terms come from the proposal", "{at}");
        let steps = [(before.min_stake, after.min_stake), (before.reference_price, after.reference_price)];
        must!(steps.into_iter().all(|(a, b)| near(a, b)), "governance moves in steps", "{at}");
        let figures =
            [(before.min_operations, after.min_operations), (before.min_bandwidth, after.min_bandwidth)];
        let fair = figures.into_iter().all(|(a, b)| a == 0 || near(a.into(), b.into()));
        must!(fair, "governance moves in steps", "{at}: figures");
        must!(after.min_tier <= before.min_tier + 1, "governance moves in steps", "{at}: tier");
    }
    Ok(())
}
