package cuda

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"
	"unsafe"

	"github.com/gantry-market/gantry/attest/measure"
)

// chain makes rounds until the time is over and all slots are full.
func (m *measurement) chain(ctx context.Context, ended func(round uint32, root measure.Hash)) error {
	start := time.Now()
	n := uint64(m.p.Order)
	if err := m.rowKeys(m.task.Columns, 0, n); err != nil {
		return err
	}
	if err := m.expand(m.keys.at, m.columns.at, n); err != nil {
		return err
	}
	for round := uint32(0); round < measure.MaxRounds && (round < m.p.Resident || !over(start, m.p.ChainMs)); round++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		root, err := m.round(round)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		m.result.Roots = append(m.result.Roots, root)
		ended(round, root)
	}
	m.result.Chain = time.Since(start)
	return nil
}

func over(start time.Time, ms uint32) bool {
	return time.Since(start) >= time.Duration(ms)*time.Millisecond
}

// roundSeed is the seed of a round of which the one before has ended.
func (m *measurement) roundSeed(round uint32) measure.Hash {
	var before measure.Hash
	if round > 0 {
		before = m.result.Roots[round-1]
	}
	return measure.RoundSeed(m.task.Nonce, round, before)
}

// round makes a product stripe by stripe, with its bytes and the lower levels of its tree. The levels above the blocks are
// made here: they are too narrow for a GPU, and openings need them.
func (m *measurement) round(round uint32) (root measure.Hash, err error) {
	if err := m.rowKeys(m.roundSeed(round), 0, uint64(m.p.Rows)); err != nil {
		return root, err
	}
	slot := m.memory.at + uint64(round%m.p.Resident)*m.p.SlotBytes()
	n := uint64(m.p.Order)
	for row := uint64(0); row < uint64(m.p.Rows); row += m.stripe {
		leaves := m.leaves[0].at + 32*row*uint64(m.p.RowLeaves())
		if err := m.bytes(m.plan, m.keys.at+8*row, slot+row*n, leaves, m.stripe); err != nil {
			return root, err
		}
	}
	from, to := m.leaves[0], m.leaves[1]
	width := uint64(m.p.Leaves())
	for width > m.blockCount() {
		if err := m.d.launchLine("pairs", width/2, from.at, to.at, width, width/2); err != nil {
			return root, err
		}
		width /= 2
		from, to = to, from
	}
	blocks := make([]measure.Hash, width)
	if err := from.hashes(blocks); err != nil {
		return root, err
	}
	m.blocks = append(m.blocks, blocks)
	return measure.Root(blocks), nil
}

// blockCount is the number of blocks of a round.
func (m *measurement) blockCount() uint64 { return uint64(m.p.Rows) / blockRows }

// rowKeys launches the derivation of keys.
func (m *measurement) rowKeys(seed measure.Hash, first, count uint64) error {
	s := quarters(&seed)
	return m.d.launchLine("rowkeys", count, m.keys.at, s[0], s[1], s[2], s[3], first, count)
}

// expand launches the expansion of rows or columns.
func (m *measurement) expand(keys, dst, rows uint64) error {
	n := uint64(m.p.Order)
	return m.d.launchLine("rows", rows*n/16, keys, dst, uint64(bits.Len64(n/16)-1), rows*n/16)
}

// bytes launches the product of rows, the making of their bytes and the hashing of their leaves.
func (m *measurement) bytes(plan *blasPlan, keys, kept, leaves, rows uint64) error {
	n := uint64(m.p.Order)
	if err := m.expand(keys, m.rows.at, rows); err != nil {
		return err
	}
	if err := m.d.multiply(plan, m.rows.at, m.columns.at, m.entries.at, n, rows); err != nil {
		return err
	}
	cells := fmt.Sprintf("cells%d", m.p.Fold)
	if err := m.d.launch(cells, uint32(rows*n/entriesOfBlock), 1, threads, m.entries.at, kept, m.mixed.at); err != nil {
		return err
	}
	count := rows * uint64(m.p.RowLeaves())
	return m.d.launchLine("mixleaves", count, m.mixed.at, leaves, count)
}

// hashes reads the first hashes of b.
func (b *buffer) hashes(dst []measure.Hash) error {
	return b.read(unsafe.Slice(&dst[0][0], 32*len(dst)), 0)
}

// Leaves implements [measure.Run]: it computes the blocks of the leaves again.
func (m *measurement) Leaves(ctx context.Context, at []measure.LeafAt) ([]measure.LeafOpening, error) {
	for _, a := range at {
		if int(a.Round) >= len(m.result.Roots) || a.Leaf >= m.p.Leaves() {
			return nil, fmt.Errorf("%w: there is no leaf %d of round %d", ErrBounds, a.Leaf, a.Round)
		}
	}
	out := make([]measure.LeafOpening, len(at))
	err := m.reopened(ctx, func() error {
		for i, a := range at {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("cuda: %w", err)
			}
			if err := m.leaf(a, &out[i]); err != nil {
				return fmt.Errorf("cuda: leaf %d of round %d: %w", a.Leaf, a.Round, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (m *measurement) leaf(at measure.LeafAt, out *measure.LeafOpening) error {
	perBlock := blockRows * m.p.RowLeaves()
	block, inside := at.Leaf/perBlock, at.Leaf%perBlock
	if err := m.rowKeys(m.roundSeed(at.Round), uint64(block)*blockRows, blockRows); err != nil {
		return err
	}
	if err := m.bytes(m.again, m.keys.at, m.spare.at, m.leaves[0].at, blockRows); err != nil {
		return err
	}
	leaves := make([]measure.Hash, perBlock)
	if err := m.leaves[0].hashes(leaves); err != nil {
		return err
	}
	if err := m.mixed.read(out.Bytes[:], uint64(inside)*measure.LeafBytes); err != nil {
		return err
	}
	nodes := m.blocks[at.Round]
	if measure.Root(leaves) != nodes[block] {
		return ErrRecomputed
	}
	out.Path = append(measure.Path(leaves, inside), measure.Path(nodes, block)...)
	return nil
}

// multiply launches the product of rows of n entries with a matrix of order n, by cuBLASLt where there is a plan.
func (d *Device) multiply(plan *blasPlan, left, columns, c, n, rows uint64) error {
	if plan != nil && d.blas != nil {
		return plan.run(left, columns, c)
	}
	return d.launch("product", uint32((n+63)/64), uint32((rows+63)/64), 256, left, columns, c, n, rows)
}

// quarters splits 32 bytes in four words as kernels take them.
func quarters(b *[32]byte) (q [4]uint64) {
	for i := range q {
		q[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return q
}
