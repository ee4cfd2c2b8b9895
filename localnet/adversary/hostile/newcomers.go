package hostile

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Newcomers are honest strangers, each with a key that the market does not know yet, as a gateway and a machine that registers have.
// They come from an address at which nobody else is.
type Newcomers struct {
	Came   int      `json:"came"`
	Turned []string `json:"turned_away,omitempty"` // from which daemon, and why
}

const (
	newcomerEvery = 2 * time.Second
	// newcomerTries is how often one tries that meets what is not the places' doing: a busy daemon, a lost packet.
	newcomerTries = 3
)

// newcomers has a stranger come to each daemon that is reached over IPv6, again and again.
func (h *honest) newcomers(ctx context.Context) error {
	all := map[string]p2p.Peer{}
	ofKeepers, ofMachines, _ := h.s.peers()
	all[h.s.net.Keys.Keepers[keepers-1].Name], all[h.s.net.Nodes[machines-1].Name] = ofKeepers[keepers-1], ofMachines[machines-1]
	for ctx.Err() == nil {
		for name, p := range all {
			err := arrive(ctx, p)
			if ctx.Err() != nil {
				return nil
			}
			h.mu.Lock()
			if h.under {
				h.came.Came++
				if err != nil {
					h.came.Turned = append(h.came.Turned, fmt.Sprintf("%s: %v", name, err))
				}
			}
			h.mu.Unlock()
		}
		_ = wait.For(ctx, newcomerEvery)
	}
	return nil
}

// arrive connects with a new key and stays for a moment.
func arrive(ctx context.Context, to p2p.Peer) error {
	key, err := solana.NewRandomPrivateKey()
	if err != nil {
		return err
	}
	n, err := p2p.New(p2p.Options{Key: key, Client: true, Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer n.Close()
	for range newcomerTries {
		dial, cancel := context.WithTimeout(ctx, 5*time.Second)
		err = n.Connect(dial, to)
		cancel()
		if err == nil && !n.Connected(to.Key) {
			err = p2p.ErrNoPlace
		}
		if err == nil {
			return nil
		}
	}
	return err
}
