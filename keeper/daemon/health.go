package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/keeper/server"
)

// gauges are read when metrics are asked for, while the keeper is open.
func (k *Keeper) gauges() server.Gauges {
	return server.Gauges{
		Slot:       func() float64 { return float64(k.view.Slot()) },
		Accounts:   func() float64 { return float64(k.watcher.Status().Accounts) },
		Peers:      func() float64 { return float64(len(k.node.Peers())) },
		InFlight:   func() float64 { return float64(k.txm.InFlight()) },
		PoolSize:   func() float64 { return float64(k.pool.Len()) },
		Reconnects: func() float64 { return float64(k.watcher.Status().Reconnects) },
		More: map[string]func() float64{
			"clock_ahead_seconds": func() float64 { return k.clock.Ahead().Seconds() },
			"signing":             func() float64 { return flag(k.unsafe() == nil) },
			"store_writable":      func() float64 { return flag(k.signing.writeError() == nil) },
			"proofs_held":         func() float64 { return float64(k.proofs.Held()) },
			"keepers_connected":   func() float64 { return float64(k.gossip.Connected()) },
			"relayed_circuits":    func() float64 { _, carried := k.node.Relaying(); return float64(carried) },
			"strangers":           func() float64 { waiting, _ := k.node.Strangers(); return float64(waiting) },
			"strangers_refused":   func() float64 { _, refused := k.node.Strangers(); return float64(refused) },
			"network_refusals": func() float64 {
				n := uint64(0)
				for _, v := range k.node.Refusals() {
					n += v
				}
				return float64(n)
			},
		},
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// unsafe says why nothing is signed now.
func (k *Keeper) unsafe() error {
	if err := k.damage.Load(); err != nil {
		return *err
	}
	return errors.Join(k.clock.err(), k.signing.writeError())
}

// healthy says what only a person can mend.
func (k *Keeper) healthy() []string {
	if err := k.damage.Load(); err != nil {
		return []string{(*err).Error()}
	}
	return nil
}

// aloneAfter is how long after its start a keeper may be without another one: they may all be starting.
const aloneAfter = time.Minute

// ready says what is missing for this keeper to count.
func (k *Keeper) ready() []string {
	wrong := k.healthy()
	for _, err := range []error{k.clock.err(), k.signing.writeError()} {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if n, all := k.gossip.Connected(), k.gossip.Others(); all > 0 && n == 0 && time.Since(k.opened) > aloneAfter {
		wrong = append(wrong, fmt.Sprintf("connected to none of the other %d keepers", all))
	}
	st := k.watcher.Status()
	if !st.Connected {
		text := "not connected to the chain"
		if st.LastError != nil {
			text += ": " + st.LastError.Error()
		}
		wrong = append(wrong, text)
	}
	k.view.Read(func(v *view.Accounts) {
		me, ok := v.Keepers[k.publicKey()]
		switch {
		case !ok:
			wrong = append(wrong, "this wallet is not registered as a keeper")
		case me.State() != market.KeeperActive:
			wrong = append(wrong, fmt.Sprintf("keeper is %s", me.State()))
		}
	})
	return wrong
}

// slotHash gives the hash of a recent final slot, asked for once in a while.
type slotHash struct {
	client *chain.Client
	ttl    time.Duration
	now    func() time.Time

	mu   sync.Mutex
	hash [32]byte
	at   time.Time
}

func (s *slotHash) get(ctx context.Context) ([32]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && s.now().Sub(s.at) < s.ttl {
		return s.hash, nil
	}
	b, err := s.client.LatestBlockhash(ctx, chain.Finalized)
	if err != nil {
		return s.hash, err
	}
	s.hash, s.at = b.Hash, s.now()
	return s.hash, nil
}
