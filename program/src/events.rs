//! One event for every state change, so that a history can be rebuilt from transactions alone.

use anchor_lang::prelude::*;

#[event]
pub struct MarketInitialised {
    pub authority: Address,
    pub payment_mint: Address,
    pub stake_mint: Address,
}
#[event]
pub struct ParamsProposed {
    pub eta: i64,
}
#[event]
pub struct ParamsApplied {
    pub at: i64,
}
#[event]
pub struct MarketPaused {
    pub by: Address,
    pub paused: u8,
}
#[event]
pub struct AuthorityProposed {
    pub pending: Address,
}
#[event]
pub struct AuthorityChanged {
    pub authority: Address,
    pub guardian: Address,
}
#[event]
pub struct GpuModelSet {
    pub id: u16,
    pub min_stake: u64,
}

#[event]
pub struct ProviderRegistered {
    pub provider: Address,
    pub wallet: Address,
}
#[event]
pub struct ProviderPayoutSet {
    pub provider: Address,
    pub payout: Address,
}
#[event]
pub struct StakeAdded {
    pub provider: Address,
    pub amount: u64,
    pub stake: u64,
}
#[event]
pub struct UnstakeRequested {
    pub provider: Address,
    pub amount: u64,
    pub unstake_at: i64,
}
#[event]
pub struct StakeWithdrawn {
    pub provider: Address,
    pub amount: u64,
}
#[event]
pub struct ProviderClosed {
    pub provider: Address,
}

#[event]
pub struct NodeRegistered {
    pub node: Address,
    pub provider: Address,
    pub model: u16,
    pub gpus: u8,
    pub price: u64,
    pub simulated: u8,
}
#[event]
pub struct NodeUpdated {
    pub node: Address,
    pub price: u64,
    pub status: u8,
}
/// An uptime guarantee began, or grew.
#[event]
pub struct UptimeGuaranteed {
    pub node: Address,
    pub since: i64,
    pub until: i64,
    pub guarantee_bps: u16,
}
/// An uptime guarantee is resolved. An amount of 0 means that it was kept.
#[event]
pub struct GuaranteeResolved {
    pub node: Address,
    pub provider: Address,
    pub finder: Address,
    pub guarantee_bps: u16,
    pub up_secs: u64,
    pub counted_secs: u64,
    pub amount: u64,
    pub finder_share: u64,
    pub burned: u64,
}
#[event]
pub struct NodeRetired {
    pub node: Address,
    pub at: i64,
}
#[event]
pub struct NodeClosed {
    pub node: Address,
}
#[event]
pub struct EvidenceSet {
    pub node: Address,
    pub tier: u8,
    /// Until when the tier stands.
    pub until: i64,
    /// Claims that the node got by this, and how many it still misses.
    pub gained: u8,
    pub missing: u8,
}
#[event]
pub struct DeviceTaken {
    pub device: [u8; 32],
    pub from: Address,
    pub to: Address,
    pub tier: u8,
}

#[event]
pub struct KeeperRegistered {
    pub keeper: Address,
    pub wallet: Address,
    pub index: u16,
    pub bond: u64,
}
#[event]
pub struct KeeperUpdated {
    pub keeper: Address,
}
#[event]
pub struct KeeperActivated {
    pub keeper: Address,
    pub weight: u64,
    pub total_weight: u64,
}
#[event]
pub struct KeeperExitRequested {
    pub keeper: Address,
    pub exit_at: i64,
}
#[event]
pub struct KeeperWithdrawn {
    pub keeper: Address,
    pub amount: u64,
}

#[event]
pub struct CreditsDeposited {
    pub customer: Address,
    pub amount: u64,
    pub balance: u64,
}
#[event]
pub struct CreditsWithdrawn {
    pub customer: Address,
    pub amount: u64,
    pub balance: u64,
}
#[event]
pub struct CreditsClosed {
    pub customer: Address,
}
/// A cap of 0 removes the key.
#[event]
pub struct SessionKeySet {
    pub customer: Address,
    pub key: Address,
    pub cap: u64,
    pub expiry: i64,
}

#[event]
pub struct OrderCreated {
    pub order: Address,
    pub customer: Address,
    pub reserved: u64,
    pub max_price: u64,
    pub nodes: u8,
    pub gpus: u8,
    pub duration_secs: u32,
}
#[event]
pub struct OrderCancelled {
    pub order: Address,
    pub released: u64,
}
#[event]
pub struct OrderExpired {
    pub order: Address,
    pub released: u64,
}
#[event]
pub struct OrderReopened {
    pub order: Address,
    pub reserved: u64,
    pub nodes: u8,
    pub award_deadline: i64,
}
#[event]
pub struct OrderClosed {
    pub order: Address,
}
#[event]
pub struct LeaseAwarded {
    pub lease: Address,
    pub order: Address,
    pub node: Address,
    pub keeper: Address,
    pub price: u64,
    pub gpu_mask: u16,
    pub reserved: u64,
    pub released: u64,
    pub score: u64,
}

#[event]
pub struct AuctionOpened {
    pub order: Address,
    pub close_at: i64,
    pub reveal_until: i64,
    pub award_deadline: i64,
}
/// What a sealed award followed from; its lease is in `LeaseAwarded`.
#[event]
pub struct AuctionAwarded {
    pub order: Address,
    pub node: Address,
    pub keeper: Address,
    pub bid: u64,
    pub price: u64,
    pub score: u64,
    pub bar_node: Address,
    pub bar_score: u64,
    pub bids_root: [u8; 32],
}
#[event]
pub struct AuctionClosed {
    pub order: Address,
}

#[event]
pub struct LeaseStarted {
    pub lease: Address,
    pub started_at: i64,
    pub funded_until: i64,
    pub connection_hash: [u8; 32],
}
#[event]
pub struct LeaseAborted {
    pub lease: Address,
    pub released: u64,
    pub node_failed: u8,
}
#[event]
pub struct LeaseExtended {
    pub lease: Address,
    pub seconds: u32,
    pub reserved: u64,
    pub funded_until: i64,
}
#[event]
pub struct LeaseSettled {
    pub lease: Address,
    pub source: u8,
    pub paid_secs: u32,
    pub paid: u64,
    pub provider_amount: u64,
    pub fee_total: u64,
}
#[event]
pub struct LeaseNoticed {
    pub lease: Address,
    pub notice_at: i64,
}
/// The node has put a checkpoint down.
#[event]
pub struct LeaseCheckpointed {
    pub lease: Address,
    pub hash: [u8; 32],
}
/// The remaining time of a failed lease went to another node.
#[event]
pub struct LeaseMigrated {
    pub from: Address,
    pub to: Address,
    pub order: Address,
    pub node: Address,
    pub keeper: Address,
    pub price: u64,
    pub gpu_mask: u16,
    pub duration_secs: u32,
    pub reserved: u64,
    pub checkpoint: [u8; 32],
}
#[event]
pub struct LeaseEnded {
    pub lease: Address,
    pub reason: u8,
    pub ended_at: i64,
    pub released: u64,
}
#[event]
pub struct LeaseRated {
    pub lease: Address,
    pub node: Address,
    pub stars: u8,
    pub weight: u64,
}
#[event]
pub struct LeaseClosed {
    pub lease: Address,
    pub fee: u64,
    pub released: u64,
    pub paid: u64,
    pub paid_secs: u32,
}

/// A keeper's vote. A later one of the same keeper for the period moves it there.
#[event]
pub struct ReportVoted {
    pub period: u64,
    pub keeper: Address,
    pub root: [u8; 32],
    pub weight: u64,
}
#[event]
pub struct ReportFinalised {
    pub period: u64,
    pub root: [u8; 32],
    pub weight: u64,
    pub total_weight: u64,
}
#[event]
pub struct LeafApplied {
    pub node: Address,
    pub lease: Address,
    pub period: u64,
    pub flags: u16,
    pub verified_secs: u32,
    pub downtime_secs: u32,
}
#[event]
pub struct LeaseFailed {
    pub lease: Address,
    pub period: u64,
    pub ended_at: i64,
}
#[event]
pub struct ReportClosed {
    pub period: u64,
}

#[event]
pub struct FaultOpened {
    pub fault: Address,
    pub node: Address,
    pub lease: Address,
    pub period: u64,
    pub flags: u16,
    pub amount: u64,
    pub harm: u64,
    pub applicable_at: i64,
}
#[event]
pub struct FaultAppealed {
    pub fault: Address,
    pub keeper: Address,
    pub flag: u16,
    pub weight: u64,
}
#[event]
pub struct FaultVoided {
    pub fault: Address,
    pub node: Address,
}
#[event]
pub struct SlashApplied {
    pub fault: Address,
    pub provider: Address,
    pub amount: u64,
    pub customer: u64,
    pub finder: u64,
    pub burned: u64,
}

#[event]
pub struct FraudProofOpened {
    pub fraud_proof: Address,
    pub node: Address,
    pub finder: Address,
    pub period: u64,
    pub row: u32,
    pub column: u32,
}
#[event]
pub struct FraudProofClosed {
    pub fraud_proof: Address,
}
#[event]
pub struct BadWorkProven {
    pub node: Address,
    pub provider: Address,
    pub finder: Address,
    pub period: u64,
    pub row: u32,
    pub column: u32,
    pub claimed: i32,
    pub right: i32,
    pub amount: u64,
    pub finder_share: u64,
    pub burned: u64,
}
#[event]
pub struct EquivocationProven {
    pub keeper: Address,
    pub finder: Address,
    pub node: Address,
    pub lease: Address,
    pub period: u64,
    /// Of the check; 0 says that two manifests of the period were shown: then node, lease and second are zero.
    pub kind: u8,
    pub checked_at: i64,
    pub amount: u64,
    pub finder_share: u64,
    pub burned: u64,
}
#[event]
pub struct UnjustAwardProven {
    pub lease: Address,
    pub keeper: Address,
    pub finder: Address,
    pub better: Address,
    pub awarded_score: u64,
    pub better_score: u64,
    pub amount: u64,
    pub customer: u64,
    pub finder_share: u64,
    pub burned: u64,
}

#[event]
pub struct RewardsAccrued {
    pub period: u64,
    pub pool: u64,
    pub treasury: u64,
    pub buy_back: u64,
}
#[event]
pub struct RewardsClaimed {
    pub keeper: Address,
    pub by_awards: u64,
    pub by_vote: u64,
}
#[event]
pub struct BoughtBack {
    pub buyer: Address,
    pub burned: u64,
    pub paid: u64,
}
#[event]
pub struct Emitted {
    pub provider: Address,
    pub amount: u64,
    pub fees: u64,
}

#[event]
pub struct DisputeOpened {
    pub dispute: Address,
    pub lease: Address,
    pub kind: u8,
    pub evidence_hash: [u8; 32],
    pub deposit: u64,
    pub closes_at: i64,
}
#[event]
pub struct DisputeVoted {
    pub dispute: Address,
    pub keeper: Address,
    pub uphold: u8,
    pub weight: u64,
}
#[event]
pub struct DisputeResolved {
    pub dispute: Address,
    pub lease: Address,
    pub upheld: u8,
    pub deposit_lost: u64,
    pub upheld_weight: u64,
    pub rejected_weight: u64,
}

#[event]
pub struct OutputCommitted {
    pub lease: Address,
    pub commitment: [u8; 32],
}
#[event]
pub struct OutputRevealed {
    pub lease: Address,
    pub output: [u8; 32],
}
#[event]
pub struct OutputsResolved {
    pub order: Address,
    pub output: [u8; 32],
    pub accepted: u8,
    pub of: u8,
}
