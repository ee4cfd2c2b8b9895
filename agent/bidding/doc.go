// Package bidding lets a node take part in sealed auctions. It bids for orders that the node satisfies. It sends the
// commitment to every keeper before the auction closes, and the reveal after that. It keeps acknowledgements and
// reasons for refusals, and asks for the outcome of the bid.
//
// The agent stores price and salt before any keeper gets the commitment. A restarted agent therefore continues with the
// bid that it made, and never makes a second bid for the same order.
package bidding
