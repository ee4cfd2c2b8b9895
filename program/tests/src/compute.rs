//! Compute units that instructions were seen to use.

use std::collections::BTreeMap;

use gantry_market::ID;
use solana_instruction::Instruction;

/// The least and the most units seen, by instruction name.
#[derive(Default)]
pub struct Compute(BTreeMap<&'static str, (u64, u64)>);

impl Compute {
    /// Records a transaction that holds exactly one instruction of the market.
    pub fn record(&mut self, instructions: &[Instruction], units: u64) {
        let mut ours = instructions.iter().filter(|i| i.program_id == ID);
        if let (Some(instruction), None) = (ours.next(), ours.next()) {
            if let Some(name) = crate::ix::name_of(&instruction.data) {
                let (least, most) = self.0.entry(name).or_insert((units, units));
                (*least, *most) = (units.min(*least), units.max(*most));
            }
        }
    }

    /// The most that an instruction used.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|(_, most)| *most)
    }

    /// Instructions, with the least and the most that each used.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, (u64, u64))> + '_ {
        self.0.iter().map(|(name, units)| (*name, *units))
    }
}
