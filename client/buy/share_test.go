package buy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// What a job names of its machine is what the order asks for. A volume comes on top of the files' disk.
func TestAnOrderAsksForWhatItsJobGets(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		want    market.Requirement
	}{
		"nothing":         {Request{}, market.Requirement{}},
		"all":             {Request{Share: service.Share{CPUs: 8, Memory: 65_536, Disk: 102_401, CUDA: "12.8"}}, market.Requirement{MinCpuCores: 8, MinRamMib: 65_536, MinDiskGib: 101, MinCuda: 1208}},
		"a volume":        {Request{Image: "x", Volume: "data:50GiB"}, market.Requirement{MinDiskGib: 51, MinIsolation: 2}},
		"files beside it": {Request{Image: "x", Volume: "data:50GiB", Share: service.Share{Disk: 10_240}}, market.Requirement{MinDiskGib: 60, MinIsolation: 2}},
	} {
		got, err := c.request.requirement()
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	// A suspended container brings its image along, and the volume with it.
	restored := Request{Restore: "x", Volume: "data:50GiB"}
	got, err := restored.requirement()
	require.NoError(t, err)
	require.Zero(t, got.MinDiskGib)
	restored.Image = "debian"
	got, err = restored.requirement()
	require.NoError(t, err)
	require.EqualValues(t, 51, got.MinDiskGib)
	for says, r := range map[string]Request{
		"out of range":       {Share: service.Share{Memory: 1 << 40}},
		"--disk of":          {Share: service.Share{Disk: 1 << 40}},
		"--cpus 100000":      {Share: service.Share{CPUs: 100_000}},
		"no version of CUDA": {Share: service.Share{CUDA: "twelve"}},
	} {
		_, err := r.requirement()
		require.ErrorContains(t, err, says)
	}
}

func TestWhatMachinesLackIsNamed(t *testing.T) {
	n := market.Node{}
	n.Spec.Gpus, n.Spec.CpuCores, n.Spec.RamMib, n.Spec.DiskGib, n.Spec.Cuda = 4, 32, 262_144, 1_000, 1204
	var most share
	most.widen(&n, 1)
	o := terms{cudaByImage: true, image: resolved{mib: 5_000}}
	o.job.Volume = &messages.Volume{}
	o.args.Requirement = market.Requirement{MinCpuCores: 9, MinRamMib: 65_536, MinDiskGib: 251, MinCuda: 1208}
	require.Contains(t, o.shareAdvice(most), "--cpus 9 of 8, 251 GiB of disk (with the volume and the image's 5 GiB or so) of 250, CUDA 12.8 (the image needs it) of 12.4; ask for less")
	require.Equal(t, " with 9 cores, 64 GiB of memory, 251 GiB of disk (with the volume and the image's 5 GiB or so), CUDA 12.8 (the image needs it)", o.needs())
	o.args.Requirement = market.Requirement{MinCuda: 1208}
	require.NotContains(t, o.shareAdvice(most), "more GPUs")
	o.args.Requirement = market.Requirement{MinRamMib: 100_000}
	require.Contains(t, o.shareAdvice(most), "--memory 100000 MiB of 64 GiB; ask for less")
	o.args.Requirement = market.Requirement{MinCpuCores: 8}
	require.Contains(t, o.shareAdvice(most), "no single machine has all")
}
