//! Many wrong tries at one right instruction, and what every test of a paused market needs.

use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::errors::Code;
use crate::transactions::swap;
use crate::{ix, Testbed};

/// What is wrong, the right account, the wrong one, and the code it must be refused with.
pub type Swap = (&'static str, Address, Address, Code);

/// The system program's answer when an account to be created is there already.
pub const ALREADY_IN_USE: Code = Code::Custom(0);

impl Testbed {
    /// Puts one wrong account at a time into an instruction; each must be refused with its code.
    pub fn refuses_swaps(&mut self, good: &Instruction, signers: &[&Keypair], cases: &[Swap]) {
        self.refuses_swaps_after(&[], good, signers, cases);
    }

    /// The same for an instruction that needs others before it in its transaction.
    pub fn refuses_swaps_after(
        &mut self,
        before: &[Instruction],
        good: &Instruction,
        signers: &[&Keypair],
        cases: &[Swap],
    ) {
        for (what, from, to, code) in cases {
            println!("wrong {what}: {code:?}");
            let mut instructions = before.to_vec();
            instructions.push(swap(good.clone(), from, to));
            self.refused_all(&instructions, signers, code.clone());
        }
    }

    /// Pauses whatever can be paused.
    pub fn pause(&mut self) {
        let guardian = self.guardian.insecure_clone();
        self.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    }

    /// Lamports that somebody sends to an address before there is an account.
    pub fn prefund(&mut self, at: &Address) {
        self.svm.airdrop(at, 1_000_000).expect("airdrop");
    }
}

/// The instruction with one more account at its end.
pub fn with_account(mut instruction: Instruction, account: AccountMeta) -> Instruction {
    instruction.accounts.push(account);
    instruction
}

/// The instruction without its last account.
pub fn without_last(mut instruction: Instruction) -> Instruction {
    instruction.accounts.pop().expect("has accounts");
    instruction
}
