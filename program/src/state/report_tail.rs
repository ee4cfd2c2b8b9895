//! Roots beyond the four that a report's struct has room for. They lie behind it in the account, one [`Candidate`]
//! each, and only the account's length says how many there are.
//!
//! A keeper has one vote and can move it to known roots only. So there are never more roots than keepers, and the
//! account grows to 27 KB at most.

use core::mem::size_of;

use anchor_lang::prelude::*;
use anchor_lang::{create_account_with_signers, realloc_account, Discriminator, Space};

use crate::errors::{fail, MarketError, OrOverflow};
use crate::seeds;
use crate::state::{Ballot, Candidate, Keeper, Report};

/// Bytes of a report without a tail.
pub const REPORT_LEN: usize = Account::<Report>::INIT_SPACE;

/// A report and its tail, of the bytes of an account that this program owns.
pub fn report_parts(data: &mut [u8]) -> Result<(&mut Report, &mut [Candidate])> {
    let Some((own, behind)) = data.split_at_mut_checked(REPORT_LEN) else {
        return Err(ProgramError::AccountDataTooSmall);
    };
    match own.split_at_mut_checked(Report::DISCRIMINATOR.len()) {
        Some((tag, body)) if tag == Report::DISCRIMINATOR => {
            match (bytemuck::try_from_bytes_mut(body), bytemuck::try_cast_slice_mut(behind)) {
                (Ok(report), Ok(tail)) => Ok((report, tail)),
                _ => fail(MarketError::InvariantBroken),
            }
        }
        _ => Err(ProgramError::InvalidAccountData),
    }
}

/// Makes the account of a period's report, with nothing in it.
#[inline(never)]
pub fn create_report(view: &mut AccountView, payer: &AccountView, period: u64, bump: u8) -> Result<()> {
    let (period, bump) = (period.to_le_bytes(), [bump]);
    let seeds: [&[u8]; 3] = [seeds::REPORT, &period, &bump];
    create_account_with_signers(payer, view, REPORT_LEN, &crate::ID, Some(&seeds), None)?;
    let mut data = view.try_borrow_mut()?;
    if let Some(tag) = data.get_mut(..Report::DISCRIMINATOR.len()) {
        tag.copy_from_slice(Report::DISCRIMINATOR);
    }
    Ok(())
}

/// Counts a keeper's vote and says what it did. A root for which there is no place gets one, of which the payer pays
/// the rent.
pub fn vote(view: &mut AccountView, payer: &AccountView, root: &[u8; 32], keeper: &Keeper) -> Result<Ballot> {
    {
        let mut data = view.try_borrow_mut()?;
        let (report, tail) = report_parts(&mut data)?;
        let known = report.find(tail, root);
        let ballot = report.ballot(tail, known, keeper)?;
        match ballot {
            Ballot::Again => return Ok(ballot),
            Ballot::Moved { from, to } => {
                report.recount(tail, from, to, root, keeper)?;
                return Ok(ballot);
            }
            Ballot::First if known.is_some() || !report.is_full() => {
                report.count(tail, known, root, keeper)?;
                return Ok(ballot);
            }
            Ballot::First => {}
        }
    }
    let longer = view.data_len().checked_add(size_of::<Candidate>()).or_overflow()?;
    realloc_account(view, longer, payer, true)?;
    let mut data = view.try_borrow_mut()?;
    let (report, tail) = report_parts(&mut data)?;
    report.count(tail, None, root, keeper)?;
    Ok(Ballot::First)
}
