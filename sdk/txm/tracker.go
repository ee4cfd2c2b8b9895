package txm

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
)

// slowEvery is how many polls lie between two looks at a confirmed transaction while it becomes final: no caller waits
// for that.
const slowEvery = 10

// tracker asks for the statuses of all transactions in flight with one call a poll, so that a thousand cost as much as
// one.
type tracker struct {
	rpc      RPC
	interval time.Duration
	log      zerolog.Logger
	wake     chan struct{}

	mu       sync.Mutex
	watching map[solana.Signature]*watched
}

type watched struct {
	ch   chan chain.SignatureStatus // holds the latest status only
	slow bool
}

func newTracker(rpc RPC, poll time.Duration, log zerolog.Logger) *tracker {
	return &tracker{rpc: rpc, interval: poll, log: log, wake: make(chan struct{}, 1), watching: map[solana.Signature]*watched{}}
}

// watch starts following a signature; the channel holds its latest status.
func (t *tracker) watch(sig solana.Signature, relaxed bool) <-chan chain.SignatureStatus {
	w := &watched{ch: make(chan chain.SignatureStatus, 1), slow: relaxed}
	t.mu.Lock()
	t.watching[sig] = w
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return w.ch
}

// slowDown lowers the rate for a confirmed transaction.
func (t *tracker) slowDown(sig solana.Signature) {
	t.mu.Lock()
	if w, ok := t.watching[sig]; ok {
		w.slow = true
	}
	t.mu.Unlock()
}

func (t *tracker) unwatch(sig solana.Signature) {
	t.mu.Lock()
	delete(t.watching, sig)
	t.mu.Unlock()
}

// due lists the signatures of this round, and whether any is watched.
func (t *tracker) due(all bool) (sigs []solana.Signature, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sig, w := range t.watching {
		if all || !w.slow {
			sigs = append(sigs, sig)
		}
	}
	return sigs, len(t.watching) > 0
}

func (t *tracker) run(ctx context.Context) {
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for round := 0; ; round++ {
		sigs, busy := t.due(round%slowEvery == 0)
		if !busy {
			select { // sleep until there is work
			case <-ctx.Done():
				return
			case <-t.wake:
			}
		}
		if len(sigs) > 0 {
			t.poll(ctx, sigs)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *tracker) poll(ctx context.Context, sigs []solana.Signature) {
	got, err := t.rpc.Statuses(ctx, sigs, false)
	if err != nil {
		if ctx.Err() == nil {
			t.log.Debug().Err(err).Msg("node does not return the statuses of transactions")
			_ = wait.For(ctx, 4*t.interval)
		}
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, sig := range sigs {
		w, ok := t.watching[sig]
		if !ok {
			continue
		}
		select {
		case <-w.ch: // replace a status that was not taken yet
		default:
		}
		w.ch <- got[i]
	}
}
