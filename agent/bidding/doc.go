// Package bidding is a node's part in sealed auctions: it bids for orders that the node satisfies, sends the commitment
// to every keeper before the close and the reveal after it, keeps acknowledgements and reasons for refusals, and asks
// for the outcome of the bid.
//
// Price and salt are in the store before any keeper gets the commitment, so that a restarted agent goes on with the bid
// that it made and never makes a second one for the same order.
package bidding
