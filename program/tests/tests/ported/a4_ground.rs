//! A4: nodes whose keys were ground to hide rivals from proofs of a better ask.

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::Order;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::sums::{attempt, worth};

const DEAR: u64 = 3_000_000;

/// Registers a node of one GPU under this key.
fn node_of(w: &mut Testbed, owner: &Actor, key: Keypair, price: u64) -> Machine {
    w.ok(ix::node_register(owner, &key.pubkey(), ix::spec(1), price), &[&owner.key, &key]);
    let node = pda::node(&owner.provider(), &key.pubkey());
    Machine { key, node, gpus: 1 }
}

/// Whether awards of `order` to these nodes hide the rival.
fn hides(order: &Address, own: &[Address], rival: &Address) -> bool {
    let mut state: Order = bytemuck::Zeroable::zeroed();
    for node in own {
        state.note_award(order, node);
    }
    state.may_have(order, rival)
}

/// When an owner grinds its nodes' keys.
#[derive(Clone, Copy, PartialEq)]
enum Grinding {
    /// Not at all: its nodes ask what the others ask, and take their part honestly.
    Honest,
    /// For another order, before this one.
    Before,
}

/// A stranger's order over two nodes goes to the keeper's dear ones while two cheap ones are free. Returns how many awards
/// were proven to be unjust, and what the owner of keeper and nodes has gained in an hour; `None` where no award was made.
fn play(grinding: Grinding) -> Option<(usize, i64)> {
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let cheap = w.provider(100_000_000_000);
    let rivals = [w.machine(&cheap, 1), w.machine(&cheap, 1)];
    let dear = w.provider(100_000_000_000);
    let customer = w.customer(1_000_000_000);
    let finder = w.actor();
    w.warp(60);
    let args = OrderArgs { nodes: 2, ..ix::order_args(9_000_001) };
    let order = pda::order(&customer.wallet(), 7);
    let (most, price) = match grinding {
        Grinding::Honest => (0, ASK - 1),
        Grinding::Before => (3_000, DEAR),
    };
    let mut nodes: Vec<Machine> = vec![];
    for rival in &rivals {
        let mut tried = 0;
        let key = loop {
            let key = w.fresh_key();
            tried += 1;
            let node = pda::node(&dear.provider(), &key.pubkey());
            let all: Vec<Address> = nodes.iter().map(|one| one.node).chain([node]).collect();
            if tried > most || hides(&order, &all, &rival.node) {
                println!("{tried} keys");
                break key;
            }
        };
        nodes.push(node_of(&mut w, &dear, key, price));
    }
    w.warp(60);
    let order = w.order(&customer, args);
    let owner = [&keeper, &dear, &finder];
    let before = worth(&w, &owner, &[]);
    let mut leases = vec![];
    for node in &nodes {
        let award = ix::order_award(&keeper, &customer, &order, &dear.provider(), &node.node);
        if let Err(code) = attempt(&mut w, &[award], &[keeper.signing()]) {
            println!("award: {code:?}");
            return None;
        }
        leases.push(pda::lease(&order, &node.node));
    }
    for (lease, node) in leases.iter().zip(&nodes) {
        w.ok(ix::lease_start(&w, lease, [3; 32]), &[&node.key]);
    }
    let mut proven = 0;
    for lease in &leases {
        let shown = rivals.iter().any(|rival| {
            let proof = ix::prove_better_ask(&w, &finder, lease, &rival.node);
            let outcome = attempt(&mut w, &[proof], &[&finder.key]);
            println!("proof: {outcome:?}");
            outcome.is_ok()
        });
        proven += usize::from(shown);
    }
    w.warp(3_600);
    for (lease, node) in leases.iter().zip(&nodes) {
        let receipt = ix::receipt(&w, lease, &node.key, &customer.key, 1, 3_600);
        w.ok_all(&receipt, &[]);
    }
    let gain = worth(&w, &owner, &[keeper.keeper()]) - before;
    println!("{proven} of {} awards proven, owner {gain}", leases.len());
    Some((proven, gain))
}

/// The finder is the owner's own: it takes the least that a slash can be. Others find as well.
#[test]
fn keys_ground_before_the_order_hide_nothing() {
    let honest = play(Grinding::Honest).expect("awarded").1;
    let (proven, gain) = play(Grinding::Before).expect("awarded");
    assert_eq!(proven, 2, "rivals are hidden");
    assert!(gain <= honest, "{gain} in place of {honest}");
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Six {
    /// The cheap ones and four of one's own.
    Honest,
    /// Six of one's own, registered under any keys once the order is there.
    Unground,
    /// The same under keys ground for the order.
    Ground,
}

/// An order over six nodes of a stranger, two cheap nodes of others, and dear ones of the keeper's own.
fn six(way: Six) -> (usize, i64) {
    let attack = way != Six::Honest;
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let cheap = w.provider(100_000_000_000);
    let rivals = [w.machine(&cheap, 1), w.machine(&cheap, 1)];
    let dear = w.provider(100_000_000_000);
    let customer = w.customer(1_000_000_000);
    let finder = w.actor();
    w.warp(60);
    let order = w.order(&customer, OrderArgs { nodes: 6, ..ix::order_args(9_000_001) });
    let bits = |node: &Address| {
        let mut state: Order = bytemuck::Zeroable::zeroed();
        state.note_award(&order, node);
        state.awarded_nodes
    };
    let [one, other] = [bits(&rivals[0].node), bits(&rivals[1].node)];
    let (mut wanted, mut tried) = ([one[0] | other[0], one[1] | other[1]], 0);
    let mut nodes: Vec<Machine> = vec![];
    for _ in 0..if attack { 6 } else { 4 } {
        let key = loop {
            let key = w.fresh_key();
            tried += 1;
            let has = bits(&pda::node(&dear.provider(), &key.pubkey()));
            let left = [wanted[0] & !has[0], wanted[1] & !has[1]];
            if way != Six::Ground || left != wanted || wanted == [0, 0] {
                wanted = left;
                break key;
            }
        };
        nodes.push(node_of(&mut w, &dear, key, DEAR));
    }
    println!("{tried} keys, rivals hidden {}", wanted == [0, 0]);
    let owner = [&keeper, &dear, &finder];
    let before = worth(&w, &owner, &[]);
    let mut leases = vec![];
    if !attack {
        for rival in rivals.iter() {
            leases.push((w.award(&keeper, &customer, &order, &cheap, rival), &rival.key));
        }
    }
    for node in &nodes {
        let award = ix::order_award(&keeper, &customer, &order, &dear.provider(), &node.node);
        match attempt(&mut w, &[award], &[keeper.signing()]) {
            Ok(()) => leases.push((pda::lease(&order, &node.node), &node.key)),
            Err(code) => {
                println!("award: {code:?}");
                return (0, 0);
            }
        }
    }
    for (lease, key) in &leases {
        w.ok(ix::lease_start(&w, lease, [3; 32]), &[*key]);
    }
    let mut proven = 0;
    for (lease, _) in &leases {
        for rival in rivals.iter() {
            let proof = ix::prove_better_ask(&w, &finder, lease, &rival.node);
            let outcome = attempt(&mut w, &[proof], &[&finder.key]);
            proven += usize::from(outcome.is_ok());
        }
    }
    w.warp(3_600);
    for (lease, key) in &leases {
        let receipt = ix::receipt(&w, lease, key, &customer.key, 1, 3_600);
        w.ok_all(&receipt, &[]);
    }
    let gain = worth(&w, &owner, &[keeper.keeper()]) - before;
    println!("{way:?}: {proven} awards proven, owner {gain}");
    (proven, gain)
}

/// Nodes that are registered once the order is there get nothing of it, whatever their keys are. Under keys ground for it, which take a
/// few dozen tries, they hid two rivals.
#[test]
fn keys_ground_for_an_order_that_is_there() {
    let (_, honest) = six(Six::Honest);
    for way in [Six::Unground, Six::Ground] {
        let (proven, gain) = six(way);
        assert!(
            gain <= honest,
            "{gain} in place of {honest}, {proven} awards proven: profit {}",
            gain - honest
        );
    }
}

/// Any order over many nodes hides some rival by chance.
#[test]
fn chance_hides_few_rivals() {
    for own in [2u8, 8, 16, 32, 64] {
        let order = Address::new_from_array([own; 32]);
        let mut hidden = 0;
        for round in 0..2_000u32 {
            let at = |n: u8| {
                let mut bytes = [n; 32];
                bytes[..4].copy_from_slice(&round.to_le_bytes());
                Address::new_from_array(bytes)
            };
            let nodes: Vec<Address> = (1..=own).map(at).collect();
            hidden += usize::from(hides(&order, &nodes, &at(200)));
        }
        println!("{own} nodes: a rival is hidden in {hidden} of 2000");
        assert!(hidden <= 2_000, "counted");
    }
}
