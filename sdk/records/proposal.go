package records

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// ProposalSize is the length of an encoded proposal in bytes.
const ProposalSize = TagSize + 8 + 8 + 4 + 4 + 3*32

// Proposal is what a keeper signs that proposes the root of a report.
type Proposal struct {
	Domain    Domain
	Period    Period
	Round     uint32
	Manifests uint32 // how many
	Root      Hash
	Seed      [32]byte // of the committees
	Digest    [32]byte // sha256 of keeper and digest of each manifest, in order
}

// Encode returns the bytes that are signed.
func (p Proposal) Encode() [ProposalSize]byte {
	var b [ProposalSize]byte
	le := binary.LittleEndian
	copy(b[0:8], TagProposal)
	copy(b[8:16], p.Domain[:])
	le.PutUint64(b[16:24], uint64(p.Period))
	le.PutUint32(b[24:28], p.Round)
	le.PutUint32(b[28:32], p.Manifests)
	copy(b[32:64], p.Root[:])
	copy(b[64:96], p.Seed[:])
	copy(b[96:128], p.Digest[:])
	return b
}

// DecodeProposal reads exactly one proposal. Errors: ErrLength, ErrTag.
func DecodeProposal(b []byte) (Proposal, error) {
	if len(b) != ProposalSize {
		return Proposal{}, fmt.Errorf("proposal of %d bytes: %w", len(b), ErrLength)
	}
	if string(b[:8]) != TagProposal {
		return Proposal{}, fmt.Errorf("proposal: %w", ErrTag)
	}
	le := binary.LittleEndian
	return Proposal{
		Domain: Domain(b[8:16]), Period: Period(le.Uint64(b[16:24])), Round: le.Uint32(b[24:28]), Manifests: le.Uint32(b[28:32]),
		Root: Hash(b[32:64]), Seed: [32]byte(b[64:96]), Digest: [32]byte(b[96:128]),
	}, nil
}

// Sign signs the proposal's encoding.
func (p Proposal) Sign(signer Signer) (solana.Signature, error) {
	b := p.Encode()
	sig, err := signer.Sign(b[:])
	if err != nil {
		return sig, fmt.Errorf("sign proposal of period %d: %w", p.Period, err)
	}
	return sig, nil
}

// Verify checks a keeper's signature over the proposal. Error: ErrSignature.
func (p Proposal) Verify(keeper solana.PublicKey, sig solana.Signature) error {
	b := p.Encode()
	return verify(keeper, b[:], sig)
}
