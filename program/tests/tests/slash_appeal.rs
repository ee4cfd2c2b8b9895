use gantry_market::constants::{
    FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SPEC_MISMATCH,
    FLAG_WORK_FAILED,
};
use gantry_market::errors::MarketError;
use gantry_market::events::{FaultAppealed, FaultVoided};
use gantry_market::state::{
    Fault, Keeper, Market, Node, Provider, LEASE_FAILED, NODE_ACTIVE, NODE_HIBERNATED, NODE_SUSPENDED,
};
use gantry_market::ID;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, tree, LeafData};
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer;

struct Case {
    w: Testbed,
    /// Of weights 4, 3, 3: two must vote for a report, two must speak for an appeal.
    keepers: [Actor; 3],
    deal: Deal,
    fault: Address,
    period: u64,
}

/// A fault of these flags. With `lease` it names the lease, else the node alone.
fn faulted(flags: u16, lease: bool) -> Case {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let keepers = [4, 3, 3].map(|weight| w.keeper(weight * unit));
    // The keeper that awards has no weight to speak of in the report: it leaves before.
    let deal = w.awarded();
    w.ok(ix::keeper_request_exit(&deal.keeper), &[&deal.keeper.key]);
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let about = if lease { deal.lease } else { Address::default() };
    let mut leaf = LeafData { flags, ..w.good_leaf(deal.machine.node, about, period) };
    if lease {
        (leaf.verified_secs, leaf.downtime_secs) = (10, 50);
    }
    let (root, proofs) = tree(&[leaf]);
    for keeper in &keepers {
        w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
    }
    w.ok(ix::fault_open(&w, &keepers[0].wallet(), &proofs[0]), &[&keepers[0].key]);
    let fault = ix::fault_of(&proofs[0]);
    Case { w, keepers, deal, fault, period }
}

impl Case {
    /// A passed check of this kind; liveness covers the whole period and names the fault's lease.
    fn passed(&self, kind: u8) -> [u8; 144] {
        let fault: Fault = self.w.read(&self.fault);
        let mut text = statement(&self.deal.machine.node, self.period, kind, true);
        text[68..72].copy_from_slice(&60u32.to_le_bytes());
        text[80..112].copy_from_slice(fault.lease.as_ref());
        text
    }

    fn appeal(&self, keeper: usize, text: [u8; 144]) -> Vec<Instruction> {
        let keeper = &self.keepers[keeper];
        vec![signed(&keeper.key, &text), ix::slash_appeal(&self.w, &self.fault, keeper, text)]
    }

    /// The keeper's statement of this kind counts.
    fn speaks(&mut self, keeper: usize, kind: u8) {
        let instructions = self.appeal(keeper, self.passed(kind));
        self.w.ok_all(&instructions, &[]);
    }

    fn refuses(&mut self, keeper: usize, text: [u8; 144], error: impl Into<Code>) {
        let instructions = self.appeal(keeper, text);
        self.w.refused_all(&instructions, &[], error);
    }

    fn state(&self) -> Fault {
        self.w.read(&self.fault)
    }

    fn node(&self) -> Node {
        self.w.read(&self.deal.machine.node)
    }
}

#[test]
fn more_than_a_third_voids_the_fault() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let unit = c.w.params.min_bond;
    let (rent, before) = (c.w.lamports(&c.fault), c.w.lamports(&c.keepers[0].wallet()));
    assert_eq!(c.node().status, NODE_SUSPENDED);
    let instructions = c.appeal(1, c.passed(3));
    let meta = c.w.ok_all(&instructions, &[]);
    // 3 of 10 are less than a third.
    let event = FaultAppealed {
        fault: c.fault,
        keeper: c.keepers[1].wallet(),
        flag: FLAG_WORK_FAILED,
        weight: 3 * unit,
    };
    assert_emitted(&meta, &event);
    let state = c.state();
    assert_eq!((state.appeal_weight, state.appeal_flag), (3 * unit, FLAG_WORK_FAILED));
    assert_eq!((state.appellants[0], state.flags), (0b010, FLAG_WORK_FAILED));
    let instructions = c.appeal(2, c.passed(3));
    let meta = c.w.ok_all(&instructions, &[]);
    assert_emitted(&meta, &FaultVoided { fault: c.fault, node: c.deal.machine.node });
    assert!(!c.w.exists(&c.fault));
    assert_eq!(c.w.lamports(&c.keepers[0].wallet()), before + rent);
    let provider: Provider = c.w.read(&c.deal.provider.provider());
    assert_eq!((provider.pending_faults, provider.stake), (0, 20_000_000_000));
    assert_eq!((c.node().status, c.node().pending_faults), (NODE_HIBERNATED, 0));
    // Its leaf was applied and opens nothing again.
    c.w.warp(300);
    assert!(!c.w.exists(&c.fault));
}

/// A former signer speaks about the periods that it had begun to sign, as long as it is liable, and about no later one.
#[test]
fn either_key_of_a_keeper_speaks() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let former = c.keepers[1].key.insecure_clone();
    let next = c.w.hot_key();
    c.w.rotate(&mut c.keepers[1], &next);
    let text = c.passed(3);
    let appeal = |c: &Case, by: &Keypair| {
        vec![signed(by, &text), ix::slash_appeal(&c.w, &c.fault, &c.keepers[1], text)]
    };
    // A keeper has one voice, by whichever key.
    let (by_former, by_next) = (appeal(&c, &former), appeal(&c, &next));
    c.w.ok_all(&by_former, &[]);
    c.w.refused_all(&by_next, &[], MarketError::AlreadyCounted);
    assert_eq!(c.state().appeal_weight, 3 * c.w.params.min_bond);
    // One that was replaced before the period began has no say about it, though it is liable still.
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let former = c.keepers[1].key.insecure_clone();
    c.w.rotate(&mut c.keepers[1], &next);
    let begun = c.period as i64 * 60;
    for (since, refused) in [(begun - 1, true), (begun, false)] {
        c.w.alter(&c.keepers[1].keeper(), |k: &mut Keeper| k.signer_since = since);
        let instructions = appeal(&c, &former);
        if refused {
            c.w.refused_all(&instructions, &[], MarketError::InvalidSignature);
        } else {
            c.w.ok_all(&instructions, &[]);
        }
    }
    // And none at all once it is not liable any more.
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let former = c.keepers[1].key.insecure_clone();
    c.w.rotate(&mut c.keepers[1], &next);
    let now = c.w.now();
    c.w.alter(&c.keepers[1].keeper(), |k: &mut Keeper| k.signer_until = now);
    let (by_former, by_next) = (appeal(&c, &former), appeal(&c, &next));
    c.w.refused_all(&by_former, &[], MarketError::InvalidSignature);
    c.w.ok_all(&by_next, &[]);
}

#[test]
fn a_third_exactly_is_not_enough() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.w.alter(&c.fault, |f: &mut Fault| f.total_weight = 9_000_000_000);
    c.speaks(1, 3);
    assert_eq!(c.state().flags, FLAG_WORK_FAILED);
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.w.alter(&c.fault, |f: &mut Fault| f.total_weight = 8_999_999_999);
    c.speaks(1, 3);
    assert!(!c.w.exists(&c.fault));
}

#[test]
fn a_voided_fault_of_a_lease_lets_it_close() {
    let mut c = faulted(FLAG_OFFLINE, true);
    assert_eq!(c.deal.state(&c.w).status, LEASE_FAILED);
    c.speaks(0, 1);
    assert!(!c.w.exists(&c.fault));
    assert_eq!(c.deal.state(&c.w).pending_faults, 0);
    // A node that was not suspended stays as it was.
    assert_eq!(c.node().status, NODE_ACTIVE);
}

#[test]
fn a_node_with_another_fault_open_stays_suspended() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.w.alter(&c.deal.machine.node, |n: &mut Node| {
        (n.pending_faults, n.pending_node_faults) = (2, 2);
    });
    c.speaks(0, 3);
    assert_eq!((c.node().status, c.node().pending_faults), (NODE_SUSPENDED, 1));
}

#[test]
fn each_kind_of_check_speaks_against_its_fault() {
    let cases = [
        (1, FLAG_OFFLINE, true),
        (2, FLAG_SPEC_MISMATCH, false),
        (3, FLAG_WORK_FAILED, false),
        (4, FLAG_EVIDENCE_FAILED, false),
        (4, FLAG_DEVICE_CHANGED, false),
        (4, FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED, false),
        (6, FLAG_BAD_OUTPUT, true),
    ];
    for (kind, flags, lease) in cases {
        println!("kind {kind}, flags {flags}");
        let mut c = faulted(flags, lease);
        for other in (1..=6).filter(|other| *other != kind) {
            let text = c.passed(other);
            c.refuses(0, text, MarketError::IrrelevantStatement);
        }
        c.speaks(0, kind);
        assert!(!c.w.exists(&c.fault));
    }
}

#[test]
fn faults_are_voided_one_after_the_other_the_gravest_first() {
    let mut c = faulted(FLAG_WORK_FAILED | FLAG_SPEC_MISMATCH, false);
    assert_eq!(c.state().amount, 20_000_000_000);
    let text = c.passed(3);
    c.refuses(0, text, MarketError::IrrelevantStatement);
    // What it costs was written when it was opened.
    c.w.alter(&pda::market(), |m: &mut Market| m.params.slash_work_failed_bps = 9_000);
    c.speaks(1, 2);
    c.speaks(0, 2);
    let state = c.state();
    assert_eq!((state.flags, state.amount), (FLAG_WORK_FAILED, 2_000_000_000));
    assert_eq!((state.appeal_weight, state.appellants), (0, [0; 32]), "counting starts again");
    assert_eq!(c.node().pending_faults, 1);
    // What is left is applied.
    c.w.warp(300);
    c.w.ok(ix::slash_apply(&c.w, &c.fault), &[]);
    assert_eq!(c.w.read::<Provider>(&c.deal.provider.provider()).stake, 18_000_000_000);
}

#[test]
fn of_a_lease_the_output_comes_before_silence() {
    let mut c = faulted(FLAG_OFFLINE | FLAG_BAD_OUTPUT, true);
    let lease = |c: &Case| c.deal.state(&c.w);
    assert_eq!((c.state().amount, lease(&c).frozen), (5_000_000_000, 1));
    c.speaks(0, 6);
    assert_eq!((c.state().flags, c.state().amount), (FLAG_OFFLINE, 500_000_000));
    // Silence keeps nothing from being paid.
    assert_eq!((lease(&c).frozen, lease(&c).pending_faults), (0, 1));
    c.speaks(0, 1);
    assert!(!c.w.exists(&c.fault));
    assert_eq!((lease(&c).frozen, lease(&c).pending_faults), (0, 0));
}

/// Terms that were changed since judge nothing.
#[test]
fn appeals_are_judged_by_the_terms_of_the_opening() {
    let mut c = faulted(FLAG_OFFLINE, true);
    c.w.alter(&pda::market(), |m: &mut Market| m.params.migration_grace_secs = 0);
    let mut enough = c.passed(1);
    enough[68..72].copy_from_slice(&40u32.to_le_bytes());
    let instructions = c.appeal(0, enough);
    c.w.ok_all(&instructions, &[]);
    assert!(!c.w.exists(&c.fault));
}

/// Less than a third delays a fault and never erases it.
/// Finding R 6.
#[test]
fn a_third_of_the_weight_erases_nothing() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.w.alter(&c.fault, |f: &mut Fault| f.total_weight = 9_000_000_000);
    c.speaks(1, 3);
    c.w.warp(300);
    c.w.ok(ix::slash_apply(&c.w, &c.fault), &[]);
    assert_eq!(c.w.read::<Provider>(&c.deal.provider.provider()).stake, 18_000_000_000);
    let text = c.passed(3);
    c.refuses(0, text, MarketError::AppealWindowClosed);
}

/// A reserve keeper that is activated after the vote has no say, however late the leaf is opened.
/// Finding C 5.
#[test]
fn only_keepers_from_before_the_stored_instant_are_heard() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let (text, since) = (c.passed(3), c.w.read::<Keeper>(&c.keepers[0].keeper()).active_since);
    c.w.alter(&c.fault, |f: &mut Fault| f.voters_before = since);
    c.refuses(0, text, MarketError::KeeperNotActive);
    c.w.alter(&c.fault, |f: &mut Fault| f.voters_before = since + 1);
    c.speaks(0, 3);
    assert!(!c.w.exists(&c.fault));
}

#[test]
fn a_keeper_counts_once() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.speaks(1, 3);
    let mut later = c.passed(3);
    later[72] = 9;
    c.refuses(1, later, MarketError::AlreadyCounted);
    assert_eq!(c.state().appeal_weight, 3 * c.w.params.min_bond);
}

#[test]
fn only_until_the_window_closes() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.w.warp(299);
    c.speaks(1, 3);
    c.w.warp(1);
    let text = c.passed(3);
    c.refuses(0, text, MarketError::AppealWindowClosed);
}

#[test]
fn only_keepers_that_were_active_in_the_period() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let text = c.passed(3);
    let end = c.w.now();
    // A keeper that the provider bonded when it learned of the fault.
    let late = c.w.pending_keeper(c.w.params.weight_cap);
    c.w.alter(&late.keeper(), |k: &mut Keeper| k.pending_since -= 1_000);
    let appeal =
        |c: &Case, who: &Actor| [signed(&who.key, &text), ix::slash_appeal(&c.w, &c.fault, who, text)];
    let instructions = appeal(&c, &late);
    c.w.refused_all(&instructions, &[], MarketError::KeeperNotActive);
    c.w.ok(ix::keeper_activate(&late), &[&late.key]);
    assert_eq!(c.w.read::<Keeper>(&late.keeper()).active_since, end);
    c.w.refused_all(&instructions, &[], MarketError::KeeperNotActive);
    let leaver = &c.keepers[0];
    c.w.ok(ix::keeper_request_exit(leaver), &[&leaver.key]);
    c.refuses(0, text, MarketError::KeeperNotActive);
}

#[test]
fn liveness_must_cover_the_period_and_name_the_lease() {
    let mut c = faulted(FLAG_OFFLINE, true);
    let good = c.passed(1);
    // The grace is 20 of 60 seconds.
    let mut short = good;
    short[68..72].copy_from_slice(&39u32.to_le_bytes());
    c.refuses(0, short, MarketError::IrrelevantStatement);
    for lease in [Address::default(), Address::new_from_array([4; 32])] {
        let mut other = good;
        other[80..112].copy_from_slice(lease.as_ref());
        c.refuses(0, other, MarketError::IrrelevantStatement);
    }
    let mut enough = good;
    enough[68..72].copy_from_slice(&40u32.to_le_bytes());
    let instructions = c.appeal(0, enough);
    c.w.ok_all(&instructions, &[]);
    assert!(!c.w.exists(&c.fault));
}

#[test]
fn a_statement_is_about_this_check_on_this_cluster() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let good = c.passed(3);
    let wrong: [(&str, usize, u8); 8] = [
        ("tag", 0, b'g'),
        ("cluster", 8, 0),
        ("node", 16, good[16] ^ 1),
        ("period", 48, good[48] ^ 1),
        ("kind", 56, 7),
        ("no kind", 56, 0),
        ("result", 57, 0),
        ("reserved", 58, 1),
    ];
    for (what, at, value) in wrong {
        println!("wrong {what}");
        let mut text = good;
        text[at] = value;
        c.refuses(0, text, MarketError::IrrelevantStatement);
    }
    let mut text = good;
    text[57] = 2;
    c.refuses(0, text, MarketError::IrrelevantStatement);
}

#[test]
fn the_keeper_itself_must_have_signed_it() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    let text = c.passed(3);
    let stranger = c.w.fresh_key();
    let appeal = ix::slash_appeal(&c.w, &c.fault, &c.keepers[0], text);
    let mut other = text;
    other[100] ^= 1;
    let good = signed(&c.keepers[0].key, &text);
    let tries = [
        vec![appeal.clone()],
        vec![appeal.clone(), good.clone()],
        vec![signed(&stranger, &text), appeal.clone()],
        vec![signed(&c.keepers[1].key, &text), appeal.clone()],
        vec![signed(&c.keepers[0].key, &other), appeal.clone()],
        vec![good, ix::market_pause(&c.w.guardian.pubkey(), 0), appeal],
    ];
    let guardian = c.w.guardian.insecure_clone();
    for instructions in tries {
        c.w.refused_all(&instructions, &[&guardian], MarketError::InvalidSignature);
    }
}

#[test]
fn a_paused_market_still_hears_appeals() {
    let mut c = faulted(FLAG_WORK_FAILED, false);
    c.w.pause();
    c.speaks(0, 3);
    assert!(!c.w.exists(&c.fault));
}

#[test]
fn wrong_accounts_are_refused() {
    let mut c = faulted(FLAG_OFFLINE, true);
    let text = c.passed(1);
    let good = c.appeal(0, text);
    let (check, appeal) = (&good[..1], &good[1]);
    let other = c.w.provider(10_000_000_000);
    let (others, stranger) = (c.w.machine(&other, 1), c.w.actor());
    let order = c.w.order(&c.deal.customer, ix::order_args(2));
    let (node, provider) = (c.deal.machine.node, c.deal.provider.provider());
    let keeper = c.keepers[0].keeper();
    for at in [pda::market(), keeper, provider, node, c.deal.lease, c.fault] {
        let fake = c.w.forged(&at);
        let cases = [("program", at, fake, InstructionError::IllegalOwner.into())];
        c.w.refuses_swaps_after(check, appeal, &[], &cases);
    }
    let twin = c.w.twin(&c.deal.lease);
    let cases: [(_, _, _, Code); 7] = [
        ("keeper", keeper, c.keepers[1].keeper(), MarketError::InvalidSignature.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("lease", c.deal.lease, twin, MarketError::WrongAccount.into()),
        ("rent", c.keepers[0].wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("fault's type", c.fault, order, InstructionError::AccountDataTooSmall.into()),
        (
            "instructions",
            ix::instructions_sysvar(),
            stranger.wallet(),
            InstructionError::InvalidArgument.into(),
        ),
    ];
    c.w.refuses_swaps_after(check, appeal, &[], &cases);
    let mut without = appeal.clone();
    without.accounts[4] = AccountMeta::new_readonly(ID, false);
    c.w.refused_all(&[check[0].clone(), without], &[], MarketError::MissingAccount);
}

#[test]
fn a_partly_voided_fault_of_a_lease_needs_it_too() {
    let mut c = faulted(FLAG_OFFLINE | FLAG_BAD_OUTPUT, true);
    let good = c.appeal(0, c.passed(6));
    let twin = c.w.twin(&c.deal.lease);
    let cases = [("lease", c.deal.lease, twin, MarketError::WrongAccount.into())];
    c.w.refuses_swaps_after(&good[..1], &good[1], &[], &cases);
    let mut without = good[1].clone();
    without.accounts[4] = AccountMeta::new_readonly(ID, false);
    c.w.refused_all(&[good[0].clone(), without], &[], MarketError::MissingAccount);
    c.w.ok_all(&good, &[]);
    assert_eq!(c.state().flags, FLAG_OFFLINE);
}
