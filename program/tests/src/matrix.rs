//! The account-substitution matrix: every instruction, every account of it, every way in which that account can be
//! wrong. Each must be refused.
//!
//! Instructions and account names come from the IDL, right calls from the scenario that measures compute units, so a
//! new instruction enters the matrix by itself.

mod pairs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anchor_lang::Discriminator;
use gantry_market::state::{Credits, Keeper, Lease};
use gantry_market::ID;
use litesvm::LiteSVM;
use solana_account::{Account, ReadableAccount};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_message::Message;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::idl::Idl;
use crate::recorder::Recorded;
use crate::testbed::key;
use crate::tokens::{put_token_account, token_2022_program, token_program};
use crate::{bench, ix, pda, shapes, Testbed};
use pairs::{ALL, DEEP, ONE};

/// Calls that succeed with another account than the recorded one, and must: instruction, account, what is put there,
/// and why it harms nobody.
pub const HARMLESS: [(&str, &str, &str, &str); 60] = [
    ("slash_apply", "payer", "another signer", NO_FINDER),
    ("slash_apply", "payer", "another wallet", NO_FINDER),
    ("slash_apply", "payer", "no account", NO_FINDER),
    ("slash_apply", "payer", "wrong owner", NO_FINDER),
    ("slash_apply", "payout", "an account that exists", NO_FINDER),
    ("slash_apply", "payout", "no account", NO_FINDER),
    ("slash_apply", "payout", "occupied by a broken account", NO_FINDER),
    ("slash_apply", "payout", "occupied by another program", NO_FINDER),
    ("lease_close", "authority", "another account of the call", ANYONE_CLOSES),
    ("lease_close", "authority", "another signer", ANYONE_CLOSES),
    ("lease_close", "authority", "another wallet", ANYONE_CLOSES),
    ("lease_close", "authority", "no account", ANYONE_CLOSES),
    ("lease_close", "authority", "wrong owner", ANYONE_CLOSES),
    ("dispute_resolve", "payout", "closed", NO_PAYOUT),
    ("dispute_resolve", "payout", "wrong owner, in place", NO_PAYOUT),
    ("dispute_resolve", "payout", "wrong token program", NO_PAYOUT),
    ("dispute_uphold", "payer", "another account of the call", "anyone who signs may pay the rent"),
    ("lease_extend", "lease", "another of its type", SUBJECT),
    ("report_close", "report", "another of its type", SUBJECT),
    (
        "rewards_accrue",
        "report",
        "another of its type",
        "any final report that is newer than the last will do",
    ),
    ("node_set_evidence", "payer", "another signer", ANYONE_SHOWS),
    ("node_set_evidence", "payer", "another wallet", ANYONE_SHOWS),
    ("node_set_evidence", "payer", "no account", ANYONE_SHOWS),
    ("node_set_evidence", "payer", "wrong owner", ANYONE_SHOWS),
    ("node_set_evidence", "remaining_0", "closed", NOBODYS),
    ("node_set_evidence", "remaining_1", "closed", NOBODYS),
    ("rewards_buy_back", "buyer_payment", "a stranger's token account", BUYER),
    ("rewards_buy_back", "buyer_payment", "another's token account", BUYER),
    ("rewards_claim", "report", "another of its type", SUBJECT),
    ("market_init", "stake_mint", "another mint", FOUNDER),
    ("market_init", "treasury", "a stranger's token account", FOUNDER),
    ("market_propose_roles", "treasury", "a stranger's token account", GOVERNOR),
    ("market_propose_roles", "treasury", "another's token account", GOVERNOR),
    ("rewards_accrue", "treasury", "closed", UNPAYABLE),
    ("rewards_accrue", "treasury", "wrong owner, in place", UNPAYABLE),
    ("rewards_accrue", "treasury", "wrong token program", UNPAYABLE),
    ("auction_award", "loser", "another account of the call", NO_LOSER),
    ("auction_close", "order", "closed", AWARDED),
    ("auction_close", "order", "one byte short", AWARDED),
    ("auction_close", "order", "wrong owner, in place", AWARDED),
    ("auction_close", "order", "wrong type, in place", AWARDED),
    (
        "report_apply",
        "closed_lease",
        "occupied by another program",
        "only the address counts: a lease is not there",
    ),
    (
        "prove_equivocation",
        "instructions",
        "signatures in the other order",
        "either statement equivocates with the other",
    ),
    ("auction_award", "keeper", ONE, OWN),
    ("keeper_request_exit", "keeper", ALL, OWN),
    ("keeper_update", "keeper", ONE, OWN),
    ("lease_migrate", "keeper", ONE, OWN),
    ("node_guarantee", "node", DEEP, OWN),
    ("node_retire", "node", DEEP, OWN),
    ("node_update", "node", ONE, OWN),
    ("node_update", "node", ALL, OWN),
    ("output_commit", "lease", ONE, OWN),
    ("provider_set_payout", "provider", ALL, OWN),
    ("keeper_suspend", "keeper", ONE, SUBJECT),
    ("lease_close", "lease", ALL, SUBJECT),
    ("lease_end", "lease", ONE, SUBJECT),
    ("lease_rate", "lease", ONE, SUBJECT),
    ("lease_settle_report", "lease", ONE, SUBJECT),
    ("prove_better_ask", "better", ONE, SUBJECT),
    ("slash_apply", "fault", ONE, SUBJECT),
];
const OWN: &str = "whoever the other account names signs for it: the call is that one's own";
/// Otherwise a provider that closes its account would hold the customer's deposit.
const NO_PAYOUT: &str = "an account that takes no payments loses them to the buy-back";
const ANYONE_CLOSES: &str = "anyone who signs may close a lease that is due; money goes where state says";
const NO_FINDER: &str =
    "what a report says has no finder: there is no payout to make and nobody to pay for it";
const ANYONE_SHOWS: &str =
    "anyone who signs may send what a final report says; it pays rent only where a claim is made";
const NOBODYS: &str = "a claim that nobody has is made for the node whose evidence names the device";
const NO_LOSER: &str =
    "a call that names no losing bid is another right call: the keeper answers for what it names";
const AWARDED: &str =
    "an auction that was awarded closes whatever became of its order; only the order's address counts";
const SUBJECT: &str = "the call is about the account named, and all others belong to that one as well";
const BUYER: &str = "the buyer signs, burns tokens of its own, and says where the payment goes";
const GOVERNOR: &str =
    "the authority proposes whose account is to be the treasury; everyone can see it until then";
const UNPAYABLE: &str =
    "a treasury that cannot be paid leaves its share to the buy-back: it holds nobody's reward up";
const FOUNDER: &str = "the upgrade authority chooses it when it creates the market";

/// Copies of the program's accounts at other addresses cannot exist: only the program creates accounts that it owns,
/// always at their derived address, which the random harness checks after every step. Most instructions would take one,
/// since deriving the address again costs compute units, so these are kept apart, in [`copies_path`]. An account that is
/// not there has its address checked: where such a check goes, the list grows.
pub const IMPOSSIBLE: &str = "a copy elsewhere";

/// What was found.
#[derive(Default)]
pub struct Outcome {
    /// The only instruction that was tried, if not all were.
    pub only: Option<String>,
    /// Instructions, by how many shapes of each were tried.
    pub shapes: BTreeMap<&'static str, usize>,
    /// Accounts tried, all shapes together.
    pub accounts: usize,
    /// Wrong calls, by kind of wrongness.
    pub tried: BTreeMap<&'static str, usize>,
    /// Wrong calls that were not refused.
    pub accepted: BTreeSet<Accepted>,
    /// Instructions and accounts of which a copy was taken that cannot exist.
    pub copies: BTreeSet<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Accepted {
    pub instruction: &'static str,
    pub account: String,
    pub wrong: &'static str,
}

impl Outcome {
    pub fn cases(&self) -> usize {
        self.tried.values().sum()
    }

    /// Accepted calls that no entry of [`HARMLESS`] explains, and entries that explain nothing.
    pub fn unexplained(&self) -> Vec<String> {
        let known = |found: &Accepted| {
            let found = (found.instruction, found.account.as_str(), found.wrong);
            HARMLESS.iter().any(|(instruction, account, wrong, _)| (*instruction, *account, *wrong) == found)
        };
        let open = self.accepted.iter().filter(|found| !known(found)).map(|found| format!("{found:?}"));
        let tried = |name: &str| self.only.as_deref().is_none_or(|only| only == name);
        let idle = HARMLESS.iter().filter(|(instruction, account, wrong, _)| {
            tried(instruction)
                && !self
                    .accepted
                    .iter()
                    .any(|a| (a.instruction, a.account.as_str(), a.wrong) == (*instruction, *account, *wrong))
        });
        open.chain(idle.map(|entry| format!("explains nothing: {entry:?}"))).collect()
    }

    pub fn summary(&self) -> String {
        format!(
            "substitution matrix: {} instructions, {} shapes, {} accounts, {} wrong calls of {} kinds; {} accepted \
             and explained, {} took a copy that cannot exist, {} unexplained",
            self.shapes.len(),
            self.shapes.values().sum::<usize>(),
            self.accounts,
            self.cases(),
            self.tried.len(),
            self.accepted.len(),
            self.copies.len(),
            self.unexplained().len()
        )
    }
}

/// Where the accounts are listed of which a copy would be taken.
pub fn copies_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("copies.json")
}

impl Outcome {
    /// Whether the committed list says the same of what was tried.
    pub fn copies_are(&self, committed: &str) -> bool {
        let Ok(list) = serde_json::from_str::<BTreeMap<String, BTreeSet<String>>>(committed) else {
            return false;
        };
        let known: BTreeSet<(String, String)> = list
            .into_iter()
            .filter(|(name, _)| self.only.as_deref().is_none_or(|only| only == name))
            .flat_map(|(name, accounts)| accounts.into_iter().map(move |account| (name.clone(), account)))
            .collect();
        let found = self.copies.iter().map(|(name, account)| ((*name).to_owned(), account.clone()));
        known == found.collect()
    }

    /// The list as it is committed.
    pub fn copies_json(&self) -> String {
        let mut list: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (instruction, account) in &self.copies {
            list.entry(instruction).or_default().push(account);
        }
        serde_json::to_string_pretty(&list).expect("serialises") + "\n"
    }
}

/// Plays the scenario and keeps a right call of every instruction in every shape. Panics when the scenario lacks one.
pub fn recipes() -> Vec<Recorded> {
    let mut w = Testbed::recording();
    shapes::play(&mut w);
    let recorder = w.recorder.take();
    let mut w = Testbed::new();
    w.recorder = recorder;
    bench::play(&mut w);
    let found = w.recorder.take().expect("the testbed records").into_all();
    let names: BTreeSet<&str> = found.iter().map(|recorded| recorded.name).collect();
    for shape in Idl::load().instructions {
        assert!(
            names.contains(shape.name.as_str()),
            "no right call of {} is known: let it succeed in bench::play, with a builder in ix and its name in \
             ix::all_names",
            shape.name
        );
    }
    found
}

/// Tries every substitution on every right call, or on those of the instruction that `GANTRY_MATRIX` names.
pub fn run() -> Outcome {
    let idl = Idl::load();
    let only = std::env::var("GANTRY_MATRIX").ok().filter(|name| !name.is_empty());
    let mut outcome = Outcome { only: only.clone(), ..Outcome::default() };
    for recorded in recipes() {
        if only.as_deref().is_some_and(|only| only != recorded.name) {
            continue;
        }
        let base = Base::new(&idl, recorded);
        *outcome.shapes.entry(base.recorded.name).or_default() += 1;
        outcome.accounts += base.recorded.instruction().accounts.len();
        base.try_all(&mut outcome);
    }
    outcome
}

/// A right call and the chain that it is right on.
struct Base {
    recorded: Recorded,
    svm: LiteSVM,
    names: Vec<String>,
}

/// A wrong call: what is wrong, accounts to write first, and the transaction.
type Wrong = (&'static str, Vec<(Address, Account)>, Vec<Instruction>);

impl Base {
    fn new(idl: &Idl, recorded: Recorded) -> Self {
        let slots = &idl.shape(recorded.name).accounts;
        let named = slots.iter().map(|slot| slot.name.clone());
        let count = recorded.instruction().accounts.len();
        assert!(count >= slots.len(), "{}: fewer accounts than the IDL has", recorded.name);
        let further = (slots.len()..count).map(|at| format!("remaining_{}", at - slots.len()));
        let names = named.chain(further).collect();
        // Whoever is marked as a signer has signed: what is tested is what the program asks for.
        let svm = recorded.before.clone().with_sigverify(false).with_blockhash_check(false);
        let base = Self { recorded, svm, names };
        assert!(
            base.succeeds(&[], &base.recorded.instructions),
            "{}: the right call is refused on a second try",
            base.recorded.name
        );
        base
    }

    fn succeeds(&self, writes: &[(Address, Account)], instructions: &[Instruction]) -> bool {
        let payer = key(0).pubkey();
        let message = Message::new(instructions, Some(&payer));
        let mut transaction = Transaction::new_unsigned(message);
        transaction.signatures =
            vec![Default::default(); transaction.message.header.num_required_signatures.into()];
        if writes.is_empty() {
            return self.svm.simulate_transaction(transaction).is_ok();
        }
        let mut svm = self.svm.clone();
        for (at, account) in writes {
            svm.set_account(*at, account.clone()).expect("account is written");
        }
        svm.simulate_transaction(transaction).is_ok()
    }

    fn try_all(&self, outcome: &mut Outcome) {
        for at in 0..self.names.len() {
            for (wrong, writes, instructions) in self.wrongs(at) {
                *outcome.tried.entry(wrong).or_default() += 1;
                if !self.succeeds(&writes, &instructions) {
                    continue;
                }
                if wrong == IMPOSSIBLE {
                    outcome.copies.insert((self.recorded.name, self.names[at].clone()));
                } else {
                    outcome.accepted.insert(Accepted {
                        instruction: self.recorded.name,
                        account: self.names[at].clone(),
                        wrong,
                    });
                }
            }
        }
        for (at, (wrong, writes, instructions)) in self.wrong_pairs() {
            *outcome.tried.entry(wrong).or_default() += 1;
            if self.succeeds(&writes, &instructions) {
                let account = self.names[at].clone();
                outcome.accepted.insert(Accepted { instruction: self.recorded.name, account, wrong });
            }
        }
        for (wrong, instructions) in self.wrong_signatures() {
            *outcome.tried.entry(wrong).or_default() += 1;
            if self.succeeds(&[], &instructions) {
                outcome.accepted.insert(Accepted {
                    instruction: self.recorded.name,
                    account: "instructions".to_owned(),
                    wrong,
                });
            }
        }
    }

    /// The transaction with one account of the instruction changed.
    fn with(&self, at: usize, change: impl FnOnce(&mut AccountMeta)) -> Vec<Instruction> {
        let mut instructions = self.recorded.instructions.clone();
        change(&mut instructions[self.recorded.at].accounts[at]);
        instructions
    }

    fn put(&self, at: usize, address: Address) -> Vec<Instruction> {
        self.with(at, |meta| meta.pubkey = address)
    }

    fn account(&self, at: &Address) -> Option<Account> {
        self.svm.get_account(at).filter(|account| account.lamports > 0)
    }

    /// Every wrong thing that can stand in one place.
    fn wrongs(&self, at: usize) -> Vec<Wrong> {
        let meta = self.recorded.instruction().accounts[at].clone();
        let mut wrongs: Vec<Wrong> = vec![];
        if meta.pubkey == ID {
            // An optional account that is absent: there is nothing to replace.
            return wrongs;
        }
        if meta.is_signer {
            wrongs.push(("missing signature", vec![], self.with(at, |meta| meta.is_signer = false)));
            wrongs.push(("another signer", vec![], self.put(at, stranger())));
        }
        if meta.is_writable {
            wrongs.push(("not writable", vec![], self.with(at, |meta| meta.is_writable = false)));
        }
        wrongs.push(("no account", vec![], self.put(at, key(900_001).pubkey())));
        for other in &self.recorded.instruction().accounts {
            if other.pubkey != meta.pubkey {
                wrongs.push(("another account of the call", vec![], self.put(at, other.pubkey)));
            }
        }
        match self.account(&meta.pubkey) {
            _ if meta.pubkey == ix::instructions_sysvar() => {
                self.wrong_programs(at, &Account::default(), &mut wrongs);
            }
            None if meta.is_signer => wrongs.push(("another wallet", vec![], self.put(at, stranger()))),
            None => self.wrong_for_new(at, &meta, &mut wrongs),
            Some(account) if account.executable => self.wrong_programs(at, &account, &mut wrongs),
            Some(account) if account.owner == ID => self.wrong_states(at, &meta, &account, &mut wrongs),
            Some(account) if account.owner == token_program() => {
                self.wrong_tokens(at, &meta, &account, &mut wrongs);
            }
            Some(account) => {
                wrongs.push(("another wallet", vec![], self.put(at, stranger())));
                wrongs.push(self.forged(at, &account));
            }
        }
        wrongs
    }

    /// A copy of an account under an address of its own, owned by a foreign program.
    fn forged(&self, at: usize, account: &Account) -> Wrong {
        let (address, forged) =
            (key(900_003).pubkey(), Account { owner: foreign_program(), ..account.clone() });
        ("wrong owner", vec![(address, forged)], self.put(at, address))
    }

    /// An account that the call creates: other addresses, and something that is in its place already.
    fn wrong_for_new(&self, at: usize, meta: &AccountMeta, wrongs: &mut Vec<Wrong>) {
        let occupied = |owner: Address, len: usize| Account {
            lamports: 10_000_000,
            data: vec![7; len],
            owner,
            executable: false,
            rent_epoch: u64::MAX,
        };
        let instructions = self.recorded.instructions.clone();
        let place = vec![(meta.pubkey, occupied(foreign_program(), 64))];
        wrongs.push(("occupied by another program", place, instructions.clone()));
        wrongs.push(("occupied by a broken account", vec![(meta.pubkey, occupied(ID, 64))], instructions));
        for (other, _) in self.others(|account| *account.owner() == ID).into_iter().take(12) {
            wrongs.push(("an account that exists", vec![], self.put(at, other)));
        }
        for (other, _) in self.others(|account| *account.owner() == token_program()).into_iter().take(6) {
            wrongs.push(("an account that exists", vec![], self.put(at, other)));
        }
    }

    fn wrong_programs(&self, at: usize, account: &Account, wrongs: &mut Vec<Wrong>) {
        let others =
            [token_2022_program(), token_program(), ix::system_program(), ID, ix::instructions_sysvar()];
        let now = self.recorded.instruction().accounts[at].pubkey;
        for other in others.into_iter().filter(|other| *other != now) {
            wrongs.push(("another program", vec![], self.put(at, other)));
        }
        let fake = key(900_004).pubkey();
        let copy =
            Account { executable: false, lamports: account.lamports.max(10_000_000), ..account.clone() };
        wrongs.push(("a fake", vec![(fake, copy)], self.put(at, fake)));
    }

    /// An account of the program.
    fn wrong_states(&self, at: usize, meta: &AccountMeta, account: &Account, wrongs: &mut Vec<Wrong>) {
        let instructions = &self.recorded.instructions;
        let foreign = Account { owner: foreign_program(), ..account.clone() };
        wrongs.push(("wrong owner, in place", vec![(meta.pubkey, foreign)], instructions.clone()));
        wrongs.push(self.forged(at, account));
        for tag in [Credits::DISCRIMINATOR, Keeper::DISCRIMINATOR, Lease::DISCRIMINATOR, &[0; 8]] {
            if !account.data.starts_with(tag) {
                let mut other = account.clone();
                other.data[..8].copy_from_slice(tag);
                wrongs.push(("wrong type, in place", vec![(meta.pubkey, other)], instructions.clone()));
            }
        }
        let mut short = account.clone();
        short.data.truncate(account.data.len() - 1);
        wrongs.push(("one byte short", vec![(meta.pubkey, short)], instructions.clone()));
        let twin = key(900_005).pubkey();
        wrongs.push((IMPOSSIBLE, vec![(twin, account.clone())], self.put(at, twin)));
        wrongs.push(("closed", vec![(meta.pubkey, Account::default())], instructions.clone()));
        let tag = &account.data[..8];
        for (other, _) in self.others(|found| *found.owner() == ID && found.data().starts_with(tag)) {
            if other != meta.pubkey {
                wrongs.push(("another of its type", vec![], self.put(at, other)));
            }
        }
        let foreign_types = self.others(|found| *found.owner() == ID && !found.data().starts_with(tag));
        let mut seen = BTreeSet::new();
        for (other, data) in foreign_types {
            if seen.insert(data[..8].to_vec()) {
                wrongs.push(("another type", vec![], self.put(at, other)));
            }
        }
    }

    /// A token account or a mint.
    fn wrong_tokens(&self, at: usize, meta: &AccountMeta, account: &Account, wrongs: &mut Vec<Wrong>) {
        let instructions = &self.recorded.instructions;
        let other_program = Account { owner: token_2022_program(), ..account.clone() };
        wrongs.push(("wrong token program", vec![(meta.pubkey, other_program)], instructions.clone()));
        let foreign = Account { owner: foreign_program(), ..account.clone() };
        wrongs.push(("wrong owner, in place", vec![(meta.pubkey, foreign)], instructions.clone()));
        wrongs.push(self.forged(at, account));
        wrongs.push(("closed", vec![(meta.pubkey, Account::default())], instructions.clone()));
        let twin = key(900_006).pubkey();
        if account.data.len() != 165 {
            wrongs.push(("another mint", vec![(twin, account.clone())], self.put(at, twin)));
            // The market fixes its mints: only before there is one can a mint have other decimals.
            if self.account(&pda::market()).is_none() {
                let mut other = account.clone();
                other.data[44] ^= 1;
                wrongs.push(("other decimals", vec![(meta.pubkey, other)], instructions.clone()));
            }
            for (other, _) in
                self.others(|found| *found.owner() == token_program() && found.data().len() == 82)
            {
                if other != meta.pubkey {
                    wrongs.push(("another mint", vec![], self.put(at, other)));
                }
            }
            return;
        }
        let word =
            |from: usize| Address::new_from_array(account.data[from..from + 32].try_into().expect("32"));
        let (mint, owner) = (word(0), word(32));
        let mut scratch = LiteSVM::new();
        let mut make = |mint: Address, owner: Address| {
            put_token_account(&mut scratch, twin, mint, owner, 1_000_000_000_000, token_program());
            scratch.get_account(&twin).expect("was written")
        };
        let of_others = make(mint, stranger());
        wrongs.push(("a stranger's token account", vec![(twin, of_others)], self.put(at, twin)));
        let of_mint = make(key(900_007).pubkey(), owner);
        wrongs.push(("wrong mint", vec![(twin, of_mint)], self.put(at, twin)));
        for (other, data) in
            self.others(|found| *found.owner() == token_program() && found.data().len() == 165)
        {
            if other != meta.pubkey
                && (data[..32] != account.data[..32] || data[32..64] != account.data[32..64])
            {
                let wrong =
                    if data[..32] == account.data[..32] { "another's token account" } else { "wrong mint" };
                wrongs.push((wrong, vec![], self.put(at, other)));
            }
        }
    }

    /// All accounts of some kind, by address.
    fn others(&self, kind: impl Fn(&solana_account::AccountSharedData) -> bool) -> Vec<(Address, Vec<u8>)> {
        let all = self.svm.accounts_db().inner.iter();
        let found = all.filter(|(_, account)| account.lamports() > 0 && kind(account));
        let mut found: Vec<_> = found.map(|(at, account)| (*at, account.data().to_vec())).collect();
        found.sort();
        found
    }

    /// Where signatures are checked before the call: ways to have something else checked, or nothing.
    fn wrong_signatures(&self) -> Vec<(&'static str, Vec<Instruction>)> {
        let good = &self.recorded.instructions;
        let checks: Vec<usize> =
            (0..self.recorded.at).filter(|at| good[*at].program_id == ix::ed25519_program()).collect();
        let mut wrongs = vec![];
        for at in &checks {
            let change = |change: &dyn Fn(&mut Vec<Instruction>)| {
                let mut all = good.clone();
                change(&mut all);
                all
            };
            wrongs.push((
                "signature left out",
                change(&|all| {
                    all.remove(*at);
                }),
            ));
            wrongs.push((
                "signature after the call",
                change(&|all| {
                    let check = all.remove(*at);
                    all.push(check);
                }),
            ));
            wrongs.push((
                "something between signature and call",
                change(&|all| {
                    let other = all[*at].clone();
                    all.insert(self.recorded.at, Instruction { data: vec![0, 0], ..other });
                }),
            ));
            wrongs.push((
                "another's signature",
                change(&|all| {
                    let message = all[*at].data[112..].to_vec();
                    all[*at] = ix::signed(&key(900_002), &message);
                }),
            ));
            wrongs.push((
                "another message",
                change(&|all| {
                    let mut message = all[*at].data[112..].to_vec();
                    message[20] ^= 1;
                    all[*at] = ix::signed(&key(900_002), &message);
                    all[*at].data[16..48].copy_from_slice(&good[*at].data[16..48]);
                }),
            ));
            // The key and message of the right check stand where the program looks, but what is verified is another
            // instruction's: offsets point into the one that follows.
            wrongs.push((
                "offsets into another instruction",
                change(&|all| {
                    let message = all[*at].data[112..].to_vec();
                    let decoy = ix::signed(&key(900_002), &message);
                    all.push(decoy);
                    let index = (all.len() as u16 - 1).to_le_bytes();
                    for place in [4, 8, 14] {
                        all[*at].data[place..place + 2].copy_from_slice(&index);
                    }
                    all[*at].data[48..112].fill(1);
                }),
            ));
            wrongs.push((
                "no signature in the check",
                change(&|all| {
                    all[*at].data[0] = 0;
                }),
            ));
        }
        if let [first, second] = checks[..] {
            let mut swapped = good.clone();
            swapped.swap(first, second);
            wrongs.push(("signatures in the other order", swapped));
        }
        wrongs
    }
}

fn foreign_program() -> Address {
    Address::new_from_array([77; 32])
}

/// Someone with nothing in the market; signs whatever it is put into.
fn stranger() -> Address {
    key(900_002).pubkey()
}
