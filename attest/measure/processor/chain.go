package processor

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/internal/dot"
)

// stripe is the number of rows that a thread multiplies at a time. Their entries and rows stay in its cache.
const stripe = 16

// chain makes rounds until the time is over and all slots are full.
func (r *run) chain(ctx context.Context, ended func(round uint32, root measure.Hash)) error {
	start := r.elapsed()
	p := r.task.Profile
	n := int(p.Order)
	r.columns = make([]int16, n*n)
	defer func() { r.columns = nil }()
	err := r.each(ctx, n, func(_, j int) error {
		expand(r.columns[j*n:(j+1)*n], r.task.Columns, uint32(j))
		return nil
	})
	if err != nil {
		return err
	}
	work := make([]scratch, r.device.threads)
	for i := range work {
		work[i] = scratch{rows: make([]int16, stripe*n), entries: make([]int32, stripe*n)}
	}
	var before measure.Hash
	for round := uint32(0); round < measure.MaxRounds && (round < p.Resident || !r.since(start, p.ChainMs)); round++ {
		root, err := r.round(ctx, round, before, work)
		if err != nil {
			return err
		}
		ended(round, root)
		r.result.Roots = append(r.result.Roots, root)
		before = root
	}
	r.result.Chain = r.elapsed() - start
	return nil
}

// scratch is what a thread writes to while it multiplies a stripe.
type scratch struct {
	rows    []int16
	entries []int32
}

func expand(dst []int16, seed measure.Hash, index uint32) {
	k := measure.RowKey(seed, index)
	dot.Expand(dst, [2]uint32{k.K0, k.K1})
}

// round makes a product, writes its bytes and returns its root.
func (r *run) round(ctx context.Context, round uint32, before measure.Hash, work []scratch) (measure.Hash, error) {
	p := r.task.Profile
	seed := measure.RoundSeed(r.task.Nonce, round, before)
	slot := r.memory[uint64(round%p.Resident)*p.SlotBytes():][:p.SlotBytes()]
	mixed := make([]byte, p.SlotBytes()/uint64(p.Fold))
	nodes := make([]measure.Hash, int(p.Rows)/stripe) // the tree's level of stripes, each of a power of two of leaves
	err := r.each(ctx, len(nodes), func(worker, s int) error {
		w := work[worker]
		r.multiply(w, seed, uint32(s*stripe))
		r.bytes(w.entries, slot[s*len(w.entries):], mixed[s*len(w.entries)/int(p.Fold):])
		leaves := make([]measure.Hash, stripe*int(p.RowLeaves()))
		for i := range leaves {
			leaves[i] = measure.LeafHash((*[measure.LeafBytes]byte)(mixed[(s*len(leaves)+i)*measure.LeafBytes:]))
		}
		nodes[s] = measure.Root(leaves)
		return nil
	})
	if err != nil {
		return measure.Hash{}, err
	}
	r.mixed = append(r.mixed, mixed)
	return measure.Root(nodes), nil
}

// multiply makes the entries of a stripe of rows.
func (r *run) multiply(w scratch, seed measure.Hash, first uint32) {
	n := int(r.task.Profile.Order)
	for i := range stripe {
		expand(w.rows[i*n:(i+1)*n], seed, first+uint32(i))
	}
	var out [8]int32
	for j := 0; j < n; j += 4 { // four columns stay in the nearest cache while all rows pass
		for i := 0; i < stripe; i += 2 {
			dot.Tile(&out, w.rows[i*n:], r.columns[j*n:], n)
			copy(w.entries[i*n+j:], out[:4])
			copy(w.entries[(i+1)*n+j:], out[4:])
		}
	}
}

// bytes makes both bytes of entries.
func (r *run) bytes(entries []int32, kept, mixed []byte) {
	for i, c := range entries {
		kept[i] = measure.Kept(c)
	}
	fold := int(r.task.Profile.Fold)
	for g := range len(entries) / fold {
		mixed[g] = measure.Mixed(entries[g*fold : (g+1)*fold])
	}
}

// Leaves implements [measure.Run].
func (r *run) Leaves(ctx context.Context, at []measure.LeafAt) ([]measure.LeafOpening, error) {
	if r.memory == nil {
		return nil, ErrClosed
	}
	p := r.task.Profile
	of := map[uint32][]int{} // openings of each round
	var rounds []uint32
	for i, a := range at {
		if int(a.Round) >= len(r.mixed) || a.Leaf >= p.Leaves() {
			return nil, fmt.Errorf("processor: there is no leaf %d of round %d", a.Leaf, a.Round)
		}
		if of[a.Round] == nil {
			rounds = append(rounds, a.Round)
		}
		of[a.Round] = append(of[a.Round], i)
	}
	out := make([]measure.LeafOpening, len(at))
	err := r.each(ctx, len(rounds), func(_, i int) error {
		mixed, leaves := r.mixed[rounds[i]], make([]measure.Hash, p.Leaves())
		for l := range leaves {
			leaves[l] = measure.LeafHash((*[measure.LeafBytes]byte)(mixed[l*measure.LeafBytes:]))
		}
		for _, o := range of[rounds[i]] {
			leaf := at[o].Leaf
			copy(out[o].Bytes[:], mixed[leaf*measure.LeafBytes:])
			out[o].Path = measure.Path(leaves, leaf)
		}
		return nil
	})
	return out, err
}
