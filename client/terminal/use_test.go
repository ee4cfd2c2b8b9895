package terminal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// The use of a volume is shown where the machine tells it: a lease may have none, and an older agent says nothing of it.
func TestTopShowsTheVolume(t *testing.T) {
	before := messages.Use{AtMs: 1000, CPUMs: 500}
	after := messages.Use{AtMs: 3000, CPUMs: 2500, Memory: 64 << 20, Disk: 1 << 20, Volume: 300 << 20, VolumeSize: 1000 << 20}
	var out bytes.Buffer
	use := service.DescribeUse(market.Lease{}, before, after, 0)
	WriteUse(&out, &use)
	require.Contains(t, out.String(), "cpu      1.00 busy")
	require.Contains(t, out.String(), "disk     1.0 MiB\nvolume   300.0 MiB of 1000.0 MiB\n")
	require.Equal(t, []uint64{300 << 20, 1000 << 20}, []uint64{use.Volume, use.VolumeSize})

	out.Reset()
	after.Volume, after.VolumeSize = 0, 0
	use = service.DescribeUse(market.Lease{}, before, after, 0)
	WriteUse(&out, &use)
	require.NotContains(t, out.String(), "volume")
}
