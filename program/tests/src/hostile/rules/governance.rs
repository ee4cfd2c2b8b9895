//! Governance: who changed what, and when.

use gantry_market::state::{GpuModel, Market};

use super::{must, Act, Verdict};
use crate::pda;

pub fn check(act: &Act, before: &Market) -> Verdict {
    for change in act.changes::<GpuModel>() {
        must!(change.closed().is_none(), "models stay", "{}", change.at);
        must!(act.signed(&before.authority), "the authority sets models", "{}: {}", act.name, change.at);
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
    if (after.pending_authority, after.guardian) != (before.pending_authority, before.guardian) {
        let taken = after.authority != before.authority && after.guardian == before.guardian;
        must!(by_authority || taken, "the authority names successor and guardian", "{}", act.name);
    }
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
