use gantry_market::state::{Market, Params};
use solana_signer::Signer;

use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

fn market(s: &Scene) -> Option<Market> {
    s.a.ledger.get::<Market>(&pda::market()).copied()
}

pub fn market_init(s: &mut Scene) -> Option<Plan> {
    one(ix::market_init(&s.a.w))
}

pub fn market_propose_params(s: &mut Scene) -> Option<Plan> {
    let mut params: Params = market(s)?.params;
    match s.below(12) {
        0 => params.fee_bps = 900 + s.below(700) as u16,
        1 => params.quorum_bps = 6_600 + s.below(400) as u16,
        2 => params.appeal_secs = 100 + s.below(400) as u32,
        3 => params.finder_bps = s.below(1_200) as u16,
        4 => params.unstake_cooldown_secs = 900 + s.below(200) as u32,
        5 => params.notice_secs = s.below(120) as u32,
        6 => params.stake_price = s.about(2_000_000),
        7 => params.dispute_deposit = s.about(5_000_000),
        8 => params.emission_bps = s.below(4_000) as u16,
        9 => params.emission_cap = s.about(2_000_000_000_000),
        10 => params.slash_offline_bps = s.about(1_000) as u16,
        _ => params.period_secs = s.r.u32(),
    }
    let propose = ix::market_propose_params(&s.a.w, params);
    if s.once_in(3) {
        // At once, which is too early.
        return Some(vec![Step::Send(vec![propose]), Step::Send(vec![ix::market_apply_params()])]);
    }
    one(propose)
}

pub fn market_apply_params(_: &mut Scene) -> Option<Plan> {
    one(ix::market_apply_params())
}

/// Open more often than not: otherwise little would happen.
pub fn market_pause(s: &mut Scene) -> Option<Plan> {
    let paused = [1, 2, 3].get(s.below(20)).copied().unwrap_or(0);
    let by = if s.once_in(2) { s.a.w.guardian.pubkey() } else { s.a.w.authority.pubkey() };
    one(ix::market_pause(&by, paused))
}

/// Mostly the roles that the scenario knows. At times the treasury is somebody else's account, or the guardian is to be the next
/// authority.
pub fn market_propose_roles(s: &mut Scene) -> Option<Plan> {
    let (mut heir, guardian, mut treasury) =
        (s.a.w.authority.pubkey(), s.a.w.guardian.pubkey(), s.a.w.treasury);
    if s.once_in(3) {
        let actor = s.actor();
        let fees = market(s)?.fee_vault;
        treasury = [actor.payment, actor.stake, fees][s.below(3)];
    }
    if s.once_in(4) {
        heir = s.a.w.guardian.pubkey();
    }
    let propose = ix::market_propose_successor(&s.a.w, heir, guardian, treasury);
    if s.once_in(3) {
        return Some(vec![Step::Send(vec![propose]), Step::Send(vec![ix::market_apply_roles(&s.a.w)])]);
    }
    one(propose)
}

/// Never by the next authority: the authority that the scenario knows stays in office.
pub fn market_apply_roles(s: &mut Scene) -> Option<Plan> {
    one(ix::market_apply_roles(&s.a.w))
}

/// Two models that are steps from those in force, or too far, or new.
pub fn gpu_model_propose(s: &mut Scene) -> Option<Plan> {
    let mut args = ix::h100();
    args.id = 1 + s.below(2) as u16;
    args.min_stake = 8_000_000_000 + s.below(10_000_000_000) as u64;
    match s.below(6) {
        0 => args.min_operations = s.about(4_000) as u32,
        1 => args.min_bandwidth = s.about(4_000) as u32,
        2 => args.min_tier = s.below(5) as u8,
        3 => args.vram_mib += 1,
        _ => {}
    }
    let propose = ix::gpu_model_propose(&s.a.w, args);
    if s.once_in(3) {
        return Some(vec![Step::Send(vec![propose]), Step::Send(vec![ix::gpu_model_apply(args.id)])]);
    }
    one(propose)
}

pub fn gpu_model_apply(s: &mut Scene) -> Option<Plan> {
    one(ix::gpu_model_apply(1 + s.below(2) as u16))
}
