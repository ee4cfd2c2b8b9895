//! Runs an instruction's handler as Anchor does, and walks the accounts out of line.

use anchor::{AccountCursor, AccountView, Address, Context, Error, ErrorCode, MutMask, Result, TryAccounts};

/// Accounts that are walked without a loop.
const WRITTEN_OUT: usize = 24;

const _: () = assert!(anchor::pinocchio::MAX_TX_ACCOUNTS <= u8::MAX as usize);

/// Walks the first `count` accounts and returns where their views are, or null when an account that `mutable` names is there
/// twice. The loop is written out: which account is next is known at each step, and costs nothing.
///
/// # Safety
///
/// The cursor is fresh, and the transaction has that many accounts.
#[inline(never)]
unsafe fn walk(cursor: &mut AccountCursor, count: usize, mutable: &[u64; 4]) -> *const AccountView {
    core::hint::assert_unchecked(cursor.consumed() == 0);
    let first = cursor.walk_n(0).0.as_ptr();
    macro_rules! steps {
        ($($step:literal)*) => {
            'walked: {
                $(
                    if count == $step {
                        break 'walked;
                    }
                    cursor.next();
                )*
                cursor.walk_n(count.saturating_sub(WRITTEN_OUT));
            }
        };
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);
    match cursor.duplicates() {
        Some(duplicates) if duplicates.intersects(mutable) => core::ptr::null(),
        _ => first,
    }
}

/// Loads and checks an instruction's accounts, runs it and writes the accounts back.
#[inline(always)]
pub fn run_handler<'a, T: TryAccounts, R>(
    program_id: &'a Address,
    cursor: &'a mut AccountCursor,
    data: &'a [u8],
    num_accounts: usize,
    handler: impl FnOnce(&mut Context<'a, T>, T::IxArgs<'a>) -> core::result::Result<R, Error>,
) -> Result<R> {
    let Some(remaining) = num_accounts.checked_sub(T::HEADER_SIZE) else {
        return Err(ErrorCode::AccountNotEnoughKeys.into());
    };
    // SAFETY: the dispatcher's cursor has not moved, and there are `HEADER_SIZE` accounts.
    let views = unsafe { walk(cursor, T::HEADER_SIZE, &T::MUT_MASK) };
    if views.is_null() {
        return Err(ErrorCode::ConstraintDuplicateMutableAccount.into());
    }
    // SAFETY: the walk has written as many views there.
    let views = unsafe { core::slice::from_raw_parts(views, T::HEADER_SIZE) };
    let (accounts, bumps, args) = T::validate_accounts(program_id, views, cursor.duplicates(), 0, data)?;
    let mask = if remaining != 0 && T::HAS_DYNAMIC_MUT_MASK {
        MutMask::Dynamic(accounts.active_mut_mask())
    } else {
        MutMask::Static(&T::MUT_MASK)
    };
    // A transaction has fewer accounts than a u8 counts, see above.
    let mut context = Context::new(program_id, accounts, bumps, cursor, remaining as u8, mask);
    let result = handler(&mut context, args)?;
    context.accounts.exit_accounts(data)?;
    Ok(result)
}
