package market

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/records"
)

// SealedBid is a bid with the node's signature over its commitment.
type SealedBid struct {
	Node      Node
	Bid       records.Bid
	Signature solana.Signature
}

// OrderBid is a bid of a node for a sealed order, ready to be signed.
func OrderBid(domain records.Domain, o Order, node solana.PublicKey, price PricePerHour, salt [32]byte) records.Bid {
	return records.Bid{Domain: domain, Order: o.Address, Node: node, CloseAt: o.AuctionClose, Price: uint64(price), Salt: salt}
}

// The modes of orders: the best ask gets it, or the winner of an auction.
const (
	ModeInstant = 0
	ModeSealed  = 1
)

// MaxSealedNodes is how many nodes a sealed order may want.
const MaxSealedNodes = 8

// Bounds of an auction's two windows, seconds.
const (
	AuctionSecsMin = 5
	AuctionSecsMax = 86_400
	RevealSecsMin  = 5
	RevealSecsMax  = 3_600
)

// CompletableAfter is the last second in which only the keeper of the first award makes the others: half of the time to
// award. It is the twin of Auction::completable_after in program/src/state/auction.rs.
func (a *Auction) CompletableAfter(awardDeadline int64) int64 {
	return satAdd(a.RevealUntil, satSub(awardDeadline, a.RevealUntil)/2)
}

// CanClose says why auction_close would be refused at now; nil when it would not. orderExists is whether the order's
// account is there. It is the twin of program/src/instructions/auction/auction_close.rs.
func (a *Auction) CanClose(orderExists bool, now int64) error {
	if now <= max(a.RevealUntil, a.ChallengeUntil) {
		return bindings.ErrorCodeTooEarly
	}
	if a.AwardedAt == 0 && orderExists {
		return bindings.ErrorCodeStillInUse
	}
	return nil
}
