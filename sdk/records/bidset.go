package records

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Lengths in bytes of what keepers sign about auctions.
const (
	BidSetHeadSize = 132
	OutcomeSize    = 92
)

// BidSetHead binds a keeper to its bid set of an auction: all bids that it received, and its judgement of each.
type BidSetHead struct {
	Domain   Domain
	Order    solana.PublicKey
	CloseAt  int64  // of the auction, unix seconds: which life of the order
	ChosenAt int64  // when the keeper looked at the nodes, unix seconds
	Count    uint32 // bids
	Root     Hash   // Merkle root of the bids, as recorded on chain by the keeper that awards
	Judged   Hash   // sha256 of what the keeper says about each bid
}

// Encode returns the 132 bytes that are signed: tag 8 ‖ domain 8 ‖ order 32 ‖ close i64 ‖ chosen at i64 ‖ count u32 ‖
// root 32 ‖ judged 32.
func (h BidSetHead) Encode() [BidSetHeadSize]byte {
	var out [BidSetHeadSize]byte
	copy(out[0:8], TagBidSet)
	copy(out[8:16], h.Domain[:])
	copy(out[16:48], h.Order[:])
	binary.LittleEndian.PutUint64(out[48:56], uint64(h.CloseAt))
	binary.LittleEndian.PutUint64(out[56:64], uint64(h.ChosenAt))
	binary.LittleEndian.PutUint32(out[64:68], h.Count)
	copy(out[68:100], h.Root[:])
	copy(out[100:132], h.Judged[:])
	return out
}

// DecodeBidSetHead reads exactly one head. Errors: ErrLength, ErrTag.
func DecodeBidSetHead(raw []byte) (BidSetHead, error) {
	var h BidSetHead
	if len(raw) != BidSetHeadSize {
		return h, fmt.Errorf("bid set of %d bytes: %w", len(raw), ErrLength)
	}
	if string(raw[0:8]) != TagBidSet {
		return h, fmt.Errorf("bid set: %w", ErrTag)
	}
	copy(h.Domain[:], raw[8:16])
	copy(h.Order[:], raw[16:48])
	h.CloseAt = int64(binary.LittleEndian.Uint64(raw[48:56]))
	h.ChosenAt = int64(binary.LittleEndian.Uint64(raw[56:64]))
	h.Count = binary.LittleEndian.Uint32(raw[64:68])
	copy(h.Root[:], raw[68:100])
	copy(h.Judged[:], raw[100:132])
	return h, nil
}

// Sign signs the head with the key of the keeper's signer.
func (h BidSetHead) Sign(s Signer) (solana.Signature, error) {
	raw := h.Encode()
	sig, err := s.Sign(raw[:])
	if err != nil {
		return sig, fmt.Errorf("sign bids of order %s: %w", h.Order, err)
	}
	return sig, nil
}

// Verify checks a keeper's signature over the head. Error: ErrSignature.
func (h BidSetHead) Verify(keeper solana.PublicKey, sig solana.Signature) error {
	raw := h.Encode()
	return verify(keeper, raw[:], sig)
}

// OutcomeCode is the outcome of a bid, or why it was not accepted.
type OutcomeCode uint8

// The codes. Numbers are part of the signed format and never move.
const (
	OutcomeWon            OutcomeCode = 1
	OutcomeOutbid         OutcomeCode = 2  // Price: the most at which the node would have won
	OutcomeNotRevealed    OutcomeCode = 3  // no reveal in time
	OutcomeWrongReveal    OutcomeCode = 4  // price and salt are not what was committed to
	OutcomeUnsuitable     OutcomeCode = 5  // Requirement: the program's error
	OutcomeTooDear        OutcomeCode = 6  // Price: the order's maximum
	OutcomeLateCommitment OutcomeCode = 7  // came after the close
	OutcomeSecondBid      OutcomeCode = 8  // the node had committed to another bid
	OutcomeOtherSite      OutcomeCode = 9  // the order's nodes stand together somewhere else
	OutcomeNotAwarded     OutcomeCode = 10 // the order went to no node
	OutcomeNoCommitment   OutcomeCode = 11 // a reveal of a bid that was not committed to in time
	OutcomeFull           OutcomeCode = 12 // the keeper holds as many bids as it can
)

var outcomeNames = [...]string{
	OutcomeWon: "won", OutcomeOutbid: "outbid", OutcomeNotRevealed: "not revealed in time", OutcomeWrongReveal: "wrong reveal",
	OutcomeUnsuitable: "does not satisfy the order", OutcomeTooDear: "above the order's maximum", OutcomeLateCommitment: "committed after the close",
	OutcomeSecondBid: "committed to another bid before", OutcomeOtherSite: "the order went to another site",
	OutcomeNotAwarded: "the order was not awarded", OutcomeNoCommitment: "not committed to in time", OutcomeFull: "the keeper takes no more bids",
}

// Valid reports whether the code is one of the constants.
func (c OutcomeCode) Valid() bool { return c >= OutcomeWon && c <= OutcomeFull }

// String returns the code in words, or a number for an unknown one.
func (c OutcomeCode) String() string {
	if !c.Valid() {
		return fmt.Sprintf("outcome(%d)", uint8(c))
	}
	return outcomeNames[c]
}

// Outcome is a keeper's signed record of the outcome of a node's bid.
type Outcome struct {
	Commitment  Hash
	Code        OutcomeCode
	Requirement uint16 // error code of the program; 0 unless unsuitable
	Price       uint64 // µUSDC per GPU-hour, see the codes
	DecidedAt   int64  // unix seconds
	Root        Hash   // of the keeper's bids, zero before it has closed them
}

// Encode returns the 92 bytes that are signed: tag 8 ‖ commitment 32 ‖ code u8 ‖ zero ‖ requirement u16 ‖ price u64 ‖
// decided at i64 ‖ root 32.
func (o Outcome) Encode() [OutcomeSize]byte {
	var out [OutcomeSize]byte
	copy(out[0:8], TagOutcome)
	copy(out[8:40], o.Commitment[:])
	out[40] = byte(o.Code)
	binary.LittleEndian.PutUint16(out[42:44], o.Requirement)
	binary.LittleEndian.PutUint64(out[44:52], o.Price)
	binary.LittleEndian.PutUint64(out[52:60], uint64(o.DecidedAt))
	copy(out[60:92], o.Root[:])
	return out
}

// DecodeOutcome reads exactly one outcome. Errors: ErrLength, ErrTag, ErrReserved, ErrValue.
func DecodeOutcome(raw []byte) (Outcome, error) {
	var o Outcome
	switch {
	case len(raw) != OutcomeSize:
		return o, fmt.Errorf("outcome of %d bytes: %w", len(raw), ErrLength)
	case string(raw[0:8]) != TagOutcome:
		return o, fmt.Errorf("outcome: %w", ErrTag)
	case raw[41] != 0:
		return o, fmt.Errorf("outcome: %w", ErrReserved)
	case !OutcomeCode(raw[40]).Valid():
		return o, fmt.Errorf("outcome code %d: %w", raw[40], ErrValue)
	}
	copy(o.Commitment[:], raw[8:40])
	o.Code = OutcomeCode(raw[40])
	o.Requirement = binary.LittleEndian.Uint16(raw[42:44])
	o.Price = binary.LittleEndian.Uint64(raw[44:52])
	o.DecidedAt = int64(binary.LittleEndian.Uint64(raw[52:60]))
	copy(o.Root[:], raw[60:92])
	return o, nil
}

// Sign signs the outcome with the key of the keeper's signer.
func (o Outcome) Sign(s Signer) (solana.Signature, error) {
	raw := o.Encode()
	sig, err := s.Sign(raw[:])
	if err != nil {
		return sig, fmt.Errorf("sign outcome of bid %x: %w", o.Commitment[:4], err)
	}
	return sig, nil
}

// Verify checks a keeper's signature over the outcome. Error: ErrSignature.
func (o Outcome) Verify(keeper solana.PublicKey, sig solana.Signature) error {
	raw := o.Encode()
	return verify(keeper, raw[:], sig)
}
