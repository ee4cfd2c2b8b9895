// Package idle runs the owner's own job on the GPUs that no lease holds. It is the agent's affair alone: nothing of it is on chain,
// nobody pays for it, and keepers do not know of it.
//
// The agent stops the job for everything that the market needs the GPUs for:
//   - a lease, from its award until its job is over: nothing of a lease is prepared, billed or started before the idle job is gone;
//   - measurements of keepers and of customers, which wait until it is gone. It leaves before each moment that may be the period's
//     instant, so that keepers do not wait. It comes back when the chain shows that the moment was not it, or after the measurement;
//   - a machine that takes no new leases: outside of its hours, while its owner uses it, with a fault.
//
// The job runs like a customer's: its own supervisor, sandbox, network and limits, under the name [ID], which no lease has. There is
// never more than one, because the runtime starts a name once. Its supervisor ends it at the next moment at which it has
// to be away, so that a job of a dead agent holds no GPU then. The next agent adopts a job that is the one it would start,
// and ends another.
package idle
