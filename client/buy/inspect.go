package buy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// inspectedShare is the part of what was promised, in percent, that a machine must reach while a job may have most
	// of the GPU.
	inspectedShare = 10
	// inspectTries is how often a machine is tried that does not pass at once, inspectPause lies between two tries.
	inspectTries = 3
	inspectPause = 5 * time.Second
	// inspectSlack is what an inspection takes beyond what its profile asks for.
	inspectSlack = 2 * time.Second
)

// inspecting inspects a lease while the caller does other work. The returned function ends that and returns what is to
// be said of the machine; nil for one that has passed, or was not inspected.
func (d *deal) inspecting(ctx context.Context, l market.Lease, halt func()) func() error {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- d.inspectLater(ctx, l, halt) }()
	return func() error {
		cancel()
		err := <-over
		var bad *badMachine
		if errors.As(err, &bad) {
			return refused(bad.Error(), "its lease was ended, and what is not billed is free again; look at the machine with: gantry audit "+l.Address.String())
		}
		return err
	}
}

// inspectLater measures the machine while its job runs, at the second of the lease that was drawn, if the lease was
// drawn at all. Error: *badMachine, after the lease was ended, or why it could not be.
func (d *deal) inspectLater(ctx context.Context, l market.Lease, halt func()) error {
	why, err := d.inspectOnce(ctx, l)
	switch {
	case ctx.Err() != nil: // the job was over before
		return nil
	case err != nil: // this command's own trouble says nothing of the machine
		d.b.tell(InspectionMissed{Err: err})
		return nil
	case why == nil:
		return nil
	}
	halt() // no receipt is signed any more
	return d.leave(ctx, l, why)
}

// inspectOnce draws whether and when the lease is inspected, waits, and returns why its machine does not pass; nil for
// one that does, and for a lease that was not drawn.
func (d *deal) inspectOnce(ctx context.Context, l market.Lease) (why, err error) {
	cur, ok, err := started(ctx, d.v, l)
	if err != nil {
		return nil, err
	}
	n, known := d.v.Node(l.Node)
	if !ok || !known || cur.State() != market.LeaseRunning {
		return nil, nil
	}
	drawn, err := drawByte()
	if err != nil {
		return nil, err
	}
	if !drawnFor(d.p.Inspect, n.Spec.Simulated == 1, drawn) {
		return nil, nil
	}
	now, err := d.b.client.Now(d.ctx)
	if err != nil {
		return nil, err
	}
	m, err := MeasurementOf(d.v, d.mk, l)
	if err != nil {
		return nil, err
	}
	pause, err := drawWait(time.Duration(max(0, cur.FundedUntil-now))*time.Second - m.takes())
	if err != nil {
		return nil, err
	}
	if err := wait.For(ctx, pause); err != nil {
		return nil, err
	}
	return d.inspect(ctx, l, m)
}

// started waits until the lease has started on chain: its machine says that the job runs before this program sees it there.
// ok is false where the lease is not there any more.
func started(ctx context.Context, v *view.View, l market.Lease) (cur market.Lease, ok bool, err error) {
	err = v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok = v.Lease(l.Address)
		return !ok || cur.State() >= market.LeaseRunning
	})
	return cur, ok, err
}

// drawnFor reports whether a lease is inspected, with a byte that is drawn. Simulated GPUs have nothing to show.
func drawnFor(mode string, simulated bool, drawn byte) bool {
	switch mode {
	case Always:
		return true
	case Auto:
		return !simulated && drawn%drawnOneIn == 0
	}
	return false
}

// takes is how long a measurement while a job runs takes at most, if the machine is honest.
func (m *Measurement) takes() time.Duration {
	var longest time.Duration
	for _, g := range m.Lease.GPUs {
		longest = max(longest, g.Profile.Light().Time())
	}
	return 2*longest + inspectSlack
}

// drawWait is a random time within what is left of a lease.
func drawWait(left time.Duration) (time.Duration, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(max(left, 1))))
	if err != nil {
		return 0, fmt.Errorf("random number: %w", err)
	}
	return time.Duration(n.Int64()), nil
}

// inspect measures a machine while its job runs, and says what it finds. why is why it does not pass; nil also where
// the job has left it no memory, which a machine cannot be blamed for.
func (d *deal) inspect(ctx context.Context, l market.Lease, m *Measurement) (why, err error) {
	found, why, err := m.inspect(ctx, d.remote)
	switch {
	case err != nil:
		return nil, err
	case found == service.InspectionPassed:
		d.b.tell(Inspected{Lease: l, Figures: m.Result.Figures})
	case found == service.InspectionUndecided:
		d.b.tell(InspectionUndecided{Lease: l})
	default:
		return why, nil
	}
	return nil, nil
}

// inspect measures a machine while its job runs. found is that it has passed, has failed, or that nothing is known,
// and why is why it has not passed. Error: of ctx.
func (m *Measurement) inspect(ctx context.Context, r *Remote) (found string, why, err error) {
	m.Lease.Beside, m.Promise.Least = true, inspectedShare
	for i := range inspectTries {
		if i > 0 {
			if err := wait.For(ctx, inspectPause); err != nil {
				return "", nil, err
			}
		}
		m.Run(ctx, r, nil)
		if why = m.Why(); why == nil {
			return service.InspectionPassed, nil, nil
		}
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		if m.Result.Outcome == measure.Wrong { // a right machine is never wrong
			return service.InspectionFailed, why, nil
		}
	}
	var answer *measure.RefusedError
	if errors.As(why, &answer) && answer.Why == messages.MeasureFailed {
		return service.InspectionUndecided, why, nil
	}
	return service.InspectionFailed, why, nil
}
