//! Older layouts: worlds that the program of their time wrote, and what this one makes of them.

use std::collections::BTreeSet;

use anchor_lang::Discriminator;
use gantry_market::constants::NODE_VERSION;
use gantry_market::errors::MarketError;
use gantry_market::events::NodeMigrated;
use gantry_market::state::{
    Lease, Node, Provider, LEASE_ENDED, LEASE_RUNNING, NODE_LEN_V1, NODE_NEW_FROM, NODE_VERSION_AT,
};
use gantry_market::ID;
use gantry_market_tests::errors::{code_of, framework, Code};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::fixtures::{age, load, Cast};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, matrix, pda, World};
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_message::Message;
use solana_signer::Signer;
use solana_transaction::Transaction;

/// Layouts that nodes have had.
const VERSIONS: [u8; 2] = [1, NODE_VERSION];
const NODE_LEN: usize = 8 + size_of::<Node>();

fn nodes(cast: &Cast) -> [Address; 3] {
    [cast.busy.node, cast.idle.node, cast.accused.node]
}

fn bytes(w: &World, at: &Address) -> Vec<u8> {
    w.svm.get_account(at).expect("account exists").data
}

#[test]
fn an_older_node_says_the_same_in_the_present_layout() {
    let (mut w, cast) = load(1);
    let stranger = w.actor();
    for node in nodes(&cast) {
        let before = bytes(&w, &node);
        assert_eq!((before.len(), before[NODE_VERSION_AT]), (NODE_LEN_V1, 1));
        let (rent, purse) = (w.lamports(&node), w.lamports(&stranger.wallet()));
        let meta = w.ok(ix::node_migrate(&stranger.wallet(), &node), &[&stranger.key]);
        assert_emitted(&meta, &NodeMigrated { node, version: NODE_VERSION });
        let after = bytes(&w, &node);
        assert_eq!((after.len(), after[NODE_VERSION_AT]), (NODE_LEN, NODE_VERSION));
        let mut same = before.clone();
        same[NODE_VERSION_AT] = NODE_VERSION;
        assert_eq!(after[..NODE_NEW_FROM], same[..NODE_NEW_FROM]);
        assert!(after[NODE_NEW_FROM..].iter().all(|byte| *byte == 0), "what is new is empty");
        // The sender pays what is missing, and no more.
        let needed = w.svm.minimum_balance_for_rent_exemption(NODE_LEN);
        assert_eq!(w.lamports(&node), needed.max(rent));
        assert_eq!(w.lamports(&stranger.wallet()), purse - (needed - rent));
        w.read::<Node>(&node).invariant().expect("sound");
    }
}

#[test]
fn once_and_nothing_else() {
    let (mut w, cast) = load(1);
    let payer = w.actor();
    let node = cast.idle.node;
    let migrate = |at: &Address| ix::node_migrate(&payer.wallet(), at);
    let change = |w: &mut World, change: &dyn Fn(&mut Vec<u8>)| {
        let mut account = w.svm.get_account(&node).expect("exists");
        change(&mut account.data);
        w.svm.set_account(node, account).expect("account is written");
    };
    // A version that never was, a length that is not its version's.
    for wrong in [0, 2, 3, 255] {
        let mut w = w.fork();
        change(&mut w, &|data| data[NODE_VERSION_AT] = wrong);
        w.refused(migrate(&node), &[&payer.key], MarketError::UnknownVersion);
    }
    for length in [NODE_LEN_V1 - 1, NODE_LEN_V1 + 1, NODE_VERSION_AT, NODE_LEN] {
        let mut w = w.fork();
        change(&mut w, &|data| data.resize(length, 0));
        w.refused(migrate(&node), &[&payer.key], MarketError::UnknownVersion);
    }
    w.refused(migrate(&cast.lease), &[&payer.key], MarketError::WrongAccount);
    w.refused(migrate(&pda::market()), &[&payer.key], MarketError::WrongAccount);
    let forged = w.forged(&node);
    for at in [forged, payer.stake, payer.wallet(), w.fresh_address()] {
        let mut wrong = migrate(&node);
        wrong.accounts[1].pubkey = at;
        let code: Code = if at == payer.wallet() {
            framework::DUPLICATE_MUTABLE
        } else {
            InstructionError::IllegalOwner.into()
        };
        w.refused(wrong, &[&payer.key], code);
    }
    let silent = unsigned(migrate(&node), &payer.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    w.pause();
    w.ok(migrate(&node), &[&payer.key]);
    let after = bytes(&w, &node);
    w.refused(migrate(&node), &[&payer.key], MarketError::AlreadyMigrated);
    assert_eq!(bytes(&w, &node), after);
}

/// Who paid for the new bytes has given them away: all of a node's rent is its provider's.
#[test]
fn rent_goes_to_the_wallet() {
    let mut w = World::new();
    let (provider, stranger) = (w.provider(10_000_000_000), w.actor());
    let machine = w.machine(&provider, 1);
    age(&mut w.svm, &machine.node);
    w.ok(ix::node_migrate(&stranger.wallet(), &machine.node), &[&stranger.key]);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    w.warp(180);
    let (held, purse) = (w.lamports(&machine.node), w.lamports(&provider.wallet()));
    assert_eq!(held, w.svm.minimum_balance_for_rent_exemption(NODE_LEN));
    let close = ix::node_close(&provider, &machine.key.pubkey(), 1);
    let claim = w.lamports(&close.accounts[4].pubkey);
    w.ok(close, &[&provider.key]);
    assert_eq!(w.lamports(&provider.wallet()), purse + held + claim);
}

/// Every instruction that reads a node says what to do about one of an older layout, and changes nothing.
#[test]
fn every_instruction_names_the_way_out() {
    let payer = gantry_market_tests::world::key(0).pubkey();
    let mut seen = BTreeSet::new();
    let mut otherwise = vec![];
    for recorded in matrix::recipes() {
        for meta in recorded.instruction().accounts.clone() {
            let is_node = recorded
                .before
                .get_account(&meta.pubkey)
                .is_some_and(|a| a.owner == ID && a.data.starts_with(Node::DISCRIMINATOR));
            if !is_node || recorded.name == "node_migrate" {
                continue;
            }
            let mut svm = recorded.before.clone().with_sigverify(false).with_blockhash_check(false);
            age(&mut svm, &meta.pubkey);
            let message = Message::new(&recorded.instructions, Some(&payer));
            let mut transaction = Transaction::new_unsigned(message);
            let signatures = transaction.message.header.num_required_signatures.into();
            transaction.signatures = vec![Default::default(); signatures];
            let code = svm.simulate_transaction(transaction).err().map(|e| code_of(&e));
            if code == Some(MarketError::UnknownVersion.into()) {
                seen.insert(recorded.name);
            } else {
                otherwise.push(format!("{}: {code:?}", recorded.name));
            }
        }
    }
    println!("{} instructions: {seen:?}", seen.len());
    assert!(otherwise.is_empty(), "{otherwise:#?}");
    assert!(seen.len() >= 20, "{seen:?}");
}

/// A whole life goes on: reports, receipts, awards, faults, disputes, proofs, auctions, and everybody leaves.
#[test]
fn life_goes_on_from_every_layout() {
    for version in VERSIONS {
        println!("version {version}");
        let (mut w, cast) = load(version);
        let Cast { keeper, provider, busy, customer, other, finder, lease, .. } = &cast;
        let stranger = w.actor();
        for node in nodes(&cast) {
            if bytes(&w, &node)[NODE_VERSION_AT] != NODE_VERSION {
                let wake = ix::node_update(&provider.wallet(), &provider.provider(), &node, 3_000_000, 1);
                w.refused(wake, &[&provider.key], MarketError::UnknownVersion);
                w.ok(ix::node_migrate(&stranger.wallet(), &node), &[&stranger.key]);
            }
        }
        // What keepers had voted for counts.
        let proof = gantry_market_tests::leaves::tree(&[cast.leaf()]).1.remove(0);
        w.ok(ix::report_apply(&proof), &[]);
        assert_eq!(w.read::<Node>(&busy.node).last_report_period, cast.period);
        assert_eq!(w.read::<Lease>(lease).verified_secs, 60);
        let seconds = w.read::<Lease>(lease).billable_secs(w.now());
        let receipt = ix::receipt(&w, lease, &busy.key, &customer.key, 2, seconds);
        w.ok_all(&receipt, &[]);
        // The open order is awarded, to a node that commits itself.
        let until = w.now() + 1_000;
        w.ok(ix::node_guarantee(provider, &cast.idle.node, until, 9_900), &[&provider.key]);
        let taken = w.award(keeper, customer, &cast.open, provider, &cast.idle);
        w.ok(ix::lease_start(&w, &taken, [1; 32]), &[&cast.idle.key]);
        assert_eq!(w.read::<Lease>(&taken).status, LEASE_RUNNING);
        w.ok(ix::fraud_proof_close(&finder.wallet(), &cast.idle.node), &[&finder.key]);
        // Keepers reject the dispute; the fault is applied.
        w.ok(ix::dispute_vote(keeper, &cast.disputed, 0), &[&keeper.key]);
        w.ok(ix::dispute_resolve(&w, &cast.disputed), &[]);
        w.warp(300);
        w.ok(ix::slash_apply(&w, &cast.fault, None, keeper.stake), &[]);
        assert_eq!(w.read::<Provider>(&provider.provider()).pending_faults, 0);
        w.ok(ix::order_expire(other, &cast.sealed), &[]);
        w.ok(ix::auction_close(&cast.sealed, &other.wallet()), &[]);
        // The leases end and close.
        for (who, at) in [(customer, lease), (other, &cast.disputed), (customer, &taken)] {
            w.ok(ix::lease_end(&w, &who.wallet(), at, 0), &[&who.key]);
            assert_eq!(w.read::<Lease>(at).status, LEASE_ENDED);
        }
        w.ok(ix::lease_rate(&w, lease, 5), &[&customer.key]);
        w.set_now(until + 420);
        w.ok(ix::guarantee_resolve(&w, finder, &cast.idle.node), &[&finder.key]);
        for (who, at) in [(customer, lease), (other, &cast.disputed), (customer, &taken)] {
            w.ok(ix::lease_close(&w, &who.wallet(), at), &[&who.key]);
        }
        // Everybody leaves.
        for (who, machine) in [(provider, &cast.busy), (provider, &cast.idle), (provider, &cast.accused)] {
            w.ok(ix::node_retire(who, &machine.node), &[&who.key]);
        }
        w.warp(180);
        for machine in [&cast.busy, &cast.idle, &cast.accused] {
            w.ok(ix::node_close(provider, &machine.key.pubkey(), machine.gpus), &[&provider.key]);
        }
        let stake = w.read::<Provider>(&provider.provider()).stake;
        w.ok(ix::provider_request_unstake(provider, stake), &[&provider.key]);
        w.warp(600);
        w.ok(ix::provider_withdraw_stake(provider), &[&provider.key]);
        w.ok(ix::provider_close(provider), &[&provider.key]);
        w.ok(ix::credits_close(customer), &[&customer.key]);
        w.ok(ix::credits_close(other), &[&other.key]);
        w.ok(ix::rewards_claim(keeper, None), &[]);
        w.ok(ix::keeper_request_exit(keeper), &[&keeper.key]);
        w.warp(600);
        w.ok(ix::keeper_withdraw(keeper), &[&keeper.key]);
    }
}
