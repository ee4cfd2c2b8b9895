//! Anyone compares the outputs of a redundant job: those of the majority are paid, the others are not. Without a
//! majority nobody is, and the customer may run the job again.
//!
//! The nodes of one provider are one voice, so that a second node in the same job adds no weight. A provider whose nodes
//! show different outputs has no voice. The majority stays one of all nodes that the order wanted: fewer providers make
//! nobody's voice count for more.
//!
//! No stake is touched for another output: a majority of machines is no proof that the others lied, since one person may
//! own it. It decides only over the money that the customer has put up for that very job. An output that was committed to
//! and is withheld costs stake, see `output_forfeit`: whoever waits for the others' outputs has a price to pay.

use anchor_lang::prelude::*;

use crate::constants::MAX_REDUNDANCY;
use crate::errors::{MarketError, OrOverflow};
use crate::events::OutputsResolved;
use crate::records;
use crate::state::{
    Lease, Order, OUTPUT_ACCEPTED, OUTPUT_COMMITTED, OUTPUT_REJECTED, OUTPUT_REVEALED, OUTPUT_WANTED,
    OUTPUT_WITHHELD,
};

/// All live leases of the order follow, writable.
#[derive(Accounts)]
pub struct OutputResolve {
    pub order: Account<Order>,
}

/// A lease of the order, read from one of the accounts that follow.
fn lease_of(view: &AccountView, order: &Address) -> Result<Lease> {
    let lease: Lease = records::read(view)?;
    require!(lease.order == *order, MarketError::WrongAccount);
    Ok(lease)
}

/// What the nodes of one provider have shown.
#[derive(Clone, Copy, Default)]
struct Voice {
    provider: Address,
    output: [u8; 32],
    /// They contradict each other.
    split: bool,
}

/// The providers' voices, in the order in which they were heard first.
#[derive(Default)]
struct Voices {
    all: [Voice; MAX_REDUNDANCY as usize],
    count: usize,
}

impl Voices {
    fn hear(&mut self, lease: &Lease) -> Result<()> {
        let heard = self.all.iter_mut().take(self.count).find(|voice| voice.provider == lease.provider);
        if let Some(voice) = heard {
            voice.split |= voice.output != lease.output_hash;
            return Ok(());
        }
        *self.all.get_mut(self.count).ok_or(MarketError::InvariantBroken)? =
            Voice { provider: lease.provider, output: lease.output_hash, split: false };
        self.count = self.count.checked_add(1).or_overflow()?;
        Ok(())
    }

    fn sound(&self) -> impl Iterator<Item = &Voice> {
        self.all.iter().take(self.count).filter(|voice| !voice.split)
    }

    /// What as many providers have shown as are more than half of all nodes that the order wanted.
    fn majority(&self, wanted: u8) -> Option<[u8; 32]> {
        let half = (wanted as usize) / 2;
        let most = |voice: &&Voice| self.sound().filter(|other| other.output == voice.output).count() > half;
        self.sound().find(most).map(|voice| voice.output)
    }
}

pub(crate) fn handler(ctx: &mut Context<OutputResolve>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let views = ctx.remaining_accounts()?;
    let accounts = &ctx.accounts;
    let order = &accounts.order;
    require!(
        order.redundant != 0 && views.len() == order.live_leases as usize && !views.is_empty(),
        MarketError::WrongAccount
    );
    let mut voices = Voices::default();
    let mut shown = 0usize;
    for (at, view) in views.iter().enumerate() {
        require!(
            !views.iter().take(at).any(|other| other.address() == view.address()),
            MarketError::WrongAccount
        );
        let lease = lease_of(view, order.address())?;
        require!((OUTPUT_WANTED..=OUTPUT_REVEALED).contains(&lease.output), MarketError::WrongOutputState);
        if lease.output == OUTPUT_REVEALED {
            voices.hear(&lease)?;
            shown = shown.checked_add(1).or_overflow()?;
        }
    }
    // Without a last award there is no deadline yet.
    let over = order.reveal_by != 0 && now > order.reveal_by;
    require!(shown >= views.len() || over, MarketError::TooEarly);
    let winner = voices.majority(order.nodes_wanted);
    let mut accepted = 0u8;
    for view in views.iter() {
        let mut lease = lease_of(view, order.address())?;
        let wins = lease.output == OUTPUT_REVEALED && winner == Some(lease.output_hash);
        lease.output = match lease.output {
            _ if wins => OUTPUT_ACCEPTED,
            OUTPUT_COMMITTED => OUTPUT_WITHHELD,
            _ => OUTPUT_REJECTED,
        };
        lease.resolved_at = now;
        accepted = accepted.checked_add(u8::from(wins)).or_overflow()?;
        lease.invariant(now)?;
        records::write(view, &lease)?;
    }
    emit!(OutputsResolved {
        order: *order.address(),
        output: winner.unwrap_or_default(),
        accepted,
        of: order.nodes_wanted,
    });
    Ok(())
}
