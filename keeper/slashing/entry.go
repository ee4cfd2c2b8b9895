package slashing

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// entry is a proof as it is kept; one of its parts is there.
type entry struct {
	Equivocation *equivocationProof `cbor:"2,keyasint,omitempty"`
	Cell         *wrongCell         `cbor:"3,keyasint,omitempty"`
}

// equivocationProof is two statements of one keeper, or two manifests.
type equivocationProof struct {
	Keeper     [32]byte    `cbor:"1,keyasint"`
	Records    [2][]byte   `cbor:"2,keyasint"`
	Signatures [2][64]byte `cbor:"3,keyasint"`
}

// name is under which it is kept: one proof is enough against a node or a keeper.
func (e entry) name() string {
	if e.Cell != nil {
		return workName(e.Cell.Node)
	}
	return "equivocation/" + solana.PublicKey(e.Equivocation.Keeper).String()
}

func workName(node solana.PublicKey) string { return "work/" + node.String() }

func (e entry) encode() ([]byte, error) { return p2p.Encode(e) }

// kinds counts the parts that are there.
func (e entry) kinds() (n int) {
	for _, there := range []bool{e.Equivocation != nil, e.Cell != nil} {
		if there {
			n++
		}
	}
	return n
}

// decode reads an entry. Error: store.ErrCorrupt, since only this package writes them.
func decode(raw []byte) (entry, error) {
	var e entry
	if err := p2p.Decode(raw, &e); err != nil {
		return e, fmt.Errorf("%w: proof: %w", store.ErrCorrupt, err)
	}
	switch {
	case e.kinds() != 1:
		return e, fmt.Errorf("%w: proof of %d kinds", store.ErrCorrupt, e.kinds())
	case e.Cell != nil:
		return e, e.Cell.check()
	case e.Equivocation != nil:
		if _, _, err := e.Equivocation.read(); err != nil {
			return e, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
	}
	return e, nil
}

// read returns the statements or the manifests; the other is nil.
func (c equivocationProof) read() (statements []market.SignedStatement, manifests []market.SignedManifest, err error) {
	for i, raw := range c.Records {
		if len(raw) == records.ManifestSize {
			m, err := records.DecodeManifest(raw)
			if err != nil {
				return nil, nil, err
			}
			manifests = append(manifests, market.SignedManifest{Manifest: m, Signature: c.Signatures[i]})
			continue
		}
		st, err := records.DecodeStatement(raw)
		if err != nil {
			return nil, nil, err
		}
		statements = append(statements, market.SignedStatement{Statement: st, Signature: c.Signatures[i]})
	}
	if len(statements) == 1 {
		return nil, nil, errors.New("a statement and a manifest")
	}
	return statements, manifests, nil
}

// prove is the three instructions that bring it on chain; keys are those that the keeper answers for.
func (c equivocationProof) prove(finder, stakeMint solana.PublicKey, keys []solana.PublicKey) ([]solana.Instruction, error) {
	statements, manifests, err := c.read()
	switch {
	case err != nil:
		return nil, err
	case statements != nil:
		return ix.ProveEquivocation(ix.ProveEquivocationArgs{
			Finder: finder, Keeper: c.Keeper, Keys: keys, StakeMint: stakeMint, One: statements[0], Other: statements[1],
		})
	}
	return ix.ProveManifestEquivocation(ix.ProveManifestEquivocationArgs{
		Finder: finder, Keeper: c.Keeper, Keys: keys, StakeMint: stakeMint, One: manifests[0], Other: manifests[1],
	})
}
