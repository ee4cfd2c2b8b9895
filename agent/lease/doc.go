// Package lease carries out the leases of one node. It starts them on chain, runs the customer's job, ends what must
// end, and removes what is closed.
//
// Each lease has a worker. A worker does not follow a fixed sequence of steps. It observes four facts again and again:
// the lease account on chain, the agent's stored entry, the runtime's job and the clock. [Decide] returns the one next
// action. A crash between any two actions therefore needs no special repair: the next agent observes and continues. The
// agent stores what an action promises before it acts. So it never makes two different promises about one thing.
//
//	awarded    waits for the customer's job, at most half of the start deadline
//	starting   lease_start is on its way, or landed and the job is being started
//	running    the job runs; it ends, or is stopped when the lease is over
//	exited     the job is over; a run-to-completion lease is ended now
//	ended      over on chain; last receipts may still be settled
//	closed     the account is gone; the job's directory is removed
package lease
