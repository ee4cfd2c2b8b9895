//! Keeps, of a scenario, the first success of every instruction in every shape, with the chain as it was just before.
//!
//! The substitution matrix starts from these. The scenario is the one that measures compute units, in which every
//! instruction must succeed; an instruction that it lacks is missed by name.

use std::collections::BTreeMap;

use gantry_market::ID;
use litesvm::LiteSVM;
use solana_instruction::Instruction;

use crate::ix::name_of;

/// One instruction that succeeded.
pub struct Recorded {
    pub name: &'static str,
    /// The chain just before.
    pub before: LiteSVM,
    /// The whole transaction.
    pub instructions: Vec<Instruction>,
    /// Which of them is meant.
    pub at: usize,
}

impl Recorded {
    pub fn instruction(&self) -> &Instruction {
        &self.instructions[self.at]
    }
}

/// Instruction, number of accounts, and which optional ones are absent: the program's own address stands for those.
type Shape = (&'static str, usize, Vec<usize>);

#[derive(Default)]
pub struct Recorder {
    found: BTreeMap<Shape, Recorded>,
}

impl Recorder {
    /// The shapes of a transaction that are not known yet, with their places in it.
    pub fn unknown(&self, instructions: &[Instruction]) -> Vec<(usize, Shape)> {
        let ours = instructions.iter().enumerate().filter(|(_, i)| i.program_id == ID);
        ours.filter_map(|(at, instruction)| {
            let name = name_of(&instruction.data)?;
            let metas = instruction.accounts.iter().enumerate();
            let absent = metas.filter(|(_, meta)| meta.pubkey == ID).map(|(at, _)| at).collect();
            let shape = (name, instruction.accounts.len(), absent);
            (!self.found.contains_key(&shape)).then_some((at, shape))
        })
        .collect()
    }

    /// Keeps a transaction that succeeded.
    pub fn keep(&mut self, unknown: Vec<(usize, Shape)>, before: &LiteSVM, instructions: &[Instruction]) {
        for (at, shape) in unknown {
            let recorded =
                Recorded { name: shape.0, before: before.clone(), instructions: instructions.to_vec(), at };
            self.found.insert(shape, recorded);
        }
    }

    pub fn into_all(self) -> Vec<Recorded> {
        self.found.into_values().collect()
    }
}
