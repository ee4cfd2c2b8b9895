package slashing

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/store"
)

// record is a proof as it is kept; one of its parts is there.
type record struct {
	Work         *badWork       `cbor:"1,keyasint,omitempty"`
	Equivocation *contradiction `cbor:"2,keyasint,omitempty"`
}

// badWork is a market.BadWork without the node's account, which is looked up when it is used.
type badWork struct {
	Node       [32]byte `cbor:"1,keyasint"`
	Commitment []byte   `cbor:"2,keyasint"`
	Signature  [64]byte `cbor:"3,keyasint"`
	Opening    []byte   `cbor:"4,keyasint"`
	Column     uint32   `cbor:"5,keyasint"`
}

// contradiction is two statements of one keeper, or two manifests.
type contradiction struct {
	Keeper     [32]byte    `cbor:"1,keyasint"`
	Words      [2][]byte   `cbor:"2,keyasint"`
	Signatures [2][64]byte `cbor:"3,keyasint"`
}

// name is under which it is kept: one proof is enough against a node or a keeper.
func (r record) name() string {
	if r.Work != nil {
		return "work/" + solana.PublicKey(r.Work.Node).String()
	}
	return "equivocation/" + solana.PublicKey(r.Equivocation.Keeper).String()
}

func (r record) encode() ([]byte, error) { return p2p.Encode(r) }

// decode reads a record. Error: store.ErrCorrupt, since only this package writes them.
func decode(raw []byte) (record, error) {
	var r record
	if err := p2p.Decode(raw, &r); err != nil {
		return r, fmt.Errorf("%w: proof: %w", store.ErrCorrupt, err)
	}
	switch {
	case (r.Work == nil) == (r.Equivocation == nil):
		return r, fmt.Errorf("%w: proof of neither kind", store.ErrCorrupt)
	case r.Work != nil && len(r.Work.Commitment) != market.CommitmentSize:
		return r, fmt.Errorf("%w: commitment of %d bytes", store.ErrCorrupt, len(r.Work.Commitment))
	case r.Equivocation != nil:
		if _, _, err := r.Equivocation.read(); err != nil {
			return r, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
	}
	return r, nil
}

// of is the proof against the node as it is now.
func (b badWork) of(n *market.Node) market.BadWork {
	return market.BadWork{
		Node: *n, Commitment: [market.CommitmentSize]byte(b.Commitment), Signature: b.Signature, Opening: b.Opening, Column: int(b.Column),
	}
}

// read returns what was said, or what was listed; the other is nil.
func (c contradiction) read() (said []market.Said, listed []market.Listed, err error) {
	for i, raw := range c.Words {
		if len(raw) == records.ManifestSize {
			m, err := records.DecodeManifest(raw)
			if err != nil {
				return nil, nil, err
			}
			listed = append(listed, market.Listed{Manifest: m, Signature: c.Signatures[i]})
			continue
		}
		st, err := records.DecodeStatement(raw)
		if err != nil {
			return nil, nil, err
		}
		said = append(said, market.Said{Statement: st, Signature: c.Signatures[i]})
	}
	if len(said) == 1 {
		return nil, nil, errors.New("a statement and a manifest")
	}
	return said, listed, nil
}

// prove is the three instructions that bring it on chain.
func (c contradiction) prove(finder, stakeMint solana.PublicKey) ([]solana.Instruction, error) {
	said, listed, err := c.read()
	switch {
	case err != nil:
		return nil, err
	case said != nil:
		return market.ProveEquivocation(market.ProveEquivocationArgs{
			Finder: finder, Keeper: c.Keeper, StakeMint: stakeMint, One: said[0], Other: said[1],
		})
	}
	return market.ProveManifests(market.ProveManifestsArgs{
		Finder: finder, Keeper: c.Keeper, StakeMint: stakeMint, One: listed[0], Other: listed[1],
	})
}
