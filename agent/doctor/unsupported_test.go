package doctor

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine with GPUs of AMD hears that they are not supported yet, not only that there are none of NVIDIA.
func TestGPUsThatAreNotSupportedAreNamed(t *testing.T) {
	m, _ := healthy(t)
	require.NoError(t, os.RemoveAll(m.path("/sys/bus/pci/devices")))
	m.NVML = nodriver{m.NVML}
	device := "/sys/bus/pci/devices/0000:83:00.0/"
	write(t, m, device+"class", "0x120000\n")
	write(t, m, device+"vendor", "0x1002\n")
	write(t, m, device+"device", "0x74a1\n")
	f := find(t, m, "gpu-missing")
	require.Equal(t, Error, f.Result)
	require.Contains(t, f.Cause, "AMD's MI300X is not supported yet")

	write(t, m, device+"device", "0x1638\n") // a laptop's
	require.NotContains(t, find(t, m, "gpu-missing").Cause, "AMD")
}
