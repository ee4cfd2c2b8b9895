// Package report turns the statements of a period into the leaves of its report, and proposals of them into votes.
//
// Everything here is a pure function of statements and weights: every keeper that holds the same statements computes
// the same root, in whatever order they arrived.
//
// The rules use weights instead of numbers of keepers, so a keeper counts as much as it has bonded:
//
//   - A lease is in the report when keepers with more than two thirds of the weight signed something about it. A node
//     is in the report in three cases. Keepers with that weight signed something about its liveness; or most of its
//     committee did, and most of those saw nothing fail; or the node is flagged.
//   - Seconds are the weighted lower median over the keepers that reported, each clipped to the period. Suppose f
//     keepers of 3f+1 are dishonest and all others report. Then the result is within what honest keepers found.
//   - A flag is set only when keepers with more than two thirds of the weight stated "failed" in that kind of check and
//     never "passed" in the period. An appeal needs "passed" statements from more than a third of the weight, so it
//     cannot succeed against honest keepers. If a node goes silent in the middle of a period, it is therefore flagged
//     offline for the next period; its downtime counts at once. A restart of an agent takes only a part of a period, so
//     it never ends a lease.
//   - A keeper that signed two manifests of the period is not counted: see package consensus. One manifest cannot list
//     two statements about the same thing: see package statement.
//
// The parts:
//   - [Tally] counts each keeper's statement set as it arrives.
//   - [Tally.Build] makes leaves of the counts of some sets.
//   - [Propose] and [Resign] sign proposals.
//   - [Authentic] and [Check] decide whether to vote for a proposal.
//   - [Proposer] returns the keeper whose turn it is.
package report
