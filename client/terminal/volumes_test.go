package terminal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/volumes"
)

// A price is shown only where somebody has said one.
func TestWriteVolumes(t *testing.T) {
	var out bytes.Buffer
	kept := KeptVolumes{KeyFile: "/state/backup.key", Volumes: []volumes.KeptVolume{
		{Name: "data", MiB: 50 << 10, Newest: &volumes.VolumeSnapshot{Hash: "ab", At: 1_764_000_000, Bytes: 3 << 20, Files: 2}, Stored: 5 << 20, Cost: "0.0001", Currency: "USD", UsedBy: &volumes.VolumeUse{Lease: "L1", Says: "lease L1, which is running"}},
		{Name: "new", MiB: 16},
		{Name: "other", Unreadable: "of another key"},
	}}
	WriteVolumes(NewPage(&out), &kept)
	for _, want := range []string{"data", "50 GiB", "2025-11-24 16:00:00", "3.0 MiB", "5.0 MiB", "0.0001 USD", "L1", "16 MiB", "of another key", "/state/backup.key"} {
		require.Contains(t, out.String(), want)
	}
	out.Reset()
	WriteVolume(NewPage(&out), &kept.Volumes[1])
	require.Contains(t, out.String(), "no snapshot")
	require.NotContains(t, out.String(), "costs")
	out.Reset()
	WriteVolume(NewPage(&out), &kept.Volumes[0])
	require.Contains(t, out.String(), "0.0001 USD a month")
	require.Contains(t, out.String(), "lease L1, which is running")
}
