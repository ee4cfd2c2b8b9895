package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// seenWithin is how long Await waits for the chain's announcements.
const seenWithin = 3 * time.Second

// live is what a service that follows a customer keeps in memory: the customer's accounts as they change, and answers
// about the market for a short time.
type live struct {
	customer solana.PublicKey
	view     *view.View
	watcher  *watch.Watcher
	ranking  cached[*ranking]
	market   cached[Market]
	cluster  cached[Cluster]
	clock    cached[instant]
	starts   cached[Starts]
	whole    *wholeMarket // nil unless all of the market is followed

	mu  sync.Mutex
	ctx context.Context // nil when it has ended
	wg  sync.WaitGroup
}

// instant is the cluster's time as it was read.
type instant struct {
	unix int64
	at   time.Time
}

func (i instant) now() int64 { return i.unix + int64(time.Since(i.at)/time.Second) }

// Follow keeps a customer's orders, leases and credits, and what the service answers about the market, in memory. The
// view shows the customer's accounts once it is ready. known are accounts that were the customer's before: they are
// read by their addresses where a list lacks them. wait ends it all when ctx has ended. It is called once.
func (s *Service) Follow(ctx context.Context, customer solana.PublicKey, known func() []solana.PublicKey) (v *view.View, wait func(), err error) {
	v = view.New(view.Options{Log: s.log})
	scope := view.With([]chain.Filter{query.OrdersOf(customer), query.LeasesOf(customer)})
	scope.Addresses = func() []solana.PublicKey {
		return append([]solana.PublicKey{market.MarketAddress(), market.CreditsAddress(customer)}, known()...)
	}
	w, err := watch.New(watch.Options{
		Client: s.client, Program: market.ProgramID, Commitment: s.client.Commitment(), Log: s.log,
		Certain: market.MarketAddress(), // for endpoints that refuse filters
		Scope:   scope,
	})
	if err != nil {
		return nil, nil, err
	}
	l := &live{customer: customer, view: v, watcher: w, ctx: ctx}
	if err := s.answerFrom(l); err != nil {
		return nil, nil, err
	}
	l.wg.Go(func() {
		_ = w.Run(ctx, func(e watch.Event) { // its only error is the context's
			if err := v.Apply(e); err != nil {
				s.log.Warn().Str("account", e.Pubkey.String()).Uint64("slot", e.Slot).Err(err).Msg("account does not decode")
			}
		})
	})
	l.wg.Go(func() {
		select {
		case <-w.Ready():
			v.SetReady()
		case <-ctx.Done():
		}
	})
	s.live.Store(l)
	return v, func() { s.leave(l) }, nil
}

// Keep keeps what the service answers about the market in memory for a short time, of no customer, until ctx has ended; wait waits
// for what it still reads. It is called once, in place of Follow.
func (s *Service) Keep(ctx context.Context) (wait func(), err error) {
	l := &live{view: view.New(view.Options{Log: s.log}), ctx: ctx}
	if err := s.answerFrom(l); err != nil {
		return nil, err
	}
	s.live.Store(l)
	return func() { s.leave(l) }, nil
}

// answerFrom has a service's answers about the market come from memory.
func (s *Service) answerFrom(l *live) error {
	l.ranking = newCached(l, s.readRanking)
	l.market = newCached(l, s.readMarket)
	l.cluster = newCached(l, s.readCluster)
	l.clock = newCached(l, s.readClock)
	l.starts = newCached(l, s.readStarts)
	if !s.FollowMarket {
		return nil
	}
	return s.followAll(l)
}

// leave ends what is kept in memory, and waits for what is read.
func (s *Service) leave(l *live) {
	s.live.Store(nil)
	l.mu.Lock()
	l.ctx = nil
	l.mu.Unlock()
	l.wg.Wait()
}

func newCached[T any](l *live, read func(context.Context) (T, error)) cached[T] {
	return cached[T]{read: read, run: l.run, now: time.Now}
}

// run runs a read as long as the service follows.
func (l *live) run(f func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		return false
	}
	ctx := l.ctx
	l.wg.Go(func() { f(ctx) })
	return true
}

// of is the view of a customer's accounts if it is up to date; nil otherwise: then the cluster is asked, whose error is
// the answer when it does not answer.
func (l *live) of(customer solana.PublicKey) *view.View {
	if l == nil || l.watcher == nil || customer != l.customer || !l.watcher.Status().Connected {
		return nil
	}
	return l.view
}

// Followed is the view of a customer whom the service follows; nil while the view does not show all accounts, or may be
// out of date.
func (s *Service) Followed(customer solana.PublicKey) *view.View {
	l := s.live.Load()
	v := l.of(customer)
	if v == nil {
		return nil
	}
	select {
	case <-l.watcher.Ready():
		return v
	default:
		return nil
	}
}

// Gone says which accounts of the market that were there are closed. Each of them says so itself, by two answers: see
// chain.Client.Gone.
func (s *Service) Gone(ctx context.Context, accounts []solana.PublicKey) ([]solana.PublicKey, error) {
	var out []solana.PublicKey
	var since uint64
	if l := s.live.Load(); l != nil {
		since = l.view.Slot()
	}
	for part := range slices.Chunk(accounts, 100) {
		found, err := s.client.Gone(ctx, part, market.ProgramID, s.client.Commitment(), since, "")
		if err != nil {
			return nil, err
		}
		for i, a := range found.Accounts {
			if a == nil {
				out = append(out, part[i])
			}
		}
	}
	return out, nil
}

func (s *Service) readClock(ctx context.Context) (instant, error) {
	at := time.Now()
	t, err := s.client.Now(ctx)
	return instant{t, at}, err
}

// now is the cluster's time, unix seconds.
func (s *Service) now(ctx context.Context) (int64, error) {
	read := s.readClock
	if l := s.live.Load(); l != nil {
		read = l.clock.get
	}
	i, err := read(ctx)
	return i.now(), err
}

// Await waits until what the service shows of leases, and of its customer's credits, is as new as a document that a transaction
// has led to, or for a few seconds: what a program reads after it has changed something is what it has changed.
func (s *Service) Await(ctx context.Context, leases ...Lease) error {
	l := s.live.Load()
	if l == nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	err := l.view.WaitFor(wait, func(v *view.View) bool {
		for i := range leases {
			key, err := solana.PublicKeyFromBase58(leases[i].Address)
			if err != nil {
				continue
			}
			cur, ok := v.Lease(key)
			if !ok || behind(&cur, &leases[i]) {
				return false
			}
		}
		return true
	})
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
		return err
	}
	return s.AwaitCredits(ctx) // the two accounts are seen one after the other
}

// behind reports whether an account is older than what a document says of it.
func behind(cur *market.Lease, told *Lease) bool {
	return (told.EndedAt != 0 && cur.EndedAt == 0) || (told.StartedAt != 0 && cur.StartedAt == 0) || cur.FundedUntil < told.FundedUntil
}
