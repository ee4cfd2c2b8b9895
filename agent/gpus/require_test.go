package gpus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The variable of NVIDIA's image of CUDA 12.4, shortened.
const require124 = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=unknown,driver>=470,driver<471 brand=nvidia,driver>=535,driver<536"

func TestWhatAnImageRequires(t *testing.T) {
	machine := func(driver, cuda, brand string) Driver {
		return Driver{Version: driver, Facts: Facts{CUDA: cuda, Brand: brand, Arch: "8.0"}}
	}
	for _, c := range []struct {
		env     []string
		machine Driver
		fits    bool
	}{
		{nil, machine("470.82.01", "11.4", "geforce"), true},
		{[]string{require124}, machine("550.54.15", "12.4", "geforce"), true},
		{[]string{require124}, machine("580.65.06", "13.0", "geforce"), true},
		{[]string{require124}, machine("470.82.01", "11.4", "tesla"), true},
		{[]string{require124}, machine("535.104.05", "12.2", "nvidia"), true},
		{[]string{require124}, machine("535.104.05", "12.2", "geforce"), false},
		{[]string{require124}, machine("545.23.08", "12.3", "nvidia"), false},
		{[]string{require124, "NVIDIA_DISABLE_REQUIRE=true"}, machine("535.104.05", "12.2", "geforce"), true},
		{[]string{"NVIDIA_DISABLE_REQUIRE=1", require124}, machine("535.104.05", "12.2", "geforce"), true},
		{[]string{require124, "NVIDIA_DISABLE_REQUIRE=false"}, machine("535.104.05", "12.2", "geforce"), false},
		{[]string{require124}, Driver{Version: "535.104.05"}, true}, // neither CUDA nor brand is known
		{[]string{"NVIDIA_REQUIRE_CUDA=cuda>=12.0", "NVIDIA_REQUIRE_ARCH=arch>=9.0"}, machine("550.54.15", "12.4", "tesla"), false},
		{[]string{"NVIDIA_REQUIRE_DRIVER=driver>=525.60.13"}, machine("525.60.9", "12.0", "tesla"), false},
		{[]string{"NVIDIA_REQUIRE_DRIVER=driver>=525.60.13"}, machine("525.105.17", "12.0", "tesla"), true},
		{[]string{"NVIDIA_REQUIRE_DRIVER=driver!=550.54.15"}, machine("550.54.15", "12.4", "tesla"), false},
		{[]string{"NVIDIA_REQUIRE_JETPACK=csv-mounts=all", "NVIDIA_REQUIRE_X=moon=full"}, machine("550.54.15", "12.4", "tesla"), true},
		{[]string{"CUDA_VERSION=12.8.1"}, machine("550.54.15", "12.4", "tesla"), false},
		{[]string{"CUDA_VERSION=12.4.1"}, machine("550.54.15", "12.4", "tesla"), true},
		{[]string{"CUDA_VERSION=12.8.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.0"}, machine("550.54.15", "12.4", "tesla"), true},
		{[]string{"CUDA_VERSION=new"}, machine("550.54.15", "12.4", "tesla"), true},
		{[]string{"NVIDIA_REQUIRE_CUDA=", "NVIDIA_REQUIRE_Y=  "}, machine("550.54.15", "12.4", "tesla"), true},
	} {
		err := c.machine.Require(c.env, nil)
		if c.fits {
			require.NoError(t, err, "%v on %v", c.env, c.machine)
			continue
		}
		require.ErrorIs(t, err, ErrRequire, "%v on %v", c.env, c.machine)
		require.Less(t, len(err.Error()), 500)
	}
	err := machine("535.104.05", "12.2", "geforce").Require([]string{require124}, nil)
	for _, want := range []string{`"cuda>=12.4 or brand=tesla,driver>=470`, "or one of 1 others", "driver 535.104.05, CUDA 12.2, brand geforce", "NVIDIA_DISABLE_REQUIRE=true"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, machine("1", "", "").Require([]string{"NVIDIA_REQUIRE_CUDA=driver>=2 " + strings.Repeat("driver>=3,", 500)}, nil).Error(), strings.Repeat("driver>=3,", 50))
	require.NoError(t, machine("535.104.05", "12.2", "geforce").Require([]string{require124}, map[string]string{"NVIDIA_DISABLE_REQUIRE": "true"}), "the customer knows better")
}
