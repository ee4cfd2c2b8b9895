package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/gantry-market/gantry/attest/work"
)

// workspace holds one product of order n and its trees.
type workspace struct {
	d       *Device
	n       uint64
	factors *buffer // A row by row, B column by column
	c       *buffer
	nodes   [2]*buffer // levels of the trees, one read and one written
	plan    *blasPlan
}

func (d *Device) newWorkspace(n int) (*workspace, error) {
	if err := work.CheckOrder(n); err != nil {
		return nil, err
	}
	w := &workspace{d: d, n: uint64(n)}
	var err error
	for _, b := range []struct {
		to   **buffer
		size uint64
	}{
		{&w.factors, 2 * w.n * w.n},
		{&w.c, 4 * w.n * w.n},
		{&w.nodes[0], w.n * w.n},
		{&w.nodes[1], w.n * w.n}, // 32 bytes for each of n²/32 chunks
	} {
		if *b.to, err = d.alloc(b.size); err != nil {
			return nil, errors.Join(err, w.free())
		}
	}
	if d.blas != nil {
		if w.plan, err = d.blas.plan(w.n, w.n); err != nil {
			return nil, errors.Join(err, w.free())
		}
	}
	return w, nil
}

func (w *workspace) free() error {
	return errors.Join(w.plan.free(), w.factors.free(), w.c.free(), w.nodes[0].free(), w.nodes[1].free())
}

// multiply launches the derivation of the factors and their product.
func (w *workspace) multiply(seed *work.Seed) error {
	s := quarters((*[32]byte)(seed))
	count := 2 * w.n * w.n / work.ChunkEntries
	if err := w.d.launchLine("expand", count, w.factors.at, s[0], s[1], s[2], s[3], w.n, count); err != nil {
		return err
	}
	return w.d.multiply(w.plan, w.factors.at, w.factors.at+w.n*w.n, w.c.at, w.n, w.n)
}

// multiply launches the product of rows of n entries with a matrix of order n, by cuBLASLt where there is a plan.
func (d *Device) multiply(plan *blasPlan, left, columns, c, n, rows uint64) error {
	if plan != nil && d.blas != nil {
		return plan.run(left, columns, c)
	}
	return d.launch("product", uint32((n+63)/64), uint32((rows+63)/64), 256, left, columns, c, n, rows)
}

// root launches the trees over the product and reads their root.
func (w *workspace) root() (root work.Hash, err error) {
	from, to := w.nodes[0], w.nodes[1]
	chunks := w.n * w.n / work.ChunkEntries
	if err := w.d.launchLine("leaves", chunks, w.c.at, from.at, chunks); err != nil {
		return root, err
	}
	// First the trees of the n rows, then the tree over their roots.
	for width, trees := w.n/work.ChunkEntries, w.n; width > 1 || trees > 1; width = (width + 1) / 2 {
		if width == 1 {
			width, trees = trees, 1
		}
		count := trees * ((width + 1) / 2)
		if err := w.d.launchLine("pairs", count, from.at, to.at, width, count); err != nil {
			return root, err
		}
		from, to = to, from
	}
	err = from.read(root[:], 0)
	return root, err
}

// quarters splits 32 bytes in four words as kernels take them.
func quarters(b *[32]byte) (q [4]uint64) {
	for i := range q {
		q[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return q
}

// Product computes a product and its root.
func (d *Device) Product(ctx context.Context, seed work.Seed, n int) (c []int32, root work.Hash, err error) {
	err = d.do(ctx, func() (err error) {
		w, err := d.newWorkspace(n)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.free()) }()
		if err := w.multiply(&seed); err != nil {
			return err
		}
		if root, err = w.root(); err != nil {
			return err
		}
		c = make([]int32, n*n)
		// All platforms with this driver are little-endian, as the product is.
		return w.c.read(unsafe.Slice((*byte)(unsafe.Pointer(&c[0])), 4*len(c)), 0)
	})
	if err != nil {
		return nil, work.Hash{}, err
	}
	return c, root, nil
}

// Chain computes products one after the other, each with the seed that next makes of the last one's seed and root, and
// returns the roots. Products stay on the device.
func (d *Device) Chain(ctx context.Context, seed work.Seed, n, rounds int, next func(work.Seed, work.Hash) work.Seed) (roots []work.Hash, err error) {
	err = d.do(ctx, func() (err error) {
		w, err := d.newWorkspace(n)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.free()) }()
		for range rounds {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := w.multiply(&seed); err != nil {
				return err
			}
			root, err := w.root()
			if err != nil {
				return err
			}
			roots = append(roots, root)
			seed = next(seed, root)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return roots, nil
}
