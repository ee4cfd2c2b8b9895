// Package lease carries out the leases of one node: it starts them on chain, runs the customer's job, ends what has to
// be ended and removes what is closed.
//
// Each lease has a worker. A worker follows no script. It observes four facts again and again: the lease account on
// chain, the agent's stored entry, the runtime's job and the clock. [Decide] names the one next action. A crash between
// any two actions therefore needs no repair of its own: the next agent observes and goes on. What an action promises is
// in the store before the action, so that nothing is promised twice differently.
//
//	awarded    waits for the customer's job, at most half of the start deadline
//	starting   lease_start is on its way, or landed and the job is being started
//	running    the job runs; it ends by itself, or is stopped when the lease is over
//	exited     the job is over; a run-to-completion lease is ended now
//	ended      over on chain; last receipts may still be settled
//	closed     the account is gone; the job's directory is removed
package lease
