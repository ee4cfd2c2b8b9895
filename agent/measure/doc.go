// Package measure has a node's GPUs measured at the instant of each period, in one run for all members of the node's
// committee: docs/adr/0026-measuring.md says who asks and when, docs/protocol/measurement.md what is computed.
//
// The first member that names the block of the instant starts the run; the node looks the block up meanwhile and gives up
// if it is another. Members that come later join: each is sent all roots from the first on, at its own pace, then the
// signed commitment. For a while after it each member may draw what is opened of each GPU. Nothing is stored: a node that
// starts again makes the run again when a member asks, if it is still time.
package measure
