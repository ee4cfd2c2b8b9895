use gantry_market::errors::MarketError;
use gantry_market::events::LeaseDeclined;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, Lease, Node, Order, Provider, Rewards, DECLINED_APART, DECLINED_IMAGE, DECLINED_JOB,
    DECLINED_LATE, DECLINED_PRICE, ORDER_AWARDED, ORDER_LAPSED,
};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Deal, Machine, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// µUSDC for so many seconds of one GPU.
fn worth(seconds: u64) -> u64 {
    ASK * seconds / 3_600
}

/// A machine of another provider.
fn another(w: &mut Testbed) -> (Actor, Machine) {
    let owner = w.provider(10_000_000_000);
    let machine = w.machine(&owner, 1);
    (owner, machine)
}

fn decline(w: &mut Testbed, deal: &Deal) {
    w.ok(ix::lease_decline(w, &deal.lease, DECLINED_JOB), &[&deal.machine.key]);
}

#[test]
fn nobody_is_to_blame_and_the_customer_pays_the_seconds_to_nobody() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let (rent, job) = (w.lamports(&deal.lease), w.read::<Order>(&deal.order).image_digest);
    let before: Node = w.read(&deal.machine.node);
    let (keeper, payout) = (w.lamports(&deal.keeper.wallet()), w.tokens(&deal.provider.payment));
    w.warp(3);
    let meta = w.ok(ix::lease_decline(&w, &deal.lease, DECLINED_JOB), &[&deal.machine.key]);
    let charged = worth(3);
    let event = LeaseDeclined {
        lease: deal.lease,
        order: deal.order,
        node: deal.machine.node,
        reason: DECLINED_JOB,
        job,
        held_secs: 3,
        charged,
        released: 2_000_000 - charged,
    };
    assert_emitted(&meta, &event);
    assert!(!w.exists(&deal.lease));
    assert_eq!(w.lamports(&deal.keeper.wallet()), keeper + rent);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - charged, 0));
    assert_eq!((credits.live_leases, credits.live_orders), (0, 1));
    assert_eq!(w.tokens(&deal.customer.credits_vault()), 100_000_000 - charged);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.buy_back, rewards.pending, rewards.earned), (charged, 0, 0));
    assert_eq!(rewards.buy_back_since, w.now());
    assert_eq!(w.tokens(&pda::fee_vault()), charged);
    assert_eq!(w.tokens(&deal.provider.payment), payout);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.gpu_mask, node.live_leases, node.open_leases), (0, 0, 0));
    let record = |node: &Node| (node.jobs_failed, node.fees_failed, node.jobs_completed, node.record_since);
    assert_eq!(record(&node), record(&before));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).live_leases, 0);
    let order: Order = w.read(&deal.order);
    assert_eq!((order.status, order.live_leases, order.nodes_awarded), (ORDER_LAPSED, 0, 0));
    assert_eq!(order.award_deadline, w.now() + 60, "time for the customer");
    assert!(order.was_unserved_by(&deal.machine.node));
}

#[test]
fn the_order_goes_to_another_node() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let (owner, other) = another(&mut w);
    decline(&mut w, &deal);
    w.ok(ix::order_reopen(&deal.customer, &deal.order), &[&deal.customer.key]);
    let again = ix::order_award(
        &deal.keeper,
        &deal.customer,
        &deal.order,
        &deal.provider.provider(),
        &deal.machine.node,
    );
    w.refused(again, &[&deal.keeper.key], MarketError::NodeDeclined);
    let lease = w.award(&deal.keeper, &deal.customer, &deal.order, &owner, &other);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&other.key]);
    assert_eq!(w.read::<Order>(&deal.order).status, ORDER_AWARDED);
}

#[test]
fn only_before_the_start_and_not_after_its_deadline() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(120);
    let mut at_the_last_second = w.fork();
    decline(&mut at_the_last_second, &deal);
    let rewards: Rewards = at_the_last_second.read(&pda::rewards());
    assert_eq!(rewards.buy_back, worth(120));
    w.warp(1);
    let late = ix::lease_decline(&w, &deal.lease, DECLINED_JOB);
    w.refused(late, &[&deal.machine.key], MarketError::TooLate);

    let mut w = Testbed::new();
    let deal = w.running();
    let running = ix::lease_decline(&w, &deal.lease, DECLINED_JOB);
    w.refused(running, &[&deal.machine.key], MarketError::WrongLeaseStatus);
}

#[test]
fn a_part_of_an_order_waits_for_the_rest() {
    let mut w = Testbed::new();
    let deal = w.awarded_with(OrderArgs { nodes: 2, ..ix::order_args(1) });
    let early = ix::lease_decline(&w, &deal.lease, DECLINED_JOB);
    w.refused(early, &[&deal.machine.key], MarketError::WrongOrderStatus);
    let (owner, other) = another(&mut w);
    w.before(&deal.order, [other.node]);
    w.warp(50);
    let lease = w.award(&deal.keeper, &deal.customer, &deal.order, &owner, &other);
    decline(&mut w, &deal);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, worth(50), "it was kept from its own award on");
    // The other one may still start, or decline as well.
    let mut starts = w.fork();
    starts.ok(ix::lease_start(&starts, &lease, [3; 32]), &[&other.key]);
    w.ok(ix::lease_decline(&w, &lease, DECLINED_APART), &[&other.key]);
    let order: Order = w.read(&deal.order);
    assert_eq!((order.status, order.nodes_awarded, order.live_leases), (ORDER_LAPSED, 0, 0));
}

#[test]
fn an_order_of_a_second_holds_what_the_wait_may_cost() {
    let mut w = Testbed::new();
    let deal = w.awarded_with(OrderArgs { duration_secs: 1, ..ix::order_args(1) });
    assert_eq!(w.read::<Lease>(&deal.lease).reserved, worth(120));
    w.warp(100);
    w.ok(ix::lease_decline(&w, &deal.lease, DECLINED_LATE), &[&deal.machine.key]);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - worth(100), 0));
}

#[test]
fn no_more_than_it_holds_is_charged_where_a_lease_moved() {
    let mut w = Testbed::new();
    let s = w.silent();
    s.voted(&mut w, 3);
    let lease = pda::lease(&s.deal.lease, &s.spare.node);
    w.ok_all(&s.moves(&w), &[s.keepers[0].signing()]);
    let before: Lease = w.read(&lease);
    assert_eq!(before.continues, 1);
    let credits: Credits = w.read(&s.deal.customer.credits());
    w.warp(2);
    w.ok(ix::lease_decline(&w, &lease, DECLINED_IMAGE), &[&s.spare.key]);
    let after: Credits = w.read(&s.deal.customer.credits());
    assert_eq!(after.balance, credits.balance - before.price * 2 / 3_600);
    assert_eq!(after.reserved, credits.reserved - before.reserved);
    let order: Order = w.read(&before.order);
    assert_eq!((order.status, order.migrations), (ORDER_AWARDED, 0), "the order had its node");
}

#[test]
fn what_it_says_is_known_and_about_this_job() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    for reason in [0, 6, DECLINED_PRICE] {
        let unknown = ix::lease_decline(&w, &deal.lease, reason);
        w.refused(unknown, &[&deal.machine.key], MarketError::InvalidDecline);
    }
    let mut other = ix::lease_decline(&w, &deal.lease, DECLINED_JOB);
    *other.data.last_mut().expect("has a digest") ^= 1;
    w.refused(other, &[&deal.machine.key], MarketError::InvalidDecline);
}

/// The issuer freezes a token account.
fn freeze(w: &mut Testbed, at: &Address) {
    const STATE: usize = 108;
    let mut account = w.svm.get_account(at).expect("is there");
    account.data[STATE] = 2;
    w.svm.set_account(*at, account).expect("is written");
}

#[test]
fn a_frozen_vault_keeps_no_machine() {
    for frozen in [true, false] {
        let mut w = Testbed::new();
        let deal = w.awarded();
        w.warp(3);
        let at = if frozen { deal.customer.credits_vault() } else { pda::fee_vault() };
        freeze(&mut w, &at);
        decline(&mut w, &deal);
        let credits: Credits = w.read(&deal.customer.credits());
        assert_eq!((credits.balance, credits.reserved), (100_000_000, 0));
        assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, 0);
        assert_eq!(w.read::<Node>(&deal.machine.node).gpu_mask, 0);
    }
}

#[test]
fn a_paused_market_lets_machines_go() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.pause();
    decline(&mut w, &deal);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let (stranger, other) = (w.customer(10_000_000), w.provider(20_000_000_000));
    let others = w.machine(&other, 1);
    let others_order = w.order(&stranger, ix::order_args(1));
    let good = ix::lease_decline(&w, &deal.lease, DECLINED_JOB);
    let key = [&deal.machine.key];
    let (order, credits, node, provider, lease) =
        (deal.order, deal.customer.credits(), deal.machine.node, deal.provider.provider(), deal.lease);
    let state = [pda::market(), order, credits, pda::rewards(), node, provider, lease];
    for (at, fake) in state.map(|at| (at, w.forged(&at))) {
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let twin = w.twin(&node);
    let cases = [
        ("order", order, others_order, MarketError::WrongAccount.into()),
        ("order's rent", deal.customer.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
        ("fee vault", pda::fee_vault(), stranger.payment, MarketError::WrongAccount.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("node's address", node, twin, MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("lease's rent", deal.keeper.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &key, &cases);
    let silent = unsigned(good.clone(), &deal.machine.key.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let by_another = ix::lease_decline(&w, &deal.lease, DECLINED_JOB);
    let signer = deal.machine.key.pubkey();
    w.refuses_swaps(
        &by_another,
        &[&others.key],
        &[("key", signer, others.key.pubkey(), MarketError::Unauthorised.into())],
    );
}
