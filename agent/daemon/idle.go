package daemon

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/idle"
	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/measure"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ownersJob is what runs while nobody rents the GPUs.
type ownersJob struct {
	idle        *idle.Job // nil where the owner has none
	idleTrouble string    // why it does not run at all; empty for nothing
}

// openIdle makes what runs the owner's job while nobody rents the GPUs. A job that does not fit the machine keeps it out of no lease.
func (a *Agent) openIdle(whole jobspec.Share) error {
	if a.cfg.Idle == nil {
		return nil
	}
	job, err := a.cfg.Idle.Job()
	if err != nil {
		return err
	}
	count, err := a.cfg.Idle.Count()
	if err != nil {
		return err
	}
	if a.cfg.Network.Off {
		job.Network = ""
	}
	gpus := len(a.machine.UUIDs())
	a.idle, err = idle.New(idle.Options{
		Runtime: a.runtime, UUIDs: a.machine.UUIDs(), Count: count,
		Spec: runtime.Spec{
			Image: job.Image, Entrypoint: job.Entrypoint, Command: job.Command, Env: job.Env, User: job.User, Network: job.Network,
			Limits: runtime.Limits{CPUs: a.cfg.Idle.CPUs, MemoryMiB: job.MemoryMiB, DiskMiB: job.DiskMiB},
		},
		Resolve: func(ctx context.Context, reference string) (string, error) {
			return image.Resolve(ctx, reference, a.cfg.LocalRegistries || a.local)
		},
		Part:   func(n int) jobspec.Share { return whole.Part(n, gpus) },
		Leased: a.leased, Changed: a.chain.Changed, Withheld: a.withheld, Share: a.classShare, Period: a.periodSecs, Instants: a.drawn,
		Output: a.cfg.IdleLog(), Now: a.clock.Now, Log: a.log.With().Str("part", "idle").Logger(),
	})
	if errors.Is(err, runtime.ErrSpec) {
		a.idleTrouble = err.Error()
		a.log.Error().Err(err).Msg("the idle job does not run: it asks for more than its GPUs' part of the machine")
		return nil
	}
	return err
}

// endIdle ends a job that the settings do not name any more, before anything of a lease is started. One that does not end must not keep
// the agent from its leases.
func (a *Agent) endIdle(ctx context.Context) {
	if a.idle != nil {
		return
	}
	if err := idle.End(ctx, a.runtime); err != nil {
		a.log.Warn().Err(err).Msg("what is left of a former idle job cannot be ended; restart the machine if its GPUs stay in use")
	}
}

// apart has nothing else compute on the GPUs, the owner's job included.
func (a *Agent) apart(ctx context.Context, key solana.PublicKey, f func(context.Context) error) error {
	return a.aside(ctx, func(ctx context.Context) error { return a.challenges.Alone(ctx, key, f) })
}

// aside calls f while the owner's job does not run.
func (a *Agent) aside(ctx context.Context, f func(context.Context) error) error {
	return a.idle.Aside(ctx, f)
}

// withheld says why the machine takes no new leases; empty if it does.
func (a *Agent) withheld() string {
	if s := a.offer.State(); !s.Offering {
		return s.Text
	}
	return ""
}

// classShare is what the machine reached of its class when it was measured last, and in which period.
func (a *Agent) classShare() (period uint64, share float64, ok bool) {
	n, ok := a.view.Node(a.node)
	shares := n.ClassShares()
	if !ok || !n.Calibrated() || len(shares) == 0 {
		return 0, 0, false
	}
	return n.MeasuredPeriod, float64(shares[0]) / market.BPS, true
}

func (a *Agent) periodSecs() uint32 {
	p, _ := a.view.Params()
	return p.PeriodSecs
}

// drawn looks for the instant of a period at some of its ticks.
func (a *Agent) drawn(ctx context.Context, p records.Period, from, to int) (at, next int, err error) {
	b := measure.Blocks{Source: a.client.Blocks(chain.Confirmed), Domain: a.domain, PeriodSecs: a.periodSecs()}
	return b.Drawn(ctx, p, from, to)
}

// idleState is how the owner's job does; nil without one.
func (a *Agent) idleState() *idle.State {
	if a.idleTrouble != "" {
		return &idle.State{Why: idle.Failing, Text: a.idleTrouble, Never: true, LastFailure: a.idleTrouble}
	}
	s, ok := a.idle.State()
	if !ok {
		return nil
	}
	return &s
}
