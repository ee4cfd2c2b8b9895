//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
)

// On a machine with a GPU and GANTRY_MEASURE=ROWS, the rows of its class's rounds: how long each kernel of a round takes, for
// several sizes of stripes, with cuBLASLt and without. It asserts no time.
func TestThisGPUsKernels(t *testing.T) {
	text := os.Getenv("GANTRY_MEASURE")
	if text == "" {
		t.Skip("takes half a minute: set GANTRY_MEASURE to the rows of the class's rounds (262144 for H100 and H200)")
	}
	rows, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err)
	for _, o := range []Options{{StripeBytes: 32 << 20}, {StripeBytes: 64 << 20}, {StripeBytes: 128 << 20}, {StripeBytes: 512 << 20}, {StripeBytes: 128 << 20, BLAS: "none"}} {
		d, err := Open(t.Context(), o)
		if errors.Is(err, attest.ErrAbsent) {
			t.Skipf("no GPU to measure: %v", err)
		}
		require.NoError(t, err)
		t.Logf("%s, stripes of %d MiB: %s", d.Method(), o.StripeBytes>>20, d.kernelTimes(t, measure.Profile{
			Order: 8192, Fold: 4, Rows: uint32(rows), ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 1 << 17,
		}))
		require.NoError(t, d.Close())
	}
}

// kernelTimes is how long each kernel takes of one round's stripes.
func (d *Device) kernelTimes(t *testing.T, p measure.Profile) (out string) {
	m := &measurement{d: d, p: p}
	require.NoError(t, d.do(t.Context(), m.prepare))
	n, count := uint64(p.Order), m.stripe*uint64(p.RowLeaves())
	stripes := uint64(p.Rows) / m.stripe
	for _, k := range []struct {
		name  string
		times uint64 // in a round
		run   func() error
	}{
		{"rowkeys", 1, func() error { return m.rowKeys(measure.Hash{1}, 0, uint64(p.Rows)) }},
		{"rows", stripes, func() error { return m.expand(m.keys.at, m.rows.at, m.stripe) }},
		{"product", stripes, func() error { return d.multiply(m.plan, m.rows.at, m.columns.at, m.entries.at, n, m.stripe) }},
		{"cells4", stripes, func() error {
			return d.launch("cells4", uint32(m.stripe*n/entriesOfBlock), 1, threads, m.entries.at, m.memory.at, m.mixed.at)
		}},
		{"mixleaves", stripes, func() error { return d.launchLine("mixleaves", count, m.mixed.at, m.leaves[0].at, count) }},
		{"pairs", 1, func() error {
			return d.launchLine("pairs", uint64(p.Leaves())/2, m.leaves[0].at, m.leaves[1].at, uint64(p.Leaves()), uint64(p.Leaves())/2)
		}},
	} {
		// The driver is used on one thread, with its context, that of do.
		require.NoError(t, d.do(t.Context(), func() error {
			if err := errors.Join(m.expand(m.keys.at, m.columns.at, n), k.run(), d.wait()); err != nil {
				return err
			}
			start := time.Now()
			for range k.times {
				if err := k.run(); err != nil {
					return err
				}
			}
			if err := d.wait(); err != nil {
				return err
			}
			out += fmt.Sprintf("%s %.2f ms, ", k.name, float64(time.Since(start).Microseconds())/1e3)
			return nil
		}))
	}
	require.NoError(t, d.do(t.Context(), m.free))
	return out + fmt.Sprintf("a round of %d rows", p.Rows)
}
