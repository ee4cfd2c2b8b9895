package sealedbid

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	// ErrReveal means that price and salt are not what the commitment hides.
	ErrReveal = errors.New("the reveal is not what was committed to")
	// ErrSet means that a set of bids is not what its head or the chain says.
	ErrSet = errors.New("not the bids that were signed for")
)

// Auction names one auction: an order's address may live more than once, each time with another close.
type Auction struct {
	Domain  records.Domain
	Order   solana.PublicKey
	CloseAt int64 // unix seconds
}

// AuctionOf is the auction of an order.
func AuctionOf(domain records.Domain, o *market.Order) Auction {
	return Auction{Domain: domain, Order: o.Address, CloseAt: o.AuctionClose}
}

// Reveal is the bid that price and salt make.
func (a Auction) Reveal(node [32]byte, p messages.BidPrice) records.Bid {
	return records.Bid{Domain: a.Domain, Order: a.Order, Node: node, CloseAt: a.CloseAt, Price: p.Price, Salt: p.Salt}
}

// Check verifies a bid: the node's signature over the commitment, and that the reveal, if there is one, is what it
// hides.
// Errors: records.ErrSignature, ErrReveal.
func (a Auction) Check(b *messages.Bid, nodeKey solana.PublicKey) error {
	if err := records.VerifyCommitment(b.Commitment, nodeKey, b.Signature); err != nil {
		return err
	}
	if b.Reveal != nil && a.Reveal(b.Node, *b.Reveal).Commitment() != records.Hash(b.Commitment) {
		return fmt.Errorf("bid of node %s: %w", solana.PublicKey(b.Node), ErrReveal)
	}
	return nil
}

// anyPeriod is the period for which keys are looked up here: nothing of an auction is about one, so that either key of
// a keeper will do, for as long as the chain shows both.
const anyPeriod records.Period = 0

// Ack reads an acknowledgement and verifies the keeper's signature, by any of its keys. Errors: records.ErrValue,
// records.ErrSignature.
func Ack(a *messages.BidAck, commitment records.Hash, keys records.Keys) (records.Ack, error) {
	w, _, err := ackBy(a, commitment, keys)
	return w, err
}

// AckSigner is the key with which a keeper acknowledged a bid's reveal; zero where it did not, or with none of its
// keys.
func AckSigner(b *messages.Bid, keeper solana.PublicKey, keys records.Keys) solana.PublicKey {
	a := FindAck(b.Acks, keeper, records.AckReveal)
	if a == nil {
		return solana.PublicKey{}
	}
	_, key, _ := ackBy(a, b.Commitment, keys)
	return key
}

// ackBy also returns the key that signed.
func ackBy(a *messages.BidAck, commitment records.Hash, keys records.Keys) (records.Ack, solana.PublicKey, error) {
	w := records.Ack{Stage: records.AckStage(a.Stage), Commitment: commitment, ReceivedAt: a.ReceivedAt}
	key, err := keys.Find(a.Keeper, anyPeriod, func(key solana.PublicKey) error { return w.Verify(key, a.Signature) })
	return w, key, err
}

// SignAck acknowledges.
func SignAck(s records.Signer, stage records.AckStage, commitment records.Hash, at int64) (messages.BidAck, error) {
	w := records.Ack{Stage: stage, Commitment: commitment, ReceivedAt: at}
	sig, err := w.Sign(s)
	return messages.BidAck{Keeper: s.PublicKey(), Stage: uint8(stage), ReceivedAt: at, Signature: sig}, err
}

// FindAck returns a keeper's acknowledgement of a stage; nil when there is none.
func FindAck(acks []messages.BidAck, keeper solana.PublicKey, stage records.AckStage) *messages.BidAck {
	for i := range acks {
		if acks[i].Keeper == keeper && acks[i].Stage == uint8(stage) {
			return &acks[i]
		}
	}
	return nil
}

// ReadOutcome decodes and verifies a keeper's signed outcome of a bid.
func ReadOutcome(s *messages.SignedOutcome, keys records.Keys) (records.Outcome, error) {
	o, err := records.DecodeOutcome(s.Outcome)
	if err != nil {
		return o, err
	}
	_, err = keys.Find(s.Keeper, anyPeriod, func(key solana.PublicKey) error { return o.Verify(key, s.Signature) })
	return o, err
}

// SignOutcome signs the outcome of a bid.
func SignOutcome(s records.Signer, o records.Outcome) (messages.SignedOutcome, error) {
	sig, err := o.Sign(s)
	raw := o.Encode()
	return messages.SignedOutcome{Keeper: s.PublicKey(), Outcome: raw[:], Signature: sig}, err
}

// leaf is what the Merkle tree is over: node 32 ‖ commitment 32 ‖ signature 64 ‖ revealed u8 ‖ price u64 ‖ salt 32, the
// last two zero without a reveal. Acknowledgements are not in it: keepers that hold the same bids have the same root.
func leaf(b *messages.Bid) []byte {
	out := make([]byte, 0, 169)
	out = append(out, b.Node[:]...)
	out = append(out, b.Commitment[:]...)
	out = append(out, b.Signature[:]...)
	var p messages.BidPrice
	if b.Reveal == nil {
		out = append(out, 0)
	} else {
		out, p = append(out, 1), *b.Reveal
	}
	out = binary.LittleEndian.AppendUint64(out, p.Price)
	return append(out, p.Salt[:]...)
}

// Root is the Merkle root of bids, which must be sorted by node, each once. No bids have the zero root. Error: ErrSet.
func Root(bids []messages.JudgedBid) (records.Hash, error) {
	hashes := make([]records.Hash, len(bids))
	for i := range bids {
		if i > 0 && bytes.Compare(bids[i-1].Bid.Node[:], bids[i].Bid.Node[:]) >= 0 {
			return records.Hash{}, fmt.Errorf("bids are not sorted by node, each once: %w", ErrSet)
		}
		hashes[i] = records.LeafHash(leaf(&bids[i].Bid))
	}
	return records.NewTree(hashes).Root(), nil
}

// judgedHash is the sha256 of what a keeper says about bids: a tag, then for each node 32 ‖ code u8 ‖ requirement u16 ‖
// reputation u16 ‖ guarantee u16 ‖ score u64 ‖ site 16.
func judgedHash(bids []messages.JudgedBid) records.Hash {
	h := sha256.New()
	h.Write([]byte(records.TagJudgements))
	for i := range bids {
		b := &bids[i]
		h.Write(b.Bid.Node[:])
		raw := []byte{b.Code}
		raw = binary.LittleEndian.AppendUint16(raw, b.Requirement)
		raw = binary.LittleEndian.AppendUint16(raw, b.Reputation)
		raw = binary.LittleEndian.AppendUint16(raw, b.Guarantee)
		raw = binary.LittleEndian.AppendUint64(raw, b.Score)
		h.Write(append(raw, b.Site[:]...))
	}
	return records.Hash(h.Sum(nil))
}
