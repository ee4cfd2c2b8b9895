//! SPL Governance: holders of the stake token deposit it, propose and vote, and what passes is signed by a treasury.
//!
//! The layouts are those of the program's sources, `spl-governance-mythic` 3.1.2.

use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_signer::Signer;

use crate::ix::system_program;
use crate::testbed::key;
use crate::tokens::token_program;
use crate::{ix, Testbed};

/// Realms' instance on mainnet. The tests' own copy has the same address.
pub const ID: Address = Address::from_str_const("GovER5Lthms3bLBqWub97yVrMmEogzX7xNjdXpPPCVZw");
const NAME: &str = "Gantry";

pub const DAY: i64 = 86_400;
/// For so long holders vote.
pub const VOTING: i64 = 5 * DAY;
/// After that they, and the council, can only say no.
pub const COOL_OFF: i64 = DAY;
/// And so long what has passed waits.
pub const HOLD_UP: i64 = DAY;
/// The market's timelock after the hand-over: a day more than a vote takes, so that holders can replace what was proposed.
pub const TIMELOCK: i64 = VOTING + COOL_OFF + HOLD_UP + DAY;
/// Votes are weighed against this many base units: what circulates, not what there is.
pub const CIRCULATES: u64 = 10_000_000_000_000_000;
/// Of a hundred parts of what circulates so many must say yes.
pub const YES_PERCENT: u8 = 15;
/// And of a hundred members of the council so many must veto.
pub const VETO_PERCENT: u8 = 60;
/// What a proposal needs as a deposit of its author.
pub const TO_PROPOSE: u64 = CIRCULATES / 1_000;

/// Errors of SPL Governance.
pub mod error {
    use crate::errors::Code;

    pub const CANNOT_EXECUTE: Code = Code::Custom(524);
    pub const HOLD_UP: Code = Code::Custom(525);
    pub const EXECUTED: Code = Code::Custom(526);
    pub const STILL_VOTING: Code = Code::Custom(535);
    pub const REALM_AUTHORITY: Code = Code::Custom(564);
    pub const TOO_FEW_TO_GOVERN: Code = Code::Custom(571);
    pub const PROPOSAL_OPEN: Code = Code::Custom(573);
    pub const COOL_OFF: Code = Code::Custom(606);
}

/// What states of a proposal are, as its account has them.
pub mod state {
    pub const DRAFT: u8 = 0;
    pub const VOTING: u8 = 2;
    pub const SUCCEEDED: u8 = 3;
    pub const COMPLETED: u8 = 5;
    pub const DEFEATED: u8 = 7;
    pub const VETOED: u8 = 9;
}

#[derive(Clone, Copy, PartialEq)]
pub enum Vote {
    Yes,
    No,
    Veto,
}

/// The shared object that scripts/governance.sh has built.
pub fn binary() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/bin/spl_governance.so");
    std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}; build it with scripts/governance.sh"))
}

fn find(seeds: &[&[u8]]) -> Address {
    Address::find_program_address(seeds, &ID).0
}

/// The addresses of one realm.
#[derive(Clone, Copy)]
pub struct Realm {
    pub realm: Address,
    pub config: Address,
    /// What the votes are about, and what executes them.
    pub governance: Address,
    /// What signs: an address that may hold lamports and pay rent.
    pub treasury: Address,
    /// The stake token.
    pub community: Address,
    /// One token for each member of the council.
    pub council: Address,
}

/// A proposal, and the transactions that it executes.
pub struct Proposal {
    pub at: Address,
    pub owner: Address,
    pub transactions: Vec<Vec<Instruction>>,
}

impl Proposal {
    /// One that was made by hand.
    pub fn of(at: Address, owner: Address, transactions: Vec<Vec<Instruction>>) -> Self {
        Self { at, owner, transactions }
    }
}

/// How votes are decided.
#[derive(Clone, Copy)]
pub struct Rules {
    /// 0: a vote ends early when nothing can change it any more; 2: never.
    pub tipping: u8,
}

impl Default for Rules {
    fn default() -> Self {
        Self { tipping: 2 }
    }
}

impl Rules {
    /// The bytes of a GovernanceConfig.
    fn bytes(self) -> Vec<u8> {
        let mut out = vec![0, YES_PERCENT];
        out.extend(TO_PROPOSE.to_le_bytes());
        out.extend((HOLD_UP as u32).to_le_bytes());
        out.extend((VOTING as u32).to_le_bytes());
        out.push(self.tipping);
        out.push(2); // the council does not vote
        out.extend([0, VETO_PERCENT]);
        out.extend(u64::MAX.to_le_bytes()); // nor propose
        out.push(2);
        out.push(2); // holders veto nothing
        out.extend((COOL_OFF as u32).to_le_bytes());
        out.push(1); // proposals of an author without a deposit of lamports
        out
    }
}

fn text(out: &mut Vec<u8>, what: &str) {
    out.extend((what.len() as u32).to_le_bytes());
    out.extend(what.as_bytes());
}

fn call(tag: u8, accounts: Vec<AccountMeta>, args: &[u8]) -> Instruction {
    Instruction { program_id: ID, accounts, data: [&[tag], args].concat() }
}

fn w(at: Address) -> AccountMeta {
    AccountMeta::new(at, false)
}

fn r(at: Address) -> AccountMeta {
    AccountMeta::new_readonly(at, false)
}

fn s(at: Address) -> AccountMeta {
    AccountMeta::new_readonly(at, true)
}

fn sw(at: Address) -> AccountMeta {
    AccountMeta::new(at, true)
}

fn rent() -> Address {
    Address::from_str_const("SysvarRent111111111111111111111111111111111")
}

impl Realm {
    pub fn of(community: Address) -> Self {
        let realm = find(&[b"governance", NAME.as_bytes()]);
        let governance = find(&[b"account-governance", realm.as_ref(), gantry_market::ID.as_ref()]);
        Self {
            realm,
            config: find(&[b"realm-config", realm.as_ref()]),
            governance,
            treasury: find(&[b"native-treasury", governance.as_ref()]),
            community,
            council: key(90_000).pubkey(),
        }
    }

    /// Where deposited tokens of a mint lie.
    pub fn holding(&self, mint: &Address) -> Address {
        find(&[b"governance", self.realm.as_ref(), mint.as_ref()])
    }

    /// The record of an owner's deposit.
    pub fn record(&self, mint: &Address, owner: &Address) -> Address {
        find(&[b"governance", self.realm.as_ref(), mint.as_ref(), owner.as_ref()])
    }

    /// The founder is the realm's authority until [`Realm::bind`].
    pub fn create(&self, founder: &Address) -> Instruction {
        let mut args = vec![];
        text(&mut args, NAME);
        args.push(1); // there is a council
        args.extend(u64::MAX.to_le_bytes()); // nobody creates further governances
        args.push(1);
        args.extend(CIRCULATES.to_le_bytes());
        args.extend([0, 0, 0]); // deposits of the stake token come and go
        args.extend([0, 0, 1]); // the council's are memberships
        call(
            0,
            vec![
                w(self.realm),
                r(*founder),
                r(self.community),
                w(self.holding(&self.community)),
                sw(*founder),
                r(system_program()),
                r(token_program()),
                r(rent()),
                r(self.council),
                w(self.holding(&self.council)),
                r(token_program()),
                w(self.config),
            ],
            &args,
        )
    }

    pub fn create_governance(&self, founder: &Address, rules: Rules) -> Instruction {
        let accounts = vec![
            r(self.realm),
            w(self.governance),
            r(gantry_market::ID),
            r(self.record(&self.community, founder)),
            sw(*founder),
            r(system_program()),
            s(*founder),
            r(self.config),
        ];
        call(4, accounts, &rules.bytes())
    }

    pub fn create_treasury(&self, founder: &Address) -> Instruction {
        call(25, vec![r(self.governance), w(self.treasury), sw(*founder), r(system_program())], &[])
    }

    /// From here on only votes change the realm.
    pub fn bind(&self, authority: &Address) -> Instruction {
        call(21, vec![w(self.realm), s(*authority), r(self.governance)], &[1])
    }

    /// Other rules for votes. Only the governance itself may sign it.
    pub fn set_rules(&self, rules: Rules) -> Instruction {
        call(19, vec![sw(self.governance)], &rules.bytes())
    }

    pub fn deposit(&self, mint: &Address, owner: &Address, from: &Address, amount: u64) -> Instruction {
        let accounts = vec![
            r(self.realm),
            w(self.holding(mint)),
            w(*from),
            s(*owner),
            s(*owner),
            w(self.record(mint, owner)),
            sw(*owner),
            r(system_program()),
            r(token_program()),
            r(self.config),
        ];
        call(1, accounts, &amount.to_le_bytes())
    }

    pub fn withdraw(&self, owner: &Address, to: &Address) -> Instruction {
        let accounts = vec![
            r(self.realm),
            w(self.holding(&self.community)),
            w(*to),
            s(*owner),
            w(self.record(&self.community, owner)),
            r(token_program()),
            r(self.config),
        ];
        call(2, accounts, &[])
    }

    /// A draft. The seed sets it apart from others of the same author.
    pub fn create_proposal(&self, owner: &Address, seed: &Address, name: &str) -> (Address, Instruction) {
        let at = find(&[b"governance", self.governance.as_ref(), self.community.as_ref(), seed.as_ref()]);
        let mut args = vec![];
        text(&mut args, name);
        text(&mut args, "");
        args.push(0); // one choice
        args.extend(1u32.to_le_bytes());
        text(&mut args, "Approve");
        args.push(1); // and a way to say no
        args.extend(seed.as_ref());
        let accounts = vec![
            r(self.realm),
            w(at),
            w(self.governance),
            w(self.record(&self.community, owner)),
            r(self.community),
            s(*owner),
            sw(*owner),
            r(system_program()),
            r(self.config),
            w(find(&[b"proposal-deposit", at.as_ref(), owner.as_ref()])),
        ];
        (at, call(6, accounts, &args))
    }

    pub fn transaction(proposal: &Address, index: u16) -> Address {
        find(&[b"governance", proposal.as_ref(), &[0], &index.to_le_bytes()])
    }

    pub fn insert(
        &self,
        proposal: &Address,
        owner: &Address,
        index: u16,
        what: &[Instruction],
    ) -> Instruction {
        let mut args = vec![0];
        args.extend(index.to_le_bytes());
        args.extend((HOLD_UP as u32).to_le_bytes());
        args.extend((what.len() as u32).to_le_bytes());
        for instruction in what {
            args.extend(instruction_data(instruction));
        }
        let accounts = vec![
            r(self.governance),
            w(*proposal),
            r(self.record(&self.community, owner)),
            s(*owner),
            w(Self::transaction(proposal, index)),
            sw(*owner),
            r(system_program()),
            r(rent()),
        ];
        call(9, accounts, &args)
    }

    pub fn sign_off(&self, proposal: &Address, owner: &Address) -> Instruction {
        let record = self.record(&self.community, owner);
        let accounts = vec![r(self.realm), r(self.governance), w(*proposal), s(*owner), r(record)];
        call(12, accounts, &[])
    }

    pub fn vote_record(&self, proposal: &Address, record: &Address) -> Address {
        find(&[b"governance", proposal.as_ref(), record.as_ref()])
    }

    pub fn vote(&self, proposal: &Proposal, voter: &Address, vote: Vote) -> Instruction {
        let mint = if vote == Vote::Veto { self.council } else { self.community };
        let record = self.record(&mint, voter);
        let args: &[u8] = match vote {
            Vote::Yes => &[0, 1, 0, 0, 0, 0, 100],
            Vote::No => &[1],
            Vote::Veto => &[3],
        };
        let accounts = vec![
            r(self.realm),
            w(self.governance),
            w(proposal.at),
            w(self.record(&self.community, &proposal.owner)),
            w(record),
            s(*voter),
            w(self.vote_record(&proposal.at, &record)),
            r(mint),
            sw(*voter),
            r(system_program()),
            r(self.config),
        ];
        call(13, accounts, args)
    }

    pub fn finalize(&self, proposal: &Proposal) -> Instruction {
        let accounts = vec![
            r(self.realm),
            w(self.governance),
            w(proposal.at),
            w(self.record(&self.community, &proposal.owner)),
            r(self.community),
            r(self.config),
        ];
        call(14, accounts, &[])
    }

    /// Takes a vote back, or, once it is decided, clears the way for a withdrawal.
    pub fn relinquish(&self, proposal: &Proposal, voter: &Address) -> Instruction {
        let record = self.record(&self.community, voter);
        let accounts = vec![
            r(self.realm),
            r(self.governance),
            w(proposal.at),
            w(record),
            w(self.vote_record(&proposal.at, &record)),
            r(self.community),
            s(*voter),
            w(*voter),
        ];
        call(15, accounts, &[])
    }

    /// Anyone sends it. The governance and its treasury sign by the program.
    pub fn execute(&self, proposal: &Proposal, index: u16) -> Instruction {
        let mut accounts =
            vec![r(self.governance), w(proposal.at), w(Self::transaction(&proposal.at, index))];
        for instruction in &proposal.transactions[index as usize] {
            accounts.push(r(instruction.program_id));
            accounts.extend(instruction.accounts.iter().map(|meta| AccountMeta {
                is_signer: meta.is_signer && meta.pubkey != self.treasury && meta.pubkey != self.governance,
                ..meta.clone()
            }));
        }
        call(16, accounts, &[])
    }

    /// The same instruction of the market, by the realm's treasury in place of the authority's key.
    pub fn own(&self, w: &Testbed, instruction: Instruction) -> Instruction {
        ix::by(instruction, w, &self.treasury)
    }
}

/// An instruction as a proposal holds it.
pub fn instruction_data(instruction: &Instruction) -> Vec<u8> {
    let mut out = instruction.program_id.as_ref().to_vec();
    out.extend((instruction.accounts.len() as u32).to_le_bytes());
    for meta in &instruction.accounts {
        out.extend(meta.pubkey.as_ref());
        out.extend([u8::from(meta.is_signer), u8::from(meta.is_writable)]);
    }
    out.extend((instruction.data.len() as u32).to_le_bytes());
    out.extend(&instruction.data);
    out
}
