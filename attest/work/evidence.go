package work

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of the items of evidence of kind [attest.KindWork].
const (
	// ItemClaim is an encoded [Claim].
	ItemClaim = "claim"
	// ItemSignature is the node key's ed25519 signature over the claim.
	ItemSignature = "signature"
	// ItemOpenings are the [EvidenceOpenings] chunks that nonce and root select.
	ItemOpenings = "openings"
)

// EvidenceOpenings is the number of opened chunks in a bundle. The prover can redo their choice by changing an entry,
// so k of them bind only where (1−f)^−k tries are out of reach: see docs/protocol/work-proof.md.
const EvidenceOpenings = 64

const (
	evidenceSeedTag   = "gantry-work-evidence-1"
	evidenceSampleTag = "gantry-work-openings-1"
)

// EvidenceSeed binds a product to an evidence challenge: sha256("gantry-work-evidence-1" ‖ nonce). The nonce covers
// cluster, program, node key and a finalised slot ([attest.Challenge]), so a product of another challenge, node or time
// has another seed.
func EvidenceSeed(nonce [32]byte) Seed {
	return sha256.Sum256(append([]byte(evidenceSeedTag), nonce[:]...))
}

// evidenceSample returns the chunks that must be opened, as row·(n/32)+chunk.
func evidenceSample(nonce [32]byte, root Hash, n int) []int {
	secret := sha256.Sum256(append([]byte(evidenceSampleTag), nonce[:]...))
	return Sample(root, secret, n*n/ChunkEntries, EvidenceOpenings)
}

// NewEvidence makes evidence of a proof whose seed is [EvidenceSeed] of nonce. sign signs with the node key.
func NewEvidence(nonce [32]byte, p *Proof, domain [8]byte, node [32]byte, period uint64, sign func([]byte) ([64]byte, error)) (attest.Evidence, error) {
	if p.Seed != EvidenceSeed(nonce) {
		return attest.Evidence{}, fmt.Errorf("%w: the seed is not the nonce's", ErrMismatch)
	}
	c := p.Claim(domain, node, period).Bytes()
	signature, err := sign(c[:])
	if err != nil {
		return attest.Evidence{}, fmt.Errorf("work: sign the claim: %w", err)
	}
	var opened []ChunkOpening
	for _, at := range evidenceSample(nonce, p.Root, p.N) {
		o, err := p.OpenChunk(at/(p.N/ChunkEntries), at%(p.N/ChunkEntries))
		if err != nil {
			return attest.Evidence{}, err
		}
		opened = append(opened, o)
	}
	return attest.Evidence{Kind: attest.KindWork, Items: []attest.Item{
		{Name: ItemClaim, Data: c[:]},
		{Name: ItemOpenings, Data: encodeOpenings(opened)},
		{Name: ItemSignature, Data: signature[:]},
	}}, nil
}

// EvidenceOptions are what a bundle's work evidence is held against.
type EvidenceOptions struct {
	// Domain, Node and NodeKey say whose claim it must be.
	Domain  [8]byte
	Node    [32]byte
	NodeKey [32]byte
	// MinN is the least order of the product; 0 means any.
	MinN int
	// Whole reports whether the caller received the whole product of this root and checked it with [Verifier]. nil: the
	// bundle's samples are all there is.
	Whole func(root Hash) bool
	// Took returns the time that the caller measured between nonce and claim. A bundle cannot carry it: it would be the
	// prover's own statement.
	Took func(root Hash) (time.Duration, bool)
	// Bound is the most that it may have taken; used with Took.
	Bound time.Duration
}

// EvidenceVerifier checks evidence of kind [attest.KindWork].
type EvidenceVerifier struct{ o EvidenceOptions }

var _ attest.Verifier = (*EvidenceVerifier)(nil)

// NewEvidenceVerifier returns a verifier for one node.
func NewEvidenceVerifier(o EvidenceOptions) *EvidenceVerifier { return &EvidenceVerifier{o: o} }

// Kind implements [attest.Verifier].
func (v *EvidenceVerifier) Kind() attest.Kind { return attest.KindWork }

// Verify implements [attest.Verifier]. now is not used: the nonce is what makes a product fresh.
func (v *EvidenceVerifier) Verify(e attest.Evidence, b attest.Binding, _ time.Time) (attest.Result, error) {
	r := attest.Result{Kind: attest.KindWork, Instance: e.Instance}
	c, signature, opened, err := parseEvidence(e)
	if err != nil {
		return r, r.Fail("format", attest.ErrMalformed, "%v", err)
	}
	r.Pass("format", "order %d, %d opened chunks", c.N, len(opened))
	if !c.Verify(v.o.NodeKey[:], signature) {
		return r, r.Fail("node signature", attest.ErrUntrusted, "the work claim is not signed by the node's key")
	}
	r.Pass("node signature", "the node's key signed the work claim")
	if c.Domain != v.o.Domain || c.Node != v.o.Node {
		return r, r.Fail("node", attest.ErrPolicy, "the work claim names another cluster or node")
	}
	r.Pass("node", "this cluster and node")
	if c.Seed != EvidenceSeed(b.Nonce) {
		return r, r.Fail("seed", attest.ErrStale, "the product answers another challenge")
	}
	r.Pass("seed", "follows from the challenge's nonce")
	n := int(c.N)
	if n < v.o.MinN {
		return r, r.Fail("order", attest.ErrPolicy, "order %d is below %d", n, v.o.MinN)
	}
	r.Pass("order", "%d", n)
	if err := checkOpenings(c, b.Nonce, opened); err != nil {
		sentinel := attest.ErrMalformed
		if errors.Is(err, ErrWrongProduct) {
			sentinel = attest.ErrUntrusted
		}
		return r, r.Fail("opened chunks", sentinel, "%v", err)
	}
	r.Pass("opened chunks", "%d of %d chunks are those of the product", len(opened), n*n/ChunkEntries)
	r.Claim("work order", strconv.Itoa(n))
	r.Claim("work root", fmt.Sprintf("%x", c.Root))
	r.Claim("work period", strconv.FormatUint(c.Period, 10))
	return r, v.outside(&r, c)
}

// outside notes what only the one who was there can know.
func (v *EvidenceVerifier) outside(r *attest.Result, c Claim) error {
	if v.o.Whole != nil && v.o.Whole(c.Root) {
		r.Pass("whole product", "checked by Freivalds modulo 2^61-1 when it was received")
	} else {
		r.Skip("whole product", "a bundle carries samples only")
	}
	took, known := time.Duration(0), false
	if v.o.Took != nil {
		took, known = v.o.Took(c.Root)
	}
	switch {
	case !known:
		r.Skip("time", "a bundle cannot show when the claim was made")
	case took <= 0 || took > v.o.Bound:
		return r.Fail("time", attest.ErrPolicy, "%v, bound %v", took, v.o.Bound)
	default:
		r.Pass("time", "%v, bound %v", took, v.o.Bound)
	}
	r.Skip("machine", "a product does not tell which machine computed it")
	return nil
}

// checkOpenings checks that exactly the selected chunks are open and right.
func checkOpenings(c Claim, nonce [32]byte, opened []ChunkOpening) error {
	n := int(c.N)
	want := evidenceSample(nonce, c.Root, n)
	if len(opened) != len(want) {
		return fmt.Errorf("%w: %d chunks opened, want %d", ErrEncoding, len(opened), len(want))
	}
	for i, o := range opened {
		if at := int(o.Row)*(n/ChunkEntries) + int(o.Chunk); at != want[i] {
			return fmt.Errorf("%w: chunk %d opened, nonce and root select %d", ErrEncoding, at, want[i])
		}
		if err := VerifyChunk(c.Seed, n, c.Root, o); err != nil {
			return err
		}
	}
	return nil
}

// parseEvidence takes a piece of evidence apart. There is one encoding only.
func parseEvidence(e attest.Evidence) (c Claim, signature [64]byte, opened []ChunkOpening, err error) {
	names := [...]string{ItemClaim, ItemOpenings, ItemSignature}
	if e.Kind != attest.KindWork || len(e.Items) != len(names) {
		return c, signature, nil, fmt.Errorf("%w: %v with %d items", ErrEncoding, e.Kind, len(e.Items))
	}
	for i, name := range names {
		if e.Items[i].Name != name {
			return c, signature, nil, fmt.Errorf("%w: item %d is %q, want %q", ErrEncoding, i, e.Items[i].Name, name)
		}
	}
	if c, err = ParseClaim(e.Items[0].Data); err != nil {
		return c, signature, nil, err
	}
	if len(e.Items[2].Data) != ed25519.SignatureSize {
		return c, signature, nil, fmt.Errorf("%w: signature of %d bytes", ErrEncoding, len(e.Items[2].Data))
	}
	opened, err = ParseOpenings(e.Items[1].Data, int(c.N))
	return c, [64]byte(e.Items[2].Data), opened, err
}

// encodeOpenings writes a count u8 and the openings, whose lengths their positions give.
func encodeOpenings(opened []ChunkOpening) []byte {
	b := []byte{byte(len(opened))}
	for _, o := range opened {
		b = append(b, o.Bytes()...)
	}
	return b
}

// ParseOpenings decodes at most [EvidenceOpenings] openings of a product of order n in strictly increasing order.
func ParseOpenings(b []byte, n int) ([]ChunkOpening, error) {
	if err := CheckOrder(n); err != nil {
		return nil, err
	}
	if len(b) == 0 || int(b[0]) > EvidenceOpenings {
		return nil, fmt.Errorf("%w: bad count of openings", ErrEncoding)
	}
	count, b := int(b[0]), b[1:]
	opened := make([]ChunkOpening, 0, count)
	last := -1
	for len(opened) < count {
		if len(b) < openingFixed {
			return nil, fmt.Errorf("%w: opening %d is cut off", ErrEncoding, len(opened))
		}
		size := openingFixed + 32*int(b[openingFixed-1])
		if len(b) < size {
			return nil, fmt.Errorf("%w: opening %d is cut off", ErrEncoding, len(opened))
		}
		o, err := ParseChunkOpening(b[:size], n)
		if err != nil {
			return nil, err
		}
		at := int(binary.LittleEndian.Uint32(b))*(n/ChunkEntries) + int(o.Chunk)
		if at <= last {
			return nil, fmt.Errorf("%w: openings are not in increasing order", ErrEncoding)
		}
		last, b, opened = at, b[size:], append(opened, o)
	}
	if len(b) != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last opening", ErrEncoding, len(b))
	}
	return opened, nil
}
