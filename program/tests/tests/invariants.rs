//! Random instructions of several actors, with jumps in time. Whatever succeeds, the books must add up after it.

use std::collections::{BTreeMap, BTreeSet};

use gantry_market::instructions::order_create::OrderArgs;
use gantry_market::state::{
    Auction, Credits, Fault, Keeper, Lease, Node, Order, Params, Provider, Report, LEASE_ENDED, LEASE_FAILED,
    NODE_RETIRED, ORDER_LAPSED, ORDER_OPEN,
};
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, LeafData, Proof};
use gantry_market_tests::random::Random;
use gantry_market_tests::work::Opened;
use gantry_market_tests::world::test_params;
use gantry_market_tests::{ix, pda, Actor, Machine, World};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

/// Stories and steps in each; `GANTRY_FUZZ_STORIES` plays more.
const STORIES: u64 = 10;
const STEPS: u64 = 400;

struct Story {
    w: World,
    random: Random,
    customers: Vec<Actor>,
    /// One session key for each customer.
    sessions: Vec<Actor>,
    providers: Vec<Actor>,
    keepers: Vec<Actor>,
    /// Each with the index of its provider.
    machines: Vec<(usize, Machine)>,
    orders: BTreeMap<Address, usize>,
    /// Orders that had an auction whose account is still there.
    auctions: BTreeSet<Address>,
    leases: BTreeMap<Address, (Address, usize, usize)>,
    proofs: Vec<Proof>,
    reports: BTreeSet<u64>,
    faults: BTreeSet<Address>,
    /// Open accusations, with the second half of each.
    accused: BTreeMap<Address, Vec<[u8; 32]>>,
    /// Paid seconds last seen, by lease and start: they never decrease.
    paid: BTreeMap<(Address, i64), u32>,
    sums: (u64, u64, u64),
    successes: BTreeMap<&'static str, u32>,
}

impl Story {
    fn new(seed: u64) -> Self {
        // Reports that close within a story.
        let mut w = World::with(Params { report_retention_secs: 600, ..test_params() });
        let unit = w.params.min_bond;
        let keepers: Vec<Actor> = [4, 3, 3].map(|weight| w.keeper(weight * unit)).into();
        let providers: Vec<Actor> = [40_000_000_000, 80_000_000_000].map(|stake| w.provider(stake)).into();
        let customers: Vec<Actor> = [20_000_000, 3_000_000].map(|deposit| w.customer(deposit)).into();
        let sessions: Vec<Actor> = customers.iter().map(|_| w.actor()).collect();
        let machines = [(0, 2), (1, 3), (1, 1)].map(|(p, gpus)| (p, w.machine(&providers[p], gpus))).into();
        let mut story = Self {
            w,
            random: Random::new(seed),
            customers,
            sessions,
            providers,
            keepers,
            machines,
            orders: BTreeMap::new(),
            auctions: BTreeSet::new(),
            leases: BTreeMap::new(),
            proofs: vec![],
            reports: BTreeSet::new(),
            faults: BTreeSet::new(),
            accused: BTreeMap::new(),
            paid: BTreeMap::new(),
            sums: (0, 0, 0),
            successes: BTreeMap::new(),
        };
        story.sums = story.sums();
        story
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: impl IntoIterator<Item = T>) -> Option<T> {
        let all: Vec<T> = from.into_iter().collect();
        (!all.is_empty()).then(|| all[self.below(all.len())])
    }

    /// Sends what may be refused; true when it was not.
    fn attempt(&mut self, name: &'static str, instructions: &[Instruction], signers: &[Keypair]) -> bool {
        let signers: Vec<&Keypair> = signers.iter().collect();
        let done = self.w.send(instructions, &signers).is_ok();
        if done {
            *self.successes.entry(name).or_default() += 1;
        }
        done
    }

    fn actor_key(&mut self) -> Keypair {
        let everyone: Vec<&Actor> =
            self.customers.iter().chain(&self.providers).chain(&self.keepers).collect();
        let at = self.random.below(everyone.len() as u64) as usize;
        everyone[at].key.insecure_clone()
    }

    fn lease(&mut self) -> Option<(Address, usize, usize)> {
        let live: Vec<_> = self.leases.iter().map(|(at, (_, c, m))| (*at, *c, *m)).collect();
        self.pick(live)
    }

    fn step(&mut self) {
        match self.below(38) {
            0 | 1 => {
                let seconds = [1, 5, 10, 20, 30, 40, 60, 60, 60, 130, 400][self.below(11)];
                self.w.warp(seconds);
            }
            2 | 3 => self.create(),
            4..=6 => self.award(),
            7..=9 => self.start(),
            10..=12 => self.receipt(),
            13 => self.report(),
            14..=16 => self.apply(),
            17 => self.punish(),
            18 | 19 => self.end(),
            20 => self.close(),
            21 => self.give_up(),
            22 => self.credits(),
            23 => self.stake(),
            24 | 25 => self.extend_or_rate(),
            26 => self.name_session(),
            27 => self.reopen(),
            28..=31 => self.migrate(),
            32 | 33 => self.prove(),
            _ => self.node(),
        }
        self.forget();
        self.check();
    }

    fn create(&mut self) {
        let c = self.below(self.customers.len());
        let nonce = self.random.below(4);
        let args = OrderArgs {
            nodes: 1 + self.below(2) as u8,
            gpus_per_node: 1 + self.below(2) as u8,
            duration_secs: 30 + self.below(600) as u32,
            max_price: 1_000_000 + self.random.below(5_000_000),
            run_to_completion: self.below(2) as u8,
            ..ix::order_args(nonce)
        };
        let sealed = self.below(3) == 0;
        let args = OrderArgs { no_migration: u8::from(self.below(5) == 0), mode: u8::from(sealed), ..args };
        let instruction = ix::order_create(&self.customers[c], args);
        if self.attempt_for(c, "order_create", instruction) {
            let order = pda::order(&self.customers[c].wallet(), nonce);
            self.orders.insert(order, c);
            if sealed {
                let (auction, reveal) = (4 + self.random.below(20) as u32, 4 + self.random.below(20) as u32);
                let open = ix::auction_open(&self.customers[c], &order, auction, reveal);
                if self.attempt_for(c, "auction_open", open) {
                    self.auctions.insert(order);
                }
            }
        }
    }

    /// Sends for a customer, by the customer's own key or by its session key.
    fn attempt_for(&mut self, c: usize, name: &'static str, instruction: Instruction) -> bool {
        if self.below(2) == 0 {
            let key = self.customers[c].key.insecure_clone();
            return self.attempt(name, &[instruction], &[key]);
        }
        let key = self.sessions[c].key.insecure_clone();
        let done = self.attempt(name, &[ix::by_session(instruction, &key.pubkey())], &[key]);
        if done {
            *self.successes.entry("by session key").or_default() += 1;
        }
        done
    }

    fn name_session(&mut self) {
        let c = self.below(self.customers.len());
        let who = &self.customers[c];
        let (key, session) = (who.key.insecure_clone(), self.sessions[c].wallet());
        let cap = self.random.below(4) * self.random.below(3_000_000);
        let expiry = self.w.now() + self.random.below(4_000) as i64;
        let name = ix::credits_set_session_key(who, &session, cap, expiry);
        self.attempt("credits_set_session_key", &[name], &[key]);
    }

    fn reopen(&mut self) {
        self.forget();
        for (order, c) in self.orders.clone() {
            let who = &self.customers[c];
            let (key, deposit) = (who.key.insecure_clone(), ix::credits_deposit(&self.w, who, 4_000_000));
            let reopen = ix::order_reopen(who, &order);
            if self.w.read::<Order>(&order).status != ORDER_LAPSED {
                continue;
            }
            self.attempt("credits_deposit", &[deposit], &[key.insecure_clone()]);
            if !self.attempt_for(c, "order_reopen", reopen.clone()) {
                self.attempt("order_reopen", &[reopen], &[key]);
            }
        }
    }

    /// Checkpoints, and what failed goes on elsewhere.
    fn migrate(&mut self) {
        self.forget();
        let Some((lease, _, m)) = self.lease() else { return };
        let hash = self.random.bytes();
        let (key, put) =
            (self.machines[m].1.key.insecure_clone(), ix::lease_checkpoint(&self.w, &lease, hash));
        self.attempt("lease_checkpoint", &[put], &[key]);
        for (failed, (order, c, _)) in self.leases.clone() {
            if self.w.read::<Lease>(&failed).status != LEASE_FAILED {
                continue;
            }
            let k = self.below(self.keepers.len());
            for m in 0..self.machines.len() {
                let node = self.machines[m].1.node;
                if !self.w.exists(&node) || !self.w.exists(&failed) {
                    continue;
                }
                if self.below(2) == 0 {
                    // A low ask: whoever wants the rest of the lease may not be dearer.
                    let (p, machine) = &self.machines[m];
                    let owner = &self.providers[*p];
                    let update = ix::node_update(&owner.wallet(), &owner.provider(), &machine.node, 1_000, 1);
                    let key = owner.key.insecure_clone();
                    self.attempt("node_update", &[update], &[key]);
                }
                let migrate = ix::lease_migrate(&self.w, &self.keepers[k], &failed, &node);
                let key = self.keepers[k].key.insecure_clone();
                if self.attempt("lease_migrate", &[migrate], &[key]) {
                    let lease = pda::lease(&order, &node);
                    self.leases.insert(lease, (order, c, m));
                    if self.below(4) > 0 {
                        self.start_of(lease, m);
                    }
                    break;
                }
            }
        }
    }

    fn award(&mut self) {
        let orders: Vec<_> = self.orders.iter().map(|(at, c)| (*at, *c)).collect();
        let Some((order, c)) = self.pick(orders) else { return };
        let (k, first) = (self.below(self.keepers.len()), self.below(self.machines.len()));
        let count = self.machines.len();
        if self.auctions.contains(&order) {
            self.sell(order, c, k);
        }
        for m in (0..count).map(|i| (i + first) % count) {
            let (p, machine) = &self.machines[m];
            let node = machine.node;
            let provider = self.providers[*p].provider();
            let award = ix::order_award(&self.keepers[k], &self.customers[c], &order, &provider, &node);
            let key = self.keepers[k].key.insecure_clone();
            let lease = pda::lease(&order, &node);
            if self.attempt("order_award", &[award], &[key]) {
                self.leases.insert(lease, (order, c, m));
                if self.below(4) > 0 {
                    self.start_of(lease, m);
                }
                return;
            }
        }
    }

    /// Awards a sealed order by random bids; the reveals may or may not be over.
    fn sell(&mut self, order: Address, c: usize, k: usize) {
        if self.below(2) == 0 {
            self.w.warp(30);
        }
        let (winner, loser) = (self.below(self.machines.len()), self.below(self.machines.len()));
        for losing in [Some(loser), None] {
            let prices = [self.random.below(3_000_000), self.random.below(3_000_000)];
            let bid = |m: usize, price| ix::Bid { machine: &self.machines[m].1, price, salt: [m as u8; 32] };
            let node = self.machines[winner].1.node;
            if !self.w.exists(&node) || !self.w.exists(&self.machines[loser].1.node) {
                return;
            }
            let losing = losing.filter(|loser| *loser != winner).map(|m| bid(m, prices[0].max(prices[1])));
            let bid = bid(winner, prices[0].min(prices[1]));
            let award = ix::sealed_award(&self.w, &self.keepers[k], &order, bid, losing);
            let key = self.keepers[k].key.insecure_clone();
            if self.attempt("auction_award", &award, &[key]) {
                let lease = pda::lease(&order, &node);
                self.leases.insert(lease, (order, c, winner));
                let paid = self.w.read::<Lease>(&lease).price;
                assert!(paid >= prices[0].min(prices[1]) && paid <= self.w.read::<Order>(&order).max_price);
                self.start_of(lease, winner);
                return;
            }
        }
    }

    /// Closes every auction that can be closed.
    fn close_auctions(&mut self) {
        for order in self.auctions.clone() {
            let payer = self.w.read::<Auction>(&pda::auction(&order)).rent_payer;
            self.attempt("auction_close", &[ix::auction_close(&order, &payer)], &[]);
        }
        self.forget();
    }

    fn start(&mut self) {
        let Some((lease, _, m)) = self.lease() else { return };
        self.start_of(lease, m);
    }

    fn start_of(&mut self, lease: Address, m: usize) {
        let key = self.machines[m].1.key.insecure_clone();
        let instruction = ix::lease_start(&self.w, &lease, [3; 32]);
        self.attempt("lease_start", &[instruction], &[key]);
    }

    fn receipt(&mut self) {
        let Some((lease, c, m)) = self.lease() else { return };
        let state: Lease = self.w.read(&lease);
        let most = u64::from(state.billable_secs(self.w.now())) + 3;
        let seconds = self.random.below(most) as u32;
        let sequence = state.receipt_sequence + self.random.below(3);
        let who = if self.below(3) == 0 { &self.sessions[c] } else { &self.customers[c] };
        let (node, customer) = (&self.machines[m].1.key, &who.key);
        let settle = ix::receipt(&self.w, &lease, node, customer, sequence, seconds);
        self.attempt("lease_settle_receipt", &settle, &[]);
        let settle = ix::lease_settle_report(&self.w, &lease);
        if self.below(2) == 0 {
            self.attempt("lease_settle_report", &[settle], &[]);
        }
    }

    /// All keepers agree on something about a period that ended a short time ago.
    fn report(&mut self) {
        let period = self.w.period() - 1 - self.random.below(4);
        if self.reports.contains(&period) {
            return;
        }
        let mut subjects = vec![];
        for (_, machine) in &self.machines {
            subjects.push((machine.node, Address::default()));
        }
        for (lease, (_, _, m)) in &self.leases {
            subjects.push((self.machines[*m].1.node, *lease));
        }
        let mut leaves = vec![];
        for (node, lease) in subjects {
            let mut leaf = self.w.good_leaf(node, lease, period);
            leaf.up_secs = self.random.below(61) as u32;
            if lease != Address::default() {
                leaf.verified_secs = self.random.below(61) as u32;
                leaf.downtime_secs = self.random.below(61 - u64::from(leaf.verified_secs)) as u32;
            }
            if self.below(5) == 0 {
                leaf.flags = self.random.below(128) as u16;
            }
            if lease != Address::default() && self.below(4) == 0 {
                (leaf.flags, leaf.verified_secs, leaf.downtime_secs) = (1, 0, 60);
            }
            leaves.push(leaf);
        }
        let (root, proofs) = gantry_market_tests::leaves::tree(&leaves);
        for at in 0..self.keepers.len() {
            let key = self.keepers[at].key.insecure_clone();
            let vote = ix::report_vote(&self.keepers[at], period, root);
            if self.attempt("report_vote", &[vote], &[key]) {
                self.reports.insert(period);
            }
        }
        self.proofs.extend(proofs);
        let excess = self.proofs.len().saturating_sub(40);
        self.proofs.drain(..excess);
    }

    fn apply(&mut self) {
        if self.proofs.is_empty() {
            return;
        }
        let at = self.below(self.proofs.len());
        let proof = self.proofs[at].clone();
        let LeafData { node, lease, period, .. } = proof.leaf;
        if !self.w.exists(&node) {
            return;
        }
        let (mut apply, mut open) = {
            let who = self.keepers[0].wallet();
            (ix::report_apply(&proof), ix::fault_open(&self.w, &who, &proof))
        };
        if lease != Address::default() && !self.w.exists(&lease) {
            for (instruction, place) in [(&mut apply, 3), (&mut open, 5)] {
                instruction.accounts[place + 1].pubkey = lease;
                instruction.accounts[place].pubkey = gantry_market::ID;
                instruction.accounts[place].is_writable = false;
            }
        }
        if self.attempt("report_apply", &[apply], &[]) {
            return;
        }
        let key = self.keepers[0].key.insecure_clone();
        if self.attempt("fault_open", &[open], &[key]) {
            self.faults.insert(pda::fault(&node, &lease, period));
            self.migrate();
        }
    }

    fn punish(&mut self) {
        let faults: Vec<Address> = self.faults.iter().copied().collect();
        let Some(fault) = self.pick(faults) else { return };
        let state: Fault = self.w.read(&fault);
        let tokens = self.customers.iter().find(|c| c.wallet() == state.customer).map(|c| c.stake);
        let finder = self.keepers.iter().find(|k| k.wallet() == state.finder).map(|k| k.stake);
        let apply = ix::slash_apply(&self.w, &fault, tokens, finder.expect("a keeper found it"));
        if self.attempt("slash_apply", &[apply], &[]) {
            return;
        }
        for k in 0..self.keepers.len() {
            for kind in 1..=6 {
                if !self.w.exists(&fault) || self.below(3) == 0 {
                    continue;
                }
                let mut text = statement(&state.node, state.period, kind, true);
                text[68..72].copy_from_slice(&60u32.to_le_bytes());
                text[80..112].copy_from_slice(state.lease.as_ref());
                let keeper = &self.keepers[k];
                let appeal = ix::slash_appeal(&self.w, &fault, keeper, text);
                let check = signed(&keeper.key, &text);
                self.attempt("slash_appeal", &[check, appeal], &[]);
            }
        }
    }

    /// A commitment to some product, right or wrong, is opened; now and then a keeper contradicts itself.
    fn prove(&mut self) {
        let m = self.below(self.machines.len());
        let (node, key) = (self.machines[m].1.node, self.machines[m].1.key.insecure_clone());
        let k = self.below(self.keepers.len());
        let finder = self.keepers[k].key.insecure_clone();
        let accusation = pda::accusation(&node, &finder.pubkey());
        if self.w.exists(&accusation) {
            if self.w.exists(&node) {
                let siblings = self.accused.get(&accusation).expect("was opened here").clone();
                let proof = ix::prove_bad_work(&self.w, &self.keepers[k], &node, &siblings);
                if self.attempt("prove_bad_work", &[proof], &[finder.insecure_clone()]) {
                    self.accused.remove(&accusation);
                    return;
                }
            }
            let close = ix::accusation_close(&finder.pubkey(), &node);
            if self.attempt("accusation_close", &[close], &[finder]) {
                self.accused.remove(&accusation);
            }
            return;
        }
        if !self.w.exists(&node) {
            return;
        }
        if let Some((lease, c, _)) = self.lease() {
            // Keepers award at random here, so now and then one can be shown a better node.
            let at = self.below(self.machines.len());
            let better = self.machines[at].1.node;
            if self.w.exists(&better) {
                let tokens = Some(self.customers[c].stake);
                let proof = ix::prove_better_ask(&self.w, &self.keepers[k], &lease, &better, tokens);
                self.attempt("prove_better_ask", &[proof], &[finder.insecure_clone()]);
            }
        }
        // Mostly right, else no provider keeps enough stake for a lease.
        let order = [32, 64, 96][self.below(3)];
        let place = (self.random.below(order) as u16, self.random.below(order) as u16);
        let period = self.w.period() - self.random.below(2);
        let wrong = i32::from(self.below(4) == 0);
        let opened = Opened::new(node, period, order as u32, place, wrong);
        let accuse = ix::accuse(&finder.pubkey(), &key, &opened);
        if self.attempt("accusation_open", &accuse, &[finder.insecure_clone()]) {
            self.accused.insert(accusation, opened.siblings.clone());
        }
        // The last keeper may err, once: reports need the weight of the others.
        let last = self.keepers.len() - 1;
        if self.below(12) == 0 && k != last {
            let said = [true, false].map(|passed| statement(&node, period, 3, passed));
            let proof = ix::contradict(&self.w, &self.keepers[k], &self.keepers[last], &said[0], &said[1]);
            self.attempt("prove_equivocation", &proof, &[finder]);
        }
    }

    fn end(&mut self) {
        let Some((lease, c, m)) = self.lease() else { return };
        let (p, machine) = &self.machines[m];
        let key = match self.random.below(5) {
            0 => self.customers[c].key.insecure_clone(),
            4 => self.sessions[c].key.insecure_clone(),
            1 => self.providers[*p].key.insecure_clone(),
            2 => machine.key.insecure_clone(),
            _ => self.actor_key(),
        };
        let immediate = self.below(2) as u8;
        let end = ix::lease_end(&self.w, &key.pubkey(), &lease, immediate);
        self.attempt("lease_end", &[end], &[key]);
    }

    fn close(&mut self) {
        let Some((lease, c, _)) = self.lease() else { return };
        let key = match self.random.below(2) {
            0 => self.customers[c].key.insecure_clone(),
            _ => self.actor_key(),
        };
        let close = ix::lease_close(&self.w, &key.pubkey(), &lease);
        self.attempt("lease_close", &[close], &[key]);
    }

    fn give_up(&mut self) {
        self.close_auctions();
        if let Some((lease, _, _)) = self.lease() {
            let abort = ix::lease_abort(&self.w, &lease);
            if self.attempt("lease_abort", &[abort], &[]) && self.below(3) > 0 {
                self.reopen();
            }
        }
        let orders: Vec<_> =
            self.orders.iter().filter(|(at, _)| self.w.exists(at)).map(|(at, c)| (*at, *c)).collect();
        let Some((order, c)) = self.pick(orders) else { return };
        let payer = self.w.read::<Order>(&order).rent_payer;
        let mut expire = ix::order_expire(&self.customers[c], &order);
        expire.accounts[2].pubkey = payer;
        if !self.attempt("order_expire", &[expire], &[]) && self.below(2) == 0 {
            let mut cancel = ix::order_cancel(&self.customers[c], &order);
            cancel.accounts[3].pubkey = payer;
            self.attempt_for(c, "order_cancel", cancel);
        }
        let reports: Vec<u64> = self.reports.iter().copied().collect();
        if let Some(period) = self.pick(reports) {
            let payer = self.w.read::<Report>(&pda::report(period)).rent_payer;
            self.attempt("report_close", &[ix::report_close(period, &payer)], &[]);
        }
    }

    fn credits(&mut self) {
        let c = self.below(self.customers.len());
        let (who, amount) = (&self.customers[c], self.random.below(4_000_000));
        let key = who.key.insecure_clone();
        if self.random.below(2) == 0 {
            let deposit = ix::credits_deposit(&self.w, who, amount);
            self.attempt("credits_deposit", &[deposit], &[key]);
        } else {
            let withdraw = ix::credits_withdraw(who, amount);
            self.attempt("credits_withdraw", &[withdraw], &[key]);
        }
    }

    fn stake(&mut self) {
        let p = self.below(self.providers.len());
        let (who, amount) = (&self.providers[p], self.random.below(20_000_000_000));
        let key = who.key.insecure_clone();
        let (name, instruction) = match self.random.below(4) {
            0 | 1 => ("provider_stake", ix::provider_stake(&self.w, who, amount)),
            2 => ("provider_request_unstake", ix::provider_request_unstake(who, amount)),
            _ => ("provider_withdraw_stake", ix::provider_withdraw_stake(who)),
        };
        self.attempt(name, &[instruction], &[key]);
    }

    fn extend_or_rate(&mut self) {
        let Some((lease, c, m)) = self.lease() else { return };
        let key = self.customers[c].key.insecure_clone();
        let extend = ix::lease_extend(&self.w, &lease, 1 + self.random.below(300) as u32);
        self.attempt_for(c, "lease_extend", extend);
        if self.w.exists(&self.machines[m].1.node) {
            let rate = ix::lease_rate(&self.w, &lease, 1 + self.random.below(5) as u8);
            self.attempt("lease_rate", &[rate], &[key]);
        }
    }

    fn node(&mut self) {
        let m = self.below(self.machines.len());
        let (p, machine) = &self.machines[m];
        let owner = &self.providers[*p];
        let (key, machine_key) = (owner.key.insecure_clone(), machine.key.insecure_clone());
        let (node, gpus) = (machine.node, machine.gpus);
        if !self.w.exists(&node) {
            let register = ix::node_register(owner, &machine_key.pubkey(), ix::spec(gpus), 2_000_000);
            self.attempt("node_register", &[register], &[key, machine_key]);
            return;
        }
        let retire = ix::node_retire(owner, &node);
        let close = ix::node_close(owner, &machine_key.pubkey(), gpus);
        if self.w.read::<Node>(&node).status == NODE_RETIRED {
            self.attempt("node_close", &[close], &[key]);
        } else if self.random.below(20) == 0 {
            self.attempt("node_retire", &[retire], &[key]);
        } else {
            // Mostly active, else little would happen.
            let status = [1, 1, 1, 1, 1, 2, 3, 4][self.below(8)];
            let price = self.random.below(3_000_000);
            let (p, machine) = &self.machines[m];
            let owner = &self.providers[*p];
            let update = ix::node_update(&owner.wallet(), &owner.provider(), &machine.node, price, status);
            self.attempt("node_update", &[update], &[key]);
        }
    }

    /// Drops what is closed, so that it is not picked again.
    fn forget(&mut self) {
        let w = &self.w;
        self.orders.retain(|at, _| w.exists(at));
        self.leases.retain(|at, _| w.exists(at));
        self.faults.retain(|at| w.exists(at));
        self.auctions.retain(|order| w.exists(&pda::auction(order)));
        self.reports.retain(|period| w.exists(&pda::report(*period)));
    }

    /// Payment tokens, stake tokens with what was burned, and lamports of everyone and everything.
    fn sums(&self) -> (u64, u64, u64) {
        let w = &self.w;
        let (mut payment, mut stake, mut lamports) = (w.tokens(&pda::fee_vault()), 0, 0);
        let everyone =
            self.customers.iter().chain(&self.sessions).chain(&self.providers).chain(&self.keepers);
        for who in everyone {
            payment += w.tokens(&who.payment) + w.tokens(&who.credits_vault());
            let vaults = [who.provider_vault(), who.keeper_vault()];
            stake += w.tokens(&who.stake) + vaults.iter().map(|at| w.tokens(at)).sum::<u64>();
            let accounts = [who.wallet(), who.credits(), who.credits_vault(), who.provider(), who.keeper()];
            lamports += accounts.iter().chain(&vaults).map(|at| w.lamports(at)).sum::<u64>();
        }
        stake += u64::MAX / 2 - w.supply(&w.stake_mint);
        for (_, machine) in &self.machines {
            lamports += w.lamports(&machine.node);
            let devices = ix::devices(&machine.key.pubkey(), machine.gpus);
            let devices = &devices[..machine.gpus as usize];
            lamports += devices.iter().map(|device| w.lamports(&pda::device(device))).sum::<u64>();
        }
        let reports = self.reports.iter().map(|period| pda::report(*period));
        let others = self.orders.keys().chain(self.leases.keys()).chain(&self.faults);
        let others = others.chain(self.accused.keys()).copied().chain(reports);
        lamports += others.map(|at| w.lamports(&at)).sum::<u64>();
        lamports += self.auctions.iter().map(|order| w.lamports(&pda::auction(order))).sum::<u64>();
        (payment, stake, lamports)
    }

    fn check(&mut self) {
        assert_eq!(self.sums(), self.sums, "tokens of both mints and lamports are conserved");
        let w = &self.w;
        let leases: Vec<(Address, Lease)> = self.leases.keys().map(|at| (*at, w.read(at))).collect();
        let orders: Vec<Order> = self.orders.keys().map(|at| w.read(at)).collect();
        let faults: Vec<Fault> = self.faults.iter().map(|at| w.read(at)).collect();
        for who in &self.customers {
            let credits: Credits = w.read(&who.credits());
            let own_leases: Vec<&Lease> =
                leases.iter().map(|(_, l)| l).filter(|l| l.customer == who.wallet()).collect();
            let own_orders: Vec<&Order> = orders.iter().filter(|o| o.customer == who.wallet()).collect();
            assert_eq!(w.tokens(&who.credits_vault()), credits.balance);
            let held = own_leases.iter().map(|l| l.reserved).sum::<u64>()
                + own_orders.iter().map(|o| o.reserved).sum::<u64>();
            assert_eq!(credits.reserved, held);
            assert!(credits.balance >= credits.reserved);
            assert_eq!(credits.live_leases as usize, own_leases.len());
            assert_eq!(credits.live_orders as usize, own_orders.len());
            for (slot, key) in (1..).zip(&credits.session_keys) {
                let own = own_orders.iter().filter(|o| o.session_slot == slot && o.created_at > key.since);
                let open: u64 = own.map(|o| o.reserved).sum();
                assert!(key.cap == 0 || key.spent >= open, "open orders of a session key are spent");
            }
        }
        for (p, who) in self.providers.iter().enumerate() {
            let provider: Provider = w.read(&who.provider());
            assert_eq!(w.tokens(&who.provider_vault()), provider.stake + provider.unstaking);
            let nodes: Vec<Node> = self
                .machines
                .iter()
                .filter(|(owner, machine)| *owner == p && w.exists(&machine.node))
                .map(|(_, machine)| w.read(&machine.node))
                .collect();
            assert_eq!(provider.committed, nodes.iter().map(|n| n.required_stake).sum::<u64>());
            assert_eq!(provider.node_count as usize, nodes.len());
            let live = leases.iter().filter(|(_, l)| l.provider == who.provider() && l.status < LEASE_ENDED);
            assert_eq!(provider.live_leases as usize, live.count());
            let open = faults.iter().filter(|f| f.provider == who.provider()).count();
            assert_eq!(provider.pending_faults as usize, open);
        }
        for (_, machine) in &self.machines {
            if !w.exists(&machine.node) {
                continue;
            }
            let node: Node = w.read(&machine.node);
            let live: Vec<&Lease> = leases
                .iter()
                .map(|(_, l)| l)
                .filter(|l| l.node == machine.node && l.status < LEASE_ENDED)
                .collect();
            let mask = live.iter().fold(0, |mask, lease| {
                assert_eq!(mask & lease.gpu_mask, 0, "a GPU is in one live lease");
                assert_eq!(lease.gpu_mask.count_ones(), u32::from(lease.gpus));
                mask | lease.gpu_mask
            });
            assert_eq!((node.gpu_mask, node.live_leases as usize), (mask, live.len()));
            let open = faults.iter().filter(|f| f.node == machine.node).count();
            assert_eq!(node.pending_faults as usize, open);
        }
        for (at, lease) in &leases {
            assert!(lease.paid_secs <= lease.billable_secs(w.now()));
            assert_eq!(lease.paid, lease.owed(lease.paid_secs).expect("fits"));
            assert!(lease.reserved >= lease.fee_total().expect("fits"));
            let open = faults.iter().filter(|f| f.lease == *at).count();
            assert_eq!(lease.pending_faults as usize, open);
            let before = self.paid.insert((*at, lease.started_at), lease.paid_secs).unwrap_or(0);
            assert!(lease.paid_secs >= before, "paid seconds never decrease");
        }
        for (at, order) in self.orders.keys().zip(&orders) {
            assert!(order.status == ORDER_OPEN || order.reserved == 0);
            let live = self.leases.values().filter(|(of, _, _)| of == at).count();
            assert_eq!(order.live_leases as usize, live);
        }
        for period in &self.reports {
            let report: Report = w.read(&pda::report(*period));
            let weight: u64 = report.candidates.iter().map(|c| c.weight).sum();
            assert!(weight <= report.total_weight);
        }
        for who in &self.keepers {
            let keeper: Keeper = w.read(&who.keeper());
            assert_eq!(w.tokens(&who.keeper_vault()), keeper.bond);
        }
    }

    /// Everything that is open is brought to its end by strangers' and the owners' instructions alone.
    fn wind_down(&mut self) {
        for round in 0..60 {
            self.w.warp(400);
            for fault in self.faults.clone() {
                let state: Fault = self.w.read(&fault);
                let tokens = self.customers.iter().find(|c| c.wallet() == state.customer).map(|c| c.stake);
                let finder = self.keepers.iter().find(|k| k.wallet() == state.finder).map(|k| k.stake);
                let apply = ix::slash_apply(&self.w, &fault, tokens, finder.expect("a keeper found it"));
                self.attempt("slash_apply", &[apply], &[]);
            }
            for lease in self.leases.keys().copied().collect::<Vec<_>>() {
                let key = self.keepers[0].key.insecure_clone();
                let instructions = [
                    ("lease_abort", ix::lease_abort(&self.w, &lease)),
                    ("lease_end", ix::lease_end(&self.w, &key.pubkey(), &lease, 0)),
                    ("lease_settle_report", ix::lease_settle_report(&self.w, &lease)),
                    ("lease_close", ix::lease_close(&self.w, &key.pubkey(), &lease)),
                ];
                for (name, instruction) in instructions {
                    self.attempt(name, &[instruction], &[key.insecure_clone()]);
                }
            }
            self.forget();
            for (order, c) in self.orders.clone() {
                let mut expire = ix::order_expire(&self.customers[c], &order);
                expire.accounts[2].pubkey = self.w.read::<Order>(&order).rent_payer;
                self.attempt("order_expire", &[expire], &[]);
            }
            self.close_auctions();
            self.check();
            if self.leases.is_empty()
                && self.orders.is_empty()
                && self.faults.is_empty()
                && self.auctions.is_empty()
            {
                println!("wound down after {} rounds", round + 1);
                break;
            }
        }
        assert!(self.leases.is_empty(), "leases are stuck: {:?}", self.leases.keys());
        assert!(self.auctions.is_empty(), "auctions are stuck: {:?}", self.auctions);
        assert!(self.orders.is_empty(), "orders are stuck: {:?}", self.orders.keys());
        assert!(self.faults.is_empty(), "faults are stuck: {:?}", self.faults);
        for c in 0..self.customers.len() {
            let (close, key) =
                (ix::credits_close(&self.customers[c]), self.customers[c].key.insecure_clone());
            assert!(self.attempt("credits_close", &[close], &[key]), "a customer's money is stuck");
        }
        for m in 0..self.machines.len() {
            let (p, machine) = &self.machines[m];
            let owner = &self.providers[*p];
            let (key, gpus) = (owner.key.insecure_clone(), machine.gpus);
            let retire = ix::node_retire(owner, &machine.node);
            let close = ix::node_close(owner, &machine.key.pubkey(), gpus);
            let node = machine.node;
            self.attempt("node_retire", &[retire], &[key.insecure_clone()]);
            self.w.warp(180);
            self.attempt("node_close", &[close], &[key]);
            assert!(!self.w.exists(&node), "a node is stuck");
        }
        for p in 0..self.providers.len() {
            let who = &self.providers[p];
            let key = who.key.insecure_clone();
            let stake = self.w.read::<Provider>(&who.provider()).stake;
            let (ask, withdraw, close) = (
                ix::provider_request_unstake(who, stake),
                ix::provider_withdraw_stake(who),
                ix::provider_close(who),
            );
            self.attempt("provider_request_unstake", &[ask], &[key.insecure_clone()]);
            self.w.warp(i64::from(self.w.params.unstake_cooldown_secs));
            self.attempt("provider_withdraw_stake", &[withdraw], &[key.insecure_clone()]);
            assert!(self.attempt("provider_close", &[close], &[key]), "a provider's stake is stuck");
        }
        assert_eq!(self.sums(), self.sums);
    }
}

#[test]
fn the_books_add_up_after_every_step_and_nothing_gets_stuck() {
    let stories = std::env::var("GANTRY_FUZZ_STORIES").map_or(STORIES, |n| n.parse().expect("a number"));
    let mut successes: BTreeMap<&'static str, u32> = BTreeMap::new();
    for seed in 0..stories {
        println!("story {seed}");
        let mut story = Story::new(seed);
        for step in 0..STEPS {
            println!("step {step}");
            story.step();
        }
        story.wind_down();
        for (name, count) in story.successes {
            *successes.entry(name).or_default() += count;
        }
    }
    println!("{successes:#?}");
    // A story in which nothing happens would prove nothing.
    let wanted = [
        "order_create",
        "order_cancel",
        "order_expire",
        "auction_open",
        "auction_award",
        "auction_close",
        "order_award",
        "lease_start",
        "lease_abort",
        "lease_extend",
        "lease_settle_receipt",
        "lease_settle_report",
        "lease_end",
        "lease_rate",
        "lease_checkpoint",
        "lease_close",
        "report_vote",
        "report_apply",
        "report_close",
        "fault_open",
        "slash_apply",
        "slash_appeal",
        "accusation_open",
        "accusation_close",
        "prove_bad_work",
        "prove_equivocation",
        "node_register",
        "node_update",
        "node_retire",
        "node_close",
        "credits_deposit",
        "credits_withdraw",
        "credits_set_session_key",
        "by session key",
        "provider_stake",
        "provider_request_unstake",
        "provider_withdraw_stake",
    ];
    for name in wanted {
        assert!(successes.contains_key(name), "{name} never succeeded");
    }
}
