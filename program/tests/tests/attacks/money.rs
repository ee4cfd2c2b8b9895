//! What an owner has: all of its wallets' tokens, and all that the program holds for them.

use std::fmt;

use anchor_lang::Discriminator;
use gantry_market::state::{Keeper, Payout};
use gantry_market::ID;
use gantry_market_tests::{Actor, Testbed};
use solana_account::ReadableAccount;

/// Billionths of a USDC: what a base unit of the stake token is worth at `stake_price`, one USDC a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usd(pub i128);

/// Billionths in a µUSDC.
const MICRO: i128 = 1_000;

impl Usd {
    /// Without the sign.
    pub fn unsigned(self) -> String {
        self.to_string().trim_start_matches(['+', '−']).to_owned()
    }
}

impl fmt::Display for Usd {
    /// Six decimals, rounded towards zero; a sign for everything but nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = (self.0 / MICRO).unsigned_abs();
        let sign = match self.0.signum() {
            1 => "+",
            -1 => "−",
            _ => "",
        };
        if self.0 == 0 {
            return f.write_str("0");
        }
        write!(f, "{sign}{}.{:06}", micro / 1_000_000, micro % 1_000_000)
    }
}

/// The wealth of an owner of these wallets: tokens of both kinds, stake, bond, credits, what was earned and not
/// claimed, and payouts that still wait at their full value. SOL is left out.
pub fn wealth(w: &Testbed, wallets: &[&Actor]) -> i128 {
    let of = |who: &&Actor| {
        let stake = [who.stake, who.provider_vault(), who.keeper_vault()].map(|at| i128::from(w.tokens(&at)));
        let paid = [who.payment, who.credits_vault()].map(|at| i128::from(w.tokens(&at)));
        let earned = if w.exists(&who.keeper()) { w.read::<Keeper>(&who.keeper()).earned } else { 0 };
        stake.iter().sum::<i128>() + (paid.iter().sum::<i128>() + i128::from(earned)) * MICRO
    };
    wallets.iter().map(of).sum::<i128>() + payouts(w, wallets)
}

/// What waits for these wallets.
fn payouts(w: &Testbed, wallets: &[&Actor]) -> i128 {
    let all = w.svm.accounts_db().inner.iter();
    let own = all.filter(|(_, account)| {
        *account.owner() == ID && account.data().starts_with(<Payout as Discriminator>::DISCRIMINATOR)
    });
    own.map(|(at, _)| w.read::<Payout>(at))
        .filter(|payout| wallets.iter().any(|who| who.wallet() == payout.beneficiary))
        .map(|payout| i128::from(payout.amount))
        .sum()
}
