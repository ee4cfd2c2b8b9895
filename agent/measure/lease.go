package measure

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

const (
	// leaseOpenFor is how long after its commitment a lease's run can be opened by a customer who does not say that it has
	// its answers: the lease waits for its memory as long.
	leaseOpenFor = 15 * time.Second
	// leaseSlack is how long such a run may take beyond twice the time that the profile asks for.
	leaseSlack = 10 * time.Second
)

// Why a lease's run ends before its time.
var (
	errLeaseOver = errors.New("the lease is over")
	errLate      = errors.New("the measurement takes too long")
	errNewer     = errors.New("the customer has asked for another measurement, or for no more")
)

// Leases says what is known of the node's leases.
type Leases interface {
	// Customer reports whether a key is that of any lease's customer.
	Customer(solana.PublicKey) bool
	// Tenancy is a lease whose GPUs a key may have measured. Error: *p2p.Error when it may not, or there is none.
	Tenancy(ctx context.Context, key, lease solana.PublicKey) (Tenancy, error)
	// Held reports whether a lease is still live.
	Held(lease solana.PublicKey) bool
	// Ended is called when the measurement of a lease has ended and its memory is free.
	Ended(lease solana.PublicKey)
}

// Tenancy is what a lease has of the node.
type Tenancy struct {
	// GPUs is the mask of their indices.
	GPUs uint64
	// Until is when a measurement must be over, since the lease starts then; zero for one that has started.
	Until time.Time
	// Job says that the lease's job has the GPUs.
	Job bool
}

// leaseRun is a run for the customer of a lease.
type leaseRun struct {
	of    solana.PublicKey
	nonce [32]byte
	run   *run
	end   context.CancelCauseFunc
}

// JoinLease tells a customer of the run of its lease, from its first root to its commitment, and starts it. Error: *p2p.Error
// for a request that is none of this node's or none of the customer's lease, send's, the context's.
func (s *Server) JoinLease(ctx context.Context, from solana.PublicKey, req messages.LeaseMeasureRequest, send func(messages.MeasureItem) error) error {
	if err := admitCustomer(req.Version); err != nil {
		return err
	}
	t, err := s.o.Leases.Tenancy(ctx, from, req.Lease)
	if err != nil {
		return err
	}
	r, no, err := s.enterLease(ctx, from, req, t)
	switch {
	case err != nil:
		return err
	case no != 0:
		s.count.answered(no)
		return send(messages.MeasureItem{Refused: no})
	}
	return r.follow(ctx, func(m messages.MeasureItem) error {
		s.count.answered(m.Refused)
		return send(m)
	})
}

// OpenLease answers a customer's draw, or ends the run. Error: as JoinLease.
func (s *Server) OpenLease(ctx context.Context, from solana.PublicKey, req messages.LeaseMeasureOpenRequest) (messages.MeasureOpening, error) {
	if err := admitCustomer(req.Version); err != nil {
		return messages.MeasureOpening{}, err
	}
	if _, err := s.o.Leases.Tenancy(ctx, from, req.Lease); err != nil {
		return messages.MeasureOpening{}, err
	}
	s.mu.Lock()
	l := s.lease
	s.mu.Unlock()
	if l == nil || l.of != req.Lease || l.nonce != req.Nonce {
		return s.opened(ctx, from, nil, req.Challenge, req.GPU, nil, messages.MeasureOver, nil)
	}
	if req.Done {
		if l.run.status().committed {
			l.run.stop()
		} else {
			l.end(errNewer)
		}
		return messages.MeasureOpening{}, l.run.await(ctx)
	}
	answer, no, err := l.run.opens(ctx, from, req.GPU, req.Challenge)
	return s.opened(ctx, from, l.run, req.Challenge, req.GPU, answer, no, err)
}

// Measured reports whether a lease is measured by its customer now.
func (s *Server) Measured(lease solana.PublicKey) bool {
	s.mu.Lock()
	l := s.lease
	s.mu.Unlock()
	return l != nil && l.of == lease && !l.run.status().done
}

func admitCustomer(version uint8) error {
	if version != messages.Version {
		return p2p.Refuse(p2p.CodeVersion, "this node speaks another version")
	}
	return nil
}

// enterLease returns the run that a customer is to be told of, which it may have started, or why there is none. Error: ctx's.
func (s *Server) enterLease(ctx context.Context, from solana.PublicKey, req messages.LeaseMeasureRequest, t Tenancy) (*run, messages.MeasureRefusal, error) {
	for {
		s.mu.Lock()
		r, no, wait := s.findLease(from, req, t)
		s.mu.Unlock()
		if wait == nil {
			return r, no, nil
		}
		if err := wait.await(ctx); err != nil {
			return nil, 0, err
		}
	}
}

// findLease looks for the customer's run, and starts it if there is none. One of the same lease that is in its way is ended,
// and to be waited for. Callers hold mu.
func (s *Server) findLease(from solana.PublicKey, req messages.LeaseMeasureRequest, t Tenancy) (_ *run, no messages.MeasureRefusal, wait *run) {
	l := s.lease
	switch {
	case l != nil && l.of == req.Lease && l.nonce == req.Nonce:
		if no := l.run.status().refused; no != 0 {
			return nil, no, nil
		}
		if !l.run.join(from) {
			return nil, messages.MeasureTooMany, nil
		}
		return l.run, 0, nil
	case l != nil && !l.run.status().done && l.of == req.Lease:
		l.end(errNewer)
		return nil, 0, l.run
	case l != nil && !l.run.status().done: // of another lease: its rate would be less beside this one
		return nil, messages.MeasureTooMany, nil
	case t.Job && !req.Beside:
		return nil, messages.MeasureJob, nil
	}
	return s.startLease(from, req, t)
}

// startLease starts a run over the lease's GPUs. Callers hold mu.
func (s *Server) startLease(from solana.PublicKey, req messages.LeaseMeasureRequest, t Tenancy) (_ *run, no messages.MeasureRefusal, _ *run) {
	all, err := s.o.GPUs()
	var gpus []GPU
	longest := time.Duration(0)
	for _, g := range all {
		if t.GPUs&(1<<g.Index) != 0 {
			if req.Beside {
				g.Profile = g.Profile.Light()
			}
			gpus = append(gpus, g)
			longest = max(longest, g.Profile.Time())
		}
	}
	if err != nil || len(gpus) == 0 || len(gpus) > format.MaxGPUs {
		s.o.Log.Warn().Err(err).Int("gpus", len(gpus)).Msg("a lease is not measured: what is asked of its GPUs is not known")
		return nil, messages.MeasureUnready, nil
	}
	limit := 2*longest + leaseSlack + leaseOpenFor
	if !t.Until.IsZero() {
		limit = min(limit, t.Until.Sub(s.o.Now()))
	}
	if limit <= 0 {
		return nil, messages.MeasureOver, nil
	}
	lease := solana.PublicKey(req.Lease)
	r := newRun(format.Place{Domain: s.o.Domain, Instant: instant.OfLease(s.o.Domain, lease, req.Nonce), Node: s.o.Node}, gpus)
	life, end := context.WithCancelCause(context.Background())
	r.openFor, r.verdict = min(leaseOpenFor, s.o.OpenFor), right // the customer makes the instant
	r.log = s.o.Log.With().Stringer("lease", lease).Logger()
	r.bars = func() error {
		if !s.o.Leases.Held(lease) {
			return errLeaseOver
		}
		return context.Cause(life)
	}
	r.turn = func(ctx context.Context, f func(context.Context) error) error { return s.o.Turn(ctx, lease, f) }
	r.ended = func() { s.o.Leases.Ended(lease) }
	r.watch = []func(context.Context, context.CancelCauseFunc){
		func(ctx context.Context, cancel context.CancelCauseFunc) { s.watchChain(ctx, r.bars, cancel) },
		func(ctx context.Context, cancel context.CancelCauseFunc) {
			late := time.NewTimer(limit)
			defer late.Stop()
			select {
			case <-ctx.Done():
			case <-life.Done():
				cancel(context.Cause(life))
			case <-late.C:
				cancel(errLate)
			}
		},
	}
	s.lease = &leaseRun{of: lease, nonce: req.Nonce, run: r, end: end}
	r.join(from)
	s.beginLease <- r // it has room: the run before is done
	r.log.Info().Stringer("customer", from).Int("gpus", len(gpus)).Msg("a customer measures its lease")
	return r, 0, nil
}
