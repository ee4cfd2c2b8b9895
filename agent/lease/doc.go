// Package lease carries out the leases of one node: it starts them on chain, runs the customer's job, ends what has
// to be ended and lets go of what is closed.
//
// Each lease has a worker. A worker does not follow a script: again and again it looks at four things, the chain's
// lease account, the agent's own record, the runtime's job and the clock, and [Decide] names the one next act. A
// crash between any two acts therefore needs no repair of its own: the next agent looks, and goes on. What an act
// promises is in the store before the act, so that nothing is promised twice differently.
//
//	awarded    waits for the customer's job, at most half of the start deadline
//	starting   lease_start is on its way, or landed and the job is being started
//	running    the job runs; ends by itself, or is stopped when the lease is over
//	exited     the job is over; a run-to-completion lease is ended now
//	ended      over on chain; last receipts may still be settled
//	closed     the account is gone; the job's directory is removed
package lease
