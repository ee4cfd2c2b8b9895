package measure

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/attest/guest"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// DefaultOpenFor is how long after its commitment a run can be opened. The GPUs' memory is taken as long.
	DefaultOpenFor = 30 * time.Second
	// maxMembers bounds who is told of one run. A committee has seven members, or all keepers of a small market.
	maxMembers = 64
	// startShare is the part of a period, 1/n, within which after a tick, or before it by the node's clock, a run may begin.
	startShare = 60
	// startLeast is that time in short periods.
	startLeast = 20 * time.Second
	// openLeast is how long members have to open a run at least, before that of the next period takes its memory: periods of
	// local networks are shorter than DefaultOpenFor.
	openLeast = 10 * time.Second
	// blockRetry is how long the node waits after it could not look a block up.
	blockRetry = time.Second
)

// GPU is what is measured.
type GPU struct {
	// Index is the GPU's place among the node's, by which the commitment names it.
	Index   uint8
	Profile format.Profile
	Device  format.Device
}

// Instants looks up whether a block is the instant of its period.
type Instants interface {
	// Is returns an error when that cannot be said yet.
	Is(ctx context.Context, claimed instant.Instant) (bool, error)
}

// Options of New. All but Guest, Leases, Turn, OpenFor, Now and Log are required.
type Options struct {
	// Node is the node account.
	Node   solana.PublicKey
	Domain records.Domain
	// Signer is the node's key.
	Signer records.Signer
	// Guest is this process's own key, which the node's evidence shows; nil where it shows none.
	Guest *guest.Key
	// Member says whether a key may ask: that of an active keeper whose records count in this period.
	Member   func(solana.PublicKey) bool
	Instants Instants
	// GPUs are those of the node in the order of their indices, 1 to 8. Error: what is asked of them is not known yet.
	GPUs func() ([]GPU, error)
	// Busy says whether a lease is live: its customer has the GPUs. Changed is closed when that may be another.
	Busy    func() bool
	Changed func() <-chan struct{}
	// Leases says which leases' customers may have their GPUs measured; nil for none.
	Leases Leases
	// PeriodSecs is the length of a period; false while the market is not known.
	PeriodSecs func() (uint32, bool)
	// Turn calls a function when nothing else computes on the GPUs, one for each key at a time; nil calls it at once.
	Turn    func(ctx context.Context, key solana.PublicKey, f func(context.Context) error) error
	OpenFor time.Duration
	Now     func() time.Time
	Log     zerolog.Logger
}

// Server answers the members of the node's committee, and the customers of its leases.
type Server struct {
	o Options
	// begin and beginLease are what Run is to do next: there is never more than one run of a period, and one of a lease.
	begin, beginLease chan *run
	count             *counts

	mu    sync.Mutex
	run   *run                                // the last of a period
	lease *leaseRun                           // the last of a lease
	muted map[solana.PublicKey]records.Period // who has named a wrong block, and in which period
}

// New checks the options. Run must be called for runs to be made. Error: options.ErrMissing.
func New(o Options) (*Server, error) {
	if err := options.Complete("measure", o, "Guest", "Leases", "Turn", "OpenFor", "Now", "Log"); err != nil {
		return nil, err
	}
	if o.Turn == nil {
		o.Turn = func(ctx context.Context, _ solana.PublicKey, f func(context.Context) error) error { return f(ctx) }
	}
	if o.OpenFor <= 0 {
		o.OpenFor = DefaultOpenFor
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{o: o, begin: make(chan *run, 1), beginLease: make(chan *run, 1), count: newCounts(), muted: map[solana.PublicKey]records.Period{}}, nil
}

// Run makes the runs that members and customers start, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, begin := range []chan *run{s.begin, s.beginLease} {
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case r := <-begin:
					s.execute(ctx, r)
				}
			}
		})
	}
	<-ctx.Done()
	return ctx.Err()
}

// Free waits until no measurement has the memory of a lease's GPUs: none of the node, which ends when a lease begins, and
// none of the lease itself. Error: ctx's.
func (s *Server) Free(ctx context.Context, lease solana.PublicKey) error {
	s.mu.Lock()
	r, l := s.run, s.lease
	s.mu.Unlock()
	if r != nil {
		if err := r.await(ctx); err != nil {
			return err
		}
	}
	if l != nil && l.of == lease {
		return l.run.await(ctx)
	}
	return nil
}

// enter returns the run that a member is to be told of, which it may have started, or why there is none. Error: ctx's.
func (s *Server) enter(ctx context.Context, from solana.PublicKey, at instant.Instant) (*run, messages.MeasureRefusal, error) {
	for {
		s.mu.Lock()
		r, no, wait := s.find(from, at)
		s.mu.Unlock()
		if wait == nil {
			return r, no, nil
		}
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-wait:
		}
	}
}

// find looks for the member's run, and starts it if there is none. wait is closed when it is to be looked for again.
// Callers hold mu.
func (s *Server) find(from solana.PublicKey, at instant.Instant) (_ *run, no messages.MeasureRefusal, wait <-chan struct{}) {
	if p, ok := s.muted[from]; ok && p == at.Period {
		return nil, messages.MeasureBlock, nil
	}
	r := s.run
	if r == nil {
		return s.start(from, at)
	}
	now := r.status()
	switch {
	case at.Period < r.at.Period:
		return nil, messages.MeasureOver, nil
	case at.Period > r.at.Period && now.done:
		return s.start(from, at)
	case at.Period > r.at.Period && now.committed && (now.opened || !time.Now().Before(now.yields)):
		r.stop()
		return nil, 0, now.changed
	case at.Period > r.at.Period: // what the node has signed it opens first
		return nil, messages.MeasureOver, nil
	case now.verdict == wrong && now.done:
		return s.start(from, at)
	case now.verdict == wrong:
		return nil, 0, now.changed
	case !same(at, r.at) && now.verdict == right:
		s.mute(from, at.Period)
		return nil, messages.MeasureBlock, nil
	case now.outvoted && now.done && now.verdict == right: // its block was looked up meanwhile
		return s.start(from, at)
	case now.outvoted && now.done:
		return s.succeed(r, from, at)
	case now.outvoted:
		return nil, 0, now.changed
	case !same(at, r.at) && now.done: // nobody knows which of the two is the instant
		return nil, messages.MeasureBlock, nil
	case !same(at, r.at): // one of the two is wrong
		if _, here := instant.Draw(s.o.Domain, at.Period, at.Tick, at.Slot, at.Hash, at.At); !here {
			s.mute(from, at.Period)
			return nil, messages.MeasureBlock, nil
		}
		r.rival(from, at)
		return nil, 0, now.changed
	case now.refused != 0:
		return nil, now.refused, nil
	case !r.join(from):
		return nil, messages.MeasureTooMany, nil
	}
	return r, 0, nil
}

// succeed starts a run by the block that has outvoted another's, for all who name it. Callers hold mu.
func (s *Server) succeed(r *run, from solana.PublicKey, at instant.Instant) (*run, messages.MeasureRefusal, <-chan struct{}) {
	block, names := r.winner()
	if _, no, wait := s.start(names[0], block); no != 0 || wait != nil {
		return nil, no, wait
	}
	for _, key := range names[1:] {
		s.run.join(key)
	}
	return s.find(from, at)
}

// same reports whether two name the same block as the instant of the same tick.
func same(a, b instant.Instant) bool {
	return a.Period == b.Period && a.Tick == b.Tick && a.Slot == b.Slot && a.Hash == b.Hash
}

// start starts a run if nothing stands against it that the node knows by itself. Callers hold mu.
func (s *Server) start(from solana.PublicKey, at instant.Instant) (_ *run, no messages.MeasureRefusal, wait <-chan struct{}) {
	changed := s.o.Changed()
	secs, ok := s.o.PeriodSecs()
	if !ok || secs == 0 { // an agent that has just started
		return nil, 0, changed
	}
	// Periods far off are refused first: their times would overflow.
	now := s.o.Now()
	off, current := now.Sub(instant.Tick(at.Period, at.Tick, secs)).Abs(), records.Period(now.Unix()/int64(secs))
	if at.Period+1 < current || at.Period > current+1 || off > max(time.Duration(secs)*time.Second/startShare, startLeast) {
		return nil, messages.MeasureOver, nil
	}
	drawn, here := instant.Draw(s.o.Domain, at.Period, at.Tick, at.Slot, at.Hash, at.At)
	if !here {
		s.mute(from, at.Period)
		return nil, messages.MeasureBlock, nil
	}
	if s.o.Busy() {
		return nil, messages.MeasureLease, nil
	}
	gpus, err := s.o.GPUs()
	switch {
	case err != nil:
		s.o.Log.Debug().Err(err).Msg("keepers wait: the node does not know yet what is asked of its GPUs")
		return nil, 0, changed
	case len(gpus) == 0 || len(gpus) > format.MaxGPUs:
		s.o.Log.Warn().Int("gpus", len(gpus)).Msgf("the node is not measured: a node has 1 to %d GPUs", format.MaxGPUs)
		return nil, messages.MeasureUnready, nil
	}
	place := format.Place{Domain: s.o.Domain, Instant: drawn.Seed, Node: s.o.Node}
	r := newRun(place, gpus)
	r.at, r.openFor, r.bars = drawn, s.o.OpenFor, s.leased
	r.log = s.o.Log.With().Uint64("period", uint64(at.Period)).Logger()
	r.turn = func(ctx context.Context, f func(context.Context) error) error { return s.o.Turn(ctx, s.o.Node, f) }
	r.watch = []func(context.Context, context.CancelCauseFunc){
		func(ctx context.Context, cancel context.CancelCauseFunc) { s.verify(ctx, r, cancel) },
		func(ctx context.Context, cancel context.CancelCauseFunc) { s.watchChain(ctx, s.leased, cancel) },
		r.voted,
	}
	s.run = r
	s.run.join(from)
	s.begin <- s.run // it has room: the run before is done
	s.o.Log.Info().Uint64("period", uint64(at.Period)).Uint64("slot", at.Slot).Stringer("keeper", from).Msg("the node is measured")
	return s.run, 0, nil
}

// mute has the node not listen to a keeper for the rest of a period. Callers hold mu.
func (s *Server) mute(key solana.PublicKey, p records.Period) {
	for k, of := range s.muted {
		if of < p {
			delete(s.muted, k)
		}
	}
	s.muted[key] = p
	s.o.Log.Warn().Stringer("keeper", key).Uint64("period", uint64(p)).Msg("keeper has named a block that is not the period's instant; it is not listened to for the rest of the period")
}
