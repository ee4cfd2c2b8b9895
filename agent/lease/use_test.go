package lease

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestWhatALeaseUsesIsItsCustomersToKnow(t *testing.T) {
	m, chain := rented(t, messages.JobSpec{Version: messages.Version, Command: []string{"train"}, CPUs: 2, MemoryMiB: 512})
	percent := uint32(40)
	m.o.GPUs = func(_ context.Context, mask uint64) ([]messages.GPUUse, error) {
		require.NotZero(t, mask)
		return []messages.GPUUse{{Name: "A100", Percent: &percent, Simulated: true}}, nil
	}
	var refused *RefusedError
	_, err := m.Use(t.Context(), solana.PublicKey{99}, testLease)
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "of another customer")

	use, err := m.Use(t.Context(), testCustomer, testLease)
	require.NoError(t, err)
	require.Equal(t, uint64(1000), use.CPUMs)
	require.Equal(t, uint64(2000), use.MilliCPUs)
	require.Equal(t, uint64(512<<20), use.MemoryLimit)
	require.Equal(t, []uint64{3 << 20, 60 << 20}, []uint64{use.Volume, use.VolumeSize})
	require.Equal(t, []messages.GPUUse{{Name: "A100", Percent: &percent, Simulated: true}}, use.GPUs)

	// Within a second nothing is measured again; after it there is another measurement.
	m.usage.mu.Lock()
	m.usage.at[store.Key(testLease)] = time.Now().Add(time.Hour)
	m.usage.mu.Unlock()
	again, err := m.Use(t.Context(), testCustomer, testLease)
	require.NoError(t, err)
	require.Equal(t, use, again)
	m.usage.mu.Lock()
	m.usage.at[store.Key(testLease)] = time.Now().Add(-useEvery)
	m.usage.mu.Unlock()
	again, err = m.Use(t.Context(), testCustomer, testLease)
	require.NoError(t, err)
	require.Equal(t, uint64(2000), again.CPUMs)

	chain.update(func() { chain.exists = false })
	require.Eventually(t, func() bool { _, err := m.Use(t.Context(), testCustomer, testLease); return err != nil }, time.Minute, 10*time.Millisecond)
}
