package watch

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
)

// doubt is about an account that was there and that an answer lacks. A list lacks accounts while a node builds its
// index, and an account that a single answer calls gone may be gone on that node alone.
type doubt struct {
	slot uint64 // answers from before this slot do not count
	by   string // the endpoint that has said it of the account itself; empty where a list lacks it
	list []string
}

// doubts asks the accounts themselves whether they are gone.
type doubts struct {
	w *Watcher

	mu     sync.Mutex
	about  map[solana.PublicKey]doubt
	signal chan struct{} // holds a token while there is something
	failed int           // questions in a row
}

func newDoubts(w *Watcher) *doubts {
	return &doubts{w: w, about: map[solana.PublicKey]doubt{}, signal: make(chan struct{}, 1)}
}

const (
	maxDoubts     = 100 // accounts of one question
	fewDoubts     = 1000
	minDoubtPause = 500 * time.Millisecond
	maxDoubtPause = 15 * time.Second
)

func (d *doubts) add(more map[solana.PublicKey]doubt) {
	if len(more) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, m := range more {
		if old, known := d.about[key]; known {
			m.slot = max(m.slot, old.slot)
			if m.by == "" {
				m.by = old.by
			}
			if m.list == nil {
				m.list = old.list
			}
		}
		d.about[key] = m
	}
	d.wake()
}

// wake says that there is something. The caller holds mu.
func (d *doubts) wake() {
	select {
	case d.signal <- struct{}{}:
	default:
	}
}

// drop forgets what an incomplete list lacks, if that is much: another list is taken in place of many questions.
func (d *doubts) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.about) <= fewDoubts {
		return
	}
	for key, a := range d.about {
		if a.by == "" {
			delete(d.about, key)
		}
	}
}

// take returns accounts for one question, those of which one endpoint has said the same.
func (d *doubts) take() map[solana.PublicKey]doubt {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[solana.PublicKey]doubt{}
	by := ""
	for key, a := range d.about {
		if len(out) == 0 {
			by = a.by
		}
		if a.by == by && len(out) < maxDoubts {
			out[key] = a
			delete(d.about, key)
		}
	}
	if len(d.about) > 0 {
		d.wake()
	}
	return out
}

// run asks until ctx ends. An account stays as it was until there is an answer.
func (d *doubts) run(ctx context.Context, out chan<- reread) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.signal:
		}
		about := d.take()
		if len(about) == 0 {
			continue
		}
		r, err := d.ask(ctx, about)
		if err != nil {
			if err := d.again(ctx, about, err); err != nil {
				return err
			}
			continue
		}
		d.failed = 0
		select {
		case out <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// again puts back what got no answer, and waits.
func (d *doubts) again(ctx context.Context, about map[solana.PublicKey]doubt, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	pause := min(maxDoubtPause, minDoubtPause<<min(d.failed, 10))
	if d.failed++; d.failed == 3 {
		d.w.log.Warn().Err(err).Int("accounts", len(about)).
			Msg("whether accounts are gone cannot be read from the chain: they are taken to be there until it can be")
	}
	d.add(about)
	return wait.For(ctx, pause)
}

func (d *doubts) ask(ctx context.Context, about map[solana.PublicKey]doubt) (reread, error) {
	r := reread{sure: true, about: about, keys: make([]solana.PublicKey, 0, len(about))}
	var since uint64
	by := ""
	for key, a := range about {
		r.keys = append(r.keys, key)
		since, by = max(since, a.slot), a.by
	}
	var found chain.Found
	err := patiently(ctx, errBehind, func() (err error) {
		found, err = d.w.o.Client.Gone(ctx, r.keys, d.w.o.Program, d.w.o.Commitment, since, by)
		return behindOf(err, since)
	})
	if err != nil {
		return r, err
	}
	r.accounts, r.slot, r.by = found.Accounts, found.Slot, found.By
	return r, d.w.plausible(ctx, r.slot)
}
