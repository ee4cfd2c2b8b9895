use gantry_market::constants::{AWARD_VIEW_SECS, EVIDENCE_SECS};
use gantry_market::errors::MarketError;
use gantry_market::events::{DeviceTaken, EvidenceSet};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::evidence::device_root;
use gantry_market::state::{DeviceClaim, Node, NODE_ACTIVE, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED};
use gantry_market_tests::attempts::without_last;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Machine, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// A machine of two GPUs that somebody else has registered before its owner could.
struct Contest {
    w: Testbed,
    keeper: Actor,
    squatter: Actor,
    /// The squatter's node, which holds both claims.
    held: Address,
    owner: Actor,
    machine: Machine,
    devices: [[u8; 32]; 8],
    sender: Actor,
}

fn contest() -> Contest {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let (squatter, owner, sender) = (w.provider(20_000_000_000), w.provider(20_000_000_000), w.actor());
    let (key, junk) = (w.fresh_key(), w.fresh_key());
    let devices = ix::devices(&key.pubkey(), 2);
    let squat = ix::node_register_with(&squatter, &junk.pubkey(), ix::spec(2), ASK, devices);
    w.ok(squat, &[&squatter.key, &junk]);
    let register = ix::node_register(&owner, &key.pubkey(), ix::spec(2), ASK);
    w.ok(register, &[&owner.key, &key]);
    let node = pda::node(&owner.provider(), &key.pubkey());
    let held = pda::node(&squatter.provider(), &junk.pubkey());
    Contest { w, keeper, squatter, held, owner, machine: Machine { key, node, gpus: 2 }, devices, sender }
}

impl Contest {
    fn root(&self) -> [u8; 32] {
        device_root(&self.devices[..2]).expect("ascending")
    }

    fn show(&mut self, node: Address, tier: u8) {
        let root = self.root();
        self.w.show_evidence(&self.keeper, &node, tier, root);
    }

    fn set(&self, node: &Address, losers: &[Address]) -> Instruction {
        ix::node_set_evidence(&self.sender.wallet(), node, self.devices, 2, losers)
    }

    fn take(&self) -> Instruction {
        self.set(&self.machine.node, &[self.held])
    }

    fn ok(&mut self, instruction: Instruction) {
        self.w.ok(instruction, &[&self.sender.key]);
    }

    fn refused(&mut self, instruction: Instruction, code: impl Into<Code>) {
        self.w.refused(instruction, &[&self.sender.key], code);
    }

    fn claim(&self, at: usize) -> DeviceClaim {
        self.w.read(&pda::device(&self.devices[at]))
    }

    fn node(&self, at: &Address) -> Node {
        self.w.read(at)
    }

    /// An order for one GPU, and its award to a node.
    fn award(&mut self, nonce: u64, to: &Address, min_tier: u8) -> Instruction {
        let customer = self.w.customer(100_000_000);
        let mut args = ix::order_args(nonce);
        args.requirement.min_tier = min_tier;
        let order = self.w.order(&customer, args);
        let provider = self.node(to).provider;
        ix::order_award(&self.keeper, &customer, &order, &provider, to)
    }
}

#[test]
fn evidence_takes_devices_from_who_only_claims_them() {
    let mut c = contest();
    let (owner, squatter) = (c.machine.node, c.held);
    assert_eq!((c.node(&owner).claims_missing, c.node(&squatter).claims_missing), (2, 0));
    let waiting = c.award(1, &owner, 0);
    c.w.refused(waiting, &[&c.keeper.key], MarketError::DevicesMissing);

    c.show(owner, 2);
    let payer = c.claim(0).rent_payer;
    let (take, until) = (c.take(), c.node(&owner).evidence_expiry);
    let meta = c.w.ok(take, &[&c.sender.key]);
    assert_emitted(&meta, &EvidenceSet { node: owner, tier: 2, until, gained: 2, missing: 0 });
    assert_emitted(&meta, &DeviceTaken { device: c.devices[1], from: squatter, to: owner, tier: 2 });
    for at in 0..2 {
        let claim = c.claim(at);
        assert_eq!((claim.node, claim.tier, claim.expires()), (owner, 2, until));
        assert_eq!(claim.rent_payer, payer, "who paid the rent gets it back one day");
    }
    let now = c.w.now();
    let node = c.node(&owner);
    assert_eq!((node.claims_missing, node.available_since), (0, now));
    assert_eq!((c.node(&squatter).claims_missing, c.node(&squatter).status), (2, NODE_ACTIVE));
    let gone = c.award(2, &squatter, 0);
    c.w.refused(gone, &[&c.keeper.key], MarketError::DevicesMissing);
    let good = c.award(3, &owner, 2);
    c.w.ok(good, &[&c.keeper.key]);
    // Again it changes nothing.
    let again = c.take();
    c.refused(again, MarketError::ClaimsStand);
}

/// Only evidence makes a tier last: periods in which a machine was not asked say nothing about it, whatever they name.
#[test]
fn only_a_leaf_with_evidence_moves_the_expiry() {
    let mut c = contest();
    c.show(c.machine.node, 2);
    let node = c.machine.node;
    let until = c.node(&node).evidence_expiry;
    for tier in [2, 3] {
        let period = c.w.period();
        c.w.warp_past_period(period);
        let leaf = c.w.good_leaf(node, Address::default(), period);
        let proofs = c.w.finalise(&c.keeper, &[LeafData { tier, ..leaf }]);
        c.w.ok(ix::report_apply(&proofs[0]), &[]);
        let now = c.node(&node);
        assert_eq!(
            (now.tier, now.evidence_expiry),
            (2, until),
            "a leaf of tier {tier} that names no evidence"
        );
    }
    c.w.set_now(until + 1);
    let now = c.node(&node);
    assert_eq!(now.tier_at(until + 1), 1, "it has lapsed, though reports went on");
}

/// A machine that showed nothing when it was asked loses its tier at once.
#[test]
fn a_machine_that_shows_nothing_loses_its_tier() {
    let mut c = contest();
    c.show(c.machine.node, 3);
    let (node, period) = (c.machine.node, c.w.period());
    let until = c.node(&node).evidence_expiry;
    c.w.warp_past_period(period);
    let leaf = c.w.good_leaf(node, Address::default(), period);
    let proofs = c.w.finalise(&c.keeper, &[LeafData { tier: 0, ..leaf }]);
    c.w.ok(ix::report_apply(&proofs[0]), &[]);
    let state = c.node(&node);
    assert_eq!((state.tier, state.evidence_expiry), (0, until));
}

/// One GPU counts for one node: the claim of its key, not what keepers remember, decides about tier 3.
#[test]
fn a_gpu_backs_one_node_of_tier_three() {
    let mut c = contest();
    let (first, second, keeper) = (c.held, c.machine.node, c.keeper.wallet());
    let (keys, root) = (ix::gpu_keys(&first, 2), c.root());
    let tier = |c: &Contest, at: &Address| c.node(at).tier_at(c.w.now());
    c.w.show_gpus(&c.keeper, &first, 3, root, &keys[..2]);
    assert_eq!((c.node(&first).tier, tier(&c, &first)), (3, 1), "not before the keys are claimed");
    c.w.ok(ix::node_set_keys(&keeper, &first, keys, 2), &[&c.keeper.key]);
    assert_eq!(tier(&c, &first), 3);
    let claim: DeviceClaim = c.w.read(&pda::gpu_key(&keys[0]));
    let until = c.node(&first).evidence_expiry;
    assert_eq!((claim.node, claim.tier, claim.key, claim.expires()), (first, 3, 1, until));

    // The same GPUs behind another node, and one of them beside another: neither counts.
    c.w.show_gpus(&c.keeper, &second, 3, root, &keys[..2]);
    let claim = ix::node_set_keys(&keeper, &second, keys, 2);
    c.w.refused(claim, &[&c.keeper.key], MarketError::DeviceClaimed);
    assert_eq!((c.node(&second).tier, tier(&c, &second)), (3, 1));
    let take = c.take();
    c.refused(take, MarketError::EvidenceTooWeak);
    let mut one = ix::gpu_keys(&second, 2);
    one[0] = keys[0];
    one[..2].sort();
    c.w.show_gpus(&c.keeper, &second, 3, root, &one[..2]);
    let claim = ix::node_set_keys(&keeper, &second, one, 2);
    c.w.refused(claim, &[&c.keeper.key], MarketError::DeviceClaimed);
    assert!(
        !c.w.exists(&pda::gpu_key(one.iter().find(|key| **key != keys[0]).expect("the other"))),
        "all or none"
    );
    assert_eq!((tier(&c, &first), tier(&c, &second)), (3, 1));

    // When the first has shown nothing for so long that its tier has lapsed, they are the second's.
    c.w.set_now(until + 1);
    assert_eq!(tier(&c, &first), 1);
    c.w.show_gpus(&c.keeper, &second, 3, root, &keys[..2]);
    let claim = ix::node_set_keys(&keeper, &second, keys, 2);
    let meta = c.w.ok(claim.clone(), &[&c.keeper.key]);
    assert_emitted(&meta, &DeviceTaken { device: keys[1], from: first, to: second, tier: 3 });
    assert_eq!(tier(&c, &second), 3);
    assert_eq!(c.node(&first).claims_missing, 0, "the devices are claimed by themselves");
    c.w.refused(claim, &[&c.keeper.key], MarketError::ClaimsStand);
}

/// New GPUs, or none, end what the claims of the old ones gave.
#[test]
fn tier_three_is_of_the_keys_that_were_shown_last() {
    let mut c = contest();
    let (node, root, keeper) = (c.machine.node, c.root(), c.keeper.wallet());
    c.show(node, 3);
    assert_eq!(c.node(&node).tier_at(c.w.now()), 3);
    let mut other = ix::gpu_keys(&node, 2);
    other[1][0] ^= 0x80;
    other[..2].sort();
    c.w.show_gpus(&c.keeper, &node, 3, root, &other[..2]);
    assert_eq!(c.node(&node).tier_at(c.w.now()), 1);
    let old = ix::node_set_keys(&keeper, &node, ix::gpu_keys(&node, 2), 2);
    c.w.refused(old, &[&c.keeper.key], MarketError::WrongDevices);
    c.w.ok(ix::node_set_keys(&keeper, &node, other, 2), &[&c.keeper.key]);
    assert_eq!(c.node(&node).tier_at(c.w.now()), 3);
    // The same keys again: claims last as long as the newer evidence once somebody has said so.
    let before = c.node(&node).keys_until;
    c.w.show_gpus(&c.keeper, &node, 3, root, &other[..2]);
    assert_eq!((c.node(&node).keys_until, c.node(&node).tier_at(c.w.now())), (before, 3));
    c.w.ok(ix::node_set_keys(&keeper, &node, other, 2), &[&c.keeper.key]);
    assert_eq!(c.node(&node).keys_until, c.node(&node).evidence_expiry);
}

/// Nobody blocks a GPU's key by registering its hash as a device, or by passing that claim for the key's.
#[test]
fn a_device_with_the_hash_of_a_key_is_no_claim_of_the_key() {
    let mut c = contest();
    let (node, root, keeper) = (c.machine.node, c.root(), c.keeper.wallet());
    let squatter = c.w.provider(20_000_000_000);
    let (key, keys) = (c.w.fresh_key(), ix::gpu_keys(&node, 2));
    let squat = ix::node_register_with(&squatter, &key.pubkey(), ix::spec(2), ASK, keys);
    c.w.ok(squat, &[&squatter.key, &key]);
    c.w.show_gpus(&c.keeper, &node, 3, root, &keys[..2]);
    let mut wrong = ix::node_set_keys(&keeper, &node, keys, 2);
    wrong.accounts[3].pubkey = pda::device(&keys[0]);
    c.w.refused(wrong, &[&c.keeper.key], MarketError::WrongAccount);
    c.w.ok(ix::node_set_keys(&keeper, &node, keys, 2), &[&c.keeper.key]);
    assert_eq!(c.node(&node).tier_at(c.w.now()), 3);
    // A key's claim closes with no node.
    c.w.ok(ix::node_retire(&c.owner, &node), &[&c.owner.key]);
    c.w.warp(i64::from(c.w.params.unstake_cooldown_secs));
    c.w.alter(&node, |n: &mut Node| n.claims_missing = 1);
    let mut close = ix::node_close(&c.owner, &c.machine.key.pubkey(), 0);
    close.accounts.push(AccountMeta::new(pda::gpu_key(&keys[0]), false));
    c.w.refused(close, &[&c.owner.key], MarketError::WrongAccount);
}

#[test]
fn a_tier_lapses_two_days_after_the_period_that_named_it() {
    let mut c = contest();
    let period = c.w.period() + 1;
    c.show(c.machine.node, 3);
    let take = c.take();
    c.ok(take);
    let end = ((period + 1) * 60) as i64;
    let until = end + EVIDENCE_SECS;
    assert_eq!(c.node(&c.machine.node).evidence_expiry, until);
    c.w.set_now(until);
    let award = c.award(1, &c.machine.node.clone(), 2);
    c.w.ok(award, &[&c.keeper.key]);
    c.w.set_now(until + 1);
    let node = c.node(&c.machine.node);
    assert_eq!((node.tier, node.tier_at(until), node.tier_at(until + 1)), (3, 3, 1));
    let late = c.award(2, &c.machine.node.clone(), 2);
    c.w.refused(late, &[&c.keeper.key], MarketError::UnsuitableHardware);
    // The claims lapse with it: they are worth no more than the squatter's were.
    assert_eq!((c.claim(0).tier_at(until), c.claim(0).tier_at(until + 1)), (3, 1));
    let refresh = c.set(&c.machine.node, &[]);
    c.refused(refresh.clone(), MarketError::EvidenceTooWeak);
    c.show(c.machine.node, 2);
    c.ok(refresh);
    assert_eq!(c.claim(1).tier, 2);
}

/// Evidence that is as good, and shown before, stays; better evidence wins, and so does any once the other has lapsed.
#[test]
fn an_honest_holder_is_not_displaced_by_evidence_that_is_no_better() {
    let mut c = contest();
    let (first, second) = (c.held, c.machine.node);
    c.show(first, 2);
    let raise = c.set(&first, &[]);
    c.ok(raise);
    c.show(second, 2);
    let take = c.take();
    c.refused(take.clone(), MarketError::ClaimsStand);
    assert_eq!((c.claim(0).node, c.node(&first).claims_missing), (first, 0));
    c.show(second, 3);
    c.ok(take);
    assert_eq!((c.claim(0).node, c.claim(0).tier), (second, 3));
    // And back, when the better evidence has lapsed and the other is shown still.
    let back = c.set(&first, &[second]);
    c.show(first, 2);
    c.refused(back.clone(), MarketError::ClaimsStand);
    c.w.set_now(c.claim(0).expires() + 1);
    c.ok(back);
    assert_eq!((c.claim(1).node, c.node(&second).claims_missing), (first, 2));
}

/// One device of two is held by somebody with as good evidence: the other is taken, and the machine goes on waiting.
#[test]
fn what_can_be_taken_is_taken() {
    let mut c = contest();
    let until = c.w.now() + 10_000;
    c.w.alter(&pda::device(&c.devices[0]), |d: &mut DeviceClaim| d.set(2, until).expect("fits"));
    c.show(c.machine.node, 2);
    let since = c.node(&c.machine.node).available_since;
    let take = c.take();
    c.ok(take);
    assert_eq!((c.claim(0).node, c.claim(1).node), (c.held, c.machine.node));
    let node = c.node(&c.machine.node);
    assert_eq!((node.claims_missing, node.available_since), (1, since));
    assert_eq!(c.node(&c.held).claims_missing, 1);
}

#[test]
fn nothing_less_than_two_and_only_for_the_devices_that_keepers_saw() {
    let mut c = contest();
    let (owner, take) = (c.machine.node, c.take());
    c.refused(take.clone(), MarketError::EvidenceTooWeak);
    c.show(owner, 1);
    c.refused(take.clone(), MarketError::EvidenceTooWeak);
    // A tier, and no word about devices; then about others.
    let mut fresh = contest();
    fresh.w.show_evidence(&fresh.keeper, &owner, 3, [0; 32]);
    fresh.refused(take.clone(), MarketError::EvidenceTooWeak);
    fresh.show(owner, 3);
    fresh.w.show_evidence(&fresh.keeper, &owner, 3, [6; 32]);
    fresh.refused(take.clone(), MarketError::EvidenceTooWeak);
    assert_eq!(fresh.node(&owner).device_root, fresh.root(), "what is registered stays");
    // A period without an inventory changes nothing of what was seen.
    fresh.show(owner, 3);
    fresh.w.show_evidence(&fresh.keeper, &owner, 3, [0; 32]);
    fresh.ok(take);
}

/// Junk that displaces nobody: real evidence of one's own machine, and somebody else's devices.
#[test]
fn evidence_reaches_no_other_devices_than_those_registered() {
    let mut c = contest();
    let attacker = c.w.provider(20_000_000_000);
    let mine = c.w.machine(&attacker, 2);
    let own = ix::devices(&mine.key.pubkey(), 2);
    let own_root = device_root(&own[..2]).expect("ascending");
    c.w.show_evidence(&c.keeper, &mine.node, 3, own_root);
    let theirs = c.set(&mine.node, &[c.held]);
    c.refused(theirs, MarketError::WrongDevices);
    // Their claims under one's own devices.
    let mut swapped = ix::node_set_evidence(&c.sender.wallet(), &mine.node, own, 2, &[c.held]);
    swapped.accounts[3].pubkey = pda::device(&c.devices[0]);
    c.refused(swapped, MarketError::WrongAccount);
    // Keepers that saw the victim's devices on a machine that registered others.
    c.show(mine.node, 3);
    let theirs = c.set(&mine.node, &[c.held]);
    c.refused(theirs, MarketError::WrongDevices);
    assert_eq!(c.claim(0).node, c.held);
    let changes: [Change<[[u8; 32]; 8]>; 4] =
        [|d| d.swap(0, 1), |d| d[0] = d[1], |d| d[1] = [0; 32], |d| d[0][0] ^= 1];
    for change in changes {
        let mut devices = c.devices;
        change(&mut devices);
        c.show(c.machine.node, 2);
        let wrong = ix::node_set_evidence(&c.sender.wallet(), &c.machine.node, devices, 2, &[c.held]);
        c.refused(wrong, MarketError::WrongDevices);
    }
}

#[test]
fn simulated_gpus_have_no_evidence() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let (provider, sender) = (w.provider(20_000_000_000), w.actor());
    let machine =
        w.machine_of(&provider, gantry_market::state::NodeSpec { simulated: 1, ..ix::spec(1) }, ASK);
    let devices = ix::devices(&machine.key.pubkey(), 1);
    w.show_evidence(&keeper, &machine.node, 3, device_root(&devices[..1]).expect("one"));
    assert_eq!(w.read::<Node>(&machine.node).tier, 0);
    let set = ix::node_set_evidence(&sender.wallet(), &machine.node, devices, 1, &[]);
    w.refused(set, &[&sender.key], MarketError::EvidenceTooWeak);
}

#[test]
fn not_for_a_machine_that_leaves_or_is_suspended() {
    for (status, code) in [
        (NODE_RETIRED, Some(MarketError::WrongNodeStatus)),
        (NODE_SUSPENDED, Some(MarketError::WrongNodeStatus)),
        (NODE_HIBERNATED, None),
    ] {
        let mut c = contest();
        c.show(c.machine.node, 2);
        c.w.alter(&c.machine.node.clone(), |n: &mut Node| n.status = status);
        let take = c.take();
        match code {
            Some(code) => c.refused(take, code),
            None => c.ok(take),
        }
    }
}

/// A claim whose holder has left is nobody's: the machine still gets it, and who pays its rent has it back in the end.
#[test]
fn a_claim_that_nobody_has_is_made() {
    let mut c = contest();
    c.w.ok(ix::node_retire(&c.squatter, &c.held), &[&c.squatter.key]);
    c.w.warp(i64::from(c.w.params.unstake_cooldown_secs));
    let mut close = ix::node_close(&c.squatter, &c.node(&c.held).node_key, 0);
    close.accounts.extend(c.devices[..2].iter().map(|d| AccountMeta::new(pda::device(d), false)));
    c.w.ok(close, &[&c.squatter.key]);
    c.show(c.machine.node, 2);
    let before = c.w.lamports(&c.sender.wallet());
    let take = c.set(&c.machine.node, &[]);
    let elsewhere = swap(take.clone(), &pda::device(&c.devices[0]), &c.w.fresh_address());
    c.refused(elsewhere, MarketError::WrongAccount);
    c.ok(take);
    let claim = c.claim(0);
    assert_eq!((claim.node, claim.device, claim.tier), (c.machine.node, c.devices[0], 2));
    assert_eq!((claim.rent_payer, claim.version), (c.sender.wallet(), 1));
    assert!(c.w.lamports(&c.sender.wallet()) < before);
    c.w.ok(ix::node_retire(&c.owner, &c.machine.node), &[&c.owner.key]);
    c.w.warp(i64::from(c.w.params.unstake_cooldown_secs));
    let mut close = ix::node_close(&c.owner, &c.machine.key.pubkey(), 2);
    close.accounts.push(AccountMeta::new(c.sender.wallet(), false));
    c.w.ok(close, &[&c.owner.key]);
    assert_eq!(c.w.lamports(&c.sender.wallet()), before);
}

/// Leases run on, and pay; only new awards end.
#[test]
fn a_displaced_machine_keeps_its_lease_and_leaves_with_what_it_has() {
    let mut c = contest();
    let customer = c.w.customer(100_000_000);
    let order = c.w.order(&customer, ix::order_args(9));
    let award = ix::order_award(&c.keeper, &customer, &order, &c.squatter.provider(), &c.held);
    c.w.ok(award, &[&c.keeper.key]);
    c.show(c.machine.node, 2);
    let take = c.take();
    c.ok(take);
    let lease = pda::lease(&order, &c.held);
    assert_eq!((c.node(&c.held).live_leases, c.node(&c.held).claims_missing), (1, 2));
    c.w.warp(121);
    c.w.ok(ix::lease_abort(&c.w, &lease), &[]);
    c.w.ok(ix::node_retire(&c.squatter, &c.held), &[&c.squatter.key]);
    c.w.warp(i64::from(c.w.params.unstake_cooldown_secs));
    let close = ix::node_close(&c.squatter, &c.node(&c.held).node_key, 0);
    c.w.ok(close, &[&c.squatter.key]);
    assert!(!c.w.exists(&c.held) && c.w.exists(&pda::device(&c.devices[0])));
}

/// The keeper that awarded another machine while this one lacked its claims was right.
#[test]
fn claims_that_came_after_an_award_prove_nothing_against_it() {
    let mut c = contest();
    let dear = c.w.provider(20_000_000_000);
    let worse = c.w.machine_of(&dear, ix::spec(2), 2 * ASK);
    c.show(c.machine.node, 2);
    let customer = c.w.customer(100_000_000);
    c.w.alter(&c.held.clone(), |n: &mut Node| n.status = NODE_HIBERNATED);
    c.w.warp(AWARD_VIEW_SECS + 1);
    let order = c.w.order(&customer, OrderArgs { max_price: 3 * ASK, ..ix::order_args(4) });
    let lease = c.w.award(&c.keeper, &customer, &order, &dear, &worse);
    let prove = ix::prove_better_ask(&c.w, &c.sender, &lease, &c.machine.node);
    c.refused(prove.clone(), MarketError::DevicesMissing);
    let take = c.take();
    c.ok(take);
    c.refused(prove, MarketError::NotBetter);
}

/// A tier that lapsed counts as lapsed in the record that awards are judged by, before and after other changes.
#[test]
fn records_know_when_a_tier_lapsed() {
    let mut node: Node = bytemuck::Zeroable::zeroed();
    (node.tier, node.evidence_expiry) = (2, 100);
    let tier = |node: &Node, from, to| node.record_throughout(from, to).map(|record| record.score.tier);
    (node.record_since, node.previous_since) = (10, 10);
    assert_eq!([tier(&node, 11, 100), tier(&node, 11, 101)], [Some(2), Some(1)]);
    // Renewed in time: nothing changed.
    let before = node.record(90);
    node.evidence_expiry = 200;
    node.keep_record(&before, 90);
    assert_eq!((node.record_since, tier(&node, 11, 150)), (10, Some(2)));
    // Renewed too late: what was before is not said to have been better than it was.
    let before = node.record(250);
    node.evidence_expiry = 400;
    node.keep_record(&before, 250);
    assert_eq!((node.record_since, node.previous.tier), (250, 1));
    assert_eq!([tier(&node, 11, 249), tier(&node, 11, 250), tier(&node, 251, 400)], [Some(1), None, Some(2)]);
}

#[test]
fn a_paused_market_still_takes_evidence() {
    let mut c = contest();
    c.show(c.machine.node, 2);
    c.w.pause();
    let take = c.take();
    c.ok(take);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut c = contest();
    c.show(c.machine.node, 2);
    let good = c.take();
    let silent = unsigned(good.clone(), &c.sender.wallet());
    c.w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let forged = c.w.forged(&c.machine.node);
    let (claim, loser) = (pda::device(&c.devices[0]), c.held);
    let (forged_claim, forged_loser) = (c.w.forged(&claim), c.w.forged(&loser));
    let cases: [(_, _, _, Code); 7] = [
        ("node's program", c.machine.node, forged, InstructionError::IllegalOwner.into()),
        ("node's type", c.machine.node, pda::market(), InstructionError::AccountDataTooSmall.into()),
        ("claim's program", claim, forged_claim, MarketError::WrongAccount.into()),
        ("claim's type", claim, pda::market(), MarketError::WrongAccount.into()),
        ("another loser", loser, forged_loser, MarketError::MissingAccount.into()),
        ("no loser", loser, c.keeper.keeper(), MarketError::MissingAccount.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    c.w.refuses_swaps(&good, &[&c.sender.key], &cases);
    c.refused(without_last(good.clone()), MarketError::MissingAccount);
    let mut few = good.clone();
    few.accounts.truncate(4);
    c.refused(few, MarketError::DeviceCountMismatch);
    for at in [3, 5] {
        let mut read_only = good.clone();
        read_only.accounts[at].is_writable = false;
        assert!(c.w.send(&[read_only], &[&c.sender.key]).is_err(), "account {at} is written");
    }
    let not_ascending: MarketError = MarketError::WrongDevices;
    c.w.alter(&c.machine.node.clone(), |n: &mut Node| n.device_root = [1; 32]);
    c.refused(good, not_ascending);
}
