//! Takes slashed stake and bond out of its vault. Every slash, of a provider or a keeper, goes through here: a part is
//! burned at once, the rest waits in the payout vault.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::constants::VERSION;
use crate::errors::{MarketError, OrOverflow};
use crate::events::PayoutCredited;
use crate::math::slashing::{split, Split};
use crate::records;
use crate::seeds;
use crate::state::{
    Keeper, Market, Params, Payout, Provider, Rewards, KEEPER_ACTIVE, KEEPER_EXITING, KEEPER_SLASHED,
};
use crate::token::{burn, transfer};

/// Where slashed stake lies. The authority is the provider's or keeper's account.
pub struct Slashed<'a> {
    pub vault: &'a mut Account<TokenAccount>,
    pub authority: CpiHandle<'a>,
    /// Seeds of the authority.
    pub seed: &'a [u8],
    pub wallet: Address,
    pub bump: u8,
}

impl<'a> Slashed<'a> {
    /// The seed of a provider's account.
    pub const PROVIDER: &'static [u8] = seeds::PROVIDER;
    /// The seed of a keeper's account.
    pub const KEEPER: &'static [u8] = seeds::KEEPER;

    /// Of a provider.
    pub fn stake_of(provider: &'a mut Account<Provider>, vault: &'a mut Account<TokenAccount>) -> Self {
        let (wallet, bump) = (provider.wallet, provider.bump);
        Self { vault, seed: Self::PROVIDER, wallet, bump, authority: provider.cpi_handle() }
    }

    /// Burns all of it.
    #[inline(never)]
    pub fn burn(self, token_program: &Program<Token>, mint: &mut Account<Mint>, amount: u64) -> Result<()> {
        let bump = [self.bump];
        let signer: [&[u8]; 3] = [self.seed, self.wallet.as_ref(), &bump];
        if amount > 0 {
            burn(
                token_program,
                self.vault.cpi_handle_mut().into(),
                mint.cpi_handle_mut().into(),
                self.authority,
                amount,
                &[&signer],
            );
        }
        Ok(())
    }
}

/// What every slash needs of which a part is paid out later.
#[derive(Accounts)]
pub struct Payouts {
    #[account(mut, seeds = [seeds::REWARDS], bump = rewards.bump)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = rewards.payout_vault @ MarketError::WrongAccount)]
    pub payout_vault: Account<TokenAccount>,
    #[account(mut, constraint = stake_mint.address() == payout_vault.mint() @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    /// The payout of whoever gets a part: made here when it is not there yet.
    #[account(mut)]
    pub payout: UncheckedAccount,
    pub token_program: Program<Token>,
    pub system_program: Program<System>,
}

impl Payouts {
    /// Burns what is to be burned and moves the rest to the payout vault, which owes it from then on.
    #[inline(never)]
    pub fn divide(&mut self, slashed: Slashed, shares: &Split) -> Result<()> {
        let bump = [slashed.bump];
        let signer: [&[u8]; 3] = [slashed.seed, slashed.wallet.as_ref(), &bump];
        let held = shares.held()?;
        if held > 0 {
            self.rewards.payouts = self.rewards.payouts.checked_add(held).or_overflow()?;
            transfer(
                &self.token_program,
                slashed.vault.cpi_handle_mut().into(),
                self.payout_vault.cpi_handle_mut().into(),
                slashed.authority,
                held,
                &[&signer],
            );
        }
        slashed.burn(&self.token_program, &mut self.stake_mint, shares.burned)?;
        self.rewards.payouts_covered(self.payout_vault.amount())
    }

    /// Of what the payout vault owes, gives `amount` to the beneficiary's payout.
    pub fn credit(&mut self, payer: &AccountView, credit: &Credit) -> Result<()> {
        credit_payout(payer, self.payout.account(), credit)
    }
}

/// A part of a slash for a wallet.
pub struct Credit {
    pub beneficiary: Address,
    /// What was slashed for: a fault, a node or a keeper.
    pub source: Address,
    pub amount: u64,
    pub payable_at: i64,
}

/// Makes the payout that `credit` names, or adds to it: then all of it waits for the later of both delays. The amount
/// must be counted in `Rewards::payouts` already.
#[inline(never)]
pub fn credit_payout(payer: &AccountView, view: &AccountView, credit: &Credit) -> Result<()> {
    if credit.amount == 0 {
        return Ok(());
    }
    let (beneficiary, source) = (&credit.beneficiary, &credit.source);
    let parts = [seeds::PAYOUT, beneficiary.as_ref(), source.as_ref()];
    let (address, bump) = find_program_address(&parts, &crate::ID);
    require!(*view.address() == address, MarketError::WrongAccount);
    let payable_at = if view.owned_by(&crate::ID) {
        let mut payout: Payout = records::read(view)?;
        payout.amount = payout.amount.checked_add(credit.amount).or_overflow()?;
        payout.payable_at = payout.payable_at.max(credit.payable_at);
        records::write(view, &payout)?;
        payout.payable_at
    } else {
        let payout = Payout {
            beneficiary: *beneficiary,
            source: *source,
            rent_payer: *payer.address(),
            amount: credit.amount,
            payable_at: credit.payable_at,
            version: VERSION,
            bump,
            reserved: [0; 14],
        };
        let [seed, wallet, about] = parts;
        records::create(payer, view, &[seed, wallet, about, &[bump]], &payout)?;
        payout.payable_at
    };
    emit!(PayoutCredited {
        payout: address,
        beneficiary: *beneficiary,
        source: *source,
        amount: credit.amount,
        payable_at,
    });
    Ok(())
}

/// Takes `wanted` of a keeper's bond, or what there is of it, and says how much that was and where it went. Nobody who
/// was harmed has a part, since the keeper may be the customer itself: the finder gets its share when a bond could have
/// left, as far as [`Keeper::finder_part`] goes, and the rest is burned.
#[inline(never)]
pub fn slash_bond(
    keeper: &mut Account<Keeper>,
    vault: &mut Account<TokenAccount>,
    payouts: &mut Payouts,
    finder: &AccountView,
    wanted: u64,
    params: &Params,
    now: i64,
) -> Result<(u64, Split)> {
    let bond = keeper.bond;
    let amount = keeper.slash(wanted)?;
    let mut shares = split(amount, params.finder_bps)?.claimed(0)?;
    let part = keeper.finder_part(shares.finder, bond, now, params.keeper_exit_secs)?;
    let excess = shares.finder.checked_sub(part).or_overflow()?;
    shares = Split { finder: part, burned: shares.burned.checked_add(excess).or_overflow()?, ..shares };
    let (wallet, bump) = (keeper.wallet, keeper.bump);
    let slashed =
        Slashed { vault: &mut *vault, seed: Slashed::KEEPER, wallet, bump, authority: keeper.cpi_handle() };
    payouts.divide(slashed, &shares)?;
    let payable_at = now.checked_add(params.keeper_exit_secs as i64).or_overflow()?;
    let (beneficiary, source) = (*finder.address(), *keeper.address());
    payouts.credit(finder, &Credit { beneficiary, source, amount: part, payable_at })?;
    Ok((amount, shares))
}

/// A keeper whose bond has shrunk weighs no more than what is left; below the smallest bond it has to leave.
pub fn lighten(market: &mut Market, keeper: &mut Keeper, now: i64) -> Result<()> {
    if keeper.status != KEEPER_ACTIVE {
        return Ok(());
    }
    let leaves = keeper.bond < market.params.min_bond;
    if leaves {
        keeper.exit_at = now.checked_add(market.params.keeper_exit_secs as i64).or_overflow()?;
        return market.unseat(keeper, KEEPER_EXITING, now);
    }
    let weight = keeper.weight.min(keeper.bond);
    let lost = keeper.weight.checked_sub(weight).or_overflow()?;
    market.total_weight = market.total_weight.checked_sub(lost).or_overflow()?;
    keeper.weigh(weight, now);
    Ok(())
}

/// A keeper loses its place among the voters at once: its weight counts no more, here and in later reports. What is
/// left of its bond waits as that of a keeper that leaves.
pub fn expel(market: &mut Market, keeper: &mut Keeper, now: i64) -> Result<()> {
    market.unseat(keeper, KEEPER_SLASHED, now)?;
    if keeper.exit_at == 0 {
        keeper.exit_at = now.checked_add(market.params.keeper_exit_secs as i64).or_overflow()?;
    }
    Ok(())
}
