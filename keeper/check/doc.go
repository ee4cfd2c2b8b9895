// Package check decides which node to ask what and when, asks, and judges the answers.
//
// Some parts are pure functions. Cover computes which seconds a check covers, and what it can state. Planner computes
// what is due: committees, failures that other keepers saw, and backpressure (docs/protocol/committees.md explains
// why). The judges decide about liveness, inventory and work. Checker combines these parts and talks to nodes through
// an Asker.
//
// A failed statement can cost a provider its stake, so in doubt the keeper decides in the node's favour. If the
// network, a race with the chain, or a customer's job may be the cause, the keeper makes no statement, or one without a
// slash.
//
// A question has one of five outcomes: the node gave the right answer, it answered something else, its handler refused,
// it is unreachable, or the question was lost on an open connection. A check fails only because of what the node itself
// did.
//
//   - liveness: the check of the node and of its leases fails if the answer is wrong or does not come within the
//     timeout. A refusal proves nothing, and neither does a question that is lost three times: the time since the last
//     check stays unknown. A passed check covers the interval at which the node is asked, and not a gap before it. If
//     two answers in a row lack a lease that runs on chain, the node has failed that lease.
//   - inventory, once a period: the check fails for fewer GPUs, another model, less memory than on chain, or a device
//     that another node has claimed. Too little processor or memory, failing health, and an inventory that is not shown
//     count as unhealthy, without a slash.
//   - work: a wrong proof fails. A proof that is late or missing fails only if two things hold: it happens three times,
//     over three connections, and the node answers liveness checks after each. Otherwise the node counts as offline,
//     not slow, and is asked again later in the period.
//   - evidence: as work, but evidence that does not come counts as tier 0.
package check
