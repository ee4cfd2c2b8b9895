// Package device is what computes when a machine is measured, one device for each of its GPUs: CUDA, or a thread of the
// processor in place of a simulated GPU.
package device

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/cuda"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

// New returns a device for each GPU, in the order of their UUIDs. No GPU is touched before Open, or before it is measured.
// Simulated GPUs are measured by the processor, one thread each.
func New(uuids []string, simulated bool) []measure.Device {
	out := make([]measure.Device, len(uuids))
	for i, uuid := range uuids {
		out[i] = &GPU{uuid: uuid, open: openGPU}
		if simulated {
			out[i] = processor.Simulated()
		}
	}
	return out
}

// Open opens GPUs before their first measurement, of which loading the kernels would take half a second. One that cannot be
// opened now is tried again when it is measured. Error: those of the GPUs.
func Open(ctx context.Context, devices []measure.Device) (err error) {
	for _, d := range devices {
		if g, ok := d.(*GPU); ok {
			_, failed := g.use(ctx)
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Close gives the GPUs back that were measured. Nothing may be measured on them meanwhile.
func Close(devices []measure.Device) (err error) {
	for _, d := range devices {
		if g, ok := d.(*GPU); ok {
			err = errors.Join(err, g.close())
		}
	}
	return err
}

// opened is a GPU that computes.
type opened interface {
	measure.Device
	Close() error
	Profile() measure.Profile
}

// GPU is a GPU that is opened when it is measured first, or before, and stays open: loading the kernels would count.
type GPU struct {
	uuid string
	open func(ctx context.Context, uuid string) (opened, error)

	mu     sync.Mutex
	held   opened
	closed bool
}

// Run implements [measure.Device].
func (g *GPU) Run(ctx context.Context, t measure.Task, ended func(uint32, measure.Hash)) (measure.Run, error) {
	d, err := g.use(ctx)
	if err != nil {
		return nil, err
	}
	return d.Run(ctx, t, ended)
}

// Profile is what the GPU is asked for, see [cuda.Info.Profile]. It opens the GPU.
func (g *GPU) Profile(ctx context.Context) (measure.Profile, error) {
	d, err := g.use(ctx)
	if err != nil {
		return measure.Profile{}, err
	}
	return d.Profile(), nil
}

func (g *GPU) use(ctx context.Context) (opened, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, context.Canceled
	}
	if g.held == nil {
		d, err := g.open(ctx, g.uuid)
		if err != nil {
			return nil, fmt.Errorf("GPU %s cannot be measured: %w", g.uuid, err)
		}
		g.held = d
	}
	return g.held, nil
}

func (g *GPU) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.held == nil {
		return nil
	}
	d := g.held
	g.held = nil
	return d.Close()
}

// cudaGPU is a GPU that was found.
type cudaGPU struct{ *cuda.Device }

func (c cudaGPU) Profile() measure.Profile { return c.Info.Profile() }

// openGPU finds a GPU by its UUID: CUDA numbers them otherwise than NVML does.
func openGPU(ctx context.Context, uuid string) (opened, error) {
	return find(uuid, func(i int) (found, error) {
		d, err := cuda.Open(ctx, cuda.Options{Index: i})
		if err != nil {
			return found{}, err
		}
		return found{cudaGPU{d}, d.Info.UUID}, nil
	})
}

// found is a GPU as CUDA shows it.
type found struct {
	opened
	uuid [16]byte
}

// find opens GPUs in CUDA's order until one has the UUID. One that cannot be opened says nothing about those after it.
func find(uuid string, open func(int) (found, error)) (opened, error) {
	var failed error
	for i := range maxDevices {
		d, err := open(i)
		switch {
		case errors.Is(err, attest.ErrAbsent):
			return nil, fmt.Errorf("CUDA shows no such GPU among %d: %w", i, errors.Join(err, failed))
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("CUDA's device %d: %w", i, err))
		case sameUUID(uuid, d.uuid):
			return d.opened, nil
		default:
			if err := d.Close(); err != nil {
				failed = errors.Join(failed, fmt.Errorf("CUDA's device %d: %w", i, err))
			}
		}
	}
	return nil, fmt.Errorf("CUDA shows no such GPU among %d: %w", maxDevices, errors.Join(attest.ErrAbsent, failed))
}

// maxDevices is more than a machine has.
const maxDevices = 64

// sameUUID compares NVML's text with CUDA's bytes.
func sameUUID(text string, b [16]byte) bool {
	return strings.EqualFold(strings.ReplaceAll(strings.TrimPrefix(text, "GPU-"), "-", ""), hex.EncodeToString(b[:]))
}
