//! Nothing gets stuck: on a copy of the testbed, in a paused market, everyone takes out what is theirs.

use gantry_market::state::{
    Auction, Credits, Dispute, Fault, FraudProof, Keeper, Lease, Node, Order, Outage, Payout, Provider,
    Report, FAULT_PENDING, KEEPER_ACTIVE, KEEPER_EXITING, KEEPER_PENDING, KEEPER_SLASHED, NODE_HIBERNATED,
    NODE_RETIRED, OUTPUT_WITHHELD,
};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_signer::Signer;

use super::entity::{Kind, Token};
use super::harness::Harness;
use super::rules::{must, Verdict};
use super::trace::{Step, TokenTrick};
use crate::testbed::key;
use crate::tokens::{put_token_account, token_program};
use crate::{ix, pda, Actor};

/// Rounds after which something that is still there is stuck: each is longer than every deadline.
const ROUNDS: usize = 12;

/// The rule's name.
pub const STUCK: &str = "nothing is stuck";

/// Empties the market on a copy. What ran is added to the harness's figures.
pub fn nothing_is_stuck(harness: &mut Harness) -> Verdict {
    let mut copy = harness.fork();
    let verdict = wind_down(&mut copy);
    harness.stats.add(&copy.stats);
    verdict
}

/// Every fault that is open takes its course, and whoever is due something takes it.
pub fn faults_settled(a: &mut Harness) -> Verdict {
    fresh_accounts(a)?;
    for _ in 0..2 {
        a.apply(&Step::Warp(700))?;
        faults(a)?;
    }
    Ok(())
}

fn all<T: Kind + Copy>(a: &Harness) -> Vec<(Address, T)> {
    a.ledger.all::<T>().map(|(at, found)| (*at, *found)).collect()
}

fn send(a: &mut Harness, instruction: Instruction) -> Verdict {
    a.apply(&Step::Send(vec![instruction])).map(|_| ())
}

/// Everyone has usable token accounts, and whoever awaits money names them.
fn fresh_accounts(a: &mut Harness) -> Verdict {
    let (payment, stake) = (a.w.payment_mint, a.w.stake_mint);
    for at in 0..a.actors.len() {
        let number = 90_000 + 2 * at as u64;
        let wallet = a.actors[at].wallet();
        for (number, mint) in [(number, payment), (number + 1, stake)] {
            let place = key(number).pubkey();
            put_token_account(&mut a.w.svm, place, mint, wallet, 0, token_program());
            // Reads the account into the ledger; nothing is thawed.
            a.apply(&Step::Token(place, TokenTrick::Thaw))?;
            a.apply(&Step::Lamports(place, 0))?;
        }
        (a.actors[at].payment, a.actors[at].stake) = (key(number).pubkey(), key(number + 1).pubkey());
    }
    for (_, provider) in all::<Provider>(a) {
        if let Some(who) = owner(a, &provider.wallet) {
            send(a, ix::provider_set_payout(&who, who.payment))?;
        }
    }
    Ok(())
}

fn owner(a: &Harness, wallet: &Address) -> Option<Actor> {
    a.actors.iter().find(|actor| actor.wallet() == *wallet).map(Actor::again)
}

fn wind_down(a: &mut Harness) -> Verdict {
    let guardian = a.w.guardian.pubkey();
    send(a, ix::market_pause(&guardian, 3))?;
    fresh_accounts(a)?;
    // Auctions, guarantees and the time of a dead GPU may be longer than all other waits.
    let auctions = all::<Auction>(a).into_iter().map(|(_, auction)| auction.reveal_until);
    let guarantees = all::<Node>(a).into_iter().map(|(_, node)| node.guaranteed_until.max(node.dead_until));
    let longest = auctions.chain(guarantees).max().map(|until| until - a.now());
    if let Some(longest) = longest.filter(|longest| *longest > 1_300) {
        a.apply(&Step::Warp(longest))?;
    }
    for _ in 0..ROUNDS {
        a.apply(&Step::Warp(1_300))?;
        disputes(a)?;
        faults(a)?;
        outputs(a)?;
        leases(a)?;
        orders(a)?;
        accounts(a)?;
        let left = all::<Lease>(a).len()
            + all::<Dispute>(a).len()
            + all::<FraudProof>(a).len()
            + all::<Order>(a).len()
            + all::<Auction>(a).len()
            + all::<Outage>(a).len()
            + all::<Fault>(a).len()
            + all::<Payout>(a).len()
            + all::<Node>(a).len();
        if left == 0
            && all::<Credits>(a).iter().all(|(at, _)| frozen(a, at))
            && all::<Provider>(a).is_empty()
            && all::<Keeper>(a).is_empty()
        {
            break;
        }
    }
    stuck::<Dispute>(a, "a dispute")?;
    stuck::<FraudProof>(a, "an fraud_proof")?;
    stuck::<Fault>(a, "a fault")?;
    stuck::<Payout>(a, "a payout")?;
    stuck::<Lease>(a, "a lease")?;
    stuck::<Order>(a, "an order")?;
    stuck::<Auction>(a, "an auction")?;
    stuck::<Outage>(a, "an outage")?;
    stuck::<Node>(a, "a machine")?;
    stuck::<Provider>(a, "a provider's stake")?;
    stuck::<Keeper>(a, "a keeper's bond")?;
    stuck::<Report>(a, "a report")?;
    // What is frozen waits for its issuer, and nobody else waits for it.
    for (at, _) in all::<Credits>(a) {
        a.apply(&Step::Token(pda::credits_vault(&at), TokenTrick::Thaw))?;
    }
    accounts(a)?;
    stuck::<Credits>(a, "a customer's money")?;
    a.books.at_end(&a.ledger)
}

/// Whether the issuer of the payment token has frozen a customer's vault.
fn frozen(a: &Harness, credits: &Address) -> bool {
    a.ledger.get::<Token>(&pda::credits_vault(credits)).is_some_and(|token| token.frozen)
}

fn stuck<T: Kind + Copy>(a: &Harness, what: &str) -> Verdict {
    let left: Vec<Address> = all::<T>(a).into_iter().map(|(at, _)| at).collect();
    must!(left.is_empty(), "nothing is stuck", "{what}: {left:?}");
    Ok(())
}

fn faults(a: &mut Harness) -> Verdict {
    let payer = a.actors[9].wallet();
    for (at, fault) in all::<Fault>(a) {
        if fault.status == FAULT_PENDING {
            let apply = ix::slash_apply_by(&a.w, &payer, &at);
            send(a, apply)?;
        }
        for (lease, _) in all::<Lease>(a).into_iter().filter(|(_, lease)| lease.node == fault.node) {
            let compensate = ix::slash_compensate_by(&a.w, &payer, &at, &lease);
            send(a, compensate)?;
        }
        let close = ix::slash_close(&a.w, &at);
        send(a, close)?;
    }
    for (at, payout) in all::<Payout>(a) {
        if let Some(who) = owner(a, &payout.beneficiary) {
            let claim = ix::payout_claim(&a.w, &at, who.stake);
            send(a, claim)?;
        }
    }
    Ok(())
}

fn disputes(a: &mut Harness) -> Verdict {
    let stranger = a.actors[9].wallet();
    for (_, dispute) in all::<Dispute>(a) {
        let resolve = ix::dispute_resolve(&a.w, &dispute.lease);
        if !a.apply(&Step::Send(vec![resolve]))? {
            let uphold = ix::dispute_uphold(&a.w, &stranger, &dispute.lease);
            send(a, uphold)?;
        }
    }
    for (_, fraud_proof) in all::<FraudProof>(a) {
        send(a, ix::fraud_proof_close(&fraud_proof.finder, &fraud_proof.node))?;
    }
    Ok(())
}

/// What was not shown in time is compared without it.
fn outputs(a: &mut Harness) -> Verdict {
    for (at, order) in all::<Order>(a) {
        if order.redundant == 1 {
            let leases = super::actions::leases_of(a, &at);
            send(a, ix::output_resolve(&at, &leases))?;
        }
    }
    for (at, lease) in all::<Lease>(a) {
        if lease.output == OUTPUT_WITHHELD {
            send(a, ix::output_forfeit(&a.w, &at))?;
        }
    }
    Ok(())
}

fn leases(a: &mut Harness) -> Verdict {
    let stranger = a.actors[9].wallet();
    for (at, _) in all::<Lease>(a) {
        type Build = fn(&Harness, &Address, &Address) -> Instruction;
        let ways: [Build; 5] = [
            |a, _, at| ix::lease_abort(&a.w, at),
            |a, who, at| ix::lease_end(&a.w, who, at, 0),
            // One that was extended far runs for as long, unless its customer ends it.
            |a, _, at| ix::lease_end(&a.w, &a.w.read::<Lease>(at).customer, at, 0),
            |a, _, at| ix::lease_settle_report(&a.w, at),
            |a, who, at| ix::lease_close(&a.w, who, at),
        ];
        for way in ways {
            let lease = a.ledger.get::<Lease>(&at).copied();
            let parties = lease.filter(|lease| {
                a.ledger.get::<Order>(&lease.order).is_some()
                    && a.ledger.get::<Provider>(&lease.provider).is_some()
            });
            if parties.is_some() {
                let instruction = way(a, &stranger, &at);
                send(a, instruction)?;
            }
        }
    }
    Ok(())
}

fn orders(a: &mut Harness) -> Verdict {
    for (at, order) in all::<Order>(a) {
        if let Some(who) = owner(a, &order.customer) {
            let mut expire = ix::order_expire(&who, &at);
            expire.accounts[2].pubkey = order.rent_payer;
            send(a, expire)?;
            let mut cancel = ix::order_cancel(&who, &at);
            cancel.accounts[3].pubkey = order.rent_payer;
            send(a, cancel)?;
        }
    }
    for (_, auction) in all::<Auction>(a) {
        send(a, ix::auction_close(&auction.order, &auction.rent_payer))?;
    }
    for (_, outage) in all::<Outage>(a) {
        send(a, ix::outage_close_of(&outage.node, &outage.rent_payer))?;
    }
    for (_, report) in all::<Report>(a) {
        send(a, ix::report_close(report.period, &report.rent_payer))?;
    }
    Ok(())
}

fn accounts(a: &mut Harness) -> Verdict {
    for (_, credits) in all::<Credits>(a) {
        if let Some(who) = owner(a, &credits.customer) {
            send(a, ix::credits_close(&who))?;
        }
    }
    for (at, node) in all::<Node>(a) {
        let wallet = a.ledger.get::<Provider>(&node.provider).map(|provider| provider.wallet);
        let Some(who) = wallet.and_then(|wallet| owner(a, &wallet)) else { continue };
        if node.is_guaranteed() {
            let settle = ix::guarantee_resolve(&a.w, &who, &at);
            send(a, settle)?;
        }
        if node.status == NODE_RETIRED {
            let close = super::actions::node_close_of(a, &who, &at, &node);
            send(a, close)?;
        } else {
            if node.convicted == 1 {
                // It is mended, which needs no stake as long as it takes no work.
                send(a, ix::node_offer(&who.wallet(), &at, &node, node.price, NODE_HIBERNATED))?;
            }
            send(a, ix::node_retire(&who, &at))?;
        }
    }
    for (_, provider) in all::<Provider>(a) {
        let Some(who) = owner(a, &provider.wallet) else { continue };
        send(a, ix::provider_withdraw_stake(&who))?;
        send(a, ix::provider_close(&who))?;
        let free = provider.stake.saturating_sub(provider.locked_stake);
        if free > 0 {
            send(a, ix::provider_request_unstake(&who, free))?;
        }
    }
    for (_, keeper) in all::<Keeper>(a) {
        let Some(who) = owner(a, &keeper.wallet) else { continue };
        send(a, ix::rewards_claim(&who, None))?;
        match keeper.status {
            KEEPER_PENDING | KEEPER_ACTIVE => send(a, ix::keeper_request_exit(&who))?,
            KEEPER_EXITING | KEEPER_SLASHED => send(a, ix::keeper_withdraw(&who))?,
            _ => {}
        }
    }
    Ok(())
}
