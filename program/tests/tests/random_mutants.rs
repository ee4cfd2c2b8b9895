//! The generator of random mutants finds the sites of a known source, and weaves them so that what lies inside stays
//! inside.

use gantry_market_tests::random_mutants::sites::{all, of_file};
use gantry_market_tests::random_mutants::suite::failure;
use gantry_market_tests::random_mutants::trial::own_tests;
use gantry_market_tests::random_mutants::weave::{culprit, weave};
use gantry_market_tests::random_mutants::{draw, squeezed, Drawn, Form, Site};

const SAMPLE: &str = r#"
#[derive(Accounts)]
pub struct Take {
    #[account(mut, constraint = vault.owner == who.key @ E::Wrong, close = who)]
    pub vault: Vault,
    #[account(address = vault.owner @ E::Wrong)]
    pub who: Signer,
}
const LIMIT: u64 = 9;
#[cfg(test)]
fn only_in_tests() -> bool { 1 < 2 }
const fn constant() -> u64 { 1 + 1 }
#[derive(Debug)]
struct Shown([u8; 4]);
fn take(open: bool, amount: u64) -> Result<()> {
    require!(amount < LIMIT && !open, E::TooMuch);
    let left = amount.checked_sub(1)?.min(amount);
    self.left = left;
    vault.check(left)?;
    emit!(Taken { amount: amount + 1 });
    Ok(())
}
"#;

fn sites() -> Vec<Site> {
    of_file("a.rs", SAMPLE).expect("the sample is Rust")
}

#[test]
fn the_sites_of_a_sample_are_known() {
    let found: Vec<String> = sites()
        .iter()
        .map(|s| {
            format!(
                "{} {} {}: {} -> {}",
                s.line,
                s.function,
                s.operator,
                squeezed(&s.original),
                s.replacement
            )
        })
        .collect();
    let body = "require!(amount < LIMIT && !open, E::TooMuch); let left = amount.checked_sub(1)?.min(amount); self.left = \
                left; vault.check(left)?; emit!(Taken { amount: amount + 1 }); Ok(())";
    let expected = [
        "4 Take account constraint: vault.owner == who.key -> true".to_owned(),
        "4 Take comparison: vault.owner == who.key -> vault.owner != who.key".to_owned(),
        "6 Take account constraint: vault.owner -> *who.account().address()".to_owned(),
        format!("15 take function's value: {body} -> Ok(())"),
        "16 take comparison: amount < LIMIT -> amount <= LIMIT".to_owned(),
        "16 take comparison: amount < LIMIT -> amount > LIMIT".to_owned(),
        "16 take require!: amount < LIMIT && !open -> true".to_owned(),
        "16 take boolean operator: amount < LIMIT && !open -> amount < LIMIT || !open".to_owned(),
        "16 take constant: LIMIT -> LIMIT + 1".to_owned(),
        "16 take negation left out: !open -> open".to_owned(),
        "17 take arithmetic: amount.checked_sub(1) -> amount.checked_add(1)".to_owned(),
        "17 take minimum and maximum: amount.checked_sub(1)?.min(amount) -> amount.checked_sub(1)?.max(amount)".to_owned(),
        "17 take constant: 1 -> 1 + 1".to_owned(),
        "18 take assignment left out: self.left = left; -> ".to_owned(),
        "19 take call left out: vault.check(left)?; -> ".to_owned(),
    ];
    assert_eq!(found, expected);
}

fn numbered(sites: Vec<Site>) -> Vec<Drawn> {
    sites.into_iter().zip(1..).map(|(site, number)| Drawn { number, site }).collect()
}

#[test]
fn mutants_within_mutants_are_woven() {
    let source = "fn f(a: u64) -> bool { g(); a < 1 && b }";
    let drawn = numbered(of_file("a.rs", source).expect("Rust"));
    let woven = weave(source, &drawn.iter().collect::<Vec<_>>());
    let on = |n: u64| format!("crate::mutant::active({n})");
    let at = |form: Form, replacement: &str| {
        let found = drawn.iter().find(|d| d.site.form == form && d.site.replacement == replacement);
        found.unwrap_or_else(|| panic!("no site becomes {replacement}")).number
    };
    let [yes, no] = ["true", "false"].map(|value| at(Form::Body, value));
    let left_out = at(Form::Statement, "");
    let [or, most, more, two] =
        ["a < 1 || b", "a <= 1", "a > 1", "1 + 1"].map(|text| at(Form::Expression, text));
    assert_eq!(
        woven.text,
        format!(
            "fn f(a: u64) -> bool {{ if {} {{ return true; }}  if {} {{ return false; }}  if !{} {{ g(); }} \
             (if {} {{ a < 1 || b }} else {{ (if {} {{ a <= 1 }} else {{ (if {} {{ a > 1 }} else {{ a < (if {} {{ 1 + 1 }} \
             else {{ 1 }}) }}) }}) && b }}) }}",
            on(yes), on(no), on(left_out), on(or), on(most), on(more), on(two)
        )
    );
    syn_accepts(&woven.text);
    for (text, number) in [("1 + 1", two), ("a > 1", more), ("a < 1 || b", or), ("return false", no)] {
        let place = woven.text.find(text).expect("it is woven in");
        assert_eq!(culprit(&woven.places, place), Some(number), "an error at {text}");
    }
    assert_eq!(culprit(&woven.places, 0), None);
}

/// The woven text is a source again.
fn syn_accepts(text: &str) {
    of_file("a.rs", text).unwrap_or_else(|e| panic!("{e}: {text}"));
}

#[test]
fn a_seed_draws_each_site_once() {
    let (one, same, other) = (draw(sites(), 1), draw(sites(), 1), draw(sites(), 2));
    assert_eq!(one, same);
    assert_ne!(one, other);
    let mut all: Vec<_> =
        one.iter().map(|drawn| (drawn.site.span.start, drawn.site.replacement.clone())).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), sites().len());
}

#[test]
fn the_program_has_sites_of_every_kind() {
    let sites = all().expect("the program's sources are Rust");
    for operator in [
        "account constraint",
        "arithmetic",
        "assignment left out",
        "boolean operator",
        "call left out",
        "comparison",
        "constant",
        "function's value",
        "minimum and maximum",
        "negation left out",
        "require!",
    ] {
        let count = sites.iter().filter(|site| site.operator == operator).count();
        assert!(count >= 20, "{count} sites of kind {operator}");
    }
}

#[test]
fn the_tests_of_an_instruction_have_its_name() {
    let modules = ["lease_settle_receipt", "lease_settle_report", "lease_start", "math"].map(str::to_owned);
    assert_eq!(own_tests("instructions/lease/lease_start.rs", &modules), ["lease_start::"]);
    let both = ["lease_settle_receipt::", "lease_settle_report::"];
    assert_eq!(own_tests("instructions/lease/lease_settle.rs", &modules), both);
    assert!(own_tests("math/fees.rs", &modules).is_empty());
    assert_eq!(failure("test a::b ... FAILED"), Some("a::b"));
    assert_eq!(failure("test a::b ... ok"), None);
}
