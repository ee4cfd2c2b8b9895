package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What an image may require is said as NVIDIA's toolkit names it; of no GPU it is nothing.
func TestWhatImagesMayRequire(t *testing.T) {
	n := simulate(t, SimulatedH100, 2, 1)
	m := &Machine{nvml: n, gpus: &GPUs{n: known{n}}}
	cuda, arch, brand := m.Requirable(t.Context())
	require.Equal(t, "9.0", arch)
	require.Equal(t, "nvidia", brand)
	require.NotEmpty(t, cuda)
	require.Equal(t, m.gpus.Driver().CUDA, cuda)
	cuda, arch, brand = (&Machine{}).Requirable(t.Context())
	require.Empty(t, cuda+arch+brand)
}
