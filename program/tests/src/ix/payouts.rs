use gantry_market::slashing::__client_accounts_payouts::Payouts;
use gantry_market::state::Payout;
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
use crate::tokens::token_program;
use crate::{pda, Testbed};

/// What every slash needs that leaves something for a beneficiary.
pub(super) fn payouts(w: &Testbed, beneficiary: &Address, source: &Address) -> Payouts {
    Payouts {
        rewards: pda::rewards(),
        payout_vault: pda::payout_vault(),
        stake_mint: w.stake_mint,
        payout: pda::payout(beneficiary, source),
        token_program: token_program(),
        system_program: system_program(),
    }
}

/// `tokens` is a stake-token account of the beneficiary.
pub fn payout_claim(w: &Testbed, payout: &Address, tokens: Address) -> Instruction {
    let state: Payout = w.read(payout);
    build(
        accounts::PayoutClaim {
            market: pda::market(),
            rewards: pda::rewards(),
            payout_vault: pda::payout_vault(),
            payout: *payout,
            rent_payer: state.rent_payer,
            tokens,
            token_program: token_program(),
        },
        instruction::PayoutClaim {},
    )
}
