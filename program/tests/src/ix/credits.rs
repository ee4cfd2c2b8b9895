use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

pub fn credits_deposit(w: &Testbed, who: &Actor, amount: u64) -> Instruction {
    build(
        accounts::CreditsDeposit {
            customer: who.wallet(),
            market: pda::market(),
            payment_mint: w.payment_mint,
            credits: who.credits(),
            credits_vault: who.credits_vault(),
            from: who.payment,
            token_program: token_program(),
            system_program: system_program(),
        },
        instruction::CreditsDeposit { amount },
    )
}

pub fn credits_withdraw(who: &Actor, amount: u64) -> Instruction {
    build(
        accounts::CreditsWithdraw {
            customer: who.wallet(),
            market: pda::market(),
            credits: who.credits(),
            credits_vault: who.credits_vault(),
            to: who.payment,
            token_program: token_program(),
        },
        instruction::CreditsWithdraw { amount },
    )
}

/// Signed by the customer.
pub fn credits_set_session_key(who: &Actor, key: &Address, cap: u64, expiry: i64) -> Instruction {
    build(
        accounts::CreditsSetSessionKey { customer: who.wallet(), credits: who.credits() },
        instruction::CreditsSetSessionKey { key: *key, cap, expiry },
    )
}

pub fn credits_close(who: &Actor) -> Instruction {
    build(
        accounts::CreditsClose {
            customer: who.wallet(),
            market: pda::market(),
            credits: who.credits(),
            credits_vault: who.credits_vault(),
            to: who.payment,
            token_program: token_program(),
        },
        instruction::CreditsClose {},
    )
}
