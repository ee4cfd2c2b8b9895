package fault

import "time"

// Faults says what is injected. Shares are between 0 and 1 and are drawn for each request; the zero value injects
// nothing.
type Faults struct {
	// Delay is the longest that a request is held before it is passed on; each is held for a random part of it.
	Delay time.Duration
	// Refuse is the share of requests that are answered by status 429 or 503.
	Refuse float64
	// Hang is the share of requests that are never answered.
	Hang float64
	// Cut is the share of answers that break off in the middle, after the real node has done what was asked.
	Cut float64
	// Lose is the share of transactions that are taken, and answered with their signature, and not passed on.
	Lose float64
	// Old is the share of requests for a blockhash that are answered with the oldest one known here.
	Old float64
	// Fee, if not 0, is what recent transactions seem to have paid for priority, micro-lamports per compute unit.
	Fee uint64
	// Lag is how far the node seems to be behind the cluster: all reads show the chain as it was then, and what is
	// announced over WebSockets comes so much later. When it grows, the chain seems to stand still until the node is as
	// far behind; it never goes back. It needs a History. Transactions are passed on at once, as a node does that is
	// behind; simulations run on the present state.
	Lag time.Duration
	// Empty is the share of answers to getProgramAccounts that are an empty list with the true slot, as of a node that
	// still builds its index.
	Empty float64
	// Null is the share of answers to reads of slots, blockhashes and accounts whose result is null.
	Null float64
	// Bomb is the share of answers that hold 256 MiB more, compressed to a thousandth.
	Bomb float64
	// Disagree is the share of slots at which the node shows another block than the cluster has, as one on a fork: of
	// another hash, and half of them a second later. It is the same slots and blocks each time.
	Disagree float64
	// Drop is how long a WebSocket connection lasts on average before it breaks; 0 for as long as both ends want.
	Drop time.Duration
}

// Counts is how often each fault happened.
type Counts struct {
	Requests, Refused, Hung, Cut, Lost, Old, Fees uint64
	// Lagged are answers as of a time before, Disagreed are blocks that the cluster does not have, and Dropped are WebSocket
	// connections.
	Lagged, Emptied, Nulled, Bombs, Disagreed, Dropped uint64
}
