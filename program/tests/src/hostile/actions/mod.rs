//! A generator for every instruction: mostly right calls, from the state as it is.
//!
//! A new instruction needs one here; `every_instruction_has_a_generator` says which is missing.

mod auctions;
mod cells;
mod customers;
mod disputes;
mod governance;
mod keepers;
mod leases;
mod omitted;
mod outages;
mod outputs;
mod proofs;
mod providers;
mod repair;
mod reports;
mod rewards;
pub mod scenarios;
mod sealed;

use super::scene::{Plan, Scene};
pub use keepers::idles_of;
pub use omitted::BEFORE_PROOFS;
pub use outputs::leases_of;
pub use providers::{guaranteed_leases, node_close_of};
pub use scenarios::SCENARIOS;

/// An instruction's name, how often it is tried, and how.
pub struct Action {
    pub name: &'static str,
    pub weight: u64,
    pub plan: fn(&mut Scene) -> Option<Plan>,
}

const fn action(name: &'static str, weight: u64, plan: fn(&mut Scene) -> Option<Plan>) -> Action {
    Action { name, weight, plan }
}

pub const ACTIONS: &[Action] = &[
    action("market_init", 1, governance::market_init),
    action("market_propose_params", 2, governance::market_propose_params),
    action("market_apply_params", 2, governance::market_apply_params),
    action("market_pause", 3, governance::market_pause),
    action("market_propose_roles", 3, governance::market_propose_roles),
    action("market_apply_roles", 3, governance::market_apply_roles),
    action("gpu_model_propose", 4, governance::gpu_model_propose),
    action("gpu_model_apply", 4, governance::gpu_model_apply),
    action("provider_register", 2, providers::provider_register),
    action("provider_set_payout", 3, providers::provider_set_payout),
    action("provider_stake", 6, providers::provider_stake),
    action("provider_request_unstake", 6, providers::provider_request_unstake),
    action("provider_withdraw_stake", 5, providers::provider_withdraw_stake),
    action("provider_close", 1, providers::provider_close),
    action("node_register", 10, providers::node_register),
    action("node_update", 12, providers::node_update),
    action("node_report_dead", 5, providers::node_report_dead),
    action("node_retire", 1, providers::node_retire),
    action("node_close", 5, providers::node_close),
    action("node_set_evidence", 8, providers::node_set_evidence),
    action("node_accept_terms", 8, providers::node_accept_terms),
    action("node_guarantee", 5, providers::node_guarantee),
    action("guarantee_resolve", 6, providers::guarantee_resolve),
    action("keeper_register", 3, keepers::keeper_register),
    action("keeper_update", 1, keepers::keeper_update),
    action("keeper_set_signer", 2, keepers::keeper_set_signer),
    action("keeper_activate", 4, keepers::keeper_activate),
    action("keeper_suspend", 3, keepers::keeper_suspend),
    action("keeper_request_exit", 2, keepers::keeper_request_exit),
    action("keeper_withdraw", 3, keepers::keeper_withdraw),
    action("credits_deposit", 6, customers::credits_deposit),
    action("credits_withdraw", 5, customers::credits_withdraw),
    action("credits_close", 1, customers::credits_close),
    action("credits_set_session_key", 5, customers::credits_set_session_key),
    action("order_create", 18, customers::order_create),
    action("order_cancel", 5, customers::order_cancel),
    action("order_expire", 8, customers::order_expire),
    action("order_reopen", 4, customers::order_reopen),
    action("order_award", 20, leases::order_award),
    action("auction_open", 16, auctions::auction_open),
    action("auction_award", 14, auctions::auction_award),
    action("auction_close", 8, auctions::auction_close),
    action("lease_start", 16, leases::lease_start),
    action("lease_abort", 8, leases::lease_abort),
    action("lease_decline", 10, leases::lease_decline),
    action("lease_extend", 6, leases::lease_extend),
    action("lease_settle_receipt", 20, leases::lease_settle_receipt),
    action("lease_settle_report", 8, leases::lease_settle_report),
    action("lease_end", 10, leases::lease_end),
    action("lease_checkpoint", 2, leases::lease_checkpoint),
    action("lease_migrate", 40, leases::lease_migrate),
    action("lease_rate", 5, leases::lease_rate),
    action("lease_close", 10, leases::lease_close),
    action("report_vote", 12, reports::report_vote),
    action("report_apply", 16, reports::report_apply),
    action("report_close", 3, reports::report_close),
    action("fault_open", 8, reports::fault_open),
    action("slash_apply", 6, reports::slash_apply),
    action("slash_compensate", 8, reports::slash_compensate),
    action("slash_close", 3, reports::slash_close),
    action("payout_claim", 6, reports::payout_claim),
    action("slash_appeal", 8, reports::slash_appeal),
    action("rewards_accrue", 6, rewards::rewards_accrue),
    action("rewards_claim", 8, rewards::rewards_claim),
    action("rewards_buy_back", 7, rewards::rewards_buy_back),
    action("emission_claim", 8, rewards::emission_claim),
    action("dispute_open", 4, disputes::dispute_open),
    action("dispute_vote", 8, disputes::dispute_vote),
    action("dispute_resolve", 6, disputes::dispute_resolve),
    action("dispute_uphold", 5, disputes::dispute_uphold),
    action("outage_vote", 8, outages::outage_vote),
    action("lease_outage", 8, outages::lease_outage),
    action("outage_close", 3, outages::outage_close),
    action("output_commit", 12, outputs::output_commit),
    action("output_reveal", 12, outputs::output_reveal),
    action("output_resolve", 8, outputs::output_resolve),
    action("output_forfeit", 6, outputs::output_forfeit),
    action("prove_equivocation", 6, proofs::prove_equivocation),
    action("fraud_proof_close", 2, proofs::fraud_proof_close),
    action("fraud_proof_commitment", 3, cells::fraud_proof_commitment),
    action("fraud_proof_leaf", 4, cells::fraud_proof_leaf),
    action("prove_wrong_cell", 4, cells::prove_wrong_cell),
    action("prove_better_ask", 12, proofs::prove_better_ask),
    action("prove_omitted_bid", 16, omitted::prove_omitted_bid),
];
