// Package consensus brings the keepers to one root for each period.
//
// When a period is over and sealed, every keeper signs a manifest of its statement set and sends it to all others. They
// fetch the set, from its keeper or from another that has it, and count it (report.Tally). A proposal names manifests
// and a root: a keeper that holds the sets computes the leaves and, if they lead to the root (report.Check), votes for
// it. When nothing happens for a round, the next keeper proposes. All prefer the first sound proposal: later proposers
// publish it again instead of one of their own, and a root that has votes on chain is fetched from the peers and
// checked before anything else. The leaves of a final report are fetched from any peer and believed when they lead to
// the root on chain.
//
// # The engine
//
// For each period, and again at every tick, the engine collects [facts] from the chain, the store, the cache of
// statement sets, its memory and the clock; [decide], a pure function, names the phase and the actions; perform carries
// them out. What takes time runs beside the engine as a [task], at most one of each kind for a period, and is not
// started again before its time. Proposals and manifests of peers are checked when they come in (consider,
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
// A period goes from collecting through deciding, proposing (in some rounds) and voted to final and done. Every phase
// leads to final when the chain says so; dormant and the phase before it alternate. A keeper without a manifest
// announces it before anything else, and proposals that wait for sets are checked again before it decides.
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
//   - one that signs two manifests is left out of honest proposals;
//   - a proposer that leaves out a keeper whose set others have had for a while gets no vote of theirs;
//   - a proposal that names sets which no keeper hands out gets no vote; the next keeper proposes after a round.
//
// Safety does not depend on any of this: the program counts one vote of each keeper and needs more than two thirds. The
// weight of each is that of the period's end, so that all come to the same report, also when keepers leave or are
// expelled meanwhile.
package consensus
