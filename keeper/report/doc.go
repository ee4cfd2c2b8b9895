// Package report turns the statements of a period into the leaves of its report, and proposals of them into votes.
//
// Everything here is a pure function of statements and weights: every keeper that holds the same
// statements computes the same root, in whatever order they arrived.
//
// The rules, with weights in place of heads so that a keeper counts as much as it has bonded:
//
//   - A lease is in the report when keepers with more than two thirds of the weight signed something about it. A node is,
//     when they signed something about its liveness; otherwise when most of its committee did and most of those saw nothing
//     fail; or when it is flagged.
//   - Seconds are the weighted lower median over the keepers that reported, each clipped to the period. With f dishonest
//     keepers of 3f+1 and the others reporting, the result is within what honest keepers found.
//   - A flag is set only when keepers with more than two thirds of the weight say "failed" in that kind of check and
//     never "passed" in the period. An appeal needs statements that say "passed" from more than a third of the weight,
//     so it cannot succeed against honest keepers. A node that goes silent in the middle of a period is therefore
//     flagged offline for the next one, while its downtime counts at once; and a restart of an agent, which takes a
//     part of a period, never ends a lease.
//   - A keeper that signed two manifests of the period is not counted: see package consensus. One manifest cannot name two
//     statements about the same thing: see package statement.
//
// The parts: [Tally] counts each keeper's statement set as it arrives; [Tally.Build] makes leaves of the counts of some
// sets; [Propose] and [Resign] sign proposals; [Authentic] and [Check] decide whether to vote for one; [Proposer] says
// whose turn it is.
package report
