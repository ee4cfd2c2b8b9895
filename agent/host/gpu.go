package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gantry-market/gantry/sdk/market"
)

// ErrNoDriver: there is no usable NVIDIA driver on this machine. It is a finding, not a failure: a node may be
// registered without GPUs, or use [Simulate].
var ErrNoDriver = errors.New("no GPUs: no NVIDIA driver")

// ErrNVML: the driver is there but answers with an error.
var ErrNVML = errors.New("host: NVML error")

// Interconnect between the GPUs of a machine.
type Interconnect string

// Interconnects.
const (
	PCIe   Interconnect = "pcie"
	NVLink Interconnect = "nvlink"
)

// CCState is the state of confidential computing.
type CCState string

// Confidential computing as NVML reports it: a claim, not evidence.
const (
	CCUnknown  CCState = "unknown" // the driver is too old to report it
	CCOff      CCState = "off"
	CCOn       CCState = "on"
	CCDevTools CCState = "devtools" // on, but open to debuggers: worth nothing
)

// Driver describes the NVIDIA driver.
type Driver struct {
	Version string  `json:"version"`
	NVML    string  `json:"nvml"`
	CUDA    string  `json:"cuda"`
	CC      CCState `json:"confidential_computing"`
}

// Newest is the newest CUDA that the driver has; 0 when it does not say.
func (d Driver) Newest() market.CUDA {
	newest, err := market.ParseCUDA(d.CUDA)
	if err != nil {
		return 0
	}
	return newest
}

// GPU is one physical device.
type GPU struct {
	Index int    `json:"index"`
	Model string `json:"model"`
	UUID  string `json:"uuid"`
	// VRAMMiB is the whole memory, not what is free.
	VRAMMiB      uint64 `json:"vram_mib"`
	Architecture string `json:"architecture"`
	PCIBusID     string `json:"pci_bus_id"`
	// PCIID is vendor:device, such as 10de:2330; empty where the driver does not say.
	PCIID        string       `json:"pci_id,omitempty"`
	Interconnect Interconnect `json:"interconnect"`
	// NVLinks is the number of active links.
	NVLinks int `json:"nvlinks"`
	// MIG is true when the device is split in instances.
	MIG       bool `json:"mig"`
	Simulated bool `json:"simulated"`
}

// ID is the device's identity on chain.
func (g GPU) ID() DeviceID { return NewDeviceID(g.UUID) }

// Split reports whether the device is split in instances, or is one: the market rents whole GPUs.
func (g GPU) Split() bool { return g.MIG || strings.HasPrefix(g.UUID, "MIG-") }

// GPUs asks NVML about the devices of this machine. Its calls go into the driver and cannot be interrupted; ctx is
// checked between devices. Safe for use by several goroutines.
type GPUs struct {
	n nvml.Interface
}

// OpenGPUs initialises NVML. ErrNoDriver if there is none.
func OpenGPUs(n nvml.Interface) (*GPUs, error) {
	switch ret := n.Init(); ret {
	case nvml.SUCCESS, nvml.ERROR_ALREADY_INITIALIZED:
		return &GPUs{n: n}, nil
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, fmt.Errorf("%w (libnvidia-ml.so.1 not found; install the NVIDIA driver to offer GPUs)", ErrNoDriver)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w (the library is there, the kernel module is not loaded; try nvidia-smi)", ErrNoDriver)
	case nvml.ERROR_NO_PERMISSION:
		return nil, fmt.Errorf("%w (no permission to talk to it; check /dev/nvidia*)", ErrNoDriver)
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return nil, fmt.Errorf("%w (library and kernel module have different versions; restart the machine)", ErrNoDriver)
	default:
		return nil, fmt.Errorf("%w: init: %v", ErrNVML, ret)
	}
}

// Close shuts NVML down.
func (g *GPUs) Close() error {
	if ret := g.n.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("%w: shutdown: %v", ErrNVML, ret)
	}
	return nil
}

// Simulated reports whether the devices are not real.
func (g *GPUs) Simulated() bool { return isSimulated(g.n) }

// has reports whether the installed driver knows a function. Calling one that it does not know would end the process.
func (g *GPUs) has(symbol string) bool { return g.n.Extensions().LookupSymbol(symbol) == nil }

// Driver describes the driver; what it does not report stays empty.
func (g *GPUs) Driver() Driver {
	var d Driver
	d.Version, _ = g.n.SystemGetDriverVersion()
	d.NVML, _ = g.n.SystemGetNVMLVersion()
	if v, ret := g.n.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		d.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	d.CC = g.confidential()
	return d
}

func (g *GPUs) confidential() CCState {
	if !g.has("nvmlSystemGetConfComputeState") {
		return CCUnknown
	}
	switch s, ret := g.n.SystemGetConfComputeState(); {
	case ret == nvml.ERROR_NOT_SUPPORTED:
		return CCOff
	case ret != nvml.SUCCESS:
		return CCUnknown
	case s.CcFeature != nvml.CC_SYSTEM_FEATURE_ENABLED:
		return CCOff
	case s.DevToolsMode == nvml.CC_SYSTEM_DEVTOOLS_MODE_ON:
		return CCDevTools
	default:
		return CCOn
	}
}

// List describes the devices that answer, in NVML's order. The error joins a [SilentError] for each of the others, which are not
// listed; any other error is of the driver, and then nothing is.
func (g *GPUs) List(ctx context.Context) ([]GPU, error) {
	var out []GPU
	var silent []error
	err := g.handles(ctx, func(i int, d nvml.Device, ret nvml.Return) error {
		if ret != nvml.SUCCESS {
			silent = append(silent, &SilentError{Index: i, What: "handle", Ret: ret})
			return nil
		}
		gpu, err := g.describe(i, d)
		if err != nil {
			silent = append(silent, err)
			return nil
		}
		out = append(out, gpu)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, errors.Join(silent...)
}

// handles calls f for every device with what the driver answered when it was asked for it. An answer that is the driver's and
// not the device's is an error.
func (g *GPUs) handles(ctx context.Context, f func(int, nvml.Device, nvml.Return) error) error {
	count, ret := g.n.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%w: count devices: %v", ErrNVML, ret)
	}
	for i := range count {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, ret := g.n.DeviceGetHandleByIndex(i)
		if ofDriver(ret) {
			return fmt.Errorf("%w: device %d: %v", ErrNVML, i, ret)
		}
		if err := f(i, d, ret); err != nil {
			return err
		}
	}
	return nil
}

// describe needs name, UUID and memory; the rest may be missing. Error: SilentError.
func (g *GPUs) describe(i int, d nvml.Device) (GPU, error) {
	out := GPU{Index: i, Interconnect: PCIe, Simulated: g.Simulated()}
	var ret nvml.Return
	if out.Model, ret = d.GetName(); ret != nvml.SUCCESS {
		return out, &SilentError{Index: i, What: "name", Ret: ret}
	}
	if out.UUID, ret = d.GetUUID(); ret != nvml.SUCCESS || out.UUID == "" {
		return out, &SilentError{Index: i, Model: out.Model, What: "UUID", Ret: ret}
	}
	memory, ret := d.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return out, &SilentError{Index: i, Model: out.Model, UUID: out.UUID, What: "memory", Ret: ret}
	}
	out.VRAMMiB = memory.Total / mib
	if g.has("nvmlDeviceGetArchitecture") {
		if a, ret := d.GetArchitecture(); ret == nvml.SUCCESS {
			out.Architecture = architecture(a)
		}
	}
	if p, ret := d.GetPciInfo(); ret == nvml.SUCCESS {
		out.PCIBusID = cString(p.BusId[:])
		if p.PciDeviceId != 0 { // the device in the upper half, the vendor in the lower
			out.PCIID = fmt.Sprintf("%04x:%04x", p.PciDeviceId&0xffff, p.PciDeviceId>>16)
		}
	}
	out.MIG = g.split(d)
	for link := 0; link < nvml.NVLINK_MAX_LINKS; link++ {
		if s, ret := d.GetNvLinkState(link); ret == nvml.SUCCESS && s == nvml.FEATURE_ENABLED {
			out.NVLinks++
		}
	}
	if out.NVLinks > 0 {
		out.Interconnect = NVLink
	}
	return out, nil
}

func architecture(a nvml.DeviceArchitecture) string {
	switch a {
	case nvml.DEVICE_ARCH_PASCAL:
		return "Pascal"
	case nvml.DEVICE_ARCH_VOLTA:
		return "Volta"
	case nvml.DEVICE_ARCH_TURING:
		return "Turing"
	case nvml.DEVICE_ARCH_AMPERE:
		return "Ampere"
	case nvml.DEVICE_ARCH_ADA:
		return "Ada"
	case nvml.DEVICE_ARCH_HOPPER:
		return "Hopper"
	case nvml.DEVICE_ARCH_BLACKWELL:
		return "Blackwell"
	default:
		return fmt.Sprintf("architecture %d", a)
	}
}

func cString[T ~int8 | ~uint8](b []T) string {
	var s strings.Builder
	for _, c := range b {
		if c == 0 {
			break
		}
		s.WriteByte(byte(c))
	}
	return s.String()
}
