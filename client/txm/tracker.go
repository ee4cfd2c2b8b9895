package txm

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gantry-market/gantry/client/chain"
	"github.com/rs/zerolog"
)

// relaxedEvery is how many polls apart a confirmed transaction is looked at
// while it becomes final: nobody waits for that.
const relaxedEvery = 10

// tracker asks for the statuses of all transactions in flight with one call a
// poll, so that a thousand cost as much as one.
type tracker struct {
	rpc  RPC
	poll time.Duration
	log  zerolog.Logger
	wake chan struct{}

	mu       sync.Mutex
	watching map[solana.Signature]*watched
}

type watched struct {
	ch      chan chain.SignatureStatus // holds the latest status only
	relaxed bool
}

func newTracker(rpc RPC, poll time.Duration, log zerolog.Logger) *tracker {
	return &tracker{rpc: rpc, poll: poll, log: log, wake: make(chan struct{}, 1), watching: map[solana.Signature]*watched{}}
}

// watch starts following a signature; the channel holds its latest status.
func (t *tracker) watch(sig solana.Signature, relaxed bool) <-chan chain.SignatureStatus {
	w := &watched{ch: make(chan chain.SignatureStatus, 1), relaxed: relaxed}
	t.mu.Lock()
	t.watching[sig] = w
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return w.ch
}

// relax lowers the rate for a confirmed transaction.
func (t *tracker) relax(sig solana.Signature) {
	t.mu.Lock()
	if w, ok := t.watching[sig]; ok {
		w.relaxed = true
	}
	t.mu.Unlock()
}

func (t *tracker) unwatch(sig solana.Signature) {
	t.mu.Lock()
	delete(t.watching, sig)
	t.mu.Unlock()
}

// due lists what is to be asked in this round and whether anything is watched.
func (t *tracker) due(all bool) (sigs []solana.Signature, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sig, w := range t.watching {
		if all || !w.relaxed {
			sigs = append(sigs, sig)
		}
	}
	return sigs, len(t.watching) > 0
}

func (t *tracker) run(ctx context.Context) {
	tick := time.NewTicker(t.poll)
	defer tick.Stop()
	for round := 0; ; round++ {
		sigs, busy := t.due(round%relaxedEvery == 0)
		if !busy {
			select { // sleep until there is work
			case <-ctx.Done():
				return
			case <-t.wake:
			}
		}
		if len(sigs) > 0 {
			t.ask(ctx, sigs)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *tracker) ask(ctx context.Context, sigs []solana.Signature) {
	got, err := t.rpc.Statuses(ctx, sigs, false)
	if err != nil {
		if ctx.Err() == nil {
			t.log.Debug().Err(err).Msg("statuses")
			sleep(ctx, 4*t.poll)
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
