use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

pub fn provider_register(w: &Testbed, who: &Actor) -> Instruction {
    build(
        accounts::ProviderRegister {
            wallet: who.wallet(),
            market: pda::market(),
            stake_mint: w.stake_mint,
            provider: who.provider(),
            stake_vault: who.provider_vault(),
            payout: who.payment,
            token_program: token_program(),
            system_program: system_program(),
        },
        instruction::ProviderRegister {},
    )
}

pub fn provider_set_payout(who: &Actor, payout: Address) -> Instruction {
    build(
        accounts::ProviderSetPayout {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            payout,
        },
        instruction::ProviderSetPayout {},
    )
}

pub fn provider_stake(_: &Testbed, who: &Actor, amount: u64) -> Instruction {
    build(
        accounts::ProviderStake {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            stake_vault: who.provider_vault(),
            from: who.stake,
            token_program: token_program(),
        },
        instruction::ProviderStake { amount },
    )
}

pub fn provider_request_unstake(who: &Actor, amount: u64) -> Instruction {
    build(
        accounts::ProviderRequestUnstake {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            stake_vault: who.provider_vault(),
        },
        instruction::ProviderRequestUnstake { amount },
    )
}

pub fn provider_withdraw_stake(who: &Actor) -> Instruction {
    build(
        accounts::ProviderWithdrawStake {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            stake_vault: who.provider_vault(),
            to: who.stake,
            token_program: token_program(),
        },
        instruction::ProviderWithdrawStake {},
    )
}

pub fn provider_close(who: &Actor) -> Instruction {
    build(
        accounts::ProviderClose {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            stake_vault: who.provider_vault(),
            to: who.stake,
            token_program: token_program(),
        },
        instruction::ProviderClose {},
    )
}
