//! People with wallets: a key, lamports, and an account of each token.

use solana_address::Address;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::{ix, pda, Testbed};

/// What a new actor holds.
pub const START_LAMPORTS: u64 = 1_000_000_000_000;
/// 1,000,000 USDC.
pub const START_PAYMENT: u64 = 1_000_000_000_000;
/// 1,000,000 stake tokens.
pub const START_STAKE: u64 = 1_000_000_000_000_000;

pub struct Actor {
    pub key: Keypair,
    /// Token account of the payment mint.
    pub payment: Address,
    /// Token account of the stake mint.
    pub stake: Address,
    /// What signs for the actor's keeper, where it is not the wallet.
    pub hot: Option<Keypair>,
}

impl Actor {
    /// The same actor again, for a copy of the testbed.
    pub fn again(&self) -> Self {
        Self {
            key: self.key.insecure_clone(),
            payment: self.payment,
            stake: self.stake,
            hot: self.hot.as_ref().map(Keypair::insecure_clone),
        }
    }

    pub fn wallet(&self) -> Address {
        self.key.pubkey()
    }

    /// The key that signs for the actor's keeper.
    pub fn signing(&self) -> &Keypair {
        self.hot.as_ref().unwrap_or(&self.key)
    }

    pub fn signer(&self) -> Address {
        self.signing().pubkey()
    }

    pub fn provider(&self) -> Address {
        pda::provider(&self.wallet())
    }

    pub fn keeper(&self) -> Address {
        pda::keeper(&self.wallet())
    }

    pub fn credits(&self) -> Address {
        pda::credits(&self.wallet())
    }

    pub fn credits_vault(&self) -> Address {
        pda::credits_vault(&self.credits())
    }

    /// Stake vault of the actor's provider account.
    pub fn provider_vault(&self) -> Address {
        pda::stake_vault(&self.provider())
    }

    /// Stake vault of the actor's keeper account.
    pub fn keeper_vault(&self) -> Address {
        pda::stake_vault(&self.keeper())
    }
}

impl Testbed {
    /// An actor with lamports and tokens, and no account in the market.
    pub fn actor(&mut self) -> Actor {
        let key = self.fresh_key();
        let wallet = key.pubkey();
        self.svm.airdrop(&wallet, START_LAMPORTS).expect("airdrop");
        let payment = self.token_account(self.payment_mint, wallet, START_PAYMENT);
        let stake = self.token_account(self.stake_mint, wallet, START_STAKE);
        Actor { key, payment, stake, hot: None }
    }

    /// A registered provider with `stake` base units of stake.
    pub fn provider(&mut self, stake: u64) -> Actor {
        let actor = self.actor();
        self.ok(ix::provider_register(self, &actor), &[&actor.key]);
        if stake > 0 {
            self.ok(ix::provider_stake(self, &actor, stake), &[&actor.key]);
        }
        actor
    }

    /// A registered keeper that is not active yet.
    pub fn pending_keeper(&mut self, bond: u64) -> Actor {
        let actor = self.actor();
        self.ok(ix::keeper_register(self, &actor, bond), &[&actor.key]);
        actor
    }

    /// An active keeper; time moves past the activation delay and into the next report period, so that it may vote on
    /// every period that ends from now on.
    pub fn keeper(&mut self, bond: u64) -> Actor {
        let actor = self.pending_keeper(bond);
        self.warp(i64::from(self.params.keeper_activation_secs));
        self.ok(ix::keeper_activate(&actor), &[&actor.key]);
        actor
    }

    /// A key with lamports and nothing else.
    pub fn hot_key(&mut self) -> Keypair {
        let key = self.fresh_key();
        self.svm.airdrop(&key.pubkey(), START_LAMPORTS).expect("airdrop");
        key
    }

    /// An active keeper with a signer apart from its wallet.
    pub fn hot_keeper(&mut self, bond: u64) -> Actor {
        let mut actor = self.actor();
        actor.hot = Some(self.hot_key());
        self.ok_all(&ix::keeper_register_with(self, &actor, bond, actor.signing()), &[&actor.key]);
        self.warp(i64::from(self.params.keeper_activation_secs));
        self.ok(ix::keeper_activate(&actor), &[actor.signing()]);
        actor
    }

    /// The keeper's wallet names another signer, which is from now on the actor's.
    pub fn rotate(&mut self, keeper: &mut Actor, to: &Keypair) {
        self.ok_all(&ix::keeper_rotation(self, keeper, to), &[&keeper.key]);
        keeper.hot = Some(to.insecure_clone());
    }

    /// A customer with `deposit` µUSDC of credits.
    pub fn customer(&mut self, deposit: u64) -> Actor {
        let actor = self.actor();
        self.ok(ix::credits_deposit(self, &actor, deposit), &[&actor.key]);
        actor
    }
}
