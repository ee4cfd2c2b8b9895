package auction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
	"github.com/gantry-market/gantry/sdk/txm"
)

// AwarderOptions of an Awarder; all but Fetch, Log and Tasks are required.
type AwarderOptions struct {
	View   *view.View
	Bids   *Service         // holds the bids
	Self   solana.PublicKey // this keeper's wallet
	Submit func(context.Context, txm.Intent) (txm.Result, error)
	// Step is how long each rank waits before it awards what the ranks before it did not. It should be longer than an
	// award takes to be confirmed: the first award decides which keeper makes the others of its order.
	Step    time.Duration
	Observe func(nodes int, lag time.Duration, err error)
	// Fetch brings another keeper's published set; without it nothing is compared.
	Fetch func(ctx context.Context, key store.AuctionKey, keeper solana.PublicKey) (*sealedbid.Assembler, error)
	Log   zerolog.Logger
	Now   func() time.Time
	// Tasks runs the awards; the default is goroutines and the wall clock.
	Tasks schedule.Runner
}

// Awarder closes the bids of auctions whose reveals are over, and awards. Run owns all its goroutines.
type Awarder struct {
	o AwarderOptions

	stagger *schedule.Stagger
	wg      sync.WaitGroup

	mu   sync.Mutex
	busy map[store.AuctionKey]bool
	wait map[store.AuctionKey]time.Time // not before
	// omitted are the bids that other keepers' awards left out, for the awards that were examined.
	omitted map[store.AuctionKey][]messages.Bid
	// done are auctions that other keepers awarded and that need nothing more. Only Tick uses it.
	done map[store.AuctionKey]bool
	// refused: the last award that was tried was refused by the program.
	refused map[store.AuctionKey]bool
}

const (
	tick = 100 * time.Millisecond
	// idle is the time between ticks when no auction is open and nothing changes.
	idle = 5 * time.Second
	// closeAfter is how long after the end of the reveals every keeper closes its bids, and awardAfter when the first
	// of them awards: what is acknowledged last has time to be told to the others, and all have closed before the order
	// is decided.
	closeAfter = time.Second
	awardAfter = 2 * time.Second
	// afterward is how long an auction waits after an award, until the view shows the accounts.
	afterward = 500 * time.Millisecond
	sendLimit = time.Minute
)

// NewAwarder returns an awarder that awards nothing before Run or Tick. Error: options.ErrMissing.
func NewAwarder(o AwarderOptions) (*Awarder, error) {
	if err := options.Complete("auction awarder", o, "Fetch", "Log", "Tasks"); err != nil {
		return nil, err
	}
	o.Tasks = schedule.Or(o.Tasks)
	return &Awarder{
		o: o, stagger: schedule.NewStagger(), busy: map[store.AuctionKey]bool{}, wait: map[store.AuctionKey]time.Time{},
		refused: map[store.AuctionKey]bool{}, omitted: map[store.AuctionKey][]messages.Bid{},
	}, nil
}

// Run awards until ctx ends.
func (a *Awarder) Run(ctx context.Context) error {
	defer a.wg.Wait()
	pace := schedule.Pace{Soon: tick, Idle: idle, Debounce: tick / 2}
	return schedule.OnChange(ctx, a.o.Tasks, pace, a.o.View.Changed, func() bool { return a.Tick(ctx) })
}

// undecided reports whether an auction's bids may still be needed in memory: until its order is decided and our set is
// on disk, or for the longest time that an auction can take. It looks at the chain as it is when it is asked: a bid may
// have been taken since the caller looked.
func (a *Awarder) undecided(key store.AuctionKey, now int64) bool {
	open := false
	a.o.View.Read(func(v *view.Accounts) {
		o, ok := v.Orders[key.Order]
		open = v.Market == nil || ok && o.State() == market.OrderOpen && o.AuctionClose == key.CloseAt
	})
	return open || key.CloseAt+int64(maxUndecided.Seconds()) > now && a.o.Bids.Missing(key, a.o.Self)
}

// start runs f beside the caller unless the auction is busy or rests.
func (a *Awarder) start(key store.AuctionKey, now time.Time, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[key] || now.Before(a.wait[key]) {
		return
	}
	a.busy[key] = true
	a.wg.Add(1)
	a.o.Tasks.Go(func() {
		defer a.wg.Done()
		f()
		a.mu.Lock()
		delete(a.busy, key)
		a.wait[key] = a.o.Now().Add(afterward)
		a.mu.Unlock()
	})
}

// close closes the bids without awarding, unless they were closed before.
func (a *Awarder) close(l snapshot) {
	_, err := a.o.Bids.own(l.key)
	if errors.Is(err, store.ErrNotFound) {
		_, err = a.o.Bids.Close(l.order)
	}
	if err != nil {
		a.o.Log.Error().Err(err).Stringer("order", l.key.Order).Msg("bid set could not be closed")
	}
}

// award awards every node of the order, by the bids as they were judged at their close. They are judged anew only when
// none of them won, and after the program has refused an award: as long as an award may still take effect, the
// published set must be the one that it was made by. An award that was begun before continues by the same choice, since
// its bar and root are fixed.
func (a *Awarder) award(ctx context.Context, l snapshot) {
	c, err := a.o.Bids.own(l.key)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && l.auction.WinnerCount == 0 && (a.wasRefused(l.key) || asPublished(c).noWinner()):
		c, err = a.o.Bids.Close(l.order)
	case err == nil:
		c = asPublished(c)
	}
	if err != nil {
		a.o.Log.Error().Err(err).Stringer("order", l.key.Order).Msg("bid set could not be closed")
		return
	}
	if len(c.choice.Winners) == 0 {
		a.o.Log.Debug().Stringer("order", l.key.Order).Int("bids", len(c.set.Bids)).Msg("order is not awarded: too few bids")
		return
	}
	a.report(ctx, l, c)
}

// report sends the awards and says what became of them.
func (a *Awarder) report(ctx context.Context, l snapshot, c *closed) {
	began := time.Unix(l.auction.RevealUntil, 0)
	n, err := a.send(ctx, l, c)
	var pe *txerr.ProgramError
	a.mu.Lock()
	a.refused[l.key] = errors.As(err, &pe)
	a.mu.Unlock()
	switch {
	case err == nil:
		a.o.Log.Info().Stringer("order", l.key.Order).Int("bids", len(c.set.Bids)).Int("nodes", n).Msg("auction awarded")
	case errors.As(err, &pe):
		a.o.Log.Debug().Err(err).Stringer("order", l.key.Order).Msg("program refused an award")
	case ctx.Err() == nil:
		a.o.Log.Warn().Err(err).Stringer("order", l.key.Order).Msg("award was not sent")
	}
	if ctx.Err() == nil {
		a.o.Observe(n, a.o.Now().Sub(began), err)
	}
}

func (a *Awarder) wasRefused(key store.AuctionKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused[key]
}

// send awards the winners that have no lease yet, the best first: its award names the bar for the others. Who completes
// another keeper's auction names it with each award: that keeper may have named a bid that should have won.
func (a *Awarder) send(ctx context.Context, l snapshot, c *closed) (int, error) {
	awarded := 0
	for i, w := range c.choice.Winners {
		in, done, err := a.intent(l, c, w, i == 0 && l.auction.WinnerCount == 0 || l.auction.WinnerCount > 0 && l.auction.Keeper != a.o.Self)
		if err != nil {
			return awarded, err
		}
		if done {
			awarded++
			continue
		}
		limit, cancel := a.o.Tasks.Timeout(ctx, sendLimit)
		_, err = a.o.Submit(limit, in)
		cancel()
		if err != nil {
			return awarded, err
		}
		awarded++
	}
	return awarded, nil
}

func (a *Awarder) intent(l snapshot, c *closed, winner int, names bool) (in txm.Intent, done bool, err error) {
	args := ix.AuctionAwardArgs{Keeper: a.o.Self, Signer: a.o.View.SignerOf(a.o.Self), Order: *l.order, BidsRoot: c.set.Head.Root}
	of := sealedbid.AuctionOf(a.o.Bids.o.Domain, l.order)
	node := solana.PublicKey(c.set.Bids[winner].Bid.Node)
	lease := market.LeaseAddress(l.key.Order, node)
	bid := func(v *view.Accounts, i int) (market.SealedBid, error) {
		b := &c.set.Bids[i].Bid
		n, ok := v.Nodes[b.Node]
		if !ok {
			return market.SealedBid{}, fmt.Errorf("node %s is gone", solana.PublicKey(b.Node))
		}
		return market.SealedBid{Node: *n, Bid: of.Reveal(b.Node, *b.Reveal), Signature: b.Signature}, nil
	}
	a.o.View.Read(func(v *view.Accounts) {
		if _, ok := v.Leases[lease]; ok {
			done = true
			return
		}
		if args.Winner, err = bid(v, winner); err != nil || !names || c.choice.Bar < 0 {
			return
		}
		var loser market.SealedBid
		if loser, err = bid(v, c.choice.Bar); err == nil {
			args.Loser = &loser
		}
	})
	if done || err != nil {
		return in, done, err
	}
	ixs, err := ix.AuctionAward(args)
	return txm.Intent{
		ID:   fmt.Sprintf("auction/%s/%d/%s/%d", l.key.Order, l.key.CloseAt, node, c.set.Head.ChosenAt),
		Kind: "auction_award", Instructions: ixs, Repeatable: true,
		ReadBack: func(context.Context) (bool, error) {
			there := false
			a.o.View.Read(func(v *view.Accounts) { _, there = v.Leases[lease] })
			return there, nil
		},
	}, false, err
}

// fetch keeps what the awarding keeper published.
func (a *Awarder) fetch(ctx context.Context, l snapshot) {
	set, err := a.o.Fetch(ctx, l.key, l.auction.Keeper)
	if err == nil {
		err = a.o.Bids.Take(l.key, l.auction.Keeper, set)
	}
	if err != nil {
		a.o.Log.Debug().Err(err).Stringer("order", l.key.Order).Stringer("keeper", l.auction.Keeper).Msg("another keeper's bid set was not fetched")
	}
}

// examine compares another keeper's published bids with what it recorded and with what we know.
func (a *Awarder) examine(l snapshot) {
	log := a.o.Log.With().Stringer("order", l.key.Order).Stringer("keeper", l.auction.Keeper).Logger()
	found := a.o.Bids.compare(l.key, l.auction, log)
	a.mu.Lock()
	a.omitted[l.key] = found
	a.mu.Unlock()
}

// provable reports whether one of the omitted bids proves something now.
func (a *Awarder) provable(l snapshot, omitted []messages.Bid, now int64) bool {
	return slices.ContainsFunc(omitted, func(b messages.Bid) bool {
		_, _, ok := a.o.Bids.proofOf(l.auction, &b, now)
		return ok
	})
}
