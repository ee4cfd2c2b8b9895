package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/device"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/check"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

// What computed.
const (
	// ByGPUs: the GPUs of the inventory.
	ByGPUs = "GPUs"
	// BySimulation: a thread of the processor in place of each simulated GPU.
	BySimulation = "processor threads in place of SIMULATED GPUs"
	// ByProcessor: all threads of the processor, since there is no GPU. A market rents none.
	ByProcessor = "processor, as there is no GPU"
)

// checks is how often a processor is measured: once is a twentieth of a second, and others use it too.
const checks = 8

// ErrFigures: the result of a benchmark cannot be what a device has made.
var ErrFigures = errors.New("bench: the devices made nothing that can be measured")

// Options for Run.
type Options struct {
	// Devices are the machine's, one for each GPU: see package device. Without any the processor is measured.
	Devices []measure.Device
	// Simulated says that the devices stand in for GPUs.
	Simulated bool
	// DiskPath is measured unless DiskBytes is 0.
	DiskPath  string
	DiskBytes int64
	// Progress is called when a step starts, with the share that is done; may be nil.
	Progress func(step string, done float64)
}

// GPU is what one of them reached while all of them computed.
type GPU struct {
	// Operations is 10⁹ int8 operations a second, two for each multiplication, Bandwidth 10⁶ bytes a second under dependent
	// access: the units in which keepers state them and models ask for them.
	Operations uint32 `json:"operations_g"`
	Bandwidth  uint32 `json:"bandwidth_m"`
	// MemoryMiB was resident meanwhile.
	MemoryMiB uint64 `json:"memory_mib"`
}

// Result of a benchmark.
type Result struct {
	// By says what computed: one of ByGPUs, BySimulation and ByProcessor.
	By   string         `json:"by"`
	GPUs []GPU          `json:"gpus"`
	Disk host.DiskSpeed `json:"disk"`
	At   time.Time      `json:"at"`
}

// Weakest is the least of the GPUs in each figure: a market looks at no other.
func (r Result) Weakest() GPU {
	if len(r.GPUs) == 0 {
		return GPU{}
	}
	w := r.GPUs[0]
	for _, g := range r.GPUs[1:] {
		w = GPU{min(w.Operations, g.Operations), min(w.Bandwidth, g.Bandwidth), min(w.MemoryMiB, g.MemoryMiB)}
	}
	return w
}

// Complete reports whether the result is that of a whole benchmark.
func (r Result) Complete() bool {
	w := r.Weakest()
	return w.Operations > 0 && w.Bandwidth > 0 && w.MemoryMiB > 0 && !r.At.IsZero()
}

// Run measures. A device that computes wrongly is an error: a machine with one must not be registered.
func Run(ctx context.Context, o Options) (Result, error) {
	report := func(step string, done float64) {
		if o.Progress != nil {
			o.Progress(step, done)
		}
	}
	r := Result{By: ByGPUs, At: time.Now().UTC()}
	devices := o.Devices
	switch {
	case len(devices) == 0:
		r.By = ByProcessor
		all, err := processor.New(0)
		if err != nil {
			return Result{}, fmt.Errorf("bench: %w", err)
		}
		devices = []measure.Device{all}
	case o.Simulated:
		r.By = BySimulation
	}
	report(fmt.Sprintf("arithmetic and memory of %d × %s", len(devices), r.By), 0)
	// All at once, as keepers measure them: what they share, such as power, shows.
	r.GPUs = make([]GPU, len(devices))
	g, gctx := errgroup.WithContext(ctx)
	for i, d := range devices {
		g.Go(func() (err error) {
			if r.GPUs[i], err = one(gctx, d); err != nil {
				return fmt.Errorf("bench: GPU %d: %w", i, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	report("disk", 0.8)
	if o.DiskBytes > 0 {
		var err error
		if r.Disk, err = host.MeasureDisk(ctx, o.DiskPath, o.DiskBytes); err != nil {
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			r.Disk.Note = "not measured: " + err.Error()
		}
	} else {
		r.Disk.Note = "not measured: not asked for"
	}
	report("done", 1)
	if !r.Complete() {
		return Result{}, ErrFigures
	}
	return r, nil
}

// one measures a device: a GPU once, by its own profile in the times of the light form, a processor several times, of
// which the medians count.
func one(ctx context.Context, d measure.Device) (GPU, error) {
	p, times := class.Profile, checks
	if gpu, ok := d.(*device.GPU); ok {
		var err error
		if p, err = gpu.Profile(ctx); err != nil {
			return GPU{}, err
		}
		light := p.Light()
		p.ChainMs, p.WalkMs, times = light.ChainMs, light.WalkMs, 1
	}
	var operations, bandwidth []float64
	for range times {
		c, err := check.Device(ctx, d, p)
		if err != nil {
			return GPU{}, err
		}
		operations, bandwidth = append(operations, c.Figures.Operations), append(bandwidth, c.Figures.Bandwidth)
	}
	return GPU{
		Operations: uint32(class.Median(operations) / 1e9), Bandwidth: uint32(class.Median(bandwidth) / 1e6), MemoryMiB: p.Memory() >> 20,
	}, nil
}
