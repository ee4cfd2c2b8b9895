//! Who can do what before the hand-over and after it: everyone tries everything, and the page says what came of it.

use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{Market, Params};
use gantry_market_tests::dao::Dao;
use gantry_market_tests::realm::{error, Rules};
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

use super::buffer;

/// What can be tried in the name of an address.
type Try = fn(&mut Testbed, &Dao, &Address) -> Instruction;

const POWERS: [(&str, Try); 10] = [
    ("propose parameters", |w, _, by| {
        ix::by(ix::market_propose_params(w, Params { fee_bps: 1_100, ..w.params }), w, by)
    }),
    ("propose a GPU model", |w, _, by| {
        ix::by(ix::gpu_model_propose(w, GpuModelArgs { id: 7, ..ix::h100() }), w, by)
    }),
    ("propose guardian and treasury", |w, _, by| {
        ix::by(ix::market_propose_roles(w, w.guardian.pubkey(), w.treasury), w, by)
    }),
    ("propose the next authority", |w, _, by| {
        ix::by(ix::market_propose_successor(w, pda::market(), w.guardian.pubkey(), w.treasury), w, by)
    }),
    ("put what was proposed into force, after the timelock", |w, _, _| {
        let (now, params) = (w.now(), w.params);
        w.alter::<Market>(&pda::market(), |market| {
            (market.pending_eta, market.pending_params) = (now, params)
        });
        ix::market_apply_params()
    }),
    ("pause new orders and awards", |_, _, by| ix::market_pause(by, 3)),
    ("take the pause back", |w, _, by| {
        w.alter::<Market>(&pda::market(), |market| market.paused = 3);
        ix::market_pause(by, 0)
    }),
    ("pay from the treasury", |w, _, by| {
        let (from, owner) = (w.treasury, pda::market());
        w.gift(&from, 1);
        let to = w.token_account(w.payment_mint, owner, 0);
        ix::token_transfer(&from, &to, by, 1)
    }),
    ("upgrade the program", |w, _, by| {
        let new = buffer(w, by);
        ix::upgrade(by, &new, by)
    }),
    ("give the program to another", |_, _, by| ix::set_upgrade_authority(by, &pda::market())),
];

/// Whether a key's own transaction does it.
fn alone(w: &Testbed, dao: &Dao, key: &Keypair, power: Try) -> bool {
    let mut w = w.fork();
    let instruction = power(&mut w, dao, &key.pubkey());
    w.send(&[instruction], &[key]).is_ok()
}

/// Whether a vote of holders does it.
fn by_vote(w: &Testbed, dao: &Dao, power: Try) -> bool {
    let (mut w, mut dao) = (w.fork(), dao.again());
    let instruction = power(&mut w, &dao, &dao.realm.treasury);
    dao.pass(&mut w, vec![vec![instruction]]).is_ok()
}

fn row(w: &Testbed, dao: &Dao, power: Try) -> String {
    let stranger = w.fork().hot_key();
    let mut with = w.fork();
    with.svm.airdrop(&stranger.pubkey(), 1_000_000_000).expect("airdrop");
    let mut who = vec![];
    let keys = [
        ("the founder's key", &w.authority),
        ("the guardian", &w.guardian),
        ("a holder", &dao.holders[0].key),
        ("a member of the council", &dao.council[0]),
    ];
    if alone(&with, dao, &stranger, power) {
        who.push("anyone");
    } else {
        who.extend(keys.into_iter().filter(|(_, key)| alone(&with, dao, key, power)).map(|(name, _)| name));
    }
    if by_vote(w, dao, power) && who != ["anyone"] {
        who.push("a vote");
    }
    if who.is_empty() {
        return "nobody".into();
    }
    who.join(", ")
}

/// The table of the page.
pub fn table() -> String {
    let mut before = Testbed::new();
    let dao = Dao::found(&mut before, Rules::default());
    let mut after = before.fork();
    let mut governing = dao.again();
    governing.take_over(&mut after);
    let mut out = String::from("| what | before | after |\n| --- | --- | --- |\n");
    for (what, power) in POWERS {
        let (was, is) = (row(&before, &dao, power), row(&after, &governing, power));
        out.push_str(&format!("| {what} | {was} | {is} |\n"));
    }
    out
}

/// What the table must say, whatever the page says.
#[test]
fn the_founder_keeps_nothing() {
    let table = table();
    assert_eq!(table.matches("the founder's key").count(), 9, "{table}");
    for line in table.lines().skip(2) {
        let cells: Vec<&str> = line.split(" | ").collect();
        assert!(!cells[2].contains("founder") && !cells[2].contains("a holder"), "{line}");
        assert!(!cells[1].contains("a vote"), "{line}");
        assert!(cells[2].contains("vote") || cells[2].contains("anyone"), "{line}");
    }
}

/// Rules of votes are changed by votes alone, from the first day on.
#[test]
fn only_votes_change_the_rules_of_votes() {
    let (mut w, mut dao) = super::governed();
    let founder = w.authority.insecure_clone();
    let bind = dao.realm.bind(&founder.pubkey());
    w.refused(bind, &[&founder], error::REALM_AUTHORITY);
    let early = Rules { tipping: 1 };
    dao.pass(&mut w, vec![vec![dao.realm.set_rules(early)]]).expect("the vote passes");
    let data = w.svm.get_account(&dao.realm.governance).expect("the governance exists").data;
    let at = 1 + 32 + 32 + 4 + 2 + 8 + 4 + 4;
    assert_eq!(data[at], 1);
}
