package work

import (
	"fmt"

	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

// Proof is a product together with its Merkle tree.
type Proof struct {
	Seed Seed
	N    int
	Root Hash
	// C holds the product row by row, N·N entries.
	C []int32

	rowRoots []Hash
}

// NewProof builds the Merkle tree of a product. It does not check the product.
func NewProof(seed Seed, n int, c []int32) (*Proof, error) {
	if err := CheckOrder(n); err != nil {
		return nil, err
	}
	if len(c) != n*n {
		return nil, fmt.Errorf("work: product of order %d has %d entries, want %d", n, len(c), n*n)
	}
	p := &Proof{Seed: seed, N: n, C: c, rowRoots: make([]Hash, n)}
	row := make([]byte, 4*n)
	leaves := make([]Hash, 0, n/ChunkEntries)
	for i := range p.rowRoots {
		encodeEntries(row, p.Row(i))
		p.rowRoots[i] = tree.Root(chunkHashes(leaves[:0], row))
	}
	p.Root = productRoot(p.rowRoots)
	return p, nil
}

// Row returns row i of the product; it aliases C.
func (p *Proof) Row(i int) []int32 { return p.C[i*p.N : (i+1)*p.N] }

// Header returns what is sent first.
func (p *Proof) Header() Header {
	return Header{Seed: p.Seed, N: p.N, Root: p.Root}
}

// Claim returns what the node signs about the proof.
func (p *Proof) Claim(domain [8]byte, node [32]byte, period uint64) Claim {
	return Claim{Domain: domain, Node: node, Period: period, Seed: p.Seed, N: uint32(p.N), Root: p.Root}
}
