// Package auction runs the keeper's side of sealed auctions. It accepts commitments and reveals from nodes,
// acknowledges them and sends them to the other keepers. When the reveals are over, it closes the set of bids, awards
// the order, and publishes the set.
//
// A bid is on disk before the keeper acknowledges it. The bids that the keeper chooses from always include every
// acknowledged reveal. With the acknowledgement, a node can prove that its bid was omitted.
//
// Memory is bounded:
//   - A node has one bid in an auction.
//   - Only nodes that satisfy the order get one.
//   - The keeper drops an auction's bids from memory when the order is decided.
//   - There is a limit on all bids together.
package auction
