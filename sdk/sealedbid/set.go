package sealedbid

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Set is all bids of an auction as one keeper saw and judged them, signed by it.
type Set struct {
	Keeper    solana.PublicKey
	Head      records.BidSetHead
	Signature solana.Signature
	Bids      []messages.JudgedBid // by node
}

// SignSet signs a set of judged bids. Error: ErrSet, the signer's.
func SignSet(a Auction, judged []messages.JudgedBid, at int64, s records.Signer) (Set, error) {
	root, err := Root(judged)
	if err != nil {
		return Set{}, err
	}
	set := Set{
		Keeper: s.PublicKey(), Bids: judged,
		Head: records.BidSetHead{
			Domain: a.Domain, Order: a.Order, CloseAt: a.CloseAt, ChosenAt: at, Count: uint32(len(judged)), Root: root, Judged: judgedHash(judged),
		},
	}
	set.Signature, err = set.Head.Sign(s)
	return set, err
}

// Verify checks that these are the bids that the keeper signed for, of this auction. It does not judge them.
// Errors: ErrSet, records.ErrSignature.
func (s *Set) Verify(a Auction, keys records.Keys) error {
	h := s.Head
	if h.Domain != a.Domain || h.Order != a.Order || h.CloseAt != a.CloseAt {
		return fmt.Errorf("bids of another auction: %w", ErrSet)
	}
	if _, err := keys.Find(s.Keeper, anyPeriod, func(key solana.PublicKey) error { return h.Verify(key, s.Signature) }); err != nil {
		return err
	}
	root, err := Root(s.Bids)
	switch {
	case err != nil:
		return err
	case int(h.Count) != len(s.Bids):
		return fmt.Errorf("%d bids, signed for are %d: %w", len(s.Bids), h.Count, ErrSet)
	case root != h.Root:
		return fmt.Errorf("the bids have another Merkle root: %w", ErrSet)
	case judgedHash(s.Bids) != h.Judged:
		return fmt.Errorf("the judgements of the bids are not those that were signed: %w", ErrSet)
	}
	return nil
}

// Find returns the bid of a node; nil when it has none.
func (s *Set) Find(node solana.PublicKey) *messages.JudgedBid {
	for i := range s.Bids {
		if s.Bids[i].Bid.Node == node {
			return &s.Bids[i]
		}
	}
	return nil
}

// Parts cuts the set into messages.
func (s *Set) Parts() []messages.BidSetPart {
	head := s.Head.Encode()
	first := messages.BidSetPart{Version: messages.Version, Keeper: s.Keeper, Head: head[:], Signature: s.Signature, Bids: []messages.JudgedBid{}}
	out := []messages.BidSetPart{first}
	for bids := s.Bids; len(bids) > 0; {
		n := min(len(bids), messages.MaxPartBids)
		out = append(out, messages.BidSetPart{Version: messages.Version, Keeper: s.Keeper, Bids: bids[:n]})
		bids = bids[n:]
	}
	return out
}

// MaxSetBids is how many bids a set may have: as many nodes as a market may have, with room.
const MaxSetBids = 1 << 17

// Assembler puts a set together from its parts.
type Assembler struct {
	set  Set
	have bool
}

// Add takes the next part. Errors: ErrSet, and those of records.DecodeBidSetHead.
func (a *Assembler) Add(p messages.BidSetPart) error {
	if !a.have {
		head, err := records.DecodeBidSetHead(p.Head)
		if err != nil {
			return err
		}
		a.set, a.have = Set{Keeper: p.Keeper, Head: head, Signature: p.Signature}, true
	}
	if len(p.Bids) > messages.MaxPartBids || len(a.set.Bids)+len(p.Bids) > min(int(a.set.Head.Count), MaxSetBids) {
		return fmt.Errorf("more bids than were signed for: %w", ErrSet)
	}
	a.set.Bids = append(a.set.Bids, p.Bids...)
	return nil
}

// Set is the whole, verified. Errors: those of Set.Verify.
func (a *Assembler) Set(of Auction, keys records.Keys) (Set, error) {
	if !a.have {
		return Set{}, fmt.Errorf("no head: %w", ErrSet)
	}
	return a.set, a.set.Verify(of, keys)
}

// Unverified is the whole as it came: the caller must call Verify. Error: ErrSet for no parts at all.
func (a *Assembler) Unverified() (Set, error) {
	if !a.have {
		return Set{}, fmt.Errorf("no head: %w", ErrSet)
	}
	return a.set, nil
}

// Auction is the auction that the head of the set names.
func (s *Set) Auction() Auction {
	return Auction{Domain: s.Head.Domain, Order: s.Head.Order, CloseAt: s.Head.CloseAt}
}
