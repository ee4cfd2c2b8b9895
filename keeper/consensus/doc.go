// Package consensus brings the keepers to one root for each period.
//
// When a period is over and sealed, every keeper signs a manifest of its complete set of statements and tells all others,
// who fetch the set, from its keeper or from anybody who has it, and count it (report.Tally). A proposal names manifests
// and a root: whoever holds the sets computes the leaves and, if they lead to the root (report.Check), votes for it. When
// nothing happens for a round, the next keeper proposes. Everything here leans towards the first sound proposal: later
// proposers publish it again instead of one of their own, and a root that has votes on chain is fetched from the peers and
// checked before anything else. Votes that a cut network has led apart move together again (stand.go), and a period that has
// had its time waits for its keepers to be back (step.go). The leaves of a final report are
// fetched from any peer and believed when they lead to the root on chain.
//
// What others can do, and what comes of it:
//   - a keeper that is silent, slow or withholds its set is left out; more than two thirds of the weight suffice;
//   - one that signs two manifests is left out of honest proposals;
//   - a proposer that leaves out a keeper whose set others have had for a while gets no vote of theirs;
//   - one that names sets which nobody gets waits until the next proposes.
//
// Safety does not depend on any of this: the program counts one vote of each keeper and needs more than two thirds. The weight
// of each is that of the period's end, so that all come to the same report, whoever leaves or is expelled meanwhile.
package consensus
