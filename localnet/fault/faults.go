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
	// Empty is the share of lists of accounts that are answered without any, or by null, as nodes do whose index is not
	// complete.
	Empty float64
	// Fee, if not 0, is what recent transactions seem to have paid for priority, micro-lamports per compute unit.
	Fee uint64
}

// Counts is how often each fault happened.
type Counts struct {
	Requests, Refused, Hung, Cut, Lost, Old, Empty, Fees uint64
}
