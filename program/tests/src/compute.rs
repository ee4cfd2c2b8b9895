//! Compute units that instructions were seen to use.

use std::collections::BTreeMap;

use gantry_market::ID;
use solana_instruction::Instruction;

/// The most units seen, by instruction name.
#[derive(Default)]
pub struct Compute(BTreeMap<&'static str, u64>);

impl Compute {
    /// Records a transaction that holds exactly one instruction of the market.
    pub fn record(&mut self, instructions: &[Instruction], units: u64) {
        let mut ours = instructions.iter().filter(|i| i.program_id == ID);
        if let (Some(instruction), None) = (ours.next(), ours.next()) {
            if let Some(name) = crate::ix::name_of(&instruction.data) {
                let most = self.0.entry(name).or_default();
                *most = units.max(*most);
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(name, units)| (*name, *units))
    }
}
