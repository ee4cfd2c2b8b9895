package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/gantry-market/gantry/attest/measure"
)

const (
	// blockRows is how many rows are computed again to open a leaf. A round's tree is kept above the nodes over them only.
	blockRows = 128
	// defaultStripe is Options.StripeBytes where none is given. On an H100, 64 to 512 MiB are equally fast; what its cache of 50 MiB
	// holds is a fifth slower, since a product of so few rows does not fill it.
	defaultStripe = 64 << 20
	// entriesOfBlock is how many entries a block of the kernel cells takes.
	entriesOfBlock = 2048
)

// ErrRecomputed means that the device computed something else the second time.
var ErrRecomputed = errors.New("cuda: a part of a measurement that was computed again differs")

var _ measure.Device = (*Device)(nil)

// measurement is one run. All of it but the result is used on the device's thread only.
type measurement struct {
	d       *Device
	task    measure.Task
	p       measure.Profile
	stripe  uint64 // rows of a product that are in work at a time
	memory  *buffer
	columns *buffer    // B, column by column
	keys    *buffer    // of rows, or of columns while those are expanded
	rows    *buffer    // of A, a stripe of them
	entries *buffer    // of the product, int32
	mixed   *buffer    // bytes of a stripe
	spare   *buffer    // kept bytes of rows that are computed again
	leaves  [2]*buffer // levels of a round's tree, one read and one written
	plan    *blasPlan  // of a stripe
	again   *blasPlan  // of blockRows rows

	blocks [][]measure.Hash // of each round, a node over each blockRows rows
	result measure.Result
	seed   measure.Hash // of the walks
	lanes  []measure.Hash
}

// Run implements [measure.Device]. Besides the profile's memory it takes less than a gibibyte for stripes and levels of
// trees, and on the host 32 bytes for each 128 rows of a round, from which leaves are opened.
func (d *Device) Run(ctx context.Context, t measure.Task, ended func(round uint32, root measure.Hash)) (measure.Run, error) {
	if err := t.Profile.Validate(); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	m := &measurement{d: d, task: t, p: t.Profile}
	err := d.do(ctx, func() error {
		if err := m.prepare(); err != nil {
			return errors.Join(err, m.free())
		}
		if err := m.chain(ctx, ended); err != nil {
			return errors.Join(fmt.Errorf("chain: %w", err), m.free())
		}
		if err := m.walk(ctx); err != nil {
			return errors.Join(fmt.Errorf("walk: %w", err), m.free())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cuda: measure: %w", err)
	}
	return m, nil
}

// prepare takes the memory.
func (m *measurement) prepare() error {
	n, rows := uint64(m.p.Order), uint64(m.p.Rows)
	m.stripe = min(rows, max(blockRows, uint64(1)<<(bits.Len64(m.d.stripe/(4*n)|1)-1)))
	for _, b := range []struct {
		to   **buffer
		size uint64
	}{
		{&m.memory, m.p.Memory()},
		{&m.columns, n * n},
		{&m.keys, 8 * max(n, rows)},
		{&m.rows, m.stripe * n},
		{&m.entries, 4 * m.stripe * n},
		{&m.mixed, m.stripe * n / uint64(m.p.Fold)},
		{&m.spare, blockRows * n},
		{&m.leaves[0], 32 * uint64(m.p.Leaves())},
		{&m.leaves[1], 16 * uint64(m.p.Leaves())},
	} {
		var err error
		if *b.to, err = m.d.alloc(b.size); err != nil {
			return err
		}
	}
	if m.d.blas == nil {
		return nil
	}
	var err error
	if m.plan, err = m.d.blas.plan(n, m.stripe); err != nil {
		return err
	}
	m.again, err = m.d.blas.plan(n, blockRows)
	return err
}

// free gives the memory back; the context must be current.
func (m *measurement) free() error {
	errs := []error{m.plan.free(), m.again.free()}
	m.plan, m.again = nil, nil
	for _, b := range []*buffer{m.memory, m.columns, m.keys, m.rows, m.entries, m.mixed, m.spare, m.leaves[0], m.leaves[1]} {
		errs = append(errs, b.free())
	}
	return errors.Join(errs...)
}

// Result implements [measure.Run].
func (m *measurement) Result() measure.Result { return m.result }

// Close implements [measure.Run].
func (m *measurement) Close() error {
	err := m.d.do(context.Background(), m.free)
	if errors.Is(err, ErrClosed) {
		return nil // it went with the device
	}
	return err
}

// reopened runs f on the device if the measurement is not closed.
func (m *measurement) reopened(ctx context.Context, f func() error) error {
	return m.d.do(ctx, func() error {
		if m.memory.at == 0 {
			return ErrClosed
		}
		return f()
	})
}
