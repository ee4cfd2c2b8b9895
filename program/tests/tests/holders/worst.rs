//! What the worst authority reaches in a day, a week and a month: it proposes the worst again and again, as soon as it may.

use gantry_market::constants::{APPEAL_SECS_MIN, BPS, DAY, FEE_BPS_MAX, STEP};
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{GpuModel, Market, Params};
use gantry_market_tests::testbed::{test_params, H100};
use gantry_market_tests::{ix, pda, Testbed};

use crate::authority::worst;

/// The defaults of a market with money; its periods are as short as those of other tests, which nothing here depends on.
fn defaults() -> Params {
    Params {
        min_bond: 1_000_000_000_000,
        weight_cap: 100_000_000_000_000,
        emission_cap: 10_000_000_000_000,
        appeal_secs: 86_400,
        challenge_secs: 3_600,
        unstake_cooldown_secs: 14 * 86_400,
        keeper_exit_secs: 14 * 86_400,
        timelock_secs: 2 * 86_400,
        report_retention_secs: 7 * 86_400,
        emission_bps: 0,
        allow_simulated: 0,
        ..test_params()
    }
}

/// The next parameters of an authority that harms where it can; it makes stake cheap or dear. A market of real machines
/// leaves more time than [`worst`] does.
fn next(p: &Params, cheap: bool) -> Params {
    Params {
        stake_price: if cheap { p.stake_price / STEP } else { p.stake_price * STEP },
        emission_cap: p.emission_cap * STEP,
        appeal_secs: APPEAL_SECS_MIN,
        report_retention_secs: p.report_retention_secs,
        fee_bps: FEE_BPS_MAX,
        burn_bps: 0,
        keeper_bps: 0,
        award_bps: 0,
        treasury_bps: BPS as u16,
        ..worst(p)
    }
}

/// A market and a model at one time, and what emission could have paid until then at the most.
struct Reached {
    params: Params,
    model: GpuModel,
    emission: u64,
}

/// What is in force after each number of days.
fn reached(cheap: bool, days: &[u64]) -> Vec<Reached> {
    let mut w = Testbed::with(defaults());
    // The model is older than a week.
    w.alter::<GpuModel>(&pda::gpu_model(H100), |model| model.since -= 30 * DAY as i64);
    let authority = w.authority.insecure_clone();
    let (begin, mut all, mut emission) = (w.now(), Vec::new(), 0);
    for day in 0..=*days.last().expect("some days") {
        w.set_now(begin + (day * DAY) as i64);
        let (market, mut model) = (w.market(), w.read::<GpuModel>(&pda::gpu_model(H100)));
        if market.pending_eta != 0 && w.now() >= market.pending_eta {
            w.ok(ix::market_apply_params(), &[]);
        }
        if model.pending_eta != 0 && w.now() >= model.pending_eta {
            w.ok(ix::gpu_model_apply(H100), &[]);
        }
        let market: Market = w.market();
        model = w.read(&pda::gpu_model(H100));
        w.params = market.params;
        if days.contains(&day) {
            all.push(Reached { params: market.params, model, emission });
        }
        emission += market.params.emission_cap;
        if market.pending_eta == 0 {
            w.ok(ix::market_propose_params(&w, next(&market.params, cheap)), &[&authority]);
        }
        if model.pending_eta == 0 {
            let dearer = GpuModelArgs { min_stake: model.min_stake * STEP, ..ix::h100() };
            w.ok(ix::gpu_model_propose(&w, dearer), &[&authority]);
        }
    }
    all
}

type Figure = fn(&Reached) -> String;

const fn percent(bps: u16) -> f64 {
    bps as f64 / 100.0
}

fn tokens(amount: u64) -> String {
    format!("{}", amount / 1_000_000_000)
}

const ROWS: [(&str, Figure); 10] = [
    ("smallest bond of a new keeper, tokens", |r| tokens(r.params.min_bond)),
    ("largest weight of a keeper that becomes active, tokens", |r| tokens(r.params.weight_cap)),
    ("stake for a GPU that registers, tokens", |r| tokens(r.model.min_stake)),
    ("emission until then, tokens at most", |r| tokens(r.emission)),
    ("slash of a machine that is slow, % of its stake", |r| {
        percent(r.params.slash_work_failed_bps).to_string()
    }),
    ("slash under a new lease for being offline, %", |r| percent(r.params.slash_offline_bps).to_string()),
    ("fee of a new lease, %", |r| percent(r.params.fee_bps).to_string()),
    ("part of the fees for keepers, %", |r| percent(r.params.keeper_bps).to_string()),
    ("time to appeal against a new fault, hours", |r| (r.params.appeal_secs / 3_600).to_string()),
    ("wait for stake that is asked back from then on, days", |r| {
        (r.params.unstake_cooldown_secs / 86_400).to_string()
    }),
];

const DAYS: [u64; 4] = [0, 1, 7, 30];

pub fn table() -> String {
    let (cheap, dear) = (reached(true, &DAYS), reached(false, &DAYS));
    let price = |r: &Reached| format!("{}", r.params.stake_price as f64 / 1e6);
    let row = |name: &str, of: &[Reached], figure: &dyn Fn(&Reached) -> String| {
        let figures: Vec<String> = of.iter().map(figure).collect();
        format!("| {name} | {} |\n", figures.join(" | "))
    };
    let mut out = String::from(HEAD);
    out.push_str(&row("price of a stake token at the lowest, USDC", &cheap, &price));
    out.push_str(&row("the same at the highest", &dear, &price));
    for (name, figure) in ROWS {
        out.push_str(&row(name, &cheap, &figure));
    }
    out
}

/// What steps add up to: nothing in a day, one step in a week, five in a month.
#[test]
fn an_authority_reaches_one_step_in_a_week_and_five_in_a_month() {
    let prices: Vec<u64> = reached(true, &DAYS).iter().map(|r| r.params.stake_price).collect();
    assert_eq!(prices, [1_000_000, 1_000_000, 500_000, 31_250]);
}

const HEAD: &str = "
## What the authority reaches at the worst
Played on LiteSVM: an authority with the default parameters proposes the worst again and again, as soon as it may. Amounts and slashes \
move by a factor of two at a time, and once in a week. What is not in the table does not change for agreed leases, registered machines, \
and stake and bonds that were asked back: they keep their terms.

| what | today | after a day | after a week | after a month |
| --- | ---: | ---: | ---: | ---: |
";
