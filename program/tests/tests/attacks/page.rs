//! docs/reports/attacks.md.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use super::{all, harm, Row};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports/attacks.md")
}

const HEAD: &str = "# Attacks by one owner of several wallets

Written by the program's tests: `GANTRY_WRITE_ATTACKS=1 cargo test --test all attacks` in program/tests writes it, and a test \
fails when it is not current. Each attack is a function in [attacks](../../program/tests/tests/attacks) that sends real \
instructions to the program on LiteSVM. What was found first, and the tests of each rule, are in [findings](../findings.md).

**Profit** compares the attack with what stands under *instead*. It is what one owner of all wallets that take part \
has more after the attack. It counts tokens in wallets, stake, bonds, credits and rewards that were not claimed. \
Payouts of slashes count at their full value although they wait. A stake token counts one USDC, which is `stake_price` in these tests; SOL for fees and rent is left out. Amounts are \
USDC. *Before* was measured on the first version of the program, by the same attack where it could be played there. \
\"No such rule\" means that the attacked rule is a rule of the present version.

The tests use a small market. It has 10 stake tokens a GPU, a bond of 1 to 10, 2 USDC for a GPU-hour, a fee of 12 %, \
and periods of a minute. The sign of a figure is what matters; `gantry market show` prints the relations that carry it to other parameters. What \
is burned is the only part of a slash that deters: an owner of provider and customers can get back the other half at most. So an \
attack by which an owner gets a part of its own slash is compared with not cheating at all.

![Profits of all attacks before and now, on a scale of powers of ten. \
A dot right of zero is an attack that pays.](images/attacks.svg)
";

const HARMS: &str = "
## What others can be made to lose

Nobody gains by these. *Cost* is what the owner of all wallets that take part has less, USDC; SOL for fees and rent is left out. \
*Worth* is what others lose in money, USDC, and *ratio* is worth for each unit of cost. Prices and times are those of the tests.

| source | action | cost | what others lose | worth | ratio | what bounds it |
| --- | --- | ---: | --- | ---: | ---: | --- |
";

const WHERE: &str = "
## What other tests hold, and what is not in the program

| source | attack | state |
| --- | --- | --- |
| P 10 | governance gives a class thresholds that no machine reaches, so that nodes with a guarantee lose their stake | not in the program: the agent accepts thresholds that its machine has reached; others are accepted by hand (`TestTermsThatTheMachineDoesNotReachAreNotAccepted`) |
| R 11 | six nodes share one GPU, and the best of six checks counts | in the program: the mean of six periods counts, each measured at one instant of the market ([tests](../../program/tests/tests/figures.rs): `six_nodes_that_share_a_gpu_sell_nothing_and_lose_their_stake`, `nodes_that_take_turns_with_a_gpu_sell_one_at_a_time`) |
| R 11 | A node that is drawn for work is silent, or rents out one of its own GPUs to itself when a keeper asks. Keepers ask only nodes without a lease, and silence proves nothing | in the program, where the class has thresholds: a machine that was free and not measured is awarded nothing until it is (`who_is_free_and_not_measured_is_awarded_nothing_until_it_is`). A lease of its own excuses it, and costs it the fee ([0026](../adr/0026-measuring.md#what-it-does-not-do)) |
| R 12 | a relay stands by for checks and is elsewhere during leases | not in the program: the customer's own client inspects ([0034](../adr/0034-inspections.md)); inspections by keepers are [designed and not built](../adr/0034-inspections.md#keepers-inspections) |
| R 20 | a few hold enough shares of a sealed job to open it | not yet in the program, because sealed jobs do not exist. The other half of R 20 holds: a gateway's key signs nothing for a lease. Neither the program nor a node takes a gateway's signature ([findings](../findings.md)) |
";

fn table(rows: &[Row], last: &str, otherwise: &str) -> String {
    let mut out = format!(
        "| source | attack | instead | profit before | profit now | {last} |\n| --- | --- | --- | --- | ---: | --- |\n",
    );
    for row in rows {
        let assumption = if row.assumption.is_empty() { otherwise } else { row.assumption };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {assumption} |",
            row.source, row.attack, row.instead, row.before, row.profit
        )
        .expect("a string takes it");
    }
    out
}

fn page() -> String {
    let (mut lose, mut pay) = all();
    let key = |row: &Row| {
        let number =
            |at: &str| at.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0u32);
        let first = row.source.split(',').next().unwrap_or_default().to_owned();
        (first.starts_with('R'), number(&first), first)
    };
    lose.sort_by_key(key);
    pay.sort_by_key(key);
    let mut out = String::from(HEAD);
    out.push_str("\n## Attacks that bring nothing\n\n");
    out.push_str(&table(&lose, "holds if", "always"));
    if !pay.is_empty() {
        out.push_str("\n## Attacks that still pay\n\n");
        out.push_str(&table(&pay, "what bounds it", "nothing yet"));
    }
    out.push_str(HARMS);
    for row in harm::all() {
        let ratio = row.ratio();
        let harm::Harm { source, action, cost, worth, harm, bound } = row;
        let (cost, worth) = (cost.unsigned(), worth.unsigned());
        writeln!(out, "| {source} | {action} | {cost} | {harm} | {worth} | {ratio} | {bound} |")
            .expect("a string takes it");
    }
    out.push_str(WHERE);
    out
}

#[test]
fn the_page_of_attacks_is_current() {
    let page = page();
    if std::env::var_os("GANTRY_WRITE_ATTACKS").is_some_and(|v| v == "1") {
        fs::write(path(), page).expect("the page is written");
        return;
    }
    let committed = fs::read_to_string(path()).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reports/attacks.md is not what the attacks bring; GANTRY_WRITE_ATTACKS=1 writes it:\n{page}"
    );
}
