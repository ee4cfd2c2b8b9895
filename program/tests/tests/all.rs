//! All tests of the program in one binary: it links once.

mod compute;
mod credits_close;
mod credits_deposit;
mod credits_withdraw;
mod gpu_model_set;
mod keeper_activate;
mod keeper_register;
mod keeper_request_exit;
mod keeper_update;
mod keeper_withdraw;
mod market_accept_authority;
mod market_apply_params;
mod market_init;
mod market_pause;
mod market_propose_params;
mod market_set_authority;
mod math;
mod products;
mod provider_close;
mod provider_register;
mod provider_request_unstake;
mod provider_set_payout;
mod provider_stake;
mod provider_withdraw_stake;
mod vectors;
