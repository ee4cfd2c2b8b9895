//! The token calls of the program: transfer, burn and close, by the framework's cheapest path.
//!
//! That path skips the framework's own account validation. The token program still checks owners, mints and balances;
//! the callers check that each account is the one that state names.

use anchor_lang::pinocchio::instruction::InstructionAccount as Meta;
use anchor_lang::prelude::*;
use anchor_lang::unchecked_invoke_signed_fixed;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::MarketError;

const TRANSFER: u8 = 3;
const BURN: u8 = 8;
const CLOSE_ACCOUNT: u8 = 9;

fn amount_data(instruction: u8, amount: u64) -> [u8; 9] {
    let mut data = [instruction; 9];
    if let Some((_, tail)) = data.split_first_mut() {
        tail.copy_from_slice(&amount.to_le_bytes());
    }
    data
}

/// Moves tokens; `seeds` sign for a program-derived `authority`, `&[]` when it signed the transaction.
pub fn transfer<'a>(
    token_program: &'a Program<Token>,
    from: CpiHandle<'a>,
    to: CpiHandle<'a>,
    authority: CpiHandle<'a>,
    amount: u64,
    seeds: &'a [&'a [&'a [u8]]],
) {
    unchecked_invoke_signed_fixed(
        token_program.address(),
        &amount_data(TRANSFER, amount),
        &[
            Meta::writable(from.address()),
            Meta::writable(to.address()),
            Meta::readonly_signer(authority.address()),
        ],
        &[from, to, authority],
        seeds,
    );
}

/// Burns tokens of a program-derived authority.
pub fn burn<'a>(
    token_program: &'a Program<Token>,
    from: CpiHandle<'a>,
    mint: CpiHandle<'a>,
    authority: CpiHandle<'a>,
    amount: u64,
    seeds: &'a [&'a [&'a [u8]]],
) {
    unchecked_invoke_signed_fixed(
        token_program.address(),
        &amount_data(BURN, amount),
        &[
            Meta::writable(from.address()),
            Meta::writable(mint.address()),
            Meta::readonly_signer(authority.address()),
        ],
        &[from, mint, authority],
        seeds,
    );
}

/// Closes an empty token account of a program-derived authority; its rent goes to `destination`.
pub fn close<'a>(
    token_program: &'a Program<Token>,
    account: CpiHandle<'a>,
    destination: CpiHandle<'a>,
    authority: CpiHandle<'a>,
    seeds: &'a [&'a [&'a [u8]]],
) {
    unchecked_invoke_signed_fixed(
        token_program.address(),
        &[CLOSE_ACCOUNT],
        &[
            Meta::writable(account.address()),
            Meta::writable(destination.address()),
            Meta::readonly_signer(authority.address()),
        ],
        &[account, destination, authority],
        seeds,
    );
}

/// Whether the account takes tokens of the mint: it may have been closed or frozen since somebody named it.
pub fn can_receive(view: &AccountView, token_program: &Program<Token>, mint: &Address) -> Result<bool> {
    const LEN: usize = 165;
    const STATE: usize = 108;
    const INITIALISED: u8 = 1;
    if !view.owned_by(token_program.address()) {
        return Ok(false);
    }
    let data = view.try_borrow()?;
    let of_mint = data.len() == LEN && data.starts_with(mint.as_ref());
    Ok(of_mint && data.get(STATE) == Some(&INITIALISED))
}

/// Refuses a token account of another mint.
pub fn require_mint(account: &TokenAccount, mint: &Address) -> Result<()> {
    require!(account.mint() == mint, MarketError::WrongMint);
    Ok(())
}

/// Refuses a token account of another mint or owner.
pub fn require_token_account(account: &TokenAccount, mint: &Address, owner: &Address) -> Result<()> {
    require_mint(account, mint)?;
    require!(account.owner() == owner, MarketError::WrongTokenOwner);
    Ok(())
}
