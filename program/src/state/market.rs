//! The market: authority, mints, parameters, and the total weight that votes are measured against.

use anchor_lang::prelude::*;

use crate::constants::{MAX_KEEPERS, PAUSE_AWARDS, PAUSE_ORDERS};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::state::{Keeper, Params, KEEPER_ACTIVE, NO_PLACE};

#[account]
pub struct Market {
    /// May propose parameters, GPU models, its successor, the guardian and the treasury; on mainnet a Squads vault.
    pub authority: Address,
    /// Proposed as the next authority, with a guardian and a treasury; zero when nothing is pending.
    pub pending_authority: Address,
    /// May pause new orders and awards, and nothing else.
    pub guardian: Address,
    pub payment_mint: Address,
    pub stake_mint: Address,
    /// Payment-token account that receives the treasury's share.
    pub treasury: Address,
    /// Token account of the market where swept fees wait.
    pub fee_vault: Address,
    /// The account that says whom the fees belong to.
    pub rewards: Address,
    /// First bytes of the cluster's genesis hash: signatures made for one cluster are worthless on another.
    pub domain: [u8; 8],
    /// Weight of all active keepers.
    pub total_weight: u64,
    /// When `pending_params` may be applied; 0 when nothing is pending.
    pub pending_eta: i64,
    /// When the pending roles may be put in place; 0 when nothing is pending.
    pub pending_roles_eta: i64,
    /// When parameters that move in steps changed last; 0 when none has.
    pub stepped_at: i64,
    pub pending_guardian: Address,
    pub pending_treasury: Address,
    pub params: Params,
    pub pending_params: Params,
    /// Which keeper indices are taken.
    pub keeper_slots: [u8; 32],
    /// Reports that became final: what a keeper without votes is measured against.
    pub final_reports: u64,
    pub keeper_count: u32,
    /// Bits `PAUSE_*`.
    pub paused: u8,
    pub version: u8,
    pub bump: u8,
    pub fee_vault_bump: u8,
    pub reserved: [u8; 24],
}

impl Market {
    pub fn orders_open(&self) -> Result<()> {
        require!(self.paused & PAUSE_ORDERS == 0, MarketError::OrdersPaused);
        Ok(())
    }

    pub fn awards_open(&self) -> Result<()> {
        require!(self.paused & PAUSE_AWARDS == 0, MarketError::AwardsPaused);
        Ok(())
    }

    /// Makes a keeper active: it takes the lowest free place among the voters, and its weight counts. A place is taken by
    /// active keepers only. Otherwise bonds that never vote, and so risk nothing, could take all places.
    pub fn seat(&mut self, keeper: &mut Keeper, now: i64) -> Result<()> {
        let weight = keeper.bond.min(self.params.weight_cap);
        self.total_weight = self.total_weight.checked_add(weight).or_overflow()?;
        keeper.index = self.take_keeper_slot()?;
        keeper.weigh(weight, now);
        keeper.active_since = now;
        keeper.takes_part(self.final_reports, now);
        keeper.status = KEEPER_ACTIVE;
        Ok(())
    }

    /// Takes its place and weight from a keeper, which gets another status. Its votes stay counted. The next keeper in this
    /// place became active later or in this second, and may neither vote on nor claim what is older.
    pub fn unseat(&mut self, keeper: &mut Keeper, status: u8, now: i64) -> Result<()> {
        self.total_weight = self.total_weight.checked_sub(keeper.weight).or_overflow()?;
        if keeper.status == KEEPER_ACTIVE {
            self.free_keeper_slot(keeper.index)?;
        }
        keeper.index = NO_PLACE;
        keeper.weigh(0, now);
        keeper.status = status;
        Ok(())
    }

    /// Takes the lowest free keeper index.
    pub fn take_keeper_slot(&mut self) -> Result<u16> {
        for index in 0..MAX_KEEPERS {
            let (byte, bit) = (index as usize / 8, 1u8 << (index % 8));
            if let Some(slot) = self.keeper_slots.get_mut(byte) {
                if *slot & bit == 0 {
                    *slot |= bit;
                    self.keeper_count = self.keeper_count.checked_add(1).or_overflow()?;
                    return Ok(index);
                }
            }
        }
        fail(MarketError::TooManyKeepers)
    }

    /// Gives a keeper index back.
    pub fn free_keeper_slot(&mut self, index: u16) -> Result<()> {
        let (byte, bit) = (index as usize / 8, 1u8 << (index % 8));
        match self.keeper_slots.get_mut(byte) {
            Some(slot) if *slot & bit != 0 => *slot &= !bit,
            _ => return fail(MarketError::InvariantBroken),
        }
        self.keeper_count = self.keeper_count.checked_sub(1).or_overflow()?;
        Ok(())
    }

    #[inline(never)]
    pub fn invariant(&self) -> Result<()> {
        self.params.validate()?;
        let taken: u32 = self.keeper_slots.iter().map(|slot| slot.count_ones()).sum();
        require!(
            taken == self.keeper_count && self.paused & !(PAUSE_ORDERS | PAUSE_AWARDS) == 0,
            MarketError::InvariantBroken
        );
        Ok(())
    }
}
