//! How an account is checked when an instruction loads it, and how it is made: for all types the same code.

use anchor_lang::prelude::*;
use anchor_lang::{create_account_with_signers, Discriminator, SlabInit};

use super::{
    Auction, Credits, DeviceClaim, Dispute, Fault, FraudProof, GpuModel, Keeper, Lease, Market, Node, Order,
    Outage, Payout, Provider, Report, Rewards,
};

/// Bytes of an account before its content: what tells its type.
const TAG: usize = 8;

/// Whether the program owns the account, and it is of the type with the tag and as large; 1 or 0, which is tested at less cost
/// than a bool.
#[inline(never)]
fn is_of_type(view: AccountView, tag: u64, len: usize) -> u64 {
    // SAFETY: the room for an account's data is larger than a tag, however much of it is in use.
    let found = unsafe { view.data_ptr().cast::<u64>().read_unaligned() };
    u64::from(view.owned_by(&crate::ID) && view.data_len() >= len && found == tag)
}

/// Why it is not.
#[cold]
#[inline(never)]
fn refusal(view: AccountView, len: usize) -> ProgramError {
    if view.owned_by(&crate::ID) {
        return if view.data_len() < len {
            ProgramError::AccountDataTooSmall
        } else {
            ProgramError::InvalidAccountData
        };
    }
    if view.lamports() == 0 && view.owned_by(&System::id()) {
        ProgramError::UninitializedAccount
    } else {
        ProgramError::IllegalOwner
    }
}

/// Creates an account of `space` bytes and writes its tag.
#[inline(never)]
fn create(
    payer: &AccountView,
    account: &AccountView,
    space: usize,
    tag: u64,
    signer_seeds: Option<&[&[u8]]>,
    payer_signer_seeds: Option<&[&[u8]]>,
) -> Result<()> {
    create_account_with_signers(payer, account, space, &crate::ID, signer_seeds, payer_signer_seeds)?;
    let mut account = *account;
    // SAFETY: the account is new, so nobody has its data.
    let data = unsafe { account.borrow_unchecked_mut() };
    let head = data.first_chunk_mut::<TAG>().ok_or(ProgramError::AccountDataTooSmall)?;
    *head = tag.to_ne_bytes();
    Ok(())
}

const fn tag_of<T: Discriminator>() -> u64 {
    match T::DISCRIMINATOR.first_chunk::<TAG>() {
        Some(bytes) if T::DISCRIMINATOR.len() == TAG => u64::from_ne_bytes(*bytes),
        _ => panic!("an account's discriminator has another length"),
    }
}

macro_rules! accounts {
    ($($account:ty),* $(,)?) => {$(
        impl SlabSchema for $account {
            const DATA_OFFSET: usize = TAG;
            const MIN_DATA_LEN: usize = TAG + core::mem::size_of::<$account>();

            #[inline(always)]
            fn validate(view: &AccountView, _data: &[u8]) -> Result<()> {
                if is_of_type(*view, const { tag_of::<$account>() }, Self::MIN_DATA_LEN) != 0 {
                    Ok(())
                } else {
                    Err(refusal(*view, Self::MIN_DATA_LEN))
                }
            }
        }

        impl SlabInit for $account {
            type Params<'a> = ();

            #[inline(always)]
            fn create_and_initialize<'a>(
                payer: &AccountView,
                account: &AccountView,
                space: usize,
                _params: &(),
                signer_seeds: Option<&[&[u8]]>,
                payer_signer_seeds: Option<&[&[u8]]>,
            ) -> Result<()> {
                let tag = const { tag_of::<$account>() };
                create(payer, account, space, tag, signer_seeds, payer_signer_seeds)
            }
        }
    )*};
}

accounts!(
    Auction,
    Credits,
    DeviceClaim,
    Dispute,
    Fault,
    FraudProof,
    GpuModel,
    Keeper,
    Lease,
    Market,
    Node,
    Order,
    Outage,
    Payout,
    Provider,
    Report,
    Rewards,
);
