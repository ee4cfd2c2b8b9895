package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/measure/cuda"
)

// Machine is what checks look at. [This] fills it in; tests replace parts.
type Machine struct {
	Config config.Config
	// Root is put before the paths of the system (/proc, /sys, /etc, /run, /usr); empty for the machine's own.
	Root string
	// UID is the user that the agent runs as.
	UID int
	// NVML is the driver.
	NVML nvml.Interface
	// LookPath finds a program, and FindRunsc gVisor's.
	LookPath  func(string) (string, error)
	FindRunsc func() string
	// Output runs a program and returns what it writes.
	Output func(ctx context.Context, path string, args ...string) ([]byte, error)
	// FindBLAS says whether cuBLASLt is there.
	FindBLAS func() error
	// Supported says whether a runsc knows a driver.
	Supported func(ctx context.Context, runsc, version string) error
	// Network and Volumes say why containers can have none, or nothing.
	Network, Volumes func() error
	// Guest says why measured guests cannot start, or nothing.
	Guest func(guestvm.Settings) error
	// Free returns the bytes that are free in a folder's file system.
	Free func(path string) (uint64, error)
	// Adjtimex is the kernel's clock.
	Adjtimex func(*unix.Timex) (int, error)

	once sync.Once
	read readings
}

// readings are what the driver says, read once for all checks.
type readings struct {
	driver string
	gpus   []host.Reading
	err    error
}

// This is this machine with an agent's settings.
func This(cfg config.Config) (*Machine, error) {
	m := &Machine{
		Config: cfg, UID: os.Geteuid(), NVML: nvml.New(), LookPath: exec.LookPath, FindRunsc: cfg.FindRunsc,
		FindBLAS: cuda.FindBLAS, Supported: gpus.Check, Network: network.Check, Volumes: runtime.CheckVolumes, Guest: guestvm.Settings.Check, Free: free, Adjtimex: unix.Adjtimex,
		Output: func(ctx context.Context, path string, args ...string) ([]byte, error) {
			return exec.CommandContext(ctx, path, args...).Output()
		},
	}
	source, err := config.ParseInventory(cfg.Inventory)
	if err != nil {
		return nil, err
	}
	if source.Simulated {
		if m.NVML, err = host.Simulate(source.Model, source.Count, [32]byte{}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func free(path string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

// path is a path of the system.
func (m *Machine) path(p string) string { return filepath.Join(m.Root, p) }

// simulated reports whether the GPUs are not real.
func (m *Machine) simulated() bool {
	source, err := config.ParseInventory(m.Config.Inventory)
	return err == nil && source.Simulated
}

// conditions asks the driver, at the first call.
func (m *Machine) conditions(ctx context.Context) readings {
	m.once.Do(func() {
		// The check that comes first may end before the driver answers; the others still want the answer.
		m.read = readGPUs(context.WithoutCancel(ctx), m.NVML)
	})
	return m.read
}

func readGPUs(ctx context.Context, n nvml.Interface) (r readings) {
	g, err := host.OpenGPUs(n)
	if err != nil {
		return readings{err: err}
	}
	r.driver = g.Driver().Version
	r.gpus, err = g.Readings(ctx)
	r.err = errors.Join(err, g.Close())
	return r
}

// driverCommand installs a driver.
func (m *Machine) driverCommand() string {
	release, _ := os.ReadFile(m.path("/etc/os-release"))
	for line := range strings.Lines(string(release)) {
		if strings.Trim(strings.TrimSpace(line), `"`) == "ID=ubuntu" {
			return "sudo apt-get install -y ubuntu-drivers-common && sudo ubuntu-drivers install --gpgpu && sudo reboot"
		}
	}
	return `sudo apt-get install -y software-properties-common && sudo apt-add-repository -y contrib non-free non-free-firmware && sudo apt-get update && sudo apt-get install -y "linux-headers-$(uname -r)" nvidia-driver && sudo reboot`
}

// device names a GPU in a sentence.
func device(c host.Reading) string {
	if c.Silent != "" && c.Model != "" {
		return fmt.Sprintf("GPU %d (%s)", c.Index, c.Model)
	}
	return fmt.Sprintf("GPU %d", c.Index)
}
