//! Sending, and what must come of it.

use litesvm::types::{FailedTransactionMetadata, TransactionMetadata};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::Message;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::errors::{code_of, Code};
use crate::Testbed;

impl Testbed {
    /// Sends one transaction. The testbed pays the fee, so that actors' lamports move only by the program's doing.
    pub fn send(
        &mut self,
        instructions: &[Instruction],
        signers: &[&Keypair],
    ) -> Result<TransactionMetadata, Box<FailedTransactionMetadata>> {
        self.svm.expire_blockhash();
        self.next_rent();
        let payer = self.payer.insecure_clone();
        let message =
            Message::new_with_blockhash(instructions, Some(&payer.pubkey()), &self.svm.latest_blockhash());
        let mut keys: Vec<&Keypair> = vec![&payer];
        for key in signers {
            let wanted = message.account_keys[..message.header.num_required_signatures as usize]
                .contains(&key.pubkey());
            if wanted && keys.iter().all(|known| known.pubkey() != key.pubkey()) {
                keys.push(key);
            }
        }
        let transaction = Transaction::new(&keys, message, self.svm.latest_blockhash());
        let unknown = self.recorder.as_ref().map(|r| r.unknown(instructions)).unwrap_or_default();
        let before = (!unknown.is_empty()).then(|| self.svm.clone());
        let outcome = self.svm.send_transaction(transaction);
        if let Ok(meta) = &outcome {
            self.compute.record(instructions, meta.compute_units_consumed);
            if let (Some(recorder), Some(before)) = (&mut self.recorder, before) {
                recorder.keep(unknown, &before, instructions);
            }
        }
        outcome.map_err(Box::new)
    }

    /// Sends one instruction that must succeed.
    pub fn ok(&mut self, instruction: Instruction, signers: &[&Keypair]) -> TransactionMetadata {
        self.ok_all(&[instruction], signers)
    }

    /// Sends instructions that must succeed together.
    pub fn ok_all(&mut self, instructions: &[Instruction], signers: &[&Keypair]) -> TransactionMetadata {
        self.send(instructions, signers)
            .unwrap_or_else(|e| panic!("refused: {:?}\n{}", e.err, e.meta.pretty_logs()))
    }

    /// Sends one instruction that must be refused with exactly this code.
    pub fn refused(&mut self, instruction: Instruction, signers: &[&Keypair], code: impl Into<Code>) {
        self.refused_all(&[instruction], signers, code);
    }

    /// Sends instructions of which one must be refused with exactly this code.
    pub fn refused_all(&mut self, instructions: &[Instruction], signers: &[&Keypair], code: impl Into<Code>) {
        let code = code.into();
        match self.send(instructions, signers) {
            Ok(meta) => panic!("accepted, want {code:?}\n{}", meta.pretty_logs()),
            Err(failure) => {
                assert_eq!(code_of(&failure), code, "{}", failure.meta.pretty_logs());
            }
        }
    }
}

/// The instruction with one account in another's place. Panics when the instruction does not name it, so that a test
/// cannot pass by accident.
pub fn swap(mut instruction: Instruction, from: &Address, to: &Address) -> Instruction {
    let mut found = false;
    for meta in &mut instruction.accounts {
        if meta.pubkey == *from {
            meta.pubkey = *to;
            found = true;
        }
    }
    assert!(found, "instruction does not name {from}");
    instruction
}

/// The instruction without the signature of `who`.
pub fn unsigned(mut instruction: Instruction, who: &Address) -> Instruction {
    let mut found = false;
    for meta in &mut instruction.accounts {
        if meta.pubkey == *who && meta.is_signer {
            meta.is_signer = false;
            found = true;
        }
    }
    assert!(found, "{who} does not sign the instruction");
    instruction
}
