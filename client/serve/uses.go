package serve

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// useEvery is how often a page that is open is told what a lease uses.
	useEvery = 2 * time.Second
	// useApart is how often it is kept, useFor how long.
	useApart = 10 * time.Second
	useFor   = time.Hour
	// useAgain is how long a machine that does not say it is left alone.
	useAgain = time.Minute
	// maxUses is how many leases are followed at once, those that were awarded last.
	maxUses = 32
)

// UsePast is what a lease has used in the last hour, as far as the server was told.
type UsePast struct {
	EverySeconds int           `json:"everySeconds" doc:"How far the samples are apart; a longer time between two is one in which the machine said nothing"`
	Samples      []service.Use `json:"samples" doc:"The oldest first"`
}

// uses keeps what leases have used in the last hour, in memory. It is safe for concurrent use.
type uses struct {
	mu   sync.Mutex
	kept map[solana.PublicKey][]service.Use
}

// note keeps a sample, unless the one before is nearer than useApart; some of a second is left for machines that are late.
func (u *uses) note(lease solana.PublicKey, x service.Use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.kept[lease]
	if n := len(all); n > 0 && x.Measured.Sub(all[n-1].Measured) < useApart-useEvery {
		return
	}
	old := slices.IndexFunc(all, func(a service.Use) bool { return x.Measured.Sub(a.Measured) <= useFor })
	if old < 0 {
		old = len(all)
	}
	if u.kept == nil {
		u.kept = map[solana.PublicKey][]service.Use{}
	}
	u.kept[lease] = append(slices.Clone(all[old:]), x)
}

// past is what is kept of a lease.
func (u *uses) past(lease solana.PublicKey) UsePast {
	u.mu.Lock()
	defer u.mu.Unlock()
	return UsePast{EverySeconds: int(useApart / time.Second), Samples: append([]service.Use{}, u.kept[lease]...)}
}

// forget leaves what is kept of some leases.
func (u *uses) forget(but func(solana.PublicKey) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for lease := range u.kept {
		if !but(lease) {
			delete(u.kept, lease)
		}
	}
}

// follower asks the machines of running leases what these use.
type follower struct {
	s   *Server
	use func(ctx context.Context, lease solana.PublicKey, every time.Duration, take func(service.Use) error) error
	wg  sync.WaitGroup

	mu    sync.Mutex
	known map[solana.PublicKey]*following
}

// following is a lease that is followed.
type following struct {
	cancel context.CancelFunc
	ended  time.Time // when its machine said no more; zero while it does
}

// beginUses follows the customer's running leases until ctx ends or end is called, which waits.
func (s *Server) beginUses(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{s: s, known: map[solana.PublicKey]*following{}, use: s.machineUse}
	f.wg.Go(func() { f.run(ctx) })
	return func() {
		cancel()
		f.wg.Wait()
	}
}

func (f *follower) run(ctx context.Context) {
	t := time.NewTicker(useApart)
	defer t.Stop()
	for {
		all, err := f.s.o.Service.Leases(ctx, f.s.o.Customer)
		if err == nil {
			f.follow(ctx, all)
		} else if ctx.Err() == nil {
			f.s.o.Log.Info().Err(err).Msg("what leases use is not kept now: they cannot be read")
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// follow begins with running leases that are not followed, and ends with those that are over.
func (f *follower) follow(ctx context.Context, all []service.Lease) {
	running := map[solana.PublicKey]bool{}
	for _, l := range all {
		key, err := solana.PublicKeyFromBase58(l.Address)
		if err == nil && l.Status == market.LeaseRunning.String() && len(running) < maxUses {
			running[key] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for lease, one := range f.known {
		if !running[lease] {
			one.cancel()
			delete(f.known, lease)
		}
	}
	f.s.uses.forget(func(lease solana.PublicKey) bool { return running[lease] })
	for lease := range running {
		if one := f.known[lease]; one != nil && (one.ended.IsZero() || time.Since(one.ended) < useAgain) {
			continue
		}
		of, cancel := context.WithCancel(ctx)
		one := &following{cancel: cancel}
		f.known[lease] = one
		f.wg.Go(func() {
			f.one(of, lease)
			cancel()
			f.mu.Lock()
			defer f.mu.Unlock()
			one.ended = time.Now()
		})
	}
}

// one keeps what a lease uses until ctx ends or its machine says no more.
func (f *follower) one(ctx context.Context, lease solana.PublicKey) {
	err := f.use(ctx, lease, useApart, func(u service.Use) error {
		f.s.uses.note(lease, u)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		f.s.o.Log.Debug().Err(err).Stringer("lease", lease).Msg("the machine does not say what the lease uses")
	}
}

// machineUse asks the machine of a lease with the key of the budget from which it was bought.
func (s *Server) machineUse(ctx context.Context, lease solana.PublicKey, every time.Duration, take func(service.Use) error) error {
	_, a, err := s.ofLease(ctx, lease, true)
	if err != nil || a.Machines == nil {
		return err
	}
	return a.Machines.Use(ctx, lease, every, take)
}
