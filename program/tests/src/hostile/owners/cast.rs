//! Who owns which wallets.

use std::collections::BTreeMap;

use solana_address::Address;

use crate::Actor;

/// The owners of the cast, by the numbers of their wallets. The first is customer, provider, keeper and finder in one.
/// The second is a coalition of a keeper below a third of the weight, a customer and a provider. The others have one
/// wallet each.
pub const OWNERS: [&[usize]; 6] = [&[4, 8, 9], &[1, 3, 6], &[0], &[2], &[5], &[7]];

/// The owner of each address whose tokens are somebody's: wallets, and the accounts that hold vaults for them.
#[derive(Clone, Default)]
pub struct Owners(BTreeMap<Address, usize>);

impl Owners {
    pub fn of(actors: &[Actor]) -> Self {
        let mut found = BTreeMap::new();
        for (owner, wallets) in OWNERS.iter().enumerate() {
            for actor in wallets.iter().filter_map(|at| actors.get(*at)) {
                for at in [actor.wallet(), actor.provider(), actor.keeper(), actor.credits()] {
                    found.insert(at, owner);
                }
            }
        }
        Self(found)
    }

    /// None for the market itself, and for strangers.
    pub fn owner(&self, of: &Address) -> Option<usize> {
        self.0.get(of).copied()
    }
}
