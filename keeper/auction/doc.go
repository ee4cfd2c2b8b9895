// Package auction runs the keeper's side of sealed auctions: it takes commitments and reveals from nodes, acknowledges
// them, tells the other keepers, closes the set of bids when the reveals are over, awards the order, and publishes the
// set.
//
// A bid is on disk before the keeper acknowledges it, and an acknowledged reveal is always among the bids that the
// keeper chooses from: the acknowledgement is what a node proves an omission with.
//
// Memory is bounded. A node has one bid in an auction; only nodes that satisfy the order get one; an auction's bids
// leave memory when its order is decided; and there is a limit on all together.
package auction
