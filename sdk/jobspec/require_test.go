package jobspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
)

func TestTheCUDAThatAnImageNeeds(t *testing.T) {
	const pytorch = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia,driver>=535,driver<536"
	const byArch = "NVIDIA_REQUIRE_CUDA=cuda>=11.8,arch<10.0 cuda>=12.8,arch>=10.0"
	for _, c := range []struct {
		image []string
		job   map[string]string
		arch  class.Compute
		want  market.CUDA
	}{
		{nil, nil, 0, 0},
		{[]string{pytorch}, nil, 0, 1204},
		{[]string{"PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=9.0"}, nil, 0, 900},
		{[]string{"CUDA_VERSION=12.8.1"}, nil, 0, 1208},
		{[]string{"CUDA_VERSION=12.8.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.0"}, nil, 0, 1200},
		{[]string{"CUDA_VERSION=12.8.1", "NVIDIA_REQUIRE_CUDA="}, nil, 0, 1208},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,cuda<13.0 cuda>=12.6"}, nil, 0, 1206},
		{[]string{"NVIDIA_REQUIRE_CUDA=brand=tesla,driver>=470,driver<471"}, nil, 0, 0},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=new"}, nil, 0, 0},
		{[]string{pytorch}, map[string]string{"NVIDIA_REQUIRE_CUDA": "cuda>=11.8"}, 0, 1108},
		{[]string{pytorch}, map[string]string{"NVIDIA_DISABLE_REQUIRE": "true"}, 0, 0},
		// An alternative that names more than CUDA asks for it all the same.
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,arch>=8.0"}, nil, 900, 1204},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,arch>=8.0 brand=tesla,driver>=470,driver<471"}, nil, 900, 1204},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,driver>=550"}, nil, 0, 1204},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,driver>=550 cuda>=12.2,driver>=535"}, nil, 0, 1202},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.0", "NVIDIA_REQUIRE_MORE=cuda>=12.6"}, nil, 0, 1206},
		{[]string{byArch}, nil, 900, 1108},
		{[]string{byArch}, nil, 1000, 1208},
		{[]string{byArch}, nil, 0, 1108},
	} {
		require.Equal(t, c.want, jobspec.ImageNeeds(c.image, c.job).CUDA(c.arch), "%v %v", c.image, c.job)
	}
}

func TestTheGPUsThatAnImageRunsOn(t *testing.T) {
	for requirement, runs := range map[string][]class.Compute{
		"":                                   {705, 800, 806, 809, 900, 1000, 1200},
		"cuda>=12.4":                         {705, 800, 806, 809, 900, 1000, 1200},
		"cuda>=12.4,arch>=8.0":               {800, 806, 809, 900, 1000, 1200},
		"arch>=7.5,arch<9.0 arch>=10":        {705, 800, 806, 809, 1000, 1200},
		"arch=9.0":                           {900},
		"arch!=9.0,cuda>=99":                 {705, 800, 806, 809, 1000, 1200},
		"arch>=9.0 brand=tesla,driver>=470":  {705, 800, 806, 809, 900, 1000, 1200}, // whether it is a Tesla only the machine knows
		"arch>=9.0 brand=tesla,arch>=8.9":    {809, 900, 1000, 1200},
		"arch>=hopper":                       {705, 800, 806, 809, 900, 1000, 1200},
		"cuda>=12.8,arch>=12.0,driver>=570,": {1200},
	} {
		n := jobspec.ImageNeeds([]string{"NVIDIA_REQUIRE_CUDA=" + requirement}, nil)
		var got []class.Compute
		for _, arch := range []class.Compute{705, 800, 806, 809, 900, 1000, 1200} {
			if _, may := n.RunsOn(arch); may {
				got = append(got, arch)
			}
		}
		require.Equal(t, runs, got, requirement)
		_, may := n.RunsOn(0)
		require.True(t, may, "what is not known fits")
	}
	n := jobspec.ImageNeeds([]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.0", "NVIDIA_REQUIRE_ARCH=arch>=9.0"}, nil)
	unmet, may := n.RunsOn(800)
	require.False(t, may, "each variable must hold")
	require.Equal(t, []string{"arch>=9.0"}, unmet)
	unmet, may = n.RunsOn(900)
	require.True(t, may)
	require.Empty(t, unmet)
	_, may = jobspec.ImageNeeds([]string{"NVIDIA_REQUIRE_ARCH=arch>=9.0"}, map[string]string{"NVIDIA_DISABLE_REQUIRE": "1"}).RunsOn(800)
	require.True(t, may)
	_, may = jobspec.ImageNeeds([]string{"NVIDIA_REQUIRE_JETPACK=arch>=9.0"}, nil).RunsOn(800)
	require.True(t, may)
}

// What a client takes for a model, a machine with that model, that CUDA and any driver takes.
func TestAMachineTakesWhatTheClientChose(t *testing.T) {
	for _, requirement := range []string{
		"cuda>=12.4 brand=tesla,driver>=470,driver<471", "cuda>=12.4,arch>=8.0", "cuda>=11.8,arch<10.0 cuda>=12.8,arch>=10.0", "arch>=9.0,cuda>=12.0 brand=tesla,arch>=8.0",
	} {
		n := jobspec.ImageNeeds([]string{"NVIDIA_REQUIRE_CUDA=" + requirement}, nil)
		for _, arch := range []class.Compute{705, 900, 1000} {
			f := jobspec.Facts{Driver: "560.35.03", CUDA: n.CUDA(arch).String(), Arch: arch.String(), Brand: "nvidia"}
			_, may := n.RunsOn(arch)
			require.Equal(t, may, len(n.Unmet(f)) == 0, "%q on %v", requirement, f)
		}
	}
}
