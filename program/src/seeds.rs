//! Every seed of every program-derived address, in one place.

/// The one market: `[MARKET]`.
pub const MARKET: &[u8] = b"market";
/// Where swept protocol fees wait: `[FEE_VAULT]`, a token account of the market.
pub const FEE_VAULT: &[u8] = b"fee_vault";
/// Who the fees in the vault belong to: `[REWARDS]`.
pub const REWARDS: &[u8] = b"rewards";
/// What emission is paid from: `[EMISSION_VAULT]`, a stake-token account of the market.
pub const EMISSION_VAULT: &[u8] = b"emission_vault";
/// Where parts of slashes wait for their payout: `[PAYOUT_VAULT]`, a stake-token account of the market.
pub const PAYOUT_VAULT: &[u8] = b"payout_vault";
/// `[GPU_MODEL, id u16 LE]`.
pub const GPU_MODEL: &[u8] = b"gpu_model";
/// `[PROVIDER, wallet]`.
pub const PROVIDER: &[u8] = b"provider";
/// `[NODE, provider account, node key]`.
pub const NODE: &[u8] = b"node";
/// `[DEVICE, device identity]`.
pub const DEVICE: &[u8] = b"device";
/// Claim of a GPU's own key, which its report proves: `[GPU_KEY, hash of the key]`.
pub const GPU_KEY: &[u8] = b"gpu_key";
/// `[KEEPER, wallet]`.
pub const KEEPER: &[u8] = b"keeper";
/// Stake of a provider or bond of a keeper: `[STAKE_VAULT, provider or keeper account]`.
pub const STAKE_VAULT: &[u8] = b"stake_vault";
/// `[CREDITS, customer wallet]`.
pub const CREDITS: &[u8] = b"credits";
/// `[CREDITS_VAULT, credits account]`.
pub const CREDITS_VAULT: &[u8] = b"credits_vault";
/// `[ORDER, customer wallet, nonce u64 LE]`.
pub const ORDER: &[u8] = b"order";
/// `[LEASE, order account, node account]`; of a lease that moved, `[LEASE, failed lease account, node account]`.
pub const LEASE: &[u8] = b"lease";
/// Auction of a sealed order: `[AUCTION, order account]`.
pub const AUCTION: &[u8] = b"auction";
/// `[REPORT, period u64 LE]`.
pub const REPORT: &[u8] = b"report";
/// `[DISPUTE, lease account]`.
pub const DISPUTE: &[u8] = b"dispute";
/// Fault of an upheld dispute: `[DISPUTE_FAULT, lease account]`; a lease is disputed once.
pub const DISPUTE_FAULT: &[u8] = b"dispute_fault";
/// `[FAULT, node account, lease account or zeroes, period u64 LE]`.
pub const FAULT: &[u8] = b"fault";
/// Fault of a broken uptime guarantee: `[GUARANTEE_FAULT, node account, end of the guarantee i64 LE]`.
pub const GUARANTEE_FAULT: &[u8] = b"guarantee_fault";
/// Fault of proven bad work: `[WORK_FAULT, fraud proof account, period that was signed for u64 LE]`.
pub const WORK_FAULT: &[u8] = b"work_fault";
/// `[PAYOUT, beneficiary wallet, source: fault, node or keeper account]`.
pub const PAYOUT: &[u8] = b"payout";
/// `[FRAUD_PROOF, node account, finder wallet]`.
pub const FRAUD_PROOF: &[u8] = b"fraud_proof";
/// What keepers say of a silent node: `[OUTAGE, node account]`.
pub const OUTAGE: &[u8] = b"outage";
/// Fault of an outage that ended a lease: `[OUTAGE_FAULT, lease account]`; a lease fails once.
pub const OUTAGE_FAULT: &[u8] = b"outage_fault";
