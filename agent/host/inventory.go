package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Inventory is what a node claims to have.
type Inventory struct {
	Host    Host    `json:"host"`
	CPU     CPU     `json:"cpu"`
	RAMMiB  uint64  `json:"ram_mib"`
	Disk    Disk    `json:"disk"`
	Network Network `json:"network"`
	// Driver describes NVML; zero if there is none, see GPUStatement.
	Driver Driver `json:"driver"`
	GPUs   []GPU  `json:"gpus"`
	// GPUStatement says in one sentence why there are no GPUs; empty otherwise.
	GPUStatement string `json:"gpu_statement,omitempty"`
	// Silent are the GPUs that the driver names and that do not answer as one that can be rented out; they are not in GPUs.
	Silent []string `json:"silent,omitempty"`
	// Simulated is true when the GPUs are not real.
	Simulated bool `json:"simulated"`
	// Notes say what could not be found out, and why.
	Notes []string  `json:"notes,omitempty"`
	At    time.Time `json:"at"`
}

// Host is the machine itself.
type Host struct {
	Kernel   string `json:"kernel"`
	Platform string `json:"platform"`
	// Virtualization is empty on bare metal, else the hypervisor's name, or "unknown hypervisor".
	Virtualization string `json:"virtualization,omitempty"`
}

// CPU is all processors of the machine.
type CPU struct {
	Model string `json:"model"`
	// Cores are physical cores, Threads are what the kernel schedules on.
	Cores   int `json:"cores"`
	Threads int `json:"threads"`
}

// Disk is the file system that holds the jobs' directories.
type Disk struct {
	Path    string `json:"path"`
	FreeGiB uint64 `json:"free_gib"`
	// Speed is zero with Measured false when it was not asked for.
	Speed DiskSpeed `json:"speed"`
}

// DetectOptions are the options of Detect.
type DetectOptions struct {
	// DiskPath is where jobs will run; empty means the current directory.
	DiskPath string
	// DiskTestBytes is how much is written and read; 0 means no measurement.
	DiskTestBytes int64
	// NVML lists the GPUs; nil means that the inventory has none.
	NVML nvml.Interface
	// Peer measures the network; nil means that it is not measured.
	Peer NetworkPeer
	// NetworkTestBytes in each direction; 0 means 16 MiB.
	NetworkTestBytes int64
}

// Detect takes the inventory. The error is ctx's or none: what cannot be found out is left zero and named in Notes.
func Detect(ctx context.Context, o DetectOptions) (Inventory, error) {
	if o.DiskPath == "" {
		o.DiskPath = "."
	}
	inv := Inventory{At: time.Now().UTC()}
	note := func(err error) {
		if err != nil {
			inv.Notes = append(inv.Notes, err.Error())
		}
	}
	note(detectSystem(ctx, &inv))
	note(detectDisk(ctx, &inv, o))
	inv.Network = measureNetwork(ctx, o)
	note(detectGPUs(ctx, &inv, o.NVML))
	return inv, ctx.Err()
}

func detectGPUs(ctx context.Context, inv *Inventory, n nvml.Interface) error {
	if n == nil {
		inv.GPUStatement = "no GPUs: not looked for"
		return nil
	}
	gpus, err := OpenGPUs(n)
	if errors.Is(err, ErrNoDriver) {
		inv.GPUStatement = err.Error()
		return nil
	}
	if err != nil {
		inv.GPUStatement = "no GPUs: NVML does not work"
		return err
	}
	inv.Driver, inv.Simulated = gpus.Driver(), gpus.Simulated()
	inv.GPUs, err = gpus.List(ctx)
	for _, s := range silences(err) {
		inv.Silent = append(inv.Silent, s.Error())
	}
	switch {
	case len(inv.GPUs) > 0:
	case len(inv.Silent) > 0:
		inv.GPUStatement = "no GPUs: none can be used: " + strings.Join(inv.Silent, "; ")
	case err != nil:
		inv.GPUStatement = "no GPUs: NVML does not work"
	default:
		inv.GPUStatement = "no GPUs: the NVIDIA driver works but sees none"
	}
	return errors.Join(err, gpus.Close())
}

// DeviceIDs are the identities of all GPUs.
func (i Inventory) DeviceIDs() []DeviceID {
	ids := make([]DeviceID, len(i.GPUs))
	for k, g := range i.GPUs {
		ids[k] = g.ID()
	}
	return ids
}

// DeviceRoot is [DeviceRoot] of all GPUs.
func (i Inventory) DeviceRoot() [32]byte { return DeviceRoot(i.DeviceIDs()) }
