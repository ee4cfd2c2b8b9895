package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/keeper/index"
	"github.com/gantry-market/gantry/keeper/server"
)

// gauges are read when metrics are asked for, while the keeper is open.
func (k *Keeper) gauges() server.Gauges {
	return server.Gauges{
		Slot:       func() float64 { return float64(k.index.Slot()) },
		Accounts:   func() float64 { return float64(k.watcher.Status().Accounts) },
		Peers:      func() float64 { return float64(len(k.node.Peers())) },
		InFlight:   func() float64 { return float64(k.txm.InFlight()) },
		PoolSize:   func() float64 { return float64(k.pool.Len()) },
		Reconnects: func() float64 { return float64(k.watcher.Status().Reconnects) },
	}
}

// healthy says what only a person can mend.
func (k *Keeper) healthy() []string {
	if err := k.damage.Load(); err != nil {
		return []string{(*err).Error()}
	}
	return nil
}

// ready says what is missing for this keeper to count.
func (k *Keeper) ready() []string {
	wrong := k.healthy()
	st := k.watcher.Status()
	if !st.Connected {
		text := "not connected to the chain"
		if st.LastError != nil {
			text += ": " + st.LastError.Error()
		}
		wrong = append(wrong, text)
	}
	k.index.Read(func(v *index.View) {
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
