//! Shared by what ends a lease that never started: the GPUs are free, the customer's money is, and its order lapses.

use anchor_lang::prelude::*;

use crate::errors::OrOverflow;
use crate::events::OrderClosed;
use crate::state::{
    Credits, Lease, Market, Node, Order, Provider, ORDER_AWARDED, ORDER_EXPIRED, ORDER_LAPSED,
};

/// Everyone in a lease that ends before its start.
pub struct Unstarted<'a> {
    pub market: &'a Market,
    pub order: &'a mut Account<Order>,
    pub credits: &'a mut Credits,
    pub node: &'a mut Account<Node>,
    pub provider: &'a mut Provider,
    pub lease: &'a Lease,
}

impl Unstarted<'_> {
    /// Takes the lease out of every account that counts it, and returns what the customer has back: all but `charged`.
    #[inline(never)]
    pub fn undo(&mut self, charged: u64, now: i64) -> Result<u64> {
        let (lease, order, credits) = (self.lease, &mut *self.order, &mut *self.credits);
        let released = lease.reserved.checked_sub(charged).or_overflow()?;
        if lease.continues == 1 {
            credits.release(released)?;
            // The order had its node: it is not open again for another one.
            order.migrations = order.migrations.checked_sub(1).or_overflow()?;
        } else {
            credits.release_of(order.session_slot, order.created_at, released)?;
            order.nodes_awarded = order.nodes_awarded.checked_sub(1).or_overflow()?;
        }
        credits.pay(charged)?;
        credits.live_leases = credits.live_leases.checked_sub(1).or_overflow()?;
        order.live_leases = order.live_leases.checked_sub(1).or_overflow()?;
        self.provider.live_leases = self.provider.live_leases.checked_sub(1).or_overflow()?;
        self.node.free_gpus_of(lease.gpu_mask, now)?;
        self.node.forget_lease(lease)?;
        Ok(released)
    }

    /// The node had its part and does not serve it: the order goes to others, once its customer opens it again.
    pub fn lapse(&mut self, now: i64) -> Result<()> {
        let order = &mut *self.order;
        order.note_unserved(self.node.address());
        if self.lease.continues == 1 {
            return Ok(());
        }
        order.status = ORDER_LAPSED;
        // Time for the customer to reserve again; then anyone may close the order.
        let wait = self.market.params.award_deadline_secs as i64;
        order.award_deadline = now.checked_add(wait).or_overflow()?;
        Ok(())
    }
}

/// Closes an order of which nothing is left.
pub fn close_if_done(
    order: &mut Account<Order>,
    rent_payer: &AccountView,
    credits: &mut Credits,
) -> Result<()> {
    if order.live_leases == 0 && matches!(order.status, ORDER_AWARDED | ORDER_EXPIRED) {
        credits.live_orders = credits.live_orders.checked_sub(1).or_overflow()?;
        emit!(OrderClosed { order: *order.address() });
        order.close(*rent_payer)?;
    }
    Ok(())
}
