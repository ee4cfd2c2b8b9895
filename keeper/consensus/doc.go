// Package consensus brings the keepers to one root for each period.
//
// When a period is over and every keeper has sealed its statements, the proposer of round 0 asks all keepers for theirs
// and publishes a proposal: the leaves and all statements that they follow from. Whoever can check it (report.Check)
// votes its root on chain; when nothing happens for a round, the next keeper proposes. A keeper votes for one root in a
// period, for ever, so everything here leans towards the first sound proposal: later proposers publish it again instead
// of one of their own, and a root that has votes on chain is fetched from the peers and checked before anything else.
//
// Safety does not depend on any of this: the program counts one vote of each keeper and needs more than two thirds.
package consensus
