//! A realm with its people, who found it, take the market over, and vote.

use gantry_market::state::Params;
use litesvm::types::FailedTransactionMetadata;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::realm::{
    binary, Proposal, Realm, Rules, Vote, CIRCULATES, COOL_OFF, HOLD_UP, ID, TIMELOCK, VOTING,
};
use crate::testbed::key;
use crate::tokens::{put_mint, token_program};
use crate::{ix, Actor, Testbed};

/// A realm with its people.
pub struct Dao {
    pub realm: Realm,
    /// 40 % and 10 % of what circulates, and 1 %.
    pub holders: [Actor; 3],
    pub council: [Keypair; 3],
    proposals: u64,
}

type Outcome = Result<(), Box<FailedTransactionMetadata>>;

impl Dao {
    /// The market's authority founds it. It owns nothing yet but itself.
    pub fn found(w: &mut Testbed, rules: Rules) -> Self {
        w.svm.add_program(ID, &binary()).expect("SPL Governance loads");
        let realm = Realm::of(w.stake_mint);
        let founder = w.authority.insecure_clone();
        put_mint(&mut w.svm, realm.council, 0, 3, token_program());
        w.ok(realm.create(&founder.pubkey()), &[&founder]);
        let holders = [40, 10, 1].map(|percent| {
            let holder = w.actor();
            let amount = CIRCULATES / 100 * percent;
            w.gift(&holder.stake, amount);
            w.ok(realm.deposit(&realm.community, &holder.wallet(), &holder.stake, amount), &[&holder.key]);
            holder
        });
        let council = [0; 3].map(|_| {
            let member = w.hot_key();
            let from = w.token_account(realm.council, member.pubkey(), 1);
            w.ok(realm.deposit(&realm.council, &member.pubkey(), &from, 1), &[&member]);
            member
        });
        w.ok(realm.create_governance(&founder.pubkey(), rules), &[&founder]);
        w.ok(realm.create_treasury(&founder.pubkey()), &[&founder]);
        w.ok(realm.bind(&founder.pubkey()), &[&founder]);
        w.svm.airdrop(&realm.treasury, 1_000_000_000).expect("airdrop");
        Self { realm, holders, council, proposals: 0 }
    }

    /// A proposal of the first holder, open for votes.
    pub fn propose(&mut self, w: &mut Testbed, transactions: Vec<Vec<Instruction>>) -> Proposal {
        let author = self.holders[0].again();
        let proposal = self.draft(w, &author, transactions);
        w.ok(self.realm.sign_off(&proposal.at, &author.wallet()), &[&author.key]);
        proposal
    }

    pub fn draft(
        &mut self,
        w: &mut Testbed,
        author: &Actor,
        transactions: Vec<Vec<Instruction>>,
    ) -> Proposal {
        self.proposals += 1;
        let (owner, seed) = (author.wallet(), key(91_000 + self.proposals).pubkey());
        let (at, create) = self.realm.create_proposal(&owner, &seed, "A change");
        w.ok(create, &[&author.key]);
        for (index, what) in transactions.iter().enumerate() {
            w.ok(self.realm.insert(&at, &owner, index as u16, what), &[&author.key]);
        }
        Proposal { at, owner, transactions }
    }

    pub fn vote(&self, w: &mut Testbed, proposal: &Proposal, holder: usize, vote: Vote) {
        let voter = &self.holders[holder];
        w.ok(self.realm.vote(proposal, &voter.wallet(), vote), &[&voter.key]);
    }

    /// The first holder says yes, and all times pass.
    pub fn passed(&mut self, w: &mut Testbed, transactions: Vec<Vec<Instruction>>) -> Proposal {
        let proposal = self.propose(w, transactions);
        self.vote(w, &proposal, 0, Vote::Yes);
        w.warp(VOTING + COOL_OFF + 1);
        w.ok(self.realm.finalize(&proposal), &[]);
        w.warp(HOLD_UP + 1);
        proposal
    }

    /// The same, and whatever can be executed is.
    pub fn pass(&mut self, w: &mut Testbed, transactions: Vec<Vec<Instruction>>) -> Outcome {
        let proposal = self.passed(w, transactions);
        let execute = |index| self.realm.execute(&proposal, index as u16);
        let all: Vec<Instruction> = (0..proposal.transactions.len()).map(execute).collect();
        for instruction in all {
            w.send(&[instruction], &[])?;
        }
        Ok(())
    }

    /// The same people again, for a copy of the testbed.
    pub fn again(&self) -> Self {
        Self {
            realm: self.realm,
            holders: self.holders.each_ref().map(Actor::again),
            council: self.council.each_ref().map(Keypair::insecure_clone),
            proposals: self.proposals,
        }
    }

    /// Roles, timelock, authority, payments' account and the program go from the founder to the realm.
    pub fn take_over(&mut self, w: &mut Testbed) {
        let founder = w.authority.insecure_clone();
        let treasury = w.token_account(w.payment_mint, self.realm.treasury, 0);
        let heir = self.realm.treasury;
        w.ok(ix::market_propose_successor(w, heir, w.guardian.pubkey(), treasury), &[&founder]);
        let params = Params { timelock_secs: TIMELOCK as u32, ..w.params };
        w.ok(ix::market_propose_params(w, params), &[&founder]);
        w.warp(i64::from(w.params.timelock_secs));
        w.ok(ix::market_apply_params(), &[]);
        w.params = w.market().params;
        w.treasury = treasury;
        self.pass(w, vec![vec![ix::market_apply_roles_by(&heir)]]).expect("the vote passes");
        // The founder gives the program away last: when a vote was seen to work.
        w.ok(ix::set_upgrade_authority(&founder.pubkey(), &self.realm.treasury), &[&founder]);
    }
}

/// The state of a proposal. Its place follows three addresses.
pub fn state_of(w: &Testbed, proposal: &Proposal) -> u8 {
    w.svm.get_account(&proposal.at).expect("the proposal exists").data[65]
}
