use gantry_market::constants::FLAG_OFFLINE;
use gantry_market::errors::MarketError;
use gantry_market::events::LeaseMigrated;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, GpuModel, Keeper, Lease, Node, NodeSpec, Order, Provider, ENDED_FAILED, KEEPER_EXITING,
    LEASE_AWARDED, LEASE_ENDED, LEASE_FAILED, NODE_ACTIVE, NODE_DRAINING, ORDER_AWARDED, ORDER_EXPIRED,
};
use gantry_market_tests::actors::START_PAYMENT;
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::testbed::H100;
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Deal, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;

/// A lease of an hour that ran for 100 seconds, of which 70 are paid, put a checkpoint down, and was gone for the last
/// 30 of its second period. Another provider's machine is free.
struct Failure {
    w: Testbed,
    deal: Deal,
    /// Where the lease ended: the end of the period that it failed in.
    end: i64,
    other: Actor,
    spare: Machine,
}

impl Failure {
    fn migrate(&self) -> Instruction {
        ix::lease_migrate(&self.w, &self.deal.keeper, &self.deal.lease, &self.spare.node)
    }

    fn lease(&self) -> Address {
        pda::lease(&self.deal.lease, &self.spare.node)
    }
}

fn failed() -> Failure {
    failed_with(ix::order_args(1))
}

fn failed_with(args: OrderArgs) -> Failure {
    let mut w = Testbed::new();
    let other = w.provider(20_000_000_000);
    let spare = w.machine_of(&other, ix::spec(2), 1_900_000);
    w.warp(20);
    let deal = w.running_with(args);
    assert_eq!(w.now() % 60, 20, "the lease starts 40 seconds before a period's end");
    w.ok(ix::lease_checkpoint(&w, &deal.lease, [8; 32]), &[&deal.machine.key]);
    w.warp(70);
    w.settle(&deal, 1, 70);
    let end = fail(&mut w, &deal);
    Failure { w, deal, end, other, spare }
}

/// The running period's report says that the lease's node was gone for its last 30 seconds.
fn fail(w: &mut Testbed, deal: &Deal) -> i64 {
    let period = w.period();
    w.warp_past_period(period);
    let leaf = LeafData {
        flags: FLAG_OFFLINE,
        up_secs: 30,
        verified_secs: 30,
        downtime_secs: 30,
        ..w.good_leaf(deal.machine.node, deal.lease, period)
    };
    let proofs = w.finalise(&deal.keeper, &[leaf]);
    w.ok(ix::fault_open(w, &deal.keeper.wallet(), &proofs[0]), &[&deal.keeper.key]);
    assert_eq!(deal.state(w).status, LEASE_FAILED);
    w.now()
}

#[test]
fn what_remains_moves_to_another_node() {
    let mut f = failed();
    let before: Lease = f.deal.state(&f.w);
    assert_eq!((before.ended_at, before.downtime_secs, before.paid_secs), (f.end, 30, 70));
    f.w.warp(7);
    let meta = f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
    let w = &f.w;
    let old: Lease = f.deal.state(w);
    assert_eq!((old.status, old.end_reason, old.ended_at), (LEASE_ENDED, ENDED_FAILED, f.end));
    // Of the hour, 70 seconds were delivered and are paid; of them the fee waits for the close.
    assert_eq!((old.reserved, old.paid), (old.fee_total().expect("fits"), 38_888));
    let new: Lease = w.read(&f.lease());
    assert_eq!((new.status, new.continues, new.duration_secs), (LEASE_AWARDED, 1, 3_530));
    assert!(new.score > 0 && (new.award_price, new.failed_at) == (1_900_000, f.end));
    // 3,530 seconds at 1.90 USDC an hour.
    assert_eq!((new.price, new.reserved, new.checkpoint_hash), (1_900_000, 1_863_055, [8; 32]));
    assert_eq!((new.order, new.node, new.customer), (f.deal.order, f.spare.node, old.customer));
    assert_eq!((new.provider, new.keeper), (f.other.provider(), f.deal.keeper.wallet()));
    assert_eq!((new.gpus, new.gpu_mask, new.awarded_at, new.may_migrate), (1, 1, w.now(), 1));
    let credits: Credits = w.read(&f.deal.customer.credits());
    assert_eq!(credits.reserved, old.reserved + new.reserved);
    assert_eq!((credits.live_leases, credits.live_orders), (2, 1));
    let order: Order = w.read(&f.deal.order);
    assert_eq!((order.status, order.live_leases), (ORDER_AWARDED, 2));
    assert_eq!((order.nodes_awarded, order.migrations), (1, 1));
    let (from, to) = (w.read::<Node>(&f.deal.machine.node), w.read::<Node>(&f.spare.node));
    assert_eq!((from.gpu_mask, from.live_leases, from.jobs_failed), (0, 0, 1));
    assert_eq!((to.gpu_mask, to.live_leases, to.jobs_failed), (1, 1, 0));
    let providers = [f.deal.provider.provider(), f.other.provider()].map(|p| w.read::<Provider>(&p));
    assert_eq!(providers.map(|p| p.live_leases), [0, 1]);
    assert_emitted(
        &meta,
        &LeaseMigrated {
            from: f.deal.lease,
            to: f.lease(),
            order: f.deal.order,
            node: f.spare.node,
            keeper: f.deal.keeper.wallet(),
            price: 1_900_000,
            gpu_mask: 1,
            duration_secs: 3_530,
            reserved: 1_863_055,
            score: new.score,
            checkpoint: [8; 32],
        },
    );
}

#[test]
fn the_new_lease_lives_its_own_life_to_the_last_token() {
    let mut f = failed();
    f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
    let lease = f.lease();
    // The start deadline counts from the migration, not from the order's award.
    f.w.warp(120);
    f.w.ok(ix::lease_start(&f.w, &lease, [4; 32]), &[&f.spare.key]);
    let state: Lease = f.w.read(&lease);
    assert_eq!((state.started_at, state.funded_until), (f.w.now(), f.w.now() + 3_530));
    f.w.warp(4_000);
    let settle = ix::receipt(&f.w, &lease, &f.spare.key, &f.deal.customer.key, 1, 3_530);
    f.w.ok_all(&settle, &[]);
    f.w.ok(ix::lease_end(&f.w, &f.other.wallet(), &lease, 0), &[&f.other.key]);
    let fault = pda::fault(&f.deal.machine.node, &f.deal.lease, (f.end / 60 - 1) as u64);
    f.w.ok(ix::slash_apply(&f.w, &fault), &[]);
    f.w.ok(ix::slash_compensate(&f.w, &fault, &f.deal.lease), &[]);
    for at in [f.deal.lease, lease] {
        f.w.ok(ix::lease_close(&f.w, &f.deal.customer.wallet(), &at), &[&f.deal.customer.key]);
    }
    assert!(!f.w.exists(&f.deal.order));
    let credits: Credits = f.w.read(&f.deal.customer.credits());
    assert_eq!((credits.reserved, credits.live_leases, credits.live_orders), (0, 0, 0));
    // 70 seconds at 2 USDC and 3,530 at 1.90 USDC.
    assert_eq!(credits.balance, 100_000_000 - 38_888 - 1_863_055);
    assert_eq!(f.w.tokens(&f.other.payment), START_PAYMENT + 1_639_489);
    assert_eq!(f.w.tokens(&pda::fee_vault()), 4_666 + 223_566);
}

#[test]
fn the_same_provider_may_have_another_machine() {
    let mut f = failed();
    f.w.ok(ix::provider_stake(&f.w, &f.deal.provider, 10_000_000_000), &[&f.deal.provider.key]);
    let second = f.w.machine(&f.deal.provider, 1);
    let migrate = ix::lease_migrate(&f.w, &f.deal.keeper, &f.deal.lease, &second.node);
    f.w.ok(migrate, &[&f.deal.keeper.key]);
    assert_eq!(f.w.read::<Provider>(&f.deal.provider.provider()).live_leases, 1);
    let new: Lease = f.w.read(&pda::lease(&f.deal.lease, &second.node));
    // The price may be the same, never higher.
    assert_eq!((new.price, new.reserved), (ASK, 1_961_111));
}

#[test]
fn the_new_lease_may_fail_and_move_in_its_turn() {
    let mut f = failed();
    f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
    let (start, lease) = (ix::lease_start(&f.w, &f.lease(), [4; 32]), f.lease());
    f.w.ok(start, &[&f.spare.key]);
    let third = f.w.provider(20_000_000_000);
    let cheap = f.w.machine_of(&third, ix::spec(1), 1_000_000);
    f.w.warp_past_period(f.w.period());
    let deal = Deal { machine: f.spare, lease, ..f.deal };
    fail(&mut f.w, &deal);
    let migrate = ix::lease_migrate(&f.w, &deal.keeper, &lease, &cheap.node);
    f.w.ok(migrate, &[&deal.keeper.key]);
    let order: Order = f.w.read(&deal.order);
    assert_eq!((order.live_leases, order.nodes_awarded, order.migrations), (3, 1, 2));
    let new: Lease = f.w.read(&pda::lease(&lease, &cheap.node));
    assert_eq!((new.price, new.checkpoint_hash, new.continues), (1_000_000, [8; 32], 1));
}

/// It is another lease there, also while the first one is not closed.
#[test]
fn a_lease_may_come_back_to_a_node_where_it_was() {
    let mut f = failed();
    f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
    let (start, lease) = (ix::lease_start(&f.w, &f.lease(), [4; 32]), f.lease());
    f.w.ok(start, &[&f.spare.key]);
    f.w.warp_past_period(f.w.period());
    let (first, here) = (f.deal.lease, f.deal.machine.node);
    let mut node: Node = f.w.read(&here);
    (node.status, node.price, node.reserved_stake) = (NODE_ACTIVE, 1_900_000, 0);
    f.w.write(&here, &node);
    let deal = Deal { machine: f.spare, lease, ..f.deal };
    fail(&mut f.w, &deal);
    f.w.ok(ix::lease_migrate(&f.w, &deal.keeper, &lease, &here), &[&deal.keeper.key]);
    let again = pda::lease(&lease, &here);
    assert!(again != first && f.w.exists(&first));
    assert_eq!((f.w.read::<Lease>(&again).node, f.w.read::<Lease>(&again).continues), (here, 1));
}

#[test]
fn a_new_node_that_does_not_start_is_to_blame_and_gives_everything_back() {
    let mut f = failed();
    f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
    let (abort, before) = (ix::lease_abort(&f.w, &f.lease()), f.w.read::<Lease>(&f.deal.lease).reserved);
    f.w.warp(120);
    f.w.refused(abort.clone(), &[], MarketError::TooEarly);
    f.w.warp(1);
    let late = ix::lease_start(&f.w, &f.lease(), [4; 32]);
    f.w.refused(late, &[&f.spare.key], MarketError::TooLate);
    f.w.ok(abort, &[]);
    assert_eq!(f.w.read::<Node>(&f.spare.node).jobs_failed, 1);
    let order: Order = f.w.read(&f.deal.order);
    // The order had its node: it is not open for another one.
    assert_eq!((order.status, order.live_leases), (ORDER_AWARDED, 1));
    assert_eq!((order.nodes_awarded, order.migrations), (1, 0));
    assert_eq!(f.w.read::<Credits>(&f.deal.customer.credits()).reserved, before);
}

#[test]
fn the_last_lease_to_be_aborted_closes_the_order() {
    for status in [ORDER_AWARDED, ORDER_EXPIRED] {
        let mut f = failed();
        f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
        f.w.alter(&f.deal.lease, |l: &mut Lease| l.pending_faults = 0);
        f.w.alter(&f.deal.order, |o: &mut Order| o.status = status);
        f.w.ok(ix::lease_close(&f.w, &f.deal.customer.wallet(), &f.deal.lease), &[&f.deal.customer.key]);
        assert!(f.w.exists(&f.deal.order));
        f.w.warp(121);
        f.w.ok(ix::lease_abort(&f.w, &f.lease()), &[]);
        assert!(!f.w.exists(&f.deal.order));
        assert_eq!(f.w.read::<Credits>(&f.deal.customer.credits()).live_orders, 0);
    }
}

#[test]
fn a_lease_moves_once_and_only_after_it_failed() {
    let mut w = Testbed::new();
    let deal = w.running();
    let other = w.provider(20_000_000_000);
    let spare = w.machine(&other, 1);
    let migrate = ix::lease_migrate(&w, &deal.keeper, &deal.lease, &spare.node);
    w.refused(migrate, &[&deal.keeper.key], MarketError::WrongLeaseStatus);

    let mut f = failed();
    f.w.ok(f.migrate(), &[&f.deal.keeper.key]);
    let owner = f.w.provider(10_000_000_000);
    let third = f.w.machine(&owner, 1);
    let again = ix::lease_migrate(&f.w, &f.deal.keeper, &f.deal.lease, &third.node);
    f.w.refused(again, &[&f.deal.keeper.key], MarketError::WrongLeaseStatus);
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], ALREADY_IN_USE);
}

#[test]
fn only_with_the_customers_consent_and_with_time_left() {
    let mut f = failed_with(OrderArgs { no_migration: 1, ..ix::order_args(1) });
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::MigrationNotAllowed);
    let mut f = failed();
    f.w.alter(&f.deal.lease, |l: &mut Lease| (l.ended_at, l.downtime_secs) = (l.funded_until, 0));
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::MigrationNotAllowed);
    // The customer takes its money instead.
    let mut f = failed();
    f.w.ok(ix::lease_end(&f.w, &f.deal.customer.wallet(), &f.deal.lease, 0), &[&f.deal.customer.key]);
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::WrongLeaseStatus);
}

#[test]
fn not_to_the_same_node() {
    let mut f = failed();
    let mut same = f.migrate();
    for (at, right) in [(8, f.deal.machine.node), (9, f.deal.provider.provider()), (11, f.deal.lease)] {
        same.accounts[at].pubkey = right;
    }
    f.w.refused(same, &[&f.deal.keeper.key], framework::DUPLICATE_MUTABLE);
}

#[test]
fn the_new_node_must_suit_the_order_now() {
    type Case = (&'static str, Change<OrderArgs>, Change<Node>, MarketError);
    let cases: [Case; 5] = [
        ("price", |_| (), |n| n.price = ASK + 1, MarketError::PriceTooHigh),
        ("status", |_| (), |n| n.status = NODE_DRAINING, MarketError::WrongNodeStatus),
        ("GPUs", |_| (), |n| (n.gpu_mask, n.live_leases) = (3, 1), MarketError::NotEnoughGpus),
        ("site", |a| a.requirement.same_site = 1, |n| n.spec.site = [9; 16], MarketError::UnsuitableLocation),
        (
            "reputation",
            |a| a.requirement.min_reputation_bps = 8_000,
            |n| n.uptime_bps = 1,
            MarketError::UnsuitableReputation,
        ),
    ];
    for (what, ask, change, error) in cases {
        println!("{what}");
        let mut args = ix::order_args(1);
        ask(&mut args);
        let mut f = failed_with(args);
        f.w.alter(&f.spare.node, change);
        f.w.refused(f.migrate(), &[&f.deal.keeper.key], error);
    }
    let mut f = failed();
    f.w.alter(&f.spare.node, |n: &mut Node| n.reserved_stake = 1);
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::InsufficientStake);
    let mut f = failed();
    f.w.alter(&pda::gpu_model(H100), |m: &mut GpuModel| m.min_tier = 3);
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::UnsuitableHardware);
}

#[test]
fn only_active_keepers_while_awards_are_open() {
    let mut f = failed();
    f.w.alter(&f.deal.keeper.keeper(), |k: &mut Keeper| k.status = KEEPER_EXITING);
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::KeeperNotActive);
    let mut f = failed();
    f.w.pause();
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::AwardsPaused);
}

#[test]
fn books_that_do_not_add_up_move_nothing() {
    let mut f = failed();
    // Less is reserved than the lease could still be owed.
    f.w.alter(&f.deal.customer.credits(), |c: &mut Credits| c.reserved = 1_000);
    f.w.refused(f.migrate(), &[&f.deal.keeper.key], MarketError::Overflow);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut f = failed();
    let w = &mut f.w;
    w.model(GpuModelArgs { id: 2, ..ix::h100() });
    let (thief, stranger) = (w.actor(), w.customer(100_000_000));
    let strangers = w.order(&stranger, ix::order_args(1));
    let third = w.provider(40_000_000_000);
    let thirds = w.machine_of(&third, NodeSpec { ..ix::spec(1) }, ASK);
    let good = ix::lease_migrate(w, &f.deal.keeper, &f.deal.lease, &f.spare.node);
    let silent = unsigned(good.clone(), &f.deal.keeper.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (keeper, customer) = (&f.deal.keeper, &f.deal.customer);
    let forged = [
        pda::market(),
        keeper.keeper(),
        f.deal.order,
        customer.credits(),
        f.deal.lease,
        f.deal.machine.node,
        f.deal.provider.provider(),
        f.spare.node,
        f.other.provider(),
        pda::gpu_model(H100),
    ];
    for at in forged {
        let fake = w.forged(&at);
        w.refused(swap(good.clone(), &at, &fake), &[&keeper.key], InstructionError::IllegalOwner);
    }
    let elsewhere = w.fresh_address();
    let cases: [(_, _, _, Code); 10] = [
        ("signer", keeper.wallet(), thief.wallet(), MarketError::Unauthorised.into()),
        ("order", f.deal.order, strangers, MarketError::WrongAccount.into()),
        ("credits", customer.credits(), stranger.credits(), MarketError::WrongAccount.into()),
        ("failed node", f.deal.machine.node, thirds.node, MarketError::WrongAccount.into()),
        ("failed provider", f.deal.provider.provider(), third.provider(), MarketError::WrongAccount.into()),
        (
            "no failed provider",
            f.deal.provider.provider(),
            gantry_market::ID,
            MarketError::WrongAccount.into(),
        ),
        ("provider", f.other.provider(), third.provider(), MarketError::WrongAccount.into()),
        ("model", pda::gpu_model(H100), pda::gpu_model(2), MarketError::WrongAccount.into()),
        ("lease", pda::lease(&f.deal.lease, &f.spare.node), elsewhere, InstructionError::InvalidSeeds.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    for (what, from, to, code) in cases {
        println!("wrong {what}: {code:?}");
        let mut wrong = swap(good.clone(), &from, &to);
        for meta in &mut wrong.accounts {
            if meta.pubkey == gantry_market::ID {
                meta.is_writable = false;
            }
        }
        w.refused(wrong, &[&keeper.key, &thief.key], code);
    }
}

/// Finding P 1.
#[test]
fn a_node_that_got_worse_than_the_keeper_saw_is_refused() {
    let mut f = failed();
    let mut copy = f.w.fork();
    copy.ok(f.migrate(), &[&f.deal.keeper.key]);
    let score = copy.read::<Lease>(&f.lease()).score;
    let with = |most: u64| {
        let mut migrate = f.migrate();
        let at = migrate.data.len() - 8;
        migrate.data[at..].copy_from_slice(&most.to_le_bytes());
        migrate
    };
    let (below, exact) = (with(score - 1), with(score));
    f.w.refused(below, &[&f.deal.keeper.key], MarketError::ScoreTooHigh);
    f.w.ok(exact, &[&f.deal.keeper.key]);
}
