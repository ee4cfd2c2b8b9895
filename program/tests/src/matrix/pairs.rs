//! Wrong pairs: another account of the same type together with those that follow from it.
//!
//! A check that ties an account to the call's subject hides behind the check of what that account names: with another
//! provider alone the payout is refused, and nobody learns whether the provider would have been. So the accounts that
//! another one names stand in for those that the right one names, one of them and all.

use std::collections::BTreeMap;

use gantry_market::ID;
use solana_account::ReadableAccount;
use solana_address::Address;
use solana_instruction::Instruction;

use super::{Base, Wrong};
use crate::tokens::token_program;

/// Bytes of an account that tell what it is.
const TAG: usize = 8;
const WORD: usize = 32;

/// Kinds of wrong pairs.
pub const ONE: &str = "another of its type, and an account that follows from it";
pub const ALL: &str = "another of its type, and all accounts that follow from it";
pub const DEEP: &str = "another of its type, and all accounts that follow from it and from each other";

/// The address that lies at a place of some data.
fn word(data: &[u8], at: usize) -> Option<Address> {
    let bytes: [u8; WORD] = data.get(at..at + WORD)?.try_into().ok()?;
    Some(Address::new_from_array(bytes))
}

impl Base {
    /// Every account of the program in the call, with every other one of its type in its place, and what follows.
    pub(super) fn wrong_pairs(&self) -> Vec<(usize, Wrong)> {
        let mut wrongs = vec![];
        for (at, meta) in self.recorded.instruction().accounts.iter().enumerate() {
            let Some(right) = self.account(&meta.pubkey).filter(|account| account.owner == ID) else {
                continue;
            };
            if right.data.len() < TAG {
                continue;
            }
            let tag = right.data[..TAG].to_vec();
            for (other, data) in self.others(|found| *found.owner() == ID && found.data().starts_with(&tag)) {
                if other == meta.pubkey {
                    continue;
                }
                let follow = self.following((&meta.pubkey, &right.data), (&other, &data));
                let call = |chosen: &[(usize, Address)]| {
                    let instructions = self.put(at, other);
                    chosen.iter().fold(instructions, |all, (at, to)| self.put_into(all, *at, *to))
                };
                for one in &follow {
                    wrongs.push((at, (ONE, vec![], call(&[*one]))));
                }
                if follow.len() > 1 {
                    wrongs.push((at, (ALL, vec![], call(&follow))));
                }
                let deep = self.closed(at, other, follow.clone());
                if deep.len() > follow.len() {
                    wrongs.push((at, (DEEP, vec![], call(&deep))));
                }
            }
        }
        wrongs
    }

    /// With what follows from the followers, and so on; each place is taken once.
    fn closed(&self, at: usize, other: Address, mut follow: Vec<(usize, Address)>) -> Vec<(usize, Address)> {
        let mut next = 0;
        while let Some((place, to)) = follow.get(next).copied() {
            next += 1;
            let from = self.recorded.instruction().accounts[place].pubkey;
            let (Some(right), Some(data)) = (self.account(&from), self.account(&to)) else { continue };
            if right.owner != ID || data.owner != ID {
                continue;
            }
            for (place, to) in self.following((&from, &right.data), (&to, &data.data)) {
                if place != at && to != other && follow.iter().all(|(known, _)| *known != place) {
                    follow.push((place, to));
                }
            }
        }
        follow
    }

    fn put_into(&self, mut instructions: Vec<Instruction>, at: usize, to: Address) -> Vec<Instruction> {
        instructions[self.recorded.at].accounts[at].pubkey = to;
        instructions
    }

    /// Places of the call whose accounts follow from the right one, with those that follow from the other: what its data
    /// name, and the token accounts that it owns.
    fn following(&self, right: (&Address, &[u8]), other: (&Address, &[u8])) -> Vec<(usize, Address)> {
        let mut follow = BTreeMap::new();
        for (at, meta) in self.recorded.instruction().accounts.iter().enumerate() {
            if meta.pubkey == *right.0 || meta.pubkey == ID {
                continue;
            }
            let named = (TAG..right.1.len().saturating_sub(WORD - 1))
                .find(|from| word(right.1, *from) == Some(meta.pubkey))
                .and_then(|from| word(other.1, from));
            if let Some(to) = named.or_else(|| self.vault_of(&meta.pubkey, right.0, other.0)) {
                if to != meta.pubkey && to != *other.0 {
                    follow.insert(at, to);
                }
            }
        }
        follow.into_iter().collect()
    }

    /// The other one's token account of the same mint, where this one is the right one's.
    fn vault_of(&self, at: &Address, right: &Address, other: &Address) -> Option<Address> {
        let vault = self.account(at).filter(|a| a.owner == token_program() && a.data.len() == 165)?;
        if word(&vault.data, WORD)? != *right {
            return None;
        }
        let same = self.others(|found| {
            *found.owner() == token_program()
                && found.data().len() == 165
                && found.data()[..WORD] == vault.data[..WORD]
                && word(found.data(), WORD) == Some(*other)
        });
        same.first().map(|(at, _)| *at)
    }
}
