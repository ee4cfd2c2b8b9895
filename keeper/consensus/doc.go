// Package consensus brings the keepers to one root for each period.
//
// When a period is over and sealed, every keeper signs a manifest of its statement set and sends it to all others. They
// fetch the set, from its keeper or from another that has it, and count it (report.Tally). A proposal lists manifests
// and a root. A keeper that holds the sets computes the leaves and, if they lead to the root (report.Check), votes for
// it.
//
// When nothing happens for a round, the next keeper proposes. All keepers prefer the first sound proposal: later
// proposers publish it again instead of one of their own. If a root has votes on chain, the keeper fetches its proposal
// from the peers and checks it before anything else. The leaves of a final report are fetched from any peer, and
// accepted when they lead to the root on chain.
//
// # The engine
//
// The engine works for each period, and again at every tick. First it collects [facts] from the chain, the store, the
// cache of statement sets, its memory and the clock. Then [decide], a pure function, returns the phase and the actions.
// Finally perform carries them out.
//
// Slow work runs as a [task] in parallel with the engine. There is at most one task of each kind for a period, and it
// is not started again before its time. Proposals and manifests of peers are checked when they come in (consider,
// addManifest); they change facts only.
//
//	phase       when                                              actions
//	observing   the keeper has no weight in the period or left    fetch sets
//	collecting  the first round has not begun                     announce manifest, fetch sets, prefetch sets
//	deciding    rounds run, the store holds no vote               reconsider and fetch proposals, cast vote
//	proposing   the same, in the keeper's own round               cast vote for what is known, or gather and propose
//	voted       the store holds a vote                            send or move vote, repeat proposal, fetch proposals
//	dormant     four times round all keepers without a result,    release sets
//	            and other old periods have their turn
//	final       the report is final on chain                      fetch leaves, late vote, finish
//	done        nothing is left to do                             release all, later
//
// A period moves from collecting through deciding, proposing (in some rounds) and voted to final and done. Every phase
// leads to final when the chain shows a final report. A dormant period alternates with the phase before it. A keeper
// without a manifest announces one before anything else. It checks proposals that wait for sets again before it
// decides.
//
//	action                what it does
//	announce manifest     signs the manifest of our own statements, once, after storing it
//	fetch sets            fetches the sets of known manifests, then checks the proposals that wait for them
//	prefetch sets         the first proposer asks all keepers for manifests and sets before its round
//	reconsider proposals  checks the proposals again that wait for sets or for the committees' seed
//	fetch proposals       asks peers for the proposals behind roots that have votes, and for the leaves of a final report
//	gather and propose    asks all keepers for manifests and sets, then proposes a root and votes for it
//	cast vote             stores leaves and vote, then sends the vote
//	move vote             casts the vote for the heaviest acceptable root, so that keepers that are apart come together
//	return vote           keeps the vote where the chain counts it, though it was to move
//	send vote             sends the stored vote until the chain counts it
//	repeat proposal       publishes the proposal that we voted for again, in our own round
//	note final, finish    write down that the leaves are held, that nothing is left to do
//	release sets, all     give memory back: of a dormant period, of one that is done
//
// # What others can do, and what comes of it
//
//   - a keeper that is silent, slow or withholds its set is left out; more than two thirds of the weight suffice;
//   - a keeper that signs two manifests is left out of honest proposals;
//   - if a proposer leaves out a keeper, the keepers that have had its set for a while do not vote for the proposal;
//   - a proposal gets no vote if it lists sets that no keeper hands out; the next keeper proposes after a round.
//
// Safety does not depend on any of this. The program counts one vote of each keeper and needs more than two thirds. A
// keeper's weight is that of the period's end. So all keepers compute the same report, also when some leave or are
// expelled in the meantime.
package consensus
