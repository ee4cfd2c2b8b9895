//! Formulas of fees, rewards, disputes, moves and unjust awards: each over 100,000 cases against plain integers, and as
//! vectors for the other languages. docs/protocol/formulas.md lists them all.

use gantry_market::constants::{BPS, STAKE_UNIT};
use gantry_market::math::bid::price_of;
use gantry_market::math::dispute::{deposit, possible_slash, DepositShares};
use gantry_market::math::fees::{bps_of, fee_shares, share};
use gantry_market::math::pricing::cost;
use gantry_market::math::score::score;
use gantry_market::state::{
    Dispute, Keeper, Lease, Params, Report, Rewards, Verdict, LEASE_ENDED, LEASE_FAILED, LEASE_RUNNING,
};
use gantry_market_tests::random::Random;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::vectors::check;
use serde_json::{json, Value};

const CASES: usize = 100_000;
const DAY: u64 = 86_400;

fn file(about: &str, cases: Vec<Value>) -> Value {
    json!({ "about": about, "cases": cases })
}

fn or_null(result: anchor_lang::Result<u64>) -> Value {
    result.map_or(Value::Null, Value::from)
}

fn fits(wide: u128) -> Option<u64> {
    u64::try_from(wide).ok()
}

fn wide(narrow: u64) -> u128 {
    u128::from(narrow)
}

/// Parts that add up to all, as parameters must.
fn parts(r: &mut Random) -> [u16; 4] {
    let mut left = 10_000u16;
    let mut part = || {
        let taken = r.below(u64::from(left) + 1) as u16;
        left -= taken;
        taken
    };
    let (award, treasury, burn) = (part().min(9_999), part(), part());
    [award, treasury, burn, 10_000 - award - treasury - burn]
}

#[test]
fn swept_fees_are_split_without_a_rest() {
    let mut r = Random::new(201);
    for _ in 0..CASES {
        let (pending, [award, treasury, burn, keepers]) = (r.magnitude(), parts(&mut r));
        let shares = fee_shares(pending, award, treasury, burn).expect("parts of a whole");
        let whole = BPS - u64::from(award);
        let exact = |part: u16| wide(pending) * u128::from(part) / wide(whole);
        assert_eq!((wide(shares.treasury), wide(shares.buy_back)), (exact(treasury), exact(burn)));
        let sum = wide(shares.treasury) + wide(shares.buy_back) + wide(shares.voters);
        assert_eq!(sum, wide(pending), "nothing is lost");
        let least = exact(keepers);
        assert!((least..=least + 2).contains(&wide(shares.voters)), "voters get what rounding leaves");
        assert_eq!(share(pending, treasury, whole).ok(), Some(shares.treasury));
    }
    assert!(fee_shares(1, 10_001, 0, 0).is_err());
}

#[test]
fn an_award_earns_its_part_of_the_fee() {
    let mut r = Random::new(202);
    for _ in 0..CASES {
        let (paid, [award, ..]) = (r.magnitude(), parts(&mut r));
        let swept = bps_of(paid, 1_000 + r.below(501) as u16).expect("a share");
        let earned = bps_of(swept, award).expect("a share");
        assert_eq!(wide(earned), wide(swept) * u128::from(award) / 10_000);
        assert!(earned <= swept && swept <= paid);
    }
}

#[test]
fn a_buy_back_burns_its_exact_price_rounded_up() {
    let mut r = Random::new(203);
    for _ in 0..CASES {
        let (rewards, params, now) = buy_back(&mut r);
        let elapsed = u128::try_from(now - rewards.buy_back_since).unwrap_or(0).min(wide(DAY));
        let bps = 5_000 + 15_000 * elapsed / wide(DAY);
        let (top, price) =
            (wide(rewards.buy_back) * wide(STAKE_UNIT) * 10_000, wide(params.stake_price) * bps);
        let exact = top.div_ceil(price);
        let found = rewards.buy_back_cost(&params, now).ok();
        assert_eq!(found, fits(exact), "{} at {} after {elapsed}", rewards.buy_back, params.stake_price);
        // It only becomes cheaper, and starts anew only with a purchase.
        if let Some(cost) = found {
            let later = now.saturating_add(r.below(2 * DAY) as i64);
            assert!(rewards.buy_back_cost(&params, later).expect("smaller") <= cost);
        }
    }
}

fn buy_back(r: &mut Random) -> (Rewards, Params, i64) {
    let mut rewards: Rewards = bytemuck::Zeroable::zeroed();
    rewards.buy_back = r.magnitude();
    rewards.buy_back_since = 1_000_000 + r.below(1_000_000) as i64;
    let params = Params { stake_price: 1 + r.magnitude() / 2, ..test_params() };
    let now = rewards.buy_back_since - 100 + r.below(2 * DAY) as i64;
    (rewards, params, now)
}

#[test]
fn a_days_emission_stays_within_its_cap() {
    let mut r = Random::new(204);
    let mut cases = 0;
    while cases < CASES {
        let mut rewards: Rewards = bytemuck::Zeroable::zeroed();
        let (mut now, cap) = (r.below(10 * DAY), 1 + r.magnitude() / 4);
        let (mut day, mut today, mut total) = (0, 0u128, 0u128);
        for _ in 0..20 {
            now += r.below(DAY / 3);
            let wanted = r.magnitude() / 64;
            let amount = rewards.emit_within(wanted, cap, now as i64).expect("fits");
            if now / DAY != day {
                (day, today) = (now / DAY, 0);
            }
            let room = wide(cap) - today;
            assert_eq!(wide(amount), wide(wanted).min(room), "no more than is left of the day");
            (today, total) = (today + wide(amount), total + wide(amount));
            assert!(today <= wide(cap));
            assert_eq!((wide(rewards.emitted_today), wide(rewards.emitted_total)), (today, total));
            cases += 1;
        }
    }
}

/// A rewarded report and its voters.
fn rewarded(r: &mut Random) -> (Report, Vec<Keeper>) {
    let mut report: Report = bytemuck::Zeroable::zeroed();
    (report.created_at, report.reward) = (1_000, r.magnitude());
    report.reward_left = report.reward;
    let keepers: Vec<Keeper> = (0..1 + r.below(9) as u16)
        .map(|index| {
            let mut keeper: Keeper = bytemuck::Zeroable::zeroed();
            (keeper.index, keeper.weight) = (index * 28, 1 + (r.magnitude() >> 4));
            keeper.active_since = 999 - r.below(2) as i64;
            report.reward_voters[usize::from(keeper.index) / 8] |= 1 << (keeper.index % 8);
            report.reward_weight += keeper.weight;
            keeper
        })
        .collect();
    (report, keepers)
}

#[test]
fn voters_share_a_reward_by_weight_once_and_never_more_than_there_is() {
    let mut r = Random::new(206);
    let mut cases = 0;
    while cases < CASES {
        let (mut report, mut keepers) = rewarded(&mut r);
        let (reward, weight) = (wide(report.reward), wide(report.reward_weight));
        let mut sum = 0u128;
        while !keepers.is_empty() {
            let mut keeper = keepers.swap_remove(r.below(keepers.len() as u64) as usize);
            // Who leaves has no weight; it never grows.
            if r.below(8) == 0 {
                keeper.weight = r.below(keeper.weight + 1);
            }
            let share = report.take_reward(&keeper).expect("fits");
            assert_eq!(wide(share), reward * wide(keeper.weight) / weight);
            assert_eq!(report.take_reward(&keeper).ok(), Some(0), "a share is taken once");
            sum += wide(share);
            assert_eq!(wide(report.reward_left), reward - sum);
            cases += 1;
        }
        let mut stranger: Keeper = bytemuck::Zeroable::zeroed();
        (stranger.index, stranger.weight) = (255, u64::MAX);
        assert_eq!(report.take_reward(&stranger).ok(), Some(0));
        let (mut report, mut keepers) = rewarded(&mut r);
        for since in [report.created_at + 1, report.created_at] {
            keepers[0].active_since = since;
            assert_eq!(report.take_reward(&keepers[0]).ok(), Some(0), "who became active since did not vote");
        }
    }
}

fn verdict(dispute: &Dispute, quorum: u16) -> &'static str {
    let dispute = Dispute { quorum_bps: quorum, ..*dispute };
    match dispute.verdict() {
        Verdict::Upheld => "upheld",
        Verdict::Rejected => "rejected",
        Verdict::None => "none",
    }
}

fn disputed(r: &mut Random) -> Dispute {
    let mut dispute: Dispute = bytemuck::Zeroable::zeroed();
    dispute.total_weight = r.magnitude();
    dispute.upheld_weight = match r.below(3) {
        // Around the quorum of two thirds.
        0 => (wide(dispute.total_weight) * 6_667 / 10_000) as u64 + r.below(3),
        _ => r.below(dispute.total_weight.saturating_add(1).max(1)),
    }
    .min(dispute.total_weight);
    dispute.rejected_weight =
        r.below((dispute.total_weight - dispute.upheld_weight).saturating_add(1).max(1));
    if r.below(2) == 0 {
        std::mem::swap(&mut dispute.upheld_weight, &mut dispute.rejected_weight);
    }
    dispute
}

#[test]
fn a_verdict_needs_the_quorum_of_all_weight_and_has_one_side() {
    let mut r = Random::new(207);
    for _ in 0..CASES {
        let (dispute, quorum) = (disputed(&mut r), 6_667 + r.below(3_334) as u16);
        let has = |weight: u64| {
            weight > 0 && wide(weight) * 10_000 >= wide(dispute.total_weight) * u128::from(quorum)
        };
        let want = match (has(dispute.upheld_weight), has(dispute.rejected_weight)) {
            (true, true) => panic!("two thirds twice: {} of {}", dispute.upheld_weight, dispute.total_weight),
            (true, _) => "upheld",
            (_, true) => "rejected",
            _ => "none",
        };
        assert_eq!(verdict(&dispute, quorum), want);
        if want == "upheld" {
            assert!(wide(dispute.upheld_weight) * 3 > wide(dispute.total_weight) * 2, "more than two thirds");
        }
    }
}

/// A failed lease as a report and `lease_migrate` leave it: paid for in part, with downtime.
fn failed(r: &mut Random) -> (Lease, u64) {
    let mut lease: Lease = bytemuck::Zeroable::zeroed();
    (lease.price, lease.gpus) = (1 + (r.magnitude() >> 30), 1 + r.below(8) as u8);
    (lease.fee_bps, lease.started_at) = (1_000 + r.below(501) as u16, 1_000_000);
    let funded = 1 + r.below(100_000);
    lease.funded_until = lease.started_at + funded as i64;
    lease.reserved = lease.owed(funded as u32).expect("fits");
    lease.status = LEASE_RUNNING;
    let ended_at = lease.started_at + r.below(funded + 1) as i64;
    lease.downtime_secs = r.below((ended_at - lease.started_at) as u64 + 1) as u32;
    lease.receipt_secs = r.below(u64::from(lease.billable_secs(ended_at)) + 1) as u32;
    lease.settle(ended_at).expect("fits");
    let held = lease.reserved;
    (lease.ended_at, lease.status, lease.may_migrate) = (ended_at, LEASE_FAILED, 1);
    (lease, held)
}

#[test]
fn what_a_lease_gives_back_pays_for_its_move() {
    let mut r = Random::new(208);
    for _ in 0..CASES {
        let (mut lease, held) = failed(&mut r);
        let undelivered = lease.undelivered_secs().expect("fits");
        let funded = (lease.funded_until - lease.started_at) as u32;
        assert_eq!(undelivered, funded - lease.billable_secs(lease.ended_at));
        lease.status = LEASE_ENDED;
        let released = lease.excess().expect("fits");
        assert!(released <= held);
        let price = 1 + r.below(lease.price);
        let moved = cost(price, lease.gpus, undelivered).expect("fits");
        assert!(moved <= released, "{moved} of {released}: a move costs the customer nothing");
    }
}

#[test]
fn a_better_ask_scores_strictly_lower() {
    let mut r = Random::new(210);
    for _ in 0..CASES {
        let (one, other) = (ask(&mut r), ask(&mut r));
        let score = |ask: &(u64, u16, u16)| score(ask.0, ask.1, ask.2).expect("fits");
        let by_hand = |ask: &(u64, u16, u16)| {
            let penalty = (10_000 - u128::from(ask.1)) / 2;
            wide(ask.0) * (10_000 + penalty - u128::from(ask.2) / 20) / 10_000
        };
        assert_eq!(score(&one) < score(&other), by_hand(&one) < by_hand(&other));
        // Who is no dearer, no worse reputed and guarantees no less scores no worse.
        if one.0 <= other.0 && one.1 >= other.1 && one.2 >= other.2 {
            assert!(score(&one) <= score(&other));
        }
    }
}

/// Price, reputation and guarantee.
fn ask(r: &mut Random) -> (u64, u16, u16) {
    (r.magnitude() >> 2, r.below(10_001) as u16, if r.below(2) == 0 { 0 } else { r.below(10_001) as u16 })
}

#[test]
fn a_second_price_lies_between_the_bid_and_the_maximum() {
    let mut r = Random::new(211);
    for _ in 0..CASES {
        let most = 1 + (r.magnitude() >> 2);
        let (bid, losing) = (1 + r.below(most), 1 + r.below(most));
        let ((_, own, guarantee), (_, other, theirs)) = (ask(&mut r), ask(&mut r));
        let of_winner = |price: u64| score(price, own, guarantee).expect("fits");
        let bar = score(losing, other, theirs).expect("fits");
        if of_winner(bid) > bar {
            continue;
        }
        let price = price_of(bar, own, guarantee).expect("fits").min(most);
        assert!((bid..=most).contains(&price));
        assert!(of_winner(price) <= bar, "no dearer than the loser, reputation included");
        let equals = (own, guarantee) == (other, theirs);
        assert!(!equals || price >= losing.min(most), "an equal is paid what the loser asked");
        // A higher bid that still wins is paid the same: bidding one's true price is best.
        let dearer = bid + r.below(price - bid + 1);
        assert!(of_winner(dearer) <= bar);
    }
}

#[test]
fn fee_share_vectors() {
    let mut r = Random::new(301);
    let mut inputs = vec![(0, [1_000, 4_000, 2_000, 3_000]), (1, [1_000, 4_000, 2_000, 3_000])];
    inputs.extend((0..60).map(|_| (r.magnitude(), parts(&mut r))));
    let cases = inputs.into_iter().map(|(pending, [award, treasury, burn, _])| {
        let shares = fee_shares(pending, award, treasury, burn).expect("parts of a whole");
        json!({
            "pending": pending, "award_bps": award, "treasury_bps": treasury, "burn_bps": burn,
            "treasury": shares.treasury, "buy_back": shares.buy_back, "voters": shares.voters,
        })
    });
    let about = "pending × part / (10,000 - award), rounded down, for treasury and buy-back; the rest is the voters'.";
    check("fee_shares", &file(about, cases.collect()));
}

#[test]
fn buy_back_vectors() {
    let mut r = Random::new(302);
    let cases = (0..60).map(|_| {
        let (rewards, params, now) = buy_back(&mut r);
        json!({
            "buy_back": rewards.buy_back, "since": rewards.buy_back_since, "stake_price": params.stake_price,
            "now": now, "burned": or_null(rewards.buy_back_cost(&params, now)),
        })
    });
    let about = "Stake tokens that buy what waits: at half of the price at first, at twice of it after a day, rounded up.";
    check("buy_back", &file(about, cases.collect()));
}

#[test]
fn emission_vectors() {
    let mut r = Random::new(303);
    let cases = (0..60).map(|_| {
        let (earned, today, day, now) = (r.magnitude(), r.magnitude() >> 8, r.below(3), r.below(3 * DAY));
        let (vault, cap) = (r.magnitude() >> 4, r.magnitude() >> 4);
        let mut rewards: Rewards = bytemuck::Zeroable::zeroed();
        (rewards.emission_day, rewards.emitted_today) = (day, today);
        let emitted = rewards.emit_within(earned.min(vault), cap, now as i64).expect("fits");
        json!({
            "earned": earned, "emission_day": day, "emitted_today": today, "vault": vault, "cap": cap, "now": now,
            "emitted": emitted,
        })
    });
    check(
        "emission",
        &file("What was earned, within the vault and what is left of the day's cap.", cases.collect()),
    );
}

#[test]
fn vote_share_vectors() {
    let mut r = Random::new(304);
    let cases = (0..60).map(|_| {
        let (mut report, keepers) = rewarded(&mut r);
        let weight = keepers[0].weight;
        if r.below(4) == 0 {
            report.reward_left = r.below(report.reward.saturating_add(1).max(1));
        }
        let (reward, left, all) = (report.reward, report.reward_left, report.reward_weight);
        let share = report.take_reward(&keepers[0]).expect("fits");
        json!({ "reward": reward, "left": left, "reward_weight": all, "weight": weight, "share": share })
    });
    check(
        "vote_share",
        &file("reward × weight / weight of all voters, rounded down, at most what is left.", cases.collect()),
    );
}

/// Settled, cap, frozen, price, seconds.
fn deposit_case(r: &mut Random) -> (u64, u64, u64, u64, u32) {
    (
        r.below(1 << 40),
        r.below(20_000_000),
        r.below(1 << 50),
        1 + r.below(10_000_000),
        r.below(7_776_000) as u32,
    )
}

/// Finding R 15.
#[test]
fn a_deposit_is_a_tenth_of_what_was_settled_and_at_least_what_freezing_costs() {
    let mut r = Random::new(208);
    for _ in 0..CASES {
        let (settled, cap, frozen, price, secs) = deposit_case(&mut r);
        let found = wide(deposit(settled, cap, frozen, price, secs).expect("fits"));
        let value = (wide(frozen) * wide(price)).div_ceil(1_000_000_000);
        let cost = (value * 4 * 2_000 * u128::from(secs)).div_ceil(10_000 * 365 * 86_400);
        assert_eq!(found, cost.max((wide(settled) / 10).min(wide(cap))));
        // The provider's quarter of an undecided one pays for its frozen stake at the capital's rate.
        let quarter = DepositShares::undecided(found as u64).provider;
        assert!(wide(quarter) + 1 >= value * 2_000 * u128::from(secs) / (10_000 * 365 * 86_400));
    }
    for whole in [0, 1, 2, 3, 5_000_000, u64::MAX] {
        let shares = DepositShares::rejected(whole);
        assert_eq!(wide(shares.provider) + wide(shares.buy_back), wide(whole));
        assert_eq!(shares.provider, whole / 2);
        assert_eq!(DepositShares::undecided(whole), DepositShares { provider: whole / 4, buy_back: 0 });
    }
}

/// Finding R 15.
#[test]
fn the_possible_slash_scales_with_gpus_and_covers_the_harm() {
    let mut r = Random::new(209);
    for _ in 0..CASES {
        let (required, bps, gpus) = (r.below(1 << 50), r.below(10_001) as u16, 1 + r.below(8) as u8);
        let (of, settled, price) =
            (gpus + r.below(9 - u64::from(gpus)) as u8, r.below(1 << 36), 1 + r.below(10_000_000));
        let own = r.below(1 << 51);
        let found = possible_slash(required, bps, gpus, of, settled, price, own).expect("fits");
        let part = wide(required) * u128::from(bps) / 10_000 * u128::from(gpus) / u128::from(of);
        let harm = wide(settled) * 1_000_000_000 / wide(price);
        assert_eq!(wide(found), part.max(harm * 5 / 2).min(wide(own)));
    }
    let token = 1_000_000_000;
    let slash = |gpus, of, settled, own| {
        possible_slash(80 * token, 5_000, gpus, of, settled, 1_000_000, own).expect("fits")
    };
    assert_eq!(slash(8, 8, 0, 80 * token), 40 * token);
    assert_eq!(slash(1, 8, 0, 80 * token), 5 * token);
    // Two and a half times four USDC settled, at one a token.
    assert_eq!(slash(1, 8, 4_000_000, 80 * token), 10 * token);
    assert_eq!(slash(1, 8, 4_000_000, 7 * token), 7 * token, "never more than the node's own stake");
    assert_eq!(slash(8, 8, u64::MAX / 1_000, 80 * token), 80 * token);
}

#[test]
fn deposit_vectors() {
    let mut r = Random::new(306);
    let cases = (0..80).map(|_| {
        let (settled, cap, frozen, price, secs) = deposit_case(&mut r);
        json!({
            "settled": settled, "cap": cap, "frozen": frozen, "stake_price": price, "secs": secs,
            "deposit": deposit(settled, cap, frozen, price, secs).expect("fits"),
        })
    });
    check(
        "deposit",
        &file(
            "What a dispute sets aside: max(min(settled / 10, cap), 4 × frozen stake's value × 20 % a year × seconds).",
            cases.collect(),
        ),
    );
}

#[test]
fn verdict_vectors() {
    let mut r = Random::new(305);
    let cases = (0..80).map(|_| {
        let (dispute, quorum) = (disputed(&mut r), 6_667 + r.below(3_334) as u16);
        json!({
            "total_weight": dispute.total_weight, "upheld_weight": dispute.upheld_weight,
            "rejected_weight": dispute.rejected_weight, "quorum_bps": quorum, "verdict": verdict(&dispute, quorum),
        })
    });
    check("verdict", &file("Which side of a dispute has the quorum of all weight.", cases.collect()));
}

#[test]
fn migration_vectors() {
    let mut r = Random::new(306);
    let cases = (0..60).map(|_| {
        let (lease, _) = failed(&mut r);
        let (price, undelivered) = (1 + r.below(lease.price), lease.undelivered_secs().expect("fits"));
        json!({
            "gpus": lease.gpus, "started_at": lease.started_at, "funded_until": lease.funded_until,
            "ended_at": lease.ended_at, "downtime_secs": lease.downtime_secs, "price": price,
            "undelivered": undelivered, "reserved": or_null(cost(price, lease.gpus, undelivered)),
        })
    });
    check("migration", &file("What moves of a failed lease, and what the new one holds.", cases.collect()));
}

/// Names in backquotes in one cell of a row.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// docs/protocol/formulas.md names what exists, and all of program/src/math.
#[test]
fn the_table_of_formulas_is_complete() {
    let tests = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = tests.join("../..");
    let page = read(&root.join("docs/protocol/formulas.md"));
    let go_tests: String = std::fs::read_dir(root.join("sdk/market"))
        .expect("Go sources")
        .map(|entry| entry.expect("entry is readable").path())
        .filter(|path| path.to_string_lossy().ends_with("_test.go"))
        .map(|path| read(&path))
        .collect();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rows.len() > 15, "{}", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        for (cell, folder, keyword) in [(cells[2], "program/src", "fn "), (cells[3], "", "func ")] {
            let named = names(cell);
            assert!(!named.is_empty(), "{row}");
            for name in named {
                let (file, function) =
                    name.split_once(' ').unwrap_or_else(|| panic!("{name}: file and function"));
                let source = read(&root.join(folder).join(file));
                let there = source.lines().any(|line| {
                    line.contains(keyword)
                        && (line.contains(&format!(" {function}("))
                            || line.contains(&format!(" {function}[")))
                });
                assert!(there, "{name}: no such function");
            }
        }
        for name in names(cells[4]) {
            let (file, function) = name.split_once("::").unwrap_or_else(|| panic!("{name}: file and test"));
            let source = read(&tests.join("tests").join(file).with_extension("rs"));
            let at =
                source.find(&format!("fn {function}()")).unwrap_or_else(|| panic!("{name}: no such test"));
            assert!(source[..at].ends_with("#[test]\n"), "{name} is no test");
            let body = source[at..].split("\n}\n").next().expect("a body");
            assert!(body.contains("CASES") || file == "math", "{name} draws too few cases");
        }
        for name in names(cells[5]) {
            assert!(root.join("idl/vectors").join(&name).exists(), "{name} is missing");
            assert!(go_tests.contains(&format!("\"{name}\"")), "{name}: no Go test reads it");
        }
    }
    for entry in std::fs::read_dir(root.join("program/src/math")).expect("sources") {
        let source = read(&entry.expect("entry is readable").path());
        for rest in source.split("\npub fn ").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let known = page.contains(&format!(" {name}`")) || page.contains(&format!("`{name}`"));
            let of_bytes = ["take", "sha256_of", "root_of", "climb", "cell"];
            assert!(
                known || of_bytes.contains(&name.as_str()),
                "docs/protocol/formulas.md does not name {name}"
            );
        }
    }
}
