// Package bidding is a node's part in sealed auctions: it bids for orders that the node satisfies, brings the commitment
// to every keeper before the close and the reveal after it, keeps what they acknowledge and why they refuse, and asks what
// became of the bid.
//
// Price and salt are on disk before anybody hears of the commitment, so that a restarted agent goes on with the bid that
// it made and never makes a second one for the same order.
package bidding
