//! docs/reports/governance.md: what governing costs, and who can do what. `GANTRY_WRITE_BENCH=1` writes it.

use std::path::PathBuf;

use gantry_market_tests::dao::Dao;
use gantry_market_tests::realm::{Realm, Rules, Vote, COOL_OFF, HOLD_UP, TIMELOCK, VOTING};
use gantry_market_tests::tokens::{put_mint, token_program};
use gantry_market_tests::{ix, realm, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

fn page() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reports/governance.md"))
}

/// Steps with their compute units, and accounts with their rents.
#[derive(Default)]
struct Costs {
    units: Vec<(&'static str, u64)>,
    rents: Vec<(&'static str, usize, u64)>,
}

impl Costs {
    fn step(&mut self, w: &mut Testbed, what: &'static str, instruction: Instruction, signers: &[&Keypair]) {
        let units = w.ok(instruction, signers).compute_units_consumed;
        self.units.push((what, units));
    }

    fn rent(&mut self, w: &Testbed, what: &'static str, at: &Address) {
        let bytes = w.svm.get_account(at).expect("the account exists").data.len();
        self.rents.push((what, bytes, w.svm.minimum_balance_for_rent_exemption(bytes)));
    }
}

fn found(costs: &mut Costs) {
    let mut w = Testbed::new();
    w.svm.add_program(realm::ID, &realm::binary()).expect("SPL Governance loads");
    let (r, founder) = (Realm::of(w.stake_mint), w.authority.insecure_clone());
    put_mint(&mut w.svm, r.council, 0, 3, token_program());
    let who = founder.pubkey();
    costs.step(&mut w, "create the realm", r.create(&who), &[&founder]);
    costs.step(&mut w, "create the governance", r.create_governance(&who, Rules::default()), &[&founder]);
    costs.step(&mut w, "create its treasury", r.create_treasury(&who), &[&founder]);
    costs.step(&mut w, "bind the realm to votes", r.bind(&who), &[&founder]);
    costs.rent(&w, "realm", &r.realm);
    costs.rent(&w, "configuration of the realm", &r.config);
    costs.rent(&w, "governance", &r.governance);
    costs.rent(&w, "treasury", &r.treasury);
    costs.rent(&w, "deposits of the stake token", &r.holding(&r.community));
    costs.rent(&w, "deposits of the council's token", &r.holding(&r.council));
}

fn decide(costs: &mut Costs) {
    let mut w = Testbed::new();
    let mut dao = Dao::found(&mut w, Rules::default());
    dao.take_over(&mut w);
    let r = dao.realm;
    let holder = w.actor();
    let (who, seed) = (holder.wallet(), w.fresh_address());
    w.gift(&holder.stake, realm::CIRCULATES);
    let deposit = r.deposit(&r.community, &who, &holder.stake, realm::CIRCULATES / 2);
    costs.step(&mut w, "deposit tokens", deposit, &[&holder.key]);
    costs.rent(&w, "record of a holder", &r.record(&r.community, &who));
    let change =
        r.own(&w, ix::market_propose_params(&w, gantry_market::state::Params { fee_bps: 1_100, ..w.params }));
    let (at, create) = r.create_proposal(&who, &seed, "A change");
    costs.step(&mut w, "create a proposal", create, &[&holder.key]);
    costs.step(
        &mut w,
        "insert parameters",
        r.insert(&at, &who, 0, std::slice::from_ref(&change)),
        &[&holder.key],
    );
    costs.step(&mut w, "sign it off", r.sign_off(&at, &who), &[&holder.key]);
    costs.rent(&w, "proposal", &at);
    costs.rent(&w, "transaction of a proposal, here parameters", &Realm::transaction(&at, 0));
    let proposal = realm::Proposal::of(at, who, vec![vec![change]]);
    costs.step(&mut w, "vote", r.vote(&proposal, &who, Vote::Yes), &[&holder.key]);
    costs.rent(&w, "record of a vote", &r.vote_record(&at, &r.record(&r.community, &who)));
    w.warp(VOTING + COOL_OFF + 1);
    costs.step(&mut w, "finalize", r.finalize(&proposal), &[]);
    w.warp(HOLD_UP + 1);
    costs.step(&mut w, "execute: propose parameters", r.execute(&proposal, 0), &[]);
    w.warp(TIMELOCK);
    costs.step(&mut w, "apply them", ix::market_apply_params(), &[]);
    costs.step(&mut w, "take the vote back", r.relinquish(&proposal, &who), &[&holder.key]);
    costs.step(&mut w, "withdraw tokens", r.withdraw(&who, &holder.stake), &[&holder.key]);
    let own = r.treasury;
    let new = super::buffer(&mut w, &own);
    let upgrade = dao.passed(&mut w, vec![vec![ix::upgrade(&own, &new, &own)]]);
    costs.step(&mut w, "execute: upgrade the program", r.execute(&upgrade, 0), &[]);
}

fn written() -> String {
    let mut costs = Costs::default();
    found(&mut costs);
    decide(&mut costs);
    let mut out = String::from(HEAD);
    out.push_str(&super::powers::table());
    out.push_str(STAYS);
    out.push_str(&super::worst::table());
    out.push_str(COSTS);
    for (what, units) in costs.units {
        out.push_str(&format!("| {what} | {units} |\n"));
    }
    out.push_str("\n| account | bytes | rent, lamports |\n| --- | ---: | ---: |\n");
    for (what, bytes, rent) in costs.rents {
        out.push_str(&format!("| {what} | {bytes} | {rent} |\n"));
    }
    out
}

/// Whether two lines say the same; a number may differ by two per cent.
fn alike(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.abs_diff(b) * 100 <= a * 2,
            _ => a == b,
        })
}

#[test]
fn the_page_says_what_was_seen() {
    let seen = written();
    if std::env::var_os("GANTRY_WRITE_BENCH").is_some_and(|v| v == "1") {
        std::fs::write(page(), seen).expect("the page is written");
        return;
    }
    let committed = std::fs::read_to_string(page()).expect("docs/reports/governance.md");
    let (seen, committed): (Vec<&str>, Vec<&str>) = (seen.lines().collect(), committed.lines().collect());
    let wrong: Vec<_> = seen.iter().zip(&committed).filter(|(a, b)| !alike(a, b)).collect();
    assert!(
        wrong.is_empty() && seen.len() == committed.len(),
        "{wrong:#?}\nIf that is meant, GANTRY_WRITE_BENCH=1 writes docs/reports/governance.md"
    );
}

const HEAD: &str = "\
# Governing by votes: powers and costs

Generated by the program's tests (`program/tests/tests/holders`), which fail when it is wrong; `GANTRY_WRITE_BENCH=1 cargo test --test all \
holders` in program/tests writes it. [Governance](../operate/governance.md) says how holders govern.

## Who can do what
Everyone tried everything, on LiteSVM with mainnet's features and SPL Governance 3.1.2. *Before*: a founder's key is the market's \
authority and the program's upgrade authority. *After*: both belong to the treasury of a realm of holders. *A vote* takes at least seven \
days. What it proposes to the market waits for the market's timelock of eight days more.

";

const STAYS: &str = "
Nobody takes stake, bonds or credits: the program has no such instruction, and only an upgrade could bring one. A council of three can \
veto until a vote is final, and can do nothing else.
";

const COSTS: &str = "
## Costs
Compute units of each step. Addresses are searched for, so other keys may cost some thousands more or less.

| step | compute units |
| --- | ---: |
";
