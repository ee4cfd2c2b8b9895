//! What somebody can make others lose without a gain of its own: what that costs, and what the others lose.

mod held;
mod record;

use super::money::Usd;

/// One action that harms somebody else.
pub struct Harm {
    /// The finding or the rule that names it, as in docs/findings.md.
    pub source: &'static str,
    pub action: &'static str,
    /// What its owner has less by it.
    pub cost: Usd,
    /// What the others lose in money, where that can be said.
    pub worth: Usd,
    /// What the others lose.
    pub harm: String,
    /// What bounds it, and why no rule forbids it.
    pub bound: &'static str,
}

impl Harm {
    /// Harm for each unit of cost, with one decimal.
    pub fn ratio(&self) -> String {
        match (self.cost.0, self.worth.0) {
            (_, 0) => "0".to_owned(),
            (0, _) => "no cost".to_owned(),
            (cost, worth) => format!("{:.1}", worth as f64 / cost as f64),
        }
    }
}

/// Declares the actions: a test of each, which measures it, and a list of all for the page.
macro_rules! measured {
    ($($of:ident :: $name:ident,)*) => {
        mod measures {
            $(#[test]
            fn $name() {
                let harm = super::$of::$name();
                assert!(harm.cost.0 >= 0, "{} pays", harm.action);
                // What costs something harms no more than that; what costs nothing stands in the page with its bound.
                assert!(harm.cost.0 == 0 || harm.worth.0 <= harm.cost.0, "{}", harm.action);
            })*
        }
        pub fn all() -> Vec<Harm> {
            vec![$($of::$name()),*]
        }
    };
}

measured! {
    held::machines_are_held_by_a_job_that_none_of_them_runs,
    held::machines_are_held_by_an_order_that_is_never_whole,
    held::a_dispute_without_a_reason_holds_stake,
    held::a_lease_of_a_second_holds_the_rent_of_its_keeper,
    record::a_decoy_delays_orders_for_a_day,
    record::an_honest_lease_gets_one_star,
    record::a_lease_is_left_at_once,
    record::another_ones_gpus_are_claimed,
    record::a_third_of_the_weight_does_not_vote,
}
