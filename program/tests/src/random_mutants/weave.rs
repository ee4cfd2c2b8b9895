//! Weaves mutants that lie in each other into a source file.

use std::ops::Range;

use super::{Drawn, Form};

/// A file with switches, and where each mutant stands in it.
pub struct Woven {
    pub text: String,
    pub places: Vec<Place>,
}

/// Where a mutant stands in a woven file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub number: u64,
    /// The switch with the text that it replaces.
    pub whole: Range<usize>,
    /// What stands there while it is on.
    pub replacement: Range<usize>,
}

/// Text to insert: at one place closing comes before opening, and what is inside lies inside.
struct Insertion {
    at: usize,
    opens: bool,
    rank: (usize, usize),
    mutant: usize,
    text: String,
}

/// `source` with a switch for each of the mutants, which are all of this file.
pub fn weave(source: &str, mutants: &[&Drawn]) -> Woven {
    let mut insertions = vec![];
    for (mutant, Drawn { number, site }) in mutants.iter().enumerate() {
        let (Range { start, end }, replacement) = (site.span.clone(), &site.replacement);
        let active = format!("crate::mutant::active({number})");
        let (open, close, end) = match site.form {
            Form::Expression => (format!("(if {active} {{ {replacement} }} else {{ "), " })", end),
            // The body follows the switch.
            Form::Body => (format!(" if {active} {{ return {replacement}; }} "), "", start),
            Form::Statement => (format!("if !{active} {{ "), " }", end),
        };
        // Of texts that begin together the longer one is outside; of the same text, the one that is listed first.
        let body = usize::from(site.form != Form::Body);
        let rank = (body * (source.len() - (end - start)), mutant);
        insertions.push(Insertion { at: start, opens: true, rank, mutant, text: open });
        let rank = (source.len() - start, usize::MAX - mutant);
        insertions.push(Insertion {
            at: end,
            opens: site.form == Form::Body,
            rank,
            mutant,
            text: close.to_owned(),
        });
    }
    insertions.sort_by_key(|insertion| (insertion.at, insertion.opens, insertion.rank));

    let place = |number| Place { number, whole: 0..0, replacement: 0..0 };
    let mut places: Vec<Place> = mutants.iter().map(|drawn| place(drawn.number)).collect();
    let (mut text, mut at) = (String::new(), 0);
    for insertion in insertions {
        text.push_str(&source[at..insertion.at]);
        at = insertion.at;
        let start = text.len();
        text.push_str(&insertion.text);
        let place = &mut places[insertion.mutant];
        if !insertion.text.is_empty() && place.whole.end == 0 {
            place.replacement = start..text.len();
            place.whole.start = start;
        }
        place.whole.end = text.len();
    }
    text.push_str(&source[at..]);
    Woven { text, places }
}

/// The innermost mutant at a place of a woven file: one whose replacement it is, before one whose original it is.
pub fn culprit(places: &[Place], at: usize) -> Option<u64> {
    let within = |of: fn(&Place) -> &Range<usize>| {
        places.iter().filter(|place| of(place).contains(&at)).min_by_key(|place| of(place).len())
    };
    within(|place| &place.replacement).or_else(|| within(|place| &place.whole)).map(|place| place.number)
}

impl Place {
    /// The same place behind `shift` more bytes.
    pub fn moved(self, shift: usize) -> Self {
        let by = |range: Range<usize>| range.start + shift..range.end + shift;
        Self { number: self.number, whole: by(self.whole), replacement: by(self.replacement) }
    }
}
