use gantry_market::state::Lease;
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::build;
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

pub fn rewards_accrue(w: &Testbed, period: u64) -> Instruction {
    build(
        accounts::RewardsAccrue {
            market: pda::market(),
            rewards: pda::rewards(),
            report: pda::report(period),
            fee_vault: pda::fee_vault(),
            treasury: w.treasury,
            token_program: token_program(),
        },
        instruction::RewardsAccrue {},
    )
}

/// `report` is the period whose reward is claimed too.
pub fn rewards_claim(keeper: &Actor, report: Option<u64>) -> Instruction {
    build(
        accounts::RewardsClaim {
            market: pda::market(),
            rewards: pda::rewards(),
            keeper: keeper.keeper(),
            report: report.map(pda::report),
            fee_vault: pda::fee_vault(),
            tokens: keeper.payment,
            token_program: token_program(),
        },
        instruction::RewardsClaim {},
    )
}

pub fn rewards_buy_back(w: &Testbed, buyer: &Actor, max_burn: u64) -> Instruction {
    build(
        accounts::RewardsBuyBack {
            buyer: buyer.wallet(),
            market: pda::market(),
            rewards: pda::rewards(),
            fee_vault: pda::fee_vault(),
            stake_mint: w.stake_mint,
            buyer_stake: buyer.stake,
            buyer_payment: buyer.payment,
            token_program: token_program(),
        },
        instruction::RewardsBuyBack { max_burn },
    )
}

/// `provider` is the provider's account.
pub fn emission_claim(provider: &Address) -> Instruction {
    build(
        accounts::EmissionClaim {
            market: pda::market(),
            rewards: pda::rewards(),
            emission_vault: pda::emission_vault(),
            provider: *provider,
            stake_vault: pda::stake_vault(provider),
            token_program: token_program(),
        },
        instruction::EmissionClaim {},
    )
}

/// The keeper of a lease, as an account that is there or as the address of one that is gone.
pub(super) fn awarding_keeper(w: &Testbed, lease: &Lease) -> (Option<Address>, Option<Address>) {
    let keeper = pda::keeper(&lease.keeper);
    // Anyone may send lamports to an address that was one: that makes no keeper.
    if w.svm.get_account(&keeper).is_some_and(|account| account.owner == gantry_market::ID) {
        (Some(keeper), None)
    } else {
        (None, Some(keeper))
    }
}
