package jobspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
)

func TestTheCUDAThatAnImageNeeds(t *testing.T) {
	const pytorch = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=nvidia,driver>=535,driver<536"
	for _, c := range []struct {
		image []string
		job   map[string]string
		want  market.CUDA
	}{
		{nil, nil, 0},
		{[]string{pytorch}, nil, 1204},
		{[]string{"PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=9.0"}, nil, 900},
		{[]string{"CUDA_VERSION=12.8.1"}, nil, 1208},
		{[]string{"CUDA_VERSION=12.8.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.0"}, nil, 1200},
		{[]string{"CUDA_VERSION=12.8.1", "NVIDIA_REQUIRE_CUDA="}, nil, 1208},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,cuda<13.0 cuda>=12.6"}, nil, 1206},
		{[]string{"NVIDIA_REQUIRE_CUDA=brand=tesla,driver>=470,driver<471"}, nil, 0},
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=new"}, nil, 0},
		{[]string{pytorch}, map[string]string{"NVIDIA_REQUIRE_CUDA": "cuda>=11.8"}, 1108},
		{[]string{pytorch}, map[string]string{"NVIDIA_DISABLE_REQUIRE": "true"}, 0},
	} {
		require.Equal(t, c.want, jobspec.ImageCUDA(c.image, c.job), "%v %v", c.image, c.job)
	}
}
