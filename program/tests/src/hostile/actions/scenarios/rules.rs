use crate::hostile::harness::params;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::Scene;
use crate::hostile::trace::Step;
use crate::ix;

/// Parameters that leave no room for anything are changed back.
pub fn restored(s: &mut Scene) -> Option<Scenario> {
    let now = super::market(s)?.params;
    if bytemuck::bytes_of(&now) == bytemuck::bytes_of(&params()) {
        return None;
    }
    let wait = i64::from(now.timelock_secs.min(params().timelock_secs * 2));
    Some(
        Scenario::default()
            .then(|s| Some(vec![Step::Send(vec![ix::market_propose_params(&s.a.w, params())])]))
            .then(move |_| Some(vec![Step::Warp(wait)]))
            .then(|_| Some(vec![Step::Send(vec![ix::market_apply_params()])])),
    )
}
