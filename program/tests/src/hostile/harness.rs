//! A testbed with a fixed cast, in which recorded steps run under the rules.

use std::collections::{BTreeMap, BTreeSet};

use gantry_market::state::{Market, Params};
use gantry_market::ID;
use litesvm::LiteSVM;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_address::Address;
use solana_clock::Clock;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_message::Message;
use solana_signer::Signer;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;

use super::entity::Held;
use super::ledger::Ledger;
use super::owners::{orders, terms, Books, Owners};
use super::rules::{of_change, of_state, Act, Moved, Verdict, Violation};
use super::trace::{Step, TokenTrick};
use super::waits::nobody_waits;
use crate::ix::name_of;
use crate::testbed::{key, test_params};
use crate::tokens::{put_token_account, token_program};
use crate::{pda, Actor, Testbed};

/// What ran and what came of it.
#[derive(Clone, Default, Debug)]
pub struct Stats {
    pub transactions: u64,
    /// Instructions sent to the market, refused ones too.
    pub instructions: u64,
    pub successes: BTreeMap<&'static str, u64>,
    pub refusals: BTreeMap<&'static str, u64>,
    /// Refusals by instruction and error.
    pub errors: BTreeMap<(&'static str, String), u64>,
    /// Times that all rules were checked.
    pub checks: u64,
}

impl Stats {
    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.instructions += other.instructions;
        self.checks += other.checks;
        for (what, count) in &other.errors {
            *self.errors.entry(what.clone()).or_default() += count;
        }
        for (into, from) in [(&mut self.successes, &other.successes), (&mut self.refusals, &other.refusals)] {
            for (name, count) in from {
                *into.entry(name).or_default() += count;
            }
        }
    }

    pub fn accepted(&self) -> u64 {
        self.successes.values().sum()
    }
}

/// Machine keys by the index of their owner among the actors, with the GPUs of each.
pub const MACHINES: [(usize, u64, u8); 9] = [
    (2, 70_001, 2),
    (3, 70_002, 3),
    (3, 70_003, 1),
    (4, 70_004, 2),
    (4, 70_005, 8),
    // These register later, if at all.
    (4, 70_006, 2),
    (3, 70_007, 1),
    (4, 70_008, 2),
    (3, 70_009, 2),
];
/// Machines that say they have the GPUs of another.
pub const TWINS: [(u64, u64); 2] = [(70_008, 70_001), (70_009, 70_004)];
/// How many of them begin as registered.
const REGISTERED: usize = 5;
/// Who plays what. Everyone may try everything; these only have what they need for it.
pub const CUSTOMERS: [usize; 3] = [0, 1, 4];
pub const PROVIDERS: [usize; 3] = [2, 3, 4];
pub const KEEPERS: [usize; 4] = [5, 6, 7, 8];
/// Keys that may sign for keepers apart from their wallets.
pub const HOT: [u64; 3] = [81_001, 81_002, 81_003];
/// Customer, provider and keeper in one: the one who tries to cheat with every role at once.
pub const ATTACKER: usize = 4;
const ACTORS: usize = 10;

pub struct Harness {
    pub w: Testbed,
    pub ledger: Ledger,
    /// What the rules by owner remember.
    pub books: Books,
    pub actors: Vec<Actor>,
    /// Everyone's keys, machines' too.
    pub keys: BTreeMap<Address, Keypair>,
    pub stats: Stats,
}

/// Parameters under which much happens in few steps.
pub fn params() -> Params {
    Params {
        report_retention_secs: 600,
        unstake_cooldown_secs: 960,
        timelock_secs: 300,
        // On, and soon used up.
        emission_bps: 2_000,
        emission_cap: 60_000_000,
        ..test_params()
    }
}

impl Harness {
    /// The cast, with stake, bonds and credits, and machines on offer. `mutant` switches a mutant on, where the program
    /// under test was built with mutants; 0 switches none on.
    pub fn new(mutant: u64) -> Self {
        let mut w = Testbed::bare();
        w.svm = std::mem::take(&mut w.svm)
            .with_sigverify(false)
            .with_blockhash_check(false)
            .with_transaction_history(0)
            .with_log_bytes_limit(Some(0));
        let mut w = w.open(params());
        let unit = w.params.min_bond;
        let actors: Vec<Actor> = (0..ACTORS).map(|_| w.actor()).collect();
        let ok = |w: &mut Testbed, instruction, who: &Actor| {
            w.ok(instruction, &[&who.key]);
        };
        for (at, deposit) in [(0, 20_000_000), (1, 3_000_000), (4, 10_000_000)] {
            let deposit = crate::ix::credits_deposit(&w, &actors[at], deposit);
            ok(&mut w, deposit, &actors[at]);
        }
        for (at, weight) in KEEPERS.into_iter().zip([4, 3, 3, 1]) {
            let register = crate::ix::keeper_register(&w, &actors[at], weight * unit);
            ok(&mut w, register, &actors[at]);
        }
        w.warp(i64::from(w.params.keeper_activation_secs));
        for at in KEEPERS {
            ok(&mut w, crate::ix::keeper_activate(&actors[at]), &actors[at]);
        }
        for (at, stake) in [(2, 40_000_000_000), (3, 80_000_000_000), (4, 120_000_000_000)] {
            let register = crate::ix::provider_register(&w, &actors[at]);
            ok(&mut w, register, &actors[at]);
            let stake = crate::ix::provider_stake(&w, &actors[at], stake);
            ok(&mut w, stake, &actors[at]);
        }
        let mut keys: BTreeMap<Address, Keypair> =
            actors.iter().map(|actor| (actor.wallet(), actor.key.insecure_clone())).collect();
        for (at, (owner, number, gpus)) in MACHINES.into_iter().enumerate() {
            let machine = key(number);
            if at >= REGISTERED {
                keys.insert(machine.pubkey(), machine);
                continue;
            }
            let register =
                crate::ix::node_register(&actors[owner], &machine.pubkey(), crate::ix::spec(gpus), 2_000_000);
            w.ok(register, &[&actors[owner].key, &machine]);
            keys.insert(machine.pubkey(), machine);
        }
        for who in [&w.authority, &w.guardian] {
            keys.insert(who.pubkey(), who.insecure_clone());
        }
        for number in HOT {
            let hot = key(number);
            w.svm.airdrop(&hot.pubkey(), crate::actors::START_LAMPORTS).expect("airdrop");
            keys.insert(hot.pubkey(), hot);
        }
        // Token accounts that are not what they look like.
        let thief = actors[ATTACKER].wallet();
        let odd = [
            (80_001, key(80_000).pubkey(), thief),
            (80_002, w.payment_mint, actors[0].wallet()),
            (80_003, w.stake_mint, actors[2].wallet()),
            (80_004, w.payment_mint, thief),
            (80_005, w.stake_mint, thief),
        ];
        for (number, mint, owner) in odd {
            put_token_account(&mut w.svm, key(number).pubkey(), mint, owner, 1_000_000_000, token_program());
        }
        crate::tokens::put_mint(&mut w.svm, key(80_000).pubkey(), 6, 1_000_000_000_000, token_program());
        let mut clock = w.svm.get_sysvar::<Clock>();
        clock.leader_schedule_epoch = mutant;
        w.svm.set_sysvar(&clock);
        let books = Books::new(Owners::of(&actors));
        let mut harness = Self { w, ledger: Ledger::default(), books, actors, keys, stats: Stats::default() };
        harness.read_all();
        harness
    }

    /// A copy that goes its own way.
    pub fn fork(&self) -> Self {
        Self {
            w: self.w.fork(),
            ledger: self.ledger.clone(),
            books: self.books.clone(),
            actors: self.actors.iter().map(Actor::again).collect(),
            keys: self.keys.iter().map(|(at, key)| (*at, key.insecure_clone())).collect(),
            stats: Stats::default(),
        }
    }

    /// Fills the ledger from the chain: the program's accounts, token accounts, mints, and the cast's wallets.
    fn read_all(&mut self) {
        let mut wanted: BTreeSet<Address> = self.keys.keys().copied().collect();
        for (at, account) in &self.w.svm.accounts_db().inner {
            if *account.owner() == ID || (*account.owner() == token_program() && !account.executable()) {
                wanted.insert(*at);
            }
        }
        for at in wanted {
            self.read(&at);
        }
    }

    fn read(&mut self, at: &Address) {
        let held = Held::of(self.w.svm.accounts_db().get_account_ref(at));
        self.ledger.put(*at, held);
    }

    pub fn now(&self) -> i64 {
        self.w.now()
    }

    /// Runs one step. True when it had an effect.
    pub fn apply(&mut self, step: &Step) -> Result<bool, Violation> {
        match step {
            Step::Warp(seconds) => {
                self.w.warp(*seconds);
                // Time alone must not break a rule either.
                self.check_state()?;
                nobody_waits(self)?;
                Ok(true)
            }
            Step::Send(instructions) => self.send(instructions),
            Step::Either(ways) => self.either(ways),
            Step::Lamports(to, amount) => Ok(self.give_lamports(to, *amount)),
            Step::Tokens(to, amount) => Ok(self.give_tokens(to, *amount)),
            Step::Token(at, trick) => Ok(self.token(at, *trick)),
        }
    }

    /// All ways on copies, and then the first one.
    fn either(&mut self, ways: &[Vec<Step>]) -> Result<bool, Violation> {
        orders::same_by_all(self, ways)?;
        let mut done = false;
        for step in ways.first().into_iter().flatten() {
            done |= self.apply(step)?;
        }
        Ok(done)
    }

    fn check_state(&mut self) -> Verdict {
        self.stats.checks += 1;
        of_state(&self.ledger, self.w.now())
    }

    /// One transaction. When it holds several instructions of the market and succeeds, each must also succeed alone,
    /// with the same end: so every instruction is seen by the rules, and none gains from its neighbours.
    fn send(&mut self, instructions: &[Instruction]) -> Result<bool, Violation> {
        let ours: Vec<usize> =
            (0..instructions.len()).filter(|at| instructions[*at].program_id == ID).collect();
        self.stats.transactions += 1;
        self.stats.instructions += ours.len() as u64;
        if ours.len() < 2 {
            return self.send_one(instructions);
        }
        let mut together = self.w.svm.clone();
        if submit(&mut together, &self.w.payer, instructions).is_err() {
            return Ok(false);
        }
        let (signers, writers) = (flagged(instructions, |meta| meta.is_signer), writable(instructions));
        let mut from = 0;
        for (place, at) in ours.iter().enumerate() {
            let to = if place + 1 == ours.len() { instructions.len() } else { at + 1 };
            // Rights belong to a whole transaction: each instruction keeps what the others gave it.
            let mut alone = instructions[from..to].to_vec();
            for meta in alone.iter_mut().flat_map(|instruction| &mut instruction.accounts) {
                meta.is_signer |= signers.contains(&meta.pubkey);
                meta.is_writable |= writers.contains(&meta.pubkey);
            }
            if !self.send_one(&alone)? {
                let what = format!("instruction {at} of {} succeeds only among others", instructions.len());
                return Err(Violation { rule: "a transaction is its instructions", what });
            }
            from = to;
        }
        for at in writable(instructions) {
            let (one, other) =
                (together.accounts_db().get_account_ref(&at), self.w.svm.accounts_db().get_account_ref(&at));
            if Held::of(one).map(|held| held.lamports) != Held::of(other).map(|held| held.lamports)
                || one.map(|a| a.data()) != other.map(|a| a.data())
            {
                let what = format!("{at} ends differently");
                return Err(Violation { rule: "a transaction is its instructions", what });
            }
        }
        Ok(true)
    }

    fn send_one(&mut self, instructions: &[Instruction]) -> Result<bool, Violation> {
        let Some(instruction) = instructions.iter().find(|i| i.program_id == ID) else {
            return Ok(submit(&mut self.w.svm, &self.w.payer, instructions).is_ok());
        };
        let name = name_of(&instruction.data).unwrap_or("unknown");
        let touched = writable(instructions);
        let before: Vec<Option<AccountSharedData>> =
            touched.iter().map(|at| self.w.svm.accounts_db().get_account(at)).collect();
        if let Err(error) = submit(&mut self.w.svm, &self.w.payer, instructions) {
            *self.stats.refusals.entry(name).or_default() += 1;
            *self.stats.errors.entry((name, error)).or_default() += 1;
            return Ok(false);
        }
        *self.stats.successes.entry(name).or_default() += 1;
        let payer = self.w.payer.pubkey();
        let mut moved = vec![];
        for (at, before) in touched.iter().zip(&before) {
            let after = self.w.svm.accounts_db().get_account_ref(at);
            let same = match (before, after) {
                (Some(before), Some(after)) => {
                    before.lamports() == after.lamports()
                        && before.owner() == after.owner()
                        && before.data() == after.data()
                }
                (before, after) => before.is_none() && after.is_none(),
            };
            if !same && *at != payer {
                moved.push(Moved { at: *at, before: Held::of(before.as_ref()), after: Held::of(after) });
            }
        }
        let signers = instructions
            .iter()
            .flat_map(|i| &i.accounts)
            .filter(|meta| meta.is_signer)
            .map(|meta| meta.pubkey);
        let act = Act {
            ledger: &self.ledger,
            moved,
            signers: signers.collect(),
            instruction,
            name,
            verified: instructions.iter().filter_map(verified).collect(),
            now: self.w.now(),
        };
        let verdict = of_change(&act).and_then(|()| self.books.check(&act));
        let former = self.books.terms.of_deed(&act);
        let changed: Vec<(Address, Option<Held>)> = act.moved.into_iter().map(|m| (m.at, m.after)).collect();
        for (at, held) in changed {
            self.ledger.put(at, held);
        }
        verdict?;
        if let Some(former) = former {
            self.under_former(former, instructions, &touched, &before)?;
        }
        self.check_state()?;
        Ok(true)
    }

    /// Plays a slash again on a copy, under the parameters of the time of the deed.
    fn under_former(
        &mut self,
        former: Params,
        instructions: &[Instruction],
        touched: &BTreeSet<Address>,
        before: &[Option<AccountSharedData>],
    ) -> Verdict {
        let mut copy = self.w.fork();
        for (at, account) in touched.iter().zip(before).filter(|(at, _)| **at != self.w.payer.pubkey()) {
            let account = account.clone().unwrap_or_default();
            copy.svm.set_account(*at, account.into()).expect("account is written");
        }
        copy.alter::<Market>(&pda::market(), |market| market.params = former);
        let refused = submit(&mut copy.svm, &self.w.payer, instructions).err();
        self.books.judged(terms::verdict(refused))
    }

    fn give_lamports(&mut self, to: &Address, amount: u64) -> bool {
        let Some(account) =
            self.w.svm.accounts_db().get_account(to).or_else(|| Some(AccountSharedData::default()))
        else {
            return false;
        };
        let mut account: solana_account::Account = account.into();
        // A sum that the runtime would take back at once makes no account.
        account.lamports = account.lamports.saturating_add(amount);
        account.rent_epoch = u64::MAX;
        self.w.svm.set_account(*to, account).expect("account is written");
        self.read(to);
        true
    }

    fn give_tokens(&mut self, to: &Address, amount: u64) -> bool {
        let Some(found) = self.ledger.get::<super::entity::Token>(to) else { return false };
        if found.amount.checked_add(amount).is_none() {
            return false;
        }
        self.w.gift(to, amount);
        self.read(to);
        true
    }

    fn token(&mut self, at: &Address, trick: TokenTrick) -> bool {
        let Some(token) = self.ledger.get::<super::entity::Token>(at) else { return false };
        // Only holders can do these; vaults' holders are the program's accounts, which never sign for it. The issuer of the
        // payment token freezes whatever it likes.
        let by_issuer =
            token.mint == self.w.payment_mint && matches!(trick, TokenTrick::Freeze | TokenTrick::Thaw);
        if !by_issuer && !self.keys.contains_key(&token.owner) {
            return false;
        }
        let mut account = self.w.svm.get_account(at).expect("in the ledger");
        let set = |data: &mut [u8], from: usize, to: &Address| {
            data[from] = 1;
            data[from + 4..from + 36].copy_from_slice(to.as_ref());
        };
        match trick {
            TokenTrick::Freeze => account.data[108] = 2,
            TokenTrick::Thaw => account.data[108] = 1,
            TokenTrick::Delegate(to) => {
                set(&mut account.data, 72, &to);
                account.data[121..129].copy_from_slice(&u64::MAX.to_le_bytes());
            }
            TokenTrick::CloseAuthority(to) => set(&mut account.data, 129, &to),
            TokenTrick::Owner(to) => account.data[32..64].copy_from_slice(to.as_ref()),
        }
        self.w.svm.set_account(*at, account).expect("account is written");
        self.read(at);
        true
    }

    /// The market's address of interest for a wallet: its stake vault and so on, whether or not they exist.
    pub fn places_of(&self, actor: &Actor) -> Vec<Address> {
        vec![
            actor.wallet(),
            actor.provider(),
            actor.keeper(),
            actor.credits(),
            actor.credits_vault(),
            actor.provider_vault(),
            actor.keeper_vault(),
            pda::order(&actor.wallet(), 0),
            pda::order(&actor.wallet(), 1),
        ]
    }
}

/// Sends a transaction in which everyone marked as a signer has signed.
fn submit(svm: &mut LiteSVM, payer: &Keypair, instructions: &[Instruction]) -> Result<(), String> {
    let message = Message::new(instructions, Some(&payer.pubkey()));
    let signatures = vec![Default::default(); message.header.num_required_signatures.into()];
    svm.send_transaction(Transaction { signatures, message }).map(|_| ()).map_err(|failure| {
        match failure.err {
            TransactionError::InstructionError(_, InstructionError::Custom(code)) => code.to_string(),
            TransactionError::InstructionError(_, error) => format!("{error:?}"),
            error => format!("{error:?}"),
        }
    })
}

fn flagged(instructions: &[Instruction], flag: fn(&AccountMeta) -> bool) -> BTreeSet<Address> {
    instructions.iter().flat_map(|i| &i.accounts).filter(|meta| flag(meta)).map(|meta| meta.pubkey).collect()
}

fn writable(instructions: &[Instruction]) -> BTreeSet<Address> {
    flagged(instructions, |meta| meta.is_writable)
}

/// Key and message of a signature check, where all its parts lie inside it.
fn verified(instruction: &Instruction) -> Option<(Address, Vec<u8>)> {
    let data = &instruction.data;
    if instruction.program_id != crate::ix::ed25519_program() || data.len() < 112 || data[0] != 1 {
        return None;
    }
    let word = |at: usize| u16::from_le_bytes([data[at], data[at + 1]]);
    let own = |at: usize| word(at) == u16::MAX;
    if !own(4) || !own(8) || !own(14) {
        return None;
    }
    let (key_at, text_at, text_len) = (word(6) as usize, word(10) as usize, word(12) as usize);
    let key: [u8; 32] = data.get(key_at..key_at + 32)?.try_into().ok()?;
    Some((Address::new_from_array(key), data.get(text_at..text_at + text_len)?.to_vec()))
}
