package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// ErrFabric: the NVSwitches between the GPUs are not set up. CUDA then starts on none of them.
var ErrFabric = errors.New("the NVSwitches between the GPUs are not set up")

const (
	fabricProgram = "nv-fabricmanager"
	// commLength is the most that the kernel keeps of a program's name.
	commLength = 15
	fabricTime = 10 * time.Second
)

// Fabric is what is looked at to know whether the NVSwitches of a machine are set up.
type Fabric struct {
	// Root is put before /proc and /sys; empty for this machine's own.
	Root string
	// Driver is the version of the driver.
	Driver string
	// Waiting are the devices that the driver says to wait for the fabric.
	Waiting []int
	// Version asks NVIDIA's fabric manager for its version; nil for the installed one.
	Version func(context.Context) (string, error)
}

// Check looks whether the machine has NVSwitches, and if so whether NVIDIA's fabric manager runs, in the driver's version. Error:
// ErrFabric.
func (f Fabric) Check(ctx context.Context) error {
	if len(f.Waiting) > 0 {
		return fmt.Errorf("%w: GPU %d waits for the fabric manager", ErrFabric, f.Waiting[0])
	}
	if !f.switches() {
		return nil
	}
	if !f.runs() {
		return fmt.Errorf("%w: %s does not run", ErrFabric, fabricProgram)
	}
	ask := f.Version
	if ask == nil {
		ask = installedFabric
	}
	says, err := ask(ctx)
	if err != nil {
		return fmt.Errorf("%w: the version of %s is not known: %w", ErrFabric, fabricProgram, err)
	}
	if f.Driver != "" && !strings.Contains(says, f.Driver) {
		return fmt.Errorf("%w: %s has another version than the driver, %s: %s", ErrFabric, fabricProgram, f.Driver, strings.TrimSpace(says))
	}
	return nil
}

// switches reports whether there are NVSwitches on the bus: bridges (0680) of NVIDIA's.
func (f Fabric) switches() bool {
	classes, _ := filepath.Glob(filepath.Join("/", f.Root, "sys/bus/pci/devices/*/class"))
	for _, file := range classes {
		kind, _ := os.ReadFile(file)
		vendor, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "vendor"))
		if strings.HasPrefix(string(kind), "0x0680") && strings.TrimSpace(string(vendor)) == "0x10de" {
			return true
		}
	}
	return false
}

func (f Fabric) runs() bool {
	names, _ := filepath.Glob(filepath.Join("/", f.Root, "proc/[0-9]*/comm"))
	for _, file := range names {
		name, _ := os.ReadFile(file)
		if strings.TrimSpace(string(name)) == fabricProgram[:commLength] {
			return true
		}
	}
	return false
}

func installedFabric(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fabricTime)
	defer cancel()
	path, err := exec.LookPath(fabricProgram)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	return string(out), err
}

// waits reports whether a device is part of a fabric that is not set up.
func (g *GPUs) waits(d nvml.Device) bool {
	if !g.has("nvmlDeviceGetGpuFabricInfo") {
		return false
	}
	info, ret := d.GetGpuFabricInfo()
	return ret == nvml.SUCCESS && (info.State == nvml.GPU_FABRIC_STATE_NOT_STARTED || info.State == nvml.GPU_FABRIC_STATE_IN_PROGRESS ||
		info.State == nvml.GPU_FABRIC_STATE_COMPLETED && nvml.Return(info.Status) != nvml.SUCCESS)
}

// CheckFabric looks whether the GPUs' NVSwitches are set up. Error: ErrFabric.
func (m *Machine) CheckFabric(ctx context.Context) error {
	if m.Inventory.Simulated || len(m.Inventory.GPUs) == 0 {
		return nil
	}
	f, err := m.fabric(ctx)
	if err != nil {
		return err
	}
	return f.Check(ctx)
}

func (m *Machine) fabric(ctx context.Context) (Fabric, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := Fabric{Driver: m.Inventory.Driver.Version}
	if m.gpus == nil {
		return f, nil
	}
	if now := m.gpus.Driver().Version; now != "" {
		f.Driver = now
	}
	readings, err := m.gpus.Readings(ctx)
	for _, r := range readings {
		if r.Waits {
			f.Waiting = append(f.Waiting, r.Index)
		}
	}
	return f, err
}
