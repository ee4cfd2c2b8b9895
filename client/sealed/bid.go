package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
)

var (
	// ErrReveal means that price and salt are not what the commitment hides.
	ErrReveal = errors.New("the reveal is not what was committed to")
	// ErrSet means that a set of bids is not what its head or the chain says.
	ErrSet = errors.New("not the bids that were signed for")
)

// Auction names one auction: an order's address may live more than once, each time with another close.
type Auction struct {
	Domain  wire.Domain
	Order   solana.PublicKey
	CloseAt int64 // unix seconds
}

// AuctionOf is the auction of an order.
func AuctionOf(domain wire.Domain, o *market.Order) Auction {
	return Auction{Domain: domain, Order: o.Address, CloseAt: o.AuctionClose}
}

// Reveal is the bid that price and salt make.
func (a Auction) Reveal(node [32]byte, p protocol.BidPrice) wire.Bid {
	return wire.Bid{Domain: a.Domain, Order: a.Order, Node: node, CloseAt: a.CloseAt, Price: p.Price, Salt: p.Salt}
}

// Check verifies a bid: the node's signature over the commitment, and that the reveal, if there is one, is what it hides.
// Errors: wire.ErrSignature, ErrReveal.
func (a Auction) Check(b *protocol.Bid, nodeKey solana.PublicKey) error {
	if err := wire.VerifyCommitment(b.Commitment, nodeKey, b.Signature); err != nil {
		return err
	}
	if b.Reveal != nil && a.Reveal(b.Node, *b.Reveal).Commitment() != wire.Hash(b.Commitment) {
		return fmt.Errorf("bid of node %s: %w", solana.PublicKey(b.Node), ErrReveal)
	}
	return nil
}

// Ack reads an acknowledgement and verifies the keeper's signature. Errors: wire.ErrValue, wire.ErrSignature.
func Ack(a *protocol.BidAck, commitment wire.Hash) (wire.Ack, error) {
	w := wire.Ack{Stage: wire.AckStage(a.Stage), Commitment: commitment, ReceivedAt: a.ReceivedAt}
	return w, w.Verify(a.Keeper, a.Signature)
}

// SignAck acknowledges.
func SignAck(s wire.Signer, stage wire.AckStage, commitment wire.Hash, at int64) (protocol.BidAck, error) {
	w := wire.Ack{Stage: stage, Commitment: commitment, ReceivedAt: at}
	sig, err := w.Sign(s)
	return protocol.BidAck{Keeper: s.PublicKey(), Stage: uint8(stage), ReceivedAt: at, Signature: sig}, err
}

// FindAck returns a keeper's acknowledgement of a stage; nil when there is none.
func FindAck(acks []protocol.BidAck, keeper solana.PublicKey, stage wire.AckStage) *protocol.BidAck {
	for i := range acks {
		if acks[i].Keeper == keeper && acks[i].Stage == uint8(stage) {
			return &acks[i]
		}
	}
	return nil
}

// ReadOutcome reads and verifies a keeper's word about a bid.
func ReadOutcome(s *protocol.SignedOutcome) (wire.Outcome, error) {
	o, err := wire.DecodeOutcome(s.Outcome)
	if err != nil {
		return o, err
	}
	return o, o.Verify(s.Keeper, s.Signature)
}

// SignOutcome signs a keeper's word about a bid.
func SignOutcome(s wire.Signer, o wire.Outcome) (protocol.SignedOutcome, error) {
	sig, err := o.Sign(s)
	raw := o.Encode()
	return protocol.SignedOutcome{Keeper: s.PublicKey(), Outcome: raw[:], Signature: sig}, err
}

// leaf is what the Merkle tree is over: node 32 ‖ commitment 32 ‖ signature 64 ‖ revealed u8 ‖ price u64 ‖ salt 32, the
// last two zero without a reveal. Acknowledgements are not in it: keepers that hold the same bids have the same root.
func leaf(b *protocol.Bid) []byte {
	out := make([]byte, 0, 169)
	out = append(out, b.Node[:]...)
	out = append(out, b.Commitment[:]...)
	out = append(out, b.Signature[:]...)
	var p protocol.BidPrice
	if b.Reveal == nil {
		out = append(out, 0)
	} else {
		out, p = append(out, 1), *b.Reveal
	}
	out = binary.LittleEndian.AppendUint64(out, p.Price)
	return append(out, p.Salt[:]...)
}

// Root is the Merkle root of bids, which must be sorted by node, each once. No bids have the zero root. Error: ErrSet.
func Root(bids []protocol.JudgedBid) (wire.Hash, error) {
	hashes := make([]wire.Hash, len(bids))
	for i := range bids {
		if i > 0 && bytes.Compare(bids[i-1].Bid.Node[:], bids[i].Bid.Node[:]) >= 0 {
			return wire.Hash{}, fmt.Errorf("bids are not sorted by node, each once: %w", ErrSet)
		}
		hashes[i] = wire.LeafHash(leaf(&bids[i].Bid))
	}
	return wire.NewTree(hashes).Root(), nil
}

// judgedHash is the sha256 of what a keeper says about bids: for each node 32 ‖ code u8 ‖ requirement u16 ‖ reputation
// u16 ‖ promise u16 ‖ score u64 ‖ site 16.
func judgedHash(bids []protocol.JudgedBid) wire.Hash {
	h := sha256.New()
	for i := range bids {
		b := &bids[i]
		h.Write(b.Bid.Node[:])
		raw := []byte{b.Code}
		raw = binary.LittleEndian.AppendUint16(raw, b.Requirement)
		raw = binary.LittleEndian.AppendUint16(raw, b.Reputation)
		raw = binary.LittleEndian.AppendUint16(raw, b.Promise)
		raw = binary.LittleEndian.AppendUint64(raw, b.Score)
		h.Write(append(raw, b.Site[:]...))
	}
	return wire.Hash(h.Sum(nil))
}
