//! A builder for every instruction. Each names the right accounts; tests of refusals swap one.

mod auction;
mod cells;
mod credits;
mod dispute;
mod ed25519;
mod keeper;
mod lease;
mod market;
mod node;
mod order;
mod outage;
mod output;
mod payouts;
mod proofs;
mod provider;
mod report;
mod rewards;

use anchor_lang::{Discriminator, InstructionData, ToAccountMetas};
use gantry_market::{instruction, ID};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};

pub use auction::*;
pub use cells::*;
pub use credits::*;
pub use dispute::*;
pub use ed25519::*;
pub use keeper::*;
pub use lease::*;
pub use market::*;
pub use node::*;
pub use order::*;
pub use outage::*;
pub use output::*;
pub use payouts::*;
pub use proofs::*;
pub use provider::*;
pub use report::*;
pub use rewards::*;

pub fn system_program() -> Address {
    use anchor_lang::Id;
    anchor_lang::programs::System::id()
}

pub fn instructions_sysvar() -> Address {
    Address::from_str_const("Sysvar1nstructions1111111111111111111111111")
}

fn build(accounts: impl ToAccountMetas, data: impl InstructionData) -> Instruction {
    Instruction { program_id: ID, accounts: accounts.to_account_metas(None), data: data.data() }
}

fn with_remaining(mut instruction: Instruction, remaining: Vec<AccountMeta>) -> Instruction {
    instruction.accounts.extend(remaining);
    instruction
}

macro_rules! names {
    ($($kind:ident => $name:literal),* $(,)?) => {
        /// Every instruction's discriminator and name.
        pub fn all_names() -> Vec<(&'static [u8], &'static str)> {
            vec![$((<instruction::$kind as Discriminator>::DISCRIMINATOR, $name)),*]
        }
    };
}

names! {
    MarketInit => "market_init",
    MarketProposeParams => "market_propose_params",
    MarketApplyParams => "market_apply_params",
    MarketPause => "market_pause",
    MarketProposeRoles => "market_propose_roles",
    MarketApplyRoles => "market_apply_roles",
    GpuModelPropose => "gpu_model_propose",
    GpuModelApply => "gpu_model_apply",
    ProviderRegister => "provider_register",
    ProviderSetPayout => "provider_set_payout",
    ProviderStake => "provider_stake",
    ProviderRequestUnstake => "provider_request_unstake",
    ProviderWithdrawStake => "provider_withdraw_stake",
    ProviderClose => "provider_close",
    NodeRegister => "node_register",
    NodeSetEvidence => "node_set_evidence",
    NodeUpdate => "node_update",
    NodeAcceptTerms => "node_accept_terms",
    NodeGuarantee => "node_guarantee",
    GuaranteeResolve => "guarantee_resolve",
    NodeReportDead => "node_report_dead",
    NodeRetire => "node_retire",
    NodeClose => "node_close",
    KeeperRegister => "keeper_register",
    KeeperUpdate => "keeper_update",
    KeeperSetSigner => "keeper_set_signer",
    KeeperActivate => "keeper_activate",
    KeeperSuspend => "keeper_suspend",
    KeeperRequestExit => "keeper_request_exit",
    KeeperWithdraw => "keeper_withdraw",
    AuctionOpen => "auction_open",
    AuctionAward => "auction_award",
    AuctionClose => "auction_close",
    CreditsDeposit => "credits_deposit",
    CreditsWithdraw => "credits_withdraw",
    CreditsClose => "credits_close",
    CreditsSetSessionKey => "credits_set_session_key",
    OrderCreate => "order_create",
    OrderCancel => "order_cancel",
    OrderExpire => "order_expire",
    OrderAward => "order_award",
    OrderReopen => "order_reopen",
    LeaseStart => "lease_start",
    LeaseAbort => "lease_abort",
    LeaseDecline => "lease_decline",
    LeaseExtend => "lease_extend",
    LeaseSettleReceipt => "lease_settle_receipt",
    LeaseSettleReport => "lease_settle_report",
    LeaseEnd => "lease_end",
    LeaseCheckpoint => "lease_checkpoint",
    LeaseMigrate => "lease_migrate",
    LeaseRate => "lease_rate",
    LeaseClose => "lease_close",
    ReportVote => "report_vote",
    ReportApply => "report_apply",
    ReportClose => "report_close",
    FaultOpen => "fault_open",
    SlashApply => "slash_apply",
    SlashCompensate => "slash_compensate",
    SlashClose => "slash_close",
    PayoutClaim => "payout_claim",
    SlashAppeal => "slash_appeal",
    FraudProofCommitment => "fraud_proof_commitment",
    FraudProofLeaf => "fraud_proof_leaf",
    FraudProofClose => "fraud_proof_close",
    ProveWrongCell => "prove_wrong_cell",
    ProveBetterAsk => "prove_better_ask",
    ProveEquivocation => "prove_equivocation",
    ProveOmittedBid => "prove_omitted_bid",
    DisputeOpen => "dispute_open",
    DisputeVote => "dispute_vote",
    DisputeResolve => "dispute_resolve",
    DisputeUphold => "dispute_uphold",
    OutageVote => "outage_vote",
    LeaseOutage => "lease_outage",
    OutageClose => "outage_close",
    OutputCommit => "output_commit",
    OutputReveal => "output_reveal",
    OutputResolve => "output_resolve",
    OutputForfeit => "output_forfeit",
    RewardsAccrue => "rewards_accrue",
    RewardsClaim => "rewards_claim",
    RewardsBuyBack => "rewards_buy_back",
    EmissionClaim => "emission_claim",
}

/// The name of the instruction that this data calls.
pub fn name_of(data: &[u8]) -> Option<&'static str> {
    all_names().into_iter().find(|(tag, _)| data.starts_with(tag)).map(|(_, name)| name)
}
