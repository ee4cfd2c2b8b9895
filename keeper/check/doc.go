// Package check decides whom to ask what and when, asks, and judges the answers.
//
// Pure parts: Cover (which seconds a check speaks for, and what there is to say), Planner (what is due: committees,
// what other keepers have seen fail, backpressure; docs/protocol/committees.md says why), and the judges of liveness,
// inventory and work. Checker puts them together and talks to nodes through an Asker.
//
// A failed statement can cost a provider its stake, so every doubt counts for the node: what could be a fault of the
// network, of a race with the chain, or of a customer's job gives no statement, or one without a slash.
//
//   - liveness: no answer within the timeout is a failed check of the node and of its leases. A node that answers without
//     a lease that runs on chain has failed that lease, the second time in a row that it does so.
//   - inventory, once a period: fewer GPUs, another model, less memory than on chain, or a device that another node has
//     claimed. Shortages of processor or memory, and failing health, are unhealthy: no slash.
//   - work: late or wrong fails, if the node answers a liveness check right after; otherwise it is offline, not slow.
package check
