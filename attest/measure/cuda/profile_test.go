package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
)

// A device of the table is asked for what its class asks for, whatever its size says; another one for what its size says.
func TestProfileOfADevice(t *testing.T) {
	for _, g := range class.GPUs().Classes {
		for _, name := range g.Drivers {
			require.Equal(t, g.Profile.Format(), Info{Name: name, Capability: 89, Memory: 1 << 30}.Profile(), name)
		}
	}
	for _, c := range []struct {
		info  Info
		rows  uint32
		order uint32
	}{
		{Info{Name: "another", Capability: 86, Memory: 24 << 30}, 1 << 15, 8192},
		{Info{Name: "another", Capability: 80, Memory: 80 << 30}, 1 << 17, 8192},
		{Info{Name: "another", Capability: 89, Memory: 16 << 30}, 1 << 17, 8192},
		{Info{Name: "another", Capability: 90, Memory: 96 << 30}, 1 << 18, 8192},
		{Info{Name: "another", Capability: 103, Memory: 288 << 30}, 1 << 18, 16384},
	} {
		p := c.info.Profile()
		require.NoError(t, p.Validate())
		require.Equal(t, c.order, p.Order)
		require.Equal(t, c.rows, p.Rows)
		require.LessOrEqual(t, p.Memory(), c.info.Memory)
		require.Greater(t, p.Memory(), c.info.Memory/2)
	}
}
