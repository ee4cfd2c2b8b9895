package award

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Options of an Awarder; all but Log and Tasks are required.
type Options struct {
	View    *view.View
	Matcher *match.Matcher // follows View
	Self    solana.PublicKey
	Submit  func(context.Context, txm.Intent) (txm.Result, error)
	Step    time.Duration // that each rank waits before it tries
	Draw    Draw          // of redundant orders
	Observe func(nodes int, lag time.Duration, err error)
	Log     zerolog.Logger
	Now     func() time.Time
	// Tasks runs the awards; the default is goroutines and the wall clock. Whoever gives another calls Tick in place of
	// Run, and waits for what Tasks has started.
	Tasks schedule.Runner
}

// Awarder awards open orders as they appear. Run owns all its goroutines.
type Awarder struct {
	o Options

	stagger *schedule.Stagger
	wg      sync.WaitGroup

	mu   sync.Mutex
	busy map[solana.PublicKey]bool
	wait map[solana.PublicKey]time.Time // orders that were refused: not before
	aims map[solana.PublicKey]time.Time // nodes that an award in flight, or just decided, is for: not before
}

const (
	debounce  = 15 * time.Millisecond
	afterward = 500 * time.Millisecond
	// sendTimeout bounds one award.
	sendTimeout = time.Minute
	// idlePause is the time between ticks without a change: what is awarded depends on the clock as well.
	idlePause = 5 * time.Second
)

// New returns an awarder that awards nothing before Run or Tick. Error: options.ErrMissing.
func New(o Options) (*Awarder, error) {
	if err := options.Complete("awarder", o, "Log", "Tasks"); err != nil {
		return nil, err
	}
	o.Tasks = schedule.Or(o.Tasks)
	return &Awarder{
		o: o, stagger: schedule.NewStagger(), busy: map[solana.PublicKey]bool{}, wait: map[solana.PublicKey]time.Time{},
		aims: map[solana.PublicKey]time.Time{},
	}, nil
}

// Run awards until ctx ends.
func (a *Awarder) Run(ctx context.Context) error {
	defer a.wg.Wait()
	pace := schedule.Pace{Soon: max(a.o.Step/4, 25*time.Millisecond), Idle: idlePause, Debounce: debounce}
	return schedule.OnChange(ctx, a.o.Tasks, pace, a.o.View.Changed, func() bool { return a.Tick(ctx) })
}

// Tick starts the awards whose turn it is and reports whether an order waits for its turn.
func (a *Awarder) Tick(ctx context.Context) (waiting bool) {
	now := a.o.Now()
	type award struct {
		order *market.Order
		nodes []market.Candidate
	}
	var due []award
	a.mu.Lock()
	a.o.View.Read(func(v *view.Accounts) {
		k, ok := v.Keepers[a.o.Self]
		if !ok || k.State() != market.KeeperActive {
			return
		}
		items := map[string]bool{}
		keepers := v.ActiveKeepers()
		for key, o := range v.Orders {
			if o.State() != market.OrderOpen {
				continue
			}
			nodes, err := Choose(v, a.o.Matcher, key, now.Unix(), a.o.Draw)
			if errors.Is(err, ErrNotDrawn) {
				waiting = true
				continue
			}
			if err != nil {
				if !errors.Is(err, ErrNotOpen) && !errors.Is(err, ErrNoMatch) && !errors.Is(err, ErrTooLate) {
					a.o.Log.Debug().Err(err).Stringer("order", key).Msg("order is not awarded now")
				}
				continue
			}
			item := "order/" + key.String()
			items[item] = true
			if a.busy[key] || now.Before(a.wait[key]) || !a.stagger.Ready(item, now, schedule.Rank(a.o.Self, item, keepers), a.o.Step) {
				waiting = true
				continue
			}
			due = append(due, award{o, nodes[:min(len(nodes), MaxAwards)]})
		}
		a.stagger.Keep(items)
		for key := range a.wait {
			if _, ok := v.Orders[key]; !ok {
				delete(a.wait, key)
			}
		}
	})
	maps.DeleteFunc(a.aims, func(_ solana.PublicKey, until time.Time) bool { return !now.Before(until) })
	slices.SortFunc(due, func(x, y award) int { return bytes.Compare(x.order.Address[:], y.order.Address[:]) })
	// Many orders may want the same best node. One award is sent, and the other orders wait until the node is taken:
	// all awards but one would be refused, and an award to the next best node is unjust while the best is free.
	due = slices.DeleteFunc(due, func(x award) bool {
		taken := slices.ContainsFunc(x.nodes, func(c market.Candidate) bool { return now.Before(a.aims[c.Node.Address]) })
		if waiting = waiting || taken; taken {
			return true
		}
		a.busy[x.order.Address] = true
		for _, c := range x.nodes {
			a.aims[c.Node.Address] = now.Add(sendTimeout)
		}
		return false
	})
	a.mu.Unlock()
	for _, x := range due {
		a.wg.Add(1)
		a.o.Tasks.Go(func() {
			defer a.wg.Done()
			a.award(ctx, x.order, x.nodes)
		})
	}
	return waiting || len(due) > 0
}

// award sends one transaction for some nodes of an order.
func (a *Awarder) award(ctx context.Context, o *market.Order, nodes []market.Candidate) {
	err := a.send(ctx, o, nodes)
	var pe *txerr.ProgramError
	switch {
	case err == nil:
		a.o.Log.Info().Stringer("order", o.Address).Int("nodes", len(nodes)).Msg("order awarded")
	case errors.As(err, &pe):
		// Another keeper was faster, or the node changed its ask: the next look at the accounts decides.
		a.o.Log.Debug().Err(err).Stringer("order", o.Address).Msg("program refused an award")
	case ctx.Err() == nil:
		a.o.Log.Warn().Err(err).Stringer("order", o.Address).Msg("award was not sent")
	}
	if ctx.Err() == nil {
		a.o.Observe(len(nodes), a.o.Now().Sub(time.Unix(o.CreatedAt, 0)), err)
	}
	a.mu.Lock()
	delete(a.busy, o.Address)
	for _, c := range nodes {
		a.aims[c.Node.Address] = a.o.Now().Add(afterward)
	}
	a.wait[o.Address] = a.o.Now().Add(afterward)
	a.mu.Unlock()
}

func (a *Awarder) send(ctx context.Context, o *market.Order, nodes []market.Candidate) error {
	id := fmt.Sprintf("award/%s/%d/%d", o.Address, o.CreatedAt, o.NodesAwarded)
	var ixs []solana.Instruction
	signer := a.o.View.SignerOf(a.o.Self)
	for _, c := range nodes {
		instruction, err := ix.OrderAward(ix.OrderAwardArgs{Keeper: a.o.Self, Signer: signer, Order: *o, Node: c.Node, MaxScore: c.Score})
		if err != nil {
			return err
		}
		ixs = append(ixs, instruction)
		id += "/" + c.Node.Address.String()
	}
	leases := make([]solana.PublicKey, len(nodes))
	for i, c := range nodes {
		leases[i] = market.LeaseAddress(o.Address, c.Node.Address)
	}
	ctx, cancel := a.o.Tasks.Timeout(ctx, sendTimeout)
	defer cancel()
	_, err := a.o.Submit(ctx, txm.Intent{
		ID: id, Kind: "order_award", Instructions: ixs, Repeatable: true,
		ReadBack: func(context.Context) (bool, error) {
			done := true
			a.o.View.Read(func(v *view.Accounts) {
				for _, l := range leases {
					if _, ok := v.Leases[l]; !ok {
						done = false
					}
				}
			})
			return done, nil
		},
	})
	return err
}
