package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/measure"
	"github.com/gantry-market/gantry/attest"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/cuda"
	cpu "github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/instant"
)

// errTerms: what the node is measured by is not known yet.
var errTerms = errors.New("the market or the node's GPU model is not known yet")

// openMeasure makes what has this node's GPUs measured.
func (a *Agent) openMeasure() (err error) {
	a.measured, err = measuredDevices(a.cfg, a.machine.Inventory.Simulated, a.machine.UUIDs())
	if err != nil {
		return err
	}
	h := handlers{silence: a.cfg.SilenceFile}
	a.measure, err = measure.New(measure.Options{
		Node: a.node, Domain: a.domain, Signer: a.key, Member: a.mayChallenge, Instants: instants{a}, GPUs: a.measuredGPUs,
		Busy: a.leases.Live, Changed: a.chain.Changed, Turn: a.challenges.InTurn, Hold: h.holdSilently,
		PeriodSecs: func() (uint32, bool) {
			p, ok := a.view.Params()
			return p.PeriodSecs, ok && p.PeriodSecs > 0
		},
		Log: a.log.With().Str("part", "measure").Logger(),
	})
	return err
}

// measuredGPUs are the node's devices, with what its model is measured by now. Error: errTerms.
func (a *Agent) measuredGPUs() ([]measure.GPU, error) {
	node, ok := a.view.Node(a.node)
	if !ok {
		return nil, errTerms
	}
	model, ok := a.view.Model(node.Spec.Model)
	if !ok {
		return nil, errTerms
	}
	out := make([]measure.GPU, len(a.measured))
	for i, d := range a.measured {
		out[i] = measure.GPU{Index: uint8(i), Profile: market.ProfileOf(model.Profile), Device: d}
	}
	return out, nil
}

// instants finds instants by periods of the market's length.
type instants struct{ a *Agent }

func (i instants) Is(ctx context.Context, claimed instant.Instant) (bool, error) {
	p, ok := i.a.view.Params()
	if !ok || p.PeriodSecs == 0 {
		return false, errTerms
	}
	return measure.Blocks{Source: i.a.client.Blocks(chain.Confirmed), Domain: i.a.domain, PeriodSecs: p.PeriodSecs}.Is(ctx, claimed)
}

// measuredDevices are what computes in measurements, one for each GPU: the processor for simulated GPUs.
func measuredDevices(cfg config.Config, simulated bool, uuids []string) ([]format.Device, error) {
	out := make([]format.Device, len(uuids))
	for i, uuid := range uuids {
		switch {
		case cfg.WrongWork:
			out[i] = cpu.Faulty{}
		case simulated || cfg.SlowFactor > 1:
			d, err := cpu.New(1)
			if err != nil {
				return nil, err
			}
			out[i] = d
			if cfg.SlowFactor > 1 {
				out[i] = cpu.Slow{Device: d, Factor: cfg.SlowFactor}
			}
		default:
			out[i] = &gpuDevice{uuid: uuid, open: openGPU}
		}
	}
	return out, nil
}

// openedGPU is a GPU that computes.
type openedGPU interface {
	format.Device
	Close() error
}

// gpuDevice is a GPU that is opened when it is measured first, and stays open: loading the kernels would count.
type gpuDevice struct {
	uuid string
	open func(ctx context.Context, uuid string) (openedGPU, error)

	mu     sync.Mutex
	held   openedGPU
	closed bool
}

// Run implements [format.Device].
func (g *gpuDevice) Run(ctx context.Context, t format.Task, ended func(uint32, format.Hash)) (format.Run, error) {
	d, err := g.use(ctx)
	if err != nil {
		return nil, err
	}
	return d.Run(ctx, t, ended)
}

func (g *gpuDevice) use(ctx context.Context) (openedGPU, error) {
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

// Close gives the GPU back. Nothing may be measured on it meanwhile.
func (g *gpuDevice) Close() error {
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

// openGPU finds a GPU by its UUID: CUDA numbers them otherwise than NVML does.
func openGPU(ctx context.Context, uuid string) (openedGPU, error) {
	for i := 0; ; i++ {
		d, err := cuda.Open(ctx, cuda.Options{Index: i})
		switch {
		case errors.Is(err, attest.ErrAbsent):
			return nil, fmt.Errorf("CUDA shows no such GPU among %d: %w", i, err)
		case err != nil:
			return nil, err
		case sameUUID(uuid, d.Info.UUID):
			return d, nil
		}
		if err := d.Close(); err != nil {
			return nil, err
		}
	}
}

// sameUUID compares NVML's text with CUDA's bytes.
func sameUUID(text string, b [16]byte) bool {
	return strings.EqualFold(strings.ReplaceAll(strings.TrimPrefix(text, "GPU-"), "-", ""), hex.EncodeToString(b[:]))
}

// closeMeasured gives the GPUs back that were measured.
func (a *Agent) closeMeasured() (err error) {
	for _, d := range a.measured {
		if g, ok := d.(*gpuDevice); ok {
			err = errors.Join(err, g.Close())
		}
	}
	return err
}
