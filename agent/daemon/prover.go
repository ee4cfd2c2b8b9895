package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/cuda"
	"github.com/gantry-market/gantry/attest/work/gpu"
)

// simulatedProver computes the work proofs of machines whose GPUs are simulated, or that simulate slow ones. ok is
// false for real machines.
func simulatedProver(cfg config.Config, simulated bool) (p work.Prover, ok bool) {
	switch {
	case cfg.WrongWork:
		return work.Faulty{Prover: work.CPU{}, Fraction: 1e-4}, true
	case cfg.SlowFactor > 1:
		return work.Throttled{Prover: work.CPU{Workers: 1}, Repeat: cfg.SlowFactor}, true
	case simulated:
		return work.CPU{}, true
	}
	return nil, false
}

// openProver chooses what computes work proofs, for as long as the agent runs. A GPU that does not work does not stop
// the agent: leases that run on it have to be served, and a customer's job may hold all of its memory just now.
func (a *Agent) openProver(ctx context.Context) error {
	if p, ok := simulatedProver(a.cfg, a.machine.Inventory.Simulated); ok {
		a.prover = p
		a.log.Info().Str("prover", p.Name()).Bool("simulated", true).Msg("work proofs are computed by the processor: this machine simulates")
		return nil
	}
	a.device = &deviceProver{log: a.log, open: openDevice}
	a.prover = a.device
	if _, err := a.device.use(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.log.Error().Err(err).Msg("the GPU computes no work proofs; the agent tries it again at every work challenge and answers none until it works")
	}
	return nil
}

// device is what computes on a real machine.
type device interface {
	work.Prover
	// Reason says why no GPU is used, "" if one is.
	Reason() string
	Close() error
}

// openDevice opens the first GPU. One that is too old for the kernels is like none.
func openDevice(ctx context.Context) (device, error) {
	p, err := gpu.Open(ctx, gpu.Options{})
	if errors.Is(err, cuda.ErrUnsupported) {
		return processor{why: err.Error()}, nil
	}
	return p, err
}

// processor stands in for a GPU that cannot be used at all.
type processor struct {
	work.CPU
	why string
}

func (p processor) Reason() string { return p.why }
func (processor) Close() error     { return nil }

// deviceProver holds the GPU once it could be opened. A GPU that is there and fails is never replaced by the processor,
// whose proofs would come too late and cost stake.
type deviceProver struct {
	log  zerolog.Logger
	open func(context.Context) (device, error)

	mu     sync.Mutex // held while computing, too: a GPU is not given back below a proof
	held   device
	closed bool
}

var _ work.Prover = (*deviceProver)(nil)

// use returns the device, opened if it was not.
func (p *deviceProver) use(ctx context.Context) (device, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.locked(ctx)
}

func (p *deviceProver) locked(ctx context.Context) (device, error) {
	if p.closed {
		return nil, context.Canceled
	}
	if p.held != nil {
		return p.held, nil
	}
	d, err := p.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("the GPU cannot compute work proofs: %w", err)
	}
	p.held = d
	if why := d.Reason(); why != "" {
		p.log.Warn().Str("prover", d.Name()).Str("why", why).Msg("work proofs are computed by the processor: no GPU can be used")
	} else {
		p.log.Info().Str("prover", d.Name()).Msg("work proofs are computed by the GPU, which passed its test")
	}
	return d, nil
}

// Name implements [work.Prover].
func (p *deviceProver) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		return "GPU, not opened"
	}
	return p.held.Name()
}

// Prove implements [work.Prover].
func (p *deviceProver) Prove(ctx context.Context, seed work.Seed, n int) (*work.Proof, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, err := p.locked(ctx)
	if err != nil {
		return nil, err
	}
	return d.Prove(ctx, seed, n)
}

// Close waits for a proof that is being computed and gives the GPU back.
func (p *deviceProver) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.held == nil {
		return nil
	}
	d := p.held
	p.held = nil
	return d.Close()
}
