//! Gantry's market: registry, staking, escrow, reputation and slashing for GPU compute.
//!
//! No key can take money or slash alone. What each instruction does stands in its own file under `instructions`;
//! the protocol is described in docs/protocol/README.md.

#![cfg_attr(not(any(test, feature = "idl-build")), no_std)]

extern crate alloc;

use alloc::vec::Vec;

use anchor_lang::prelude::*;
#[cfg(target_os = "solana")]
use solana_compiler_builtins as _;

pub mod constants;
pub mod errors;
pub mod events;
pub mod instructions;
pub mod math;
pub mod records;
pub mod security;
pub mod seeds;
pub mod signatures;
pub mod slashing;
pub mod state;
pub mod token;

use instructions::auction_award::*;
use instructions::auction_close::*;
use instructions::auction_open::*;
use instructions::credits_close::*;
use instructions::credits_deposit::*;
use instructions::credits_set_session_key::*;
use instructions::credits_withdraw::*;
use instructions::dispute_open::*;
use instructions::dispute_resolve::*;
use instructions::dispute_uphold::*;
use instructions::dispute_vote::*;
use instructions::emission_claim::*;
use instructions::fault_open::*;
use instructions::fraud_proof_close::*;
use instructions::fraud_proof_open::*;
use instructions::gpu_model_set::*;
use instructions::guarantee_resolve::*;
use instructions::keeper_activate::*;
use instructions::keeper_register::*;
use instructions::keeper_request_exit::*;
use instructions::keeper_update::*;
use instructions::keeper_withdraw::*;
use instructions::lease_abort::*;
use instructions::lease_checkpoint::*;
use instructions::lease_close::*;
use instructions::lease_end::*;
use instructions::lease_extend::*;
use instructions::lease_migrate::*;
use instructions::lease_rate::*;
use instructions::lease_settle_receipt::*;
use instructions::lease_settle_report::*;
use instructions::lease_start::*;
use instructions::market_accept_authority::*;
use instructions::market_apply_params::*;
use instructions::market_init::*;
use instructions::market_pause::*;
use instructions::market_propose_params::*;
use instructions::market_set_authority::*;
use instructions::node_close::*;
use instructions::node_guarantee::*;
use instructions::node_migrate::*;
use instructions::node_register::*;
use instructions::node_retire::*;
use instructions::node_set_evidence::*;
use instructions::node_update::*;
use instructions::order_award::*;
use instructions::order_cancel::*;
use instructions::order_create::*;
use instructions::order_expire::*;
use instructions::order_reopen::*;
use instructions::output_commit::*;
use instructions::output_resolve::*;
use instructions::output_reveal::*;
use instructions::prove_bad_work::*;
use instructions::prove_better_ask::*;
use instructions::prove_equivocation::*;
use instructions::prove_omitted_bid::*;
use instructions::provider_close::*;
use instructions::provider_register::*;
use instructions::provider_request_unstake::*;
use instructions::provider_set_payout::*;
use instructions::provider_stake::*;
use instructions::provider_withdraw_stake::*;
use instructions::report_apply::*;
use instructions::report_close::*;
use instructions::report_vote::*;
use instructions::rewards_accrue::*;
use instructions::rewards_buy_back::*;
use instructions::rewards_claim::*;
use instructions::slash_appeal::*;
use instructions::slash_apply::*;
use state::{NodeSpec, Params};

declare_id!("GNTrJPQZ6bK7RyiGMenRumgRC91SKmsM6oT9GsSpeeok");

#[program]
pub mod gantry_market {
    use super::*;

    pub fn market_init(
        ctx: &mut Context<MarketInit>,
        params: Params,
        domain: [u8; 8],
        guardian: Address,
    ) -> Result<()> {
        instructions::market_init::handler(ctx, params, domain, guardian)
    }
    pub fn market_propose_params(ctx: &mut Context<MarketProposeParams>, params: Params) -> Result<()> {
        instructions::market_propose_params::handler(ctx, params)
    }
    pub fn market_apply_params(ctx: &mut Context<MarketApplyParams>) -> Result<()> {
        instructions::market_apply_params::handler(ctx)
    }
    pub fn market_pause(ctx: &mut Context<MarketPause>, paused: u8) -> Result<()> {
        instructions::market_pause::handler(ctx, paused)
    }
    pub fn market_set_authority(
        ctx: &mut Context<MarketSetAuthority>,
        new_authority: Address,
        new_guardian: Address,
    ) -> Result<()> {
        instructions::market_set_authority::handler(ctx, new_authority, new_guardian)
    }
    pub fn market_accept_authority(ctx: &mut Context<MarketAcceptAuthority>) -> Result<()> {
        instructions::market_accept_authority::handler(ctx)
    }

    pub fn gpu_model_set(ctx: &mut Context<GpuModelSet>, args: GpuModelArgs) -> Result<()> {
        instructions::gpu_model_set::handler(ctx, args)
    }

    pub fn provider_register(ctx: &mut Context<ProviderRegister>) -> Result<()> {
        instructions::provider_register::handler(ctx)
    }
    pub fn provider_set_payout(ctx: &mut Context<ProviderSetPayout>) -> Result<()> {
        instructions::provider_set_payout::handler(ctx)
    }
    pub fn provider_stake(ctx: &mut Context<ProviderStake>, amount: u64) -> Result<()> {
        instructions::provider_stake::handler(ctx, amount)
    }
    pub fn provider_request_unstake(ctx: &mut Context<ProviderRequestUnstake>, amount: u64) -> Result<()> {
        instructions::provider_request_unstake::handler(ctx, amount)
    }
    pub fn provider_withdraw_stake(ctx: &mut Context<ProviderWithdrawStake>) -> Result<()> {
        instructions::provider_withdraw_stake::handler(ctx)
    }
    pub fn provider_close(ctx: &mut Context<ProviderClose>) -> Result<()> {
        instructions::provider_close::handler(ctx)
    }

    pub fn node_register(
        ctx: &mut Context<NodeRegister>,
        spec: NodeSpec,
        price: u64,
        devices: [[u8; 32]; 8],
    ) -> Result<()> {
        instructions::node_register::handler(ctx, spec, price, devices)
    }
    pub fn node_update(ctx: &mut Context<NodeUpdate>, price: u64, status: u8) -> Result<()> {
        instructions::node_update::handler(ctx, price, status)
    }
    pub fn node_guarantee(ctx: &mut Context<NodeGuarantee>, until: i64, guarantee_bps: u16) -> Result<()> {
        instructions::node_guarantee::handler(ctx, until, guarantee_bps)
    }
    pub fn guarantee_resolve(ctx: &mut Context<GuaranteeResolve>) -> Result<()> {
        instructions::guarantee_resolve::handler(ctx)
    }
    pub fn node_migrate(ctx: &mut Context<NodeMigrate>) -> Result<()> {
        instructions::node_migrate::handler(ctx)
    }
    pub fn node_retire(ctx: &mut Context<NodeRetire>) -> Result<()> {
        instructions::node_retire::handler(ctx)
    }
    pub fn node_close(ctx: &mut Context<NodeClose>) -> Result<()> {
        instructions::node_close::handler(ctx)
    }

    pub fn node_set_evidence(ctx: &mut Context<NodeSetEvidence>, devices: [[u8; 32]; 8]) -> Result<()> {
        instructions::node_set_evidence::handler(ctx, devices)
    }

    pub fn keeper_register(
        ctx: &mut Context<KeeperRegister>,
        bond: u64,
        multiaddr: [u8; 128],
        multiaddr_len: u8,
    ) -> Result<()> {
        instructions::keeper_register::handler(ctx, bond, multiaddr, multiaddr_len)
    }
    pub fn keeper_update(
        ctx: &mut Context<KeeperUpdate>,
        multiaddr: [u8; 128],
        multiaddr_len: u8,
    ) -> Result<()> {
        instructions::keeper_update::handler(ctx, multiaddr, multiaddr_len)
    }
    pub fn keeper_activate(ctx: &mut Context<KeeperActivate>) -> Result<()> {
        instructions::keeper_activate::handler(ctx)
    }
    pub fn keeper_request_exit(ctx: &mut Context<KeeperRequestExit>) -> Result<()> {
        instructions::keeper_request_exit::handler(ctx)
    }
    pub fn keeper_withdraw(ctx: &mut Context<KeeperWithdraw>) -> Result<()> {
        instructions::keeper_withdraw::handler(ctx)
    }

    pub fn credits_deposit(ctx: &mut Context<CreditsDeposit>, amount: u64) -> Result<()> {
        instructions::credits_deposit::handler(ctx, amount)
    }
    pub fn credits_withdraw(ctx: &mut Context<CreditsWithdraw>, amount: u64) -> Result<()> {
        instructions::credits_withdraw::handler(ctx, amount)
    }
    pub fn credits_close(ctx: &mut Context<CreditsClose>) -> Result<()> {
        instructions::credits_close::handler(ctx)
    }

    pub fn credits_set_session_key(
        ctx: &mut Context<CreditsSetSessionKey>,
        key: Address,
        cap: u64,
        expiry: i64,
    ) -> Result<()> {
        instructions::credits_set_session_key::handler(ctx, key, cap, expiry)
    }

    pub fn order_create(ctx: &mut Context<OrderCreate>, args: OrderArgs) -> Result<()> {
        instructions::order_create::handler(ctx, args)
    }
    pub fn order_cancel(ctx: &mut Context<OrderCancel>) -> Result<()> {
        instructions::order_cancel::handler(ctx)
    }
    pub fn order_expire(ctx: &mut Context<OrderExpire>) -> Result<()> {
        instructions::order_expire::handler(ctx)
    }
    pub fn order_award(ctx: &mut Context<OrderAward>, max_score: u64) -> Result<()> {
        instructions::order_award::handler(ctx, max_score)
    }

    pub fn order_reopen(ctx: &mut Context<OrderReopen>) -> Result<()> {
        instructions::order_reopen::handler(ctx)
    }

    pub fn auction_open(ctx: &mut Context<AuctionOpen>, auction_secs: u32, reveal_secs: u32) -> Result<()> {
        instructions::auction_open::handler(ctx, auction_secs, reveal_secs)
    }
    pub fn auction_award(
        ctx: &mut Context<AuctionAward>,
        bid: Reveal,
        losing_bid: Reveal,
        bids_root: [u8; 32],
    ) -> Result<()> {
        instructions::auction_award::handler(ctx, bid, losing_bid, bids_root)
    }
    pub fn auction_close(ctx: &mut Context<AuctionClose>) -> Result<()> {
        instructions::auction_close::handler(ctx)
    }

    pub fn lease_start(ctx: &mut Context<LeaseStart>, connection_hash: [u8; 32]) -> Result<()> {
        instructions::lease_start::handler(ctx, connection_hash)
    }
    pub fn lease_abort(ctx: &mut Context<LeaseAbort>) -> Result<()> {
        instructions::lease_abort::handler(ctx)
    }
    pub fn lease_extend(ctx: &mut Context<LeaseExtend>, seconds: u32) -> Result<()> {
        instructions::lease_extend::handler(ctx, seconds)
    }
    pub fn lease_settle_receipt(
        ctx: &mut Context<LeaseSettleReceipt>,
        sequence: u64,
        seconds: u32,
    ) -> Result<()> {
        instructions::lease_settle_receipt::handler(ctx, sequence, seconds)
    }
    pub fn lease_settle_report(ctx: &mut Context<LeaseSettleReport>) -> Result<()> {
        instructions::lease_settle_report::handler(ctx)
    }
    pub fn lease_end(ctx: &mut Context<LeaseEnd>, immediate: u8) -> Result<()> {
        instructions::lease_end::handler(ctx, immediate)
    }
    pub fn lease_checkpoint(ctx: &mut Context<LeaseCheckpoint>, hash: [u8; 32]) -> Result<()> {
        instructions::lease_checkpoint::handler(ctx, hash)
    }
    pub fn lease_migrate(ctx: &mut Context<LeaseMigrate>) -> Result<()> {
        instructions::lease_migrate::handler(ctx)
    }
    pub fn lease_rate(ctx: &mut Context<LeaseRate>, stars: u8) -> Result<()> {
        instructions::lease_rate::handler(ctx, stars)
    }
    pub fn lease_close(ctx: &mut Context<LeaseClose>) -> Result<()> {
        instructions::lease_close::handler(ctx)
    }

    pub fn report_vote(ctx: &mut Context<ReportVote>, period: u64, root: [u8; 32]) -> Result<()> {
        instructions::report_vote::handler(ctx, period, root)
    }
    pub fn report_apply(
        ctx: &mut Context<ReportApply>,
        leaf: [u8; 176],
        path: u32,
        proof: Vec<[u8; 32]>,
    ) -> Result<()> {
        instructions::report_apply::handler(ctx, leaf, path, proof)
    }
    pub fn report_close(ctx: &mut Context<ReportClose>) -> Result<()> {
        instructions::report_close::handler(ctx)
    }

    pub fn fault_open(
        ctx: &mut Context<FaultOpen>,
        leaf: [u8; 176],
        path: u32,
        proof: Vec<[u8; 32]>,
    ) -> Result<()> {
        instructions::fault_open::handler(ctx, leaf, path, proof)
    }

    pub fn slash_apply(ctx: &mut Context<SlashApply>) -> Result<()> {
        instructions::slash_apply::handler(ctx)
    }
    pub fn slash_appeal(ctx: &mut Context<SlashAppeal>, statement: [u8; 144]) -> Result<()> {
        instructions::slash_appeal::handler(ctx, statement)
    }

    pub fn fraud_proof_open(
        ctx: &mut Context<FraudProofOpen>,
        commitment: [u8; 128],
        row: u16,
        column: u16,
        chunk: [u8; 128],
    ) -> Result<()> {
        instructions::fraud_proof_open::handler(ctx, commitment, row, column, chunk)
    }
    pub fn fraud_proof_close(ctx: &mut Context<FraudProofClose>) -> Result<()> {
        instructions::fraud_proof_close::handler(ctx)
    }
    pub fn prove_bad_work(ctx: &mut Context<ProveBadWork>, siblings: Vec<[u8; 32]>) -> Result<()> {
        instructions::prove_bad_work::handler(ctx, siblings)
    }
    pub fn prove_better_ask(ctx: &mut Context<ProveBetterAsk>) -> Result<()> {
        instructions::prove_better_ask::handler(ctx)
    }
    pub fn prove_omitted_bid(
        ctx: &mut Context<ProveOmittedBid>,
        bid: Reveal,
        received_at: i64,
    ) -> Result<()> {
        instructions::prove_omitted_bid::handler(ctx, bid, received_at)
    }
    pub fn prove_equivocation(ctx: &mut Context<ProveEquivocation>) -> Result<()> {
        instructions::prove_equivocation::handler(ctx)
    }

    pub fn dispute_open(ctx: &mut Context<DisputeOpen>, kind: u8, evidence_hash: [u8; 32]) -> Result<()> {
        instructions::dispute_open::handler(ctx, kind, evidence_hash)
    }
    pub fn dispute_vote(ctx: &mut Context<DisputeVote>, uphold: u8) -> Result<()> {
        instructions::dispute_vote::handler(ctx, uphold)
    }
    pub fn dispute_resolve(ctx: &mut Context<DisputeResolve>) -> Result<()> {
        instructions::dispute_resolve::handler(ctx)
    }
    pub fn dispute_uphold(ctx: &mut Context<DisputeUphold>, period: u64) -> Result<()> {
        instructions::dispute_uphold::handler(ctx, period)
    }

    pub fn output_commit(ctx: &mut Context<OutputCommit>, commitment: [u8; 32]) -> Result<()> {
        instructions::output_commit::handler(ctx, commitment)
    }
    pub fn output_reveal(ctx: &mut Context<OutputReveal>, output: [u8; 32], salt: [u8; 32]) -> Result<()> {
        instructions::output_reveal::handler(ctx, output, salt)
    }
    pub fn output_resolve(ctx: &mut Context<OutputResolve>) -> Result<()> {
        instructions::output_resolve::handler(ctx)
    }

    pub fn rewards_accrue(ctx: &mut Context<RewardsAccrue>) -> Result<()> {
        instructions::rewards_accrue::handler(ctx)
    }
    pub fn rewards_claim(ctx: &mut Context<RewardsClaim>) -> Result<()> {
        instructions::rewards_claim::handler(ctx)
    }
    pub fn rewards_buy_back(ctx: &mut Context<RewardsBuyBack>, max_burn: u64) -> Result<()> {
        instructions::rewards_buy_back::handler(ctx, max_burn)
    }
    pub fn emission_claim(ctx: &mut Context<EmissionClaim>) -> Result<()> {
        instructions::emission_claim::handler(ctx)
    }
}
