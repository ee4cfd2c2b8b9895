//! Gantry's market: registry, staking, escrow, reputation and slashing for GPU compute.
//!
//! No key can take money or slash alone. Each instruction has a file of its own under `instructions`; the protocol is
//! described in docs/protocol/README.md.

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

use instructions::{
    auction::*, credits::*, dispute::*, keeper::*, lease::*, market::*, node::*, order::*, outage::*,
    output::*, provider::*, report::*, rewards::*, slashing::*,
};
use state::{InstantBlock, NodeSpec, Params};

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
        market_init::handler(ctx, params, domain, guardian)
    }
    pub fn market_propose_params(ctx: &mut Context<MarketProposeParams>, params: Params) -> Result<()> {
        market_propose_params::handler(ctx, params)
    }
    pub fn market_apply_params(ctx: &mut Context<MarketApplyParams>) -> Result<()> {
        market_apply_params::handler(ctx)
    }
    pub fn market_pause(ctx: &mut Context<MarketPause>, paused: u8) -> Result<()> {
        market_pause::handler(ctx, paused)
    }
    pub fn market_propose_roles(
        ctx: &mut Context<MarketProposeRoles>,
        authority: Address,
        guardian: Address,
    ) -> Result<()> {
        market_propose_roles::handler(ctx, authority, guardian)
    }
    pub fn market_apply_roles(ctx: &mut Context<MarketApplyRoles>) -> Result<()> {
        market_apply_roles::handler(ctx)
    }

    pub fn gpu_model_propose(ctx: &mut Context<GpuModelPropose>, args: GpuModelArgs) -> Result<()> {
        gpu_model_propose::handler(ctx, args)
    }
    pub fn gpu_model_apply(ctx: &mut Context<GpuModelApply>) -> Result<()> {
        gpu_model_apply::handler(ctx)
    }

    pub fn provider_register(ctx: &mut Context<ProviderRegister>) -> Result<()> {
        provider_register::handler(ctx)
    }
    pub fn provider_set_payout(ctx: &mut Context<ProviderSetPayout>) -> Result<()> {
        provider_set_payout::handler(ctx)
    }
    pub fn provider_stake(ctx: &mut Context<ProviderStake>, amount: u64) -> Result<()> {
        provider_stake::handler(ctx, amount)
    }
    pub fn provider_request_unstake(ctx: &mut Context<ProviderRequestUnstake>, amount: u64) -> Result<()> {
        provider_request_unstake::handler(ctx, amount)
    }
    pub fn provider_withdraw_stake(ctx: &mut Context<ProviderWithdrawStake>) -> Result<()> {
        provider_withdraw_stake::handler(ctx)
    }
    pub fn provider_close(ctx: &mut Context<ProviderClose>) -> Result<()> {
        provider_close::handler(ctx)
    }

    pub fn node_register(
        ctx: &mut Context<NodeRegister>,
        spec: NodeSpec,
        price: u64,
        devices: [[u8; 32]; 8],
    ) -> Result<()> {
        node_register::handler(ctx, spec, price, devices)
    }
    pub fn node_update(
        ctx: &mut Context<NodeUpdate>,
        price: u64,
        status: u8,
        isolation: u8,
        cuda: u16,
        spot_bps: u16,
    ) -> Result<()> {
        node_update::handler(ctx, price, status, isolation, cuda, spot_bps)
    }
    pub fn node_accept_terms(ctx: &mut Context<NodeAcceptTerms>) -> Result<()> {
        node_accept_terms::handler(ctx)
    }
    pub fn node_guarantee(ctx: &mut Context<NodeGuarantee>, until: i64, guarantee_bps: u16) -> Result<()> {
        node_guarantee::handler(ctx, until, guarantee_bps)
    }
    pub fn guarantee_resolve(ctx: &mut Context<GuaranteeResolve>) -> Result<()> {
        guarantee_resolve::handler(ctx)
    }
    pub fn node_report_dead(ctx: &mut Context<NodeReportDead>) -> Result<()> {
        node_report_dead::handler(ctx)
    }
    pub fn node_retire(ctx: &mut Context<NodeRetire>) -> Result<()> {
        node_retire::handler(ctx)
    }
    pub fn node_close(ctx: &mut Context<NodeClose>) -> Result<()> {
        node_close::handler(ctx)
    }

    pub fn node_set_evidence(ctx: &mut Context<NodeSetEvidence>, devices: [[u8; 32]; 8]) -> Result<()> {
        node_set_evidence::handler(ctx, devices)
    }

    pub fn keeper_register(
        ctx: &mut Context<KeeperRegister>,
        bond: u64,
        multiaddr: [u8; 128],
        multiaddr_len: u8,
        signer: Address,
    ) -> Result<()> {
        keeper_register::handler(ctx, bond, multiaddr, multiaddr_len, signer)
    }
    pub fn keeper_set_signer(ctx: &mut Context<KeeperSetSigner>, signer: Address) -> Result<()> {
        keeper_set_signer::handler(ctx, signer)
    }
    pub fn keeper_update(
        ctx: &mut Context<KeeperUpdate>,
        multiaddr: [u8; 128],
        multiaddr_len: u8,
    ) -> Result<()> {
        keeper_update::handler(ctx, multiaddr, multiaddr_len)
    }
    pub fn keeper_activate(ctx: &mut Context<KeeperActivate>) -> Result<()> {
        keeper_activate::handler(ctx)
    }
    pub fn keeper_suspend(ctx: &mut Context<KeeperSuspend>) -> Result<()> {
        keeper_suspend::handler(ctx)
    }
    pub fn keeper_request_exit(ctx: &mut Context<KeeperRequestExit>) -> Result<()> {
        keeper_request_exit::handler(ctx)
    }
    pub fn keeper_withdraw(ctx: &mut Context<KeeperWithdraw>) -> Result<()> {
        keeper_withdraw::handler(ctx)
    }

    pub fn credits_deposit(ctx: &mut Context<CreditsDeposit>, amount: u64) -> Result<()> {
        credits_deposit::handler(ctx, amount)
    }
    pub fn credits_withdraw(ctx: &mut Context<CreditsWithdraw>, amount: u64) -> Result<()> {
        credits_withdraw::handler(ctx, amount)
    }
    pub fn credits_close(ctx: &mut Context<CreditsClose>) -> Result<()> {
        credits_close::handler(ctx)
    }

    pub fn credits_set_session_key(
        ctx: &mut Context<CreditsSetSessionKey>,
        key: Address,
        cap: u64,
        expiry: i64,
    ) -> Result<()> {
        credits_set_session_key::handler(ctx, key, cap, expiry)
    }

    pub fn order_create(ctx: &mut Context<OrderCreate>, args: OrderArgs) -> Result<()> {
        order_create::handler(ctx, args)
    }
    pub fn order_cancel(ctx: &mut Context<OrderCancel>) -> Result<()> {
        order_cancel::handler(ctx)
    }
    pub fn order_expire(ctx: &mut Context<OrderExpire>) -> Result<()> {
        order_expire::handler(ctx)
    }
    pub fn order_award(ctx: &mut Context<OrderAward>, max_score: u64) -> Result<()> {
        order_award::handler(ctx, max_score)
    }

    pub fn order_reopen(ctx: &mut Context<OrderReopen>) -> Result<()> {
        order_reopen::handler(ctx)
    }

    pub fn auction_open(ctx: &mut Context<AuctionOpen>, auction_secs: u32, reveal_secs: u32) -> Result<()> {
        auction_open::handler(ctx, auction_secs, reveal_secs)
    }
    pub fn auction_award(
        ctx: &mut Context<AuctionAward>,
        bid: Reveal,
        losing_bid: Reveal,
        bids_root: [u8; 32],
    ) -> Result<()> {
        auction_award::handler(ctx, bid, losing_bid, bids_root)
    }
    pub fn auction_close(ctx: &mut Context<AuctionClose>) -> Result<()> {
        auction_close::handler(ctx)
    }

    pub fn lease_start(ctx: &mut Context<LeaseStart>, connection_hash: [u8; 32]) -> Result<()> {
        lease_start::handler(ctx, connection_hash)
    }
    pub fn lease_abort(ctx: &mut Context<LeaseAbort>) -> Result<()> {
        lease_abort::handler(ctx)
    }
    pub fn lease_decline(ctx: &mut Context<LeaseDecline>, reason: u8, job: [u8; 32]) -> Result<()> {
        lease_decline::handler(ctx, reason, job)
    }
    pub fn lease_extend(ctx: &mut Context<LeaseExtend>, seconds: u32) -> Result<()> {
        lease_extend::handler(ctx, seconds)
    }
    pub fn lease_settle_receipt(
        ctx: &mut Context<LeaseSettleReceipt>,
        sequence: u64,
        seconds: u32,
    ) -> Result<()> {
        lease_settle_receipt::handler(ctx, sequence, seconds)
    }
    pub fn lease_settle_report(ctx: &mut Context<LeaseSettleReport>) -> Result<()> {
        lease_settle_report::handler(ctx)
    }
    pub fn lease_end(ctx: &mut Context<LeaseEnd>, immediate: u8) -> Result<()> {
        lease_end::handler(ctx, immediate)
    }
    pub fn lease_checkpoint(ctx: &mut Context<LeaseCheckpoint>, hash: [u8; 32]) -> Result<()> {
        lease_checkpoint::handler(ctx, hash)
    }
    pub fn lease_migrate(ctx: &mut Context<LeaseMigrate>, max_score: u64) -> Result<()> {
        lease_migrate::handler(ctx, max_score)
    }
    pub fn lease_rate(ctx: &mut Context<LeaseRate>, stars: u8) -> Result<()> {
        lease_rate::handler(ctx, stars)
    }
    pub fn lease_close(ctx: &mut Context<LeaseClose>) -> Result<()> {
        lease_close::handler(ctx)
    }

    pub fn report_vote(ctx: &mut Context<ReportVote>, period: u64, root: [u8; 32]) -> Result<()> {
        report_vote::handler(ctx, period, root)
    }
    pub fn report_apply(
        ctx: &mut Context<ReportApply>,
        leaf: [u8; 176],
        path: u32,
        proof: Vec<[u8; 32]>,
    ) -> Result<()> {
        report_apply::handler(ctx, leaf, path, proof)
    }
    pub fn report_close(ctx: &mut Context<ReportClose>) -> Result<()> {
        report_close::handler(ctx)
    }

    pub fn fault_open(
        ctx: &mut Context<FaultOpen>,
        of_node: u8,
        leaf: [u8; 176],
        path: u32,
        proof: Vec<[u8; 32]>,
    ) -> Result<()> {
        fault_open::handler(ctx, of_node, leaf, path, proof)
    }

    pub fn slash_apply(ctx: &mut Context<SlashApply>) -> Result<()> {
        slash_apply::handler(ctx)
    }
    pub fn slash_compensate(ctx: &mut Context<SlashCompensate>) -> Result<()> {
        slash_compensate::handler(ctx)
    }
    pub fn slash_close(ctx: &mut Context<SlashClose>) -> Result<()> {
        slash_close::handler(ctx)
    }
    pub fn slash_appeal(ctx: &mut Context<SlashAppeal>, statement: [u8; 144]) -> Result<()> {
        slash_appeal::handler(ctx, statement)
    }

    pub fn payout_claim(ctx: &mut Context<PayoutClaim>) -> Result<()> {
        payout_claim::handler(ctx)
    }

    pub fn fraud_proof_close(ctx: &mut Context<FraudProofClose>) -> Result<()> {
        fraud_proof_close::handler(ctx)
    }
    pub fn fraud_proof_commitment(
        ctx: &mut Context<FraudProofCommitment>,
        block: InstantBlock,
        entry: [u8; 145],
    ) -> Result<()> {
        fraud_proof_commitment::handler(ctx, block, entry)
    }
    pub fn fraud_proof_leaf(
        ctx: &mut Context<FraudProofLeaf>,
        place: CellPlace,
        leaf: [u8; 256],
        siblings: Vec<[u8; 32]>,
    ) -> Result<()> {
        fraud_proof_leaf::handler(ctx, place, leaf, siblings)
    }
    pub fn prove_wrong_cell(ctx: &mut Context<ProveWrongCell>, siblings: Vec<[u8; 32]>) -> Result<()> {
        prove_wrong_cell::handler(ctx, siblings)
    }
    pub fn prove_better_ask(ctx: &mut Context<ProveBetterAsk>) -> Result<()> {
        prove_better_ask::handler(ctx)
    }
    pub fn prove_omitted_bid(
        ctx: &mut Context<ProveOmittedBid>,
        bid: Reveal,
        received_at: i64,
    ) -> Result<()> {
        prove_omitted_bid::handler(ctx, bid, received_at)
    }
    pub fn prove_equivocation(ctx: &mut Context<ProveEquivocation>) -> Result<()> {
        prove_equivocation::handler(ctx)
    }

    pub fn dispute_open(ctx: &mut Context<DisputeOpen>, kind: u8, evidence_hash: [u8; 32]) -> Result<()> {
        dispute_open::handler(ctx, kind, evidence_hash)
    }
    pub fn dispute_vote(ctx: &mut Context<DisputeVote>, uphold: u8) -> Result<()> {
        dispute_vote::handler(ctx, uphold)
    }
    pub fn dispute_resolve(ctx: &mut Context<DisputeResolve>) -> Result<()> {
        dispute_resolve::handler(ctx)
    }
    pub fn dispute_uphold(ctx: &mut Context<DisputeUphold>) -> Result<()> {
        dispute_uphold::handler(ctx)
    }

    pub fn outage_vote(ctx: &mut Context<OutageVote>, last_answer: i64) -> Result<()> {
        outage_vote::handler(ctx, last_answer)
    }
    pub fn lease_outage(ctx: &mut Context<LeaseOutage>) -> Result<()> {
        lease_outage::handler(ctx)
    }
    pub fn outage_close(ctx: &mut Context<OutageClose>) -> Result<()> {
        outage_close::handler(ctx)
    }

    pub fn output_commit(ctx: &mut Context<OutputCommit>, commitment: [u8; 32]) -> Result<()> {
        output_commit::handler(ctx, commitment)
    }
    pub fn output_reveal(ctx: &mut Context<OutputReveal>, output: [u8; 32], salt: [u8; 32]) -> Result<()> {
        output_reveal::handler(ctx, output, salt)
    }
    pub fn output_resolve(ctx: &mut Context<OutputResolve>) -> Result<()> {
        output_resolve::handler(ctx)
    }
    pub fn output_forfeit(ctx: &mut Context<OutputForfeit>) -> Result<()> {
        output_forfeit::handler(ctx)
    }

    pub fn rewards_accrue(ctx: &mut Context<RewardsAccrue>) -> Result<()> {
        rewards_accrue::handler(ctx)
    }
    pub fn rewards_claim(ctx: &mut Context<RewardsClaim>) -> Result<()> {
        rewards_claim::handler(ctx)
    }
    pub fn rewards_buy_back(ctx: &mut Context<RewardsBuyBack>, max_burn: u64) -> Result<()> {
        rewards_buy_back::handler(ctx, max_burn)
    }
    pub fn emission_claim(ctx: &mut Context<EmissionClaim>) -> Result<()> {
        emission_claim::handler(ctx)
    }
}
