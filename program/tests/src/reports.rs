//! The part of a report that its struct does not show: roots beyond the fourth.

use anchor_lang::Discriminator;
use gantry_market::state::{Candidate, Report, REPORT_LEN};

use crate::{pda, Testbed};

/// An account's struct with its discriminator, and the candidates behind it if it is a report that has some. None for a
/// report that ends in the middle of one.
pub fn split(data: &[u8]) -> Option<(&[u8], Vec<Candidate>)> {
    if !data.starts_with(Report::DISCRIMINATOR) || data.len() <= REPORT_LEN {
        return Some((data, vec![]));
    }
    let (own, behind) = data.split_at(REPORT_LEN);
    let size = size_of::<Candidate>();
    (behind.len() % size == 0).then(|| (own, behind.chunks(size).map(bytemuck::pod_read_unaligned).collect()))
}

impl Testbed {
    /// The roots of a report beyond those that its struct holds.
    pub fn report_tail(&self, period: u64) -> Vec<Candidate> {
        let account = self.svm.get_account(&pda::report(period)).expect("the report exists");
        split(&account.data).expect("a report has whole candidates").1
    }
}
