package auction

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// snapshot is an auction as the chain shows it.
type snapshot struct {
	key     store.AuctionKey
	order   *market.Order
	auction *market.Auction
}

// facts are what one tick decides by.
type facts struct {
	now     time.Time
	open    []snapshot // not decided
	over    []snapshot // awarded by other keepers
	keepers []solana.PublicKey
	active  bool // this keeper may award
	paused  bool // no keeper may award
}

// Tick does what is due and reports whether something waits for its time.
func (a *Awarder) Tick(ctx context.Context) (waiting bool) {
	f := a.facts()
	items := map[string]bool{}
	a.tickOpen(ctx, f, items)
	waiting = a.tickOver(ctx, f, items) || len(f.open) > 0
	a.stagger.Keep(items)
	a.forget(f)
	return waiting
}

func (a *Awarder) facts() facts {
	f := facts{now: a.o.Now()}
	a.o.View.Read(func(v *view.Accounts) {
		k, ok := v.Keepers[a.o.Self]
		f.active = ok && k.State() == market.KeeperActive
		f.keepers = v.ActiveKeepers()
		f.paused = v.Market != nil && v.Market.Paused&market.PauseAwards != 0
		for address, x := range v.Auctions {
			l := snapshot{key: store.AuctionKey{CloseAt: x.CloseAt, Order: address}, auction: x}
			o, ok := v.Orders[address]
			if ok && o.AuctionClose == x.CloseAt {
				l.order = o
			}
			if l.order != nil && o.State() == market.OrderOpen && o.Mode == market.ModeSealed {
				f.open = append(f.open, l)
			} else if x.WinnerCount > 0 && x.Keeper != a.o.Self {
				f.over = append(f.over, l)
			}
		}
	})
	for _, all := range [][]snapshot{f.open, f.over} {
		slices.SortFunc(all, func(a, b snapshot) int { return bytes.Compare(a.key.Order[:], b.key.Order[:]) })
	}
	return f
}

// tickOpen closes the bids of auctions whose reveals are over, and awards when it is this keeper's turn: the whole order,
// or what another keeper has left out of it when its time is over. items collects what keepers take turns for.
func (a *Awarder) tickOpen(ctx context.Context, f facts, items map[string]bool) {
	for _, l := range f.open {
		item := fmt.Sprintf("auction/%s/%d", l.key.Order, l.key.CloseAt)
		items[item] = true
		since := f.now.Sub(time.Unix(l.auction.RevealUntil+1, 0)) // the last second is for reveals
		may := f.active && !f.paused && since >= awardAfter
		mine := may && (l.auction.WinnerCount == 0 || l.auction.Keeper == a.o.Self)
		stopped := may && !mine && f.now.Unix() > l.auction.CompletableAfter(l.order.AwardDeadline)
		switch rest := "rest/" + item; {
		case mine && a.stagger.Ready(item, f.now, schedule.Rank(a.o.Self, item, f.keepers), a.o.Step):
			a.start(l.key, f.now, func() { a.award(ctx, l) })
		case since >= closeAfter && a.o.Bids.held(l.key) == nil:
			a.start(l.key, f.now, func() { a.close(l) })
		case stopped:
			if items[rest] = true; a.stagger.Ready(rest, f.now, schedule.Rank(a.o.Self, rest, f.keepers), a.o.Step) {
				a.start(l.key, f.now, func() { a.complete(ctx, l, f.keepers) })
			}
		case may && !mine && a.o.Fetch != nil && a.o.Bids.Missing(l.key, l.auction.Keeper):
			a.start(l.key, f.now, func() { a.fetch(ctx, l) }) // while it answers: it may stop
		}
	}
}

// tickOver compares the bid sets of other keepers' awards with the bids that are held, and proves what they left out.
// It reports whether something waits.
func (a *Awarder) tickOver(ctx context.Context, f facts, items map[string]bool) (waiting bool) {
	done := map[store.AuctionKey]bool{}
	for _, l := range f.over {
		if a.done[l.key] {
			done[l.key] = true
			continue
		}
		if l.order != nil && a.o.Bids.Missing(l.key, a.o.Self) {
			a.close(l) // another keeper's clock is ahead of ours; what was judged late is marked by its time
		}
		if a.o.Fetch != nil && a.o.Bids.Missing(l.key, l.auction.Keeper) {
			waiting = true
			a.start(l.key, f.now, func() { a.fetch(ctx, l) })
			continue
		}
		a.mu.Lock()
		omitted, compared := a.omitted[l.key]
		a.mu.Unlock()
		switch {
		case !compared:
			a.start(l.key, f.now, func() { a.examine(l) })
		case f.active && len(omitted) > 0 && a.provable(l, omitted, f.now.Unix()):
			ready, item := a.turn(l, f.keepers)
			if items[item] = true; ready {
				a.start(l.key, f.now, func() { a.prove(ctx, l, omitted) })
			}
		default:
			done[l.key] = true
			continue
		}
		waiting = true
	}
	a.done = done
	return waiting
}

// forget drops the state of auctions whose accounts are closed, and bids that are not needed in memory any more.
func (a *Awarder) forget(f facts) {
	a.o.Bids.Forget(func(key store.AuctionKey) bool { return a.undecided(key, f.now.Unix()) })
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.omitted {
		if !slices.ContainsFunc(f.over, func(l snapshot) bool { return l.key == key }) {
			delete(a.omitted, key)
		}
	}
	for key, at := range a.wait {
		if f.now.Sub(at) > time.Minute {
			delete(a.wait, key)
			delete(a.refused, key)
		}
	}
}
