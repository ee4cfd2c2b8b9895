// Package check decides whom to ask what and when, asks, and judges the answers.
//
// Pure parts: Cover (which seconds a check speaks for, and what there is to say), Planner (what is due: committees,
// what other keepers have seen fail, backpressure; docs/protocol/committees.md says why), and the judges of liveness,
// inventory and work. Checker puts them together and talks to nodes through an Asker.
//
// A failed statement can cost a provider its stake, so every doubt counts for the node: what could be a fault of the
// network, of a race with the chain, or of a customer's job gives no statement, or one without a slash.
//
// What becomes of a question is one of five: the node answered right, it answered something else, its handler refused,
// it is unreachable, or the question was lost on an open connection. Only what the node itself did fails a check.
//
//   - liveness: another answer, or none within the timeout, is a failed check of the node and of its leases. A refusal,
//     or a question that is lost three times, says nothing: the time since the check before is not known. A check that
//     passes speaks for the interval at which the node is asked, and not for a gap before it. A node that answers without
//     a lease that runs on chain has failed that lease, the second time in a row that it does so.
//   - inventory, once a period: fewer GPUs, another model, less memory than on chain, or a device that another node has
//     claimed. Shortages of processor or memory, failing health, and an inventory that is not shown are unhealthy: no
//     slash.
//   - work: a wrong proof fails. One that is late or does not come fails if that happens three times, over three
//     connections, and the node answers liveness checks after each; otherwise it is offline, not slow, and it is asked
//     again later in the period.
//   - evidence: as work, but what does not come is tier 0.
package check
