package daemon

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/alone"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// beAlone makes sure, before anything is served, that no other process has the machine's key. The process answers
// keepers for whoever else asks that.
func (a *Agent) beAlone(ctx context.Context) (*alone.Process, error) {
	process, err := alone.New(alone.Options{
		Signer: a.key, Domain: a.domain, Keepers: a.reached, Log: a.log.With().Str("part", "alone").Logger(),
		Ask: func(ctx context.Context, keeper solana.PublicKey, req messages.BootsRequest) (messages.BootsAnswer, error) {
			return p2p.Call[messages.BootsRequest, messages.BootsAnswer](ctx, a.p2p, keeper, alone.BootsProtocol, req)
		},
	})
	if err != nil {
		return nil, err
	}
	boot := alone.BootProtocol
	boot.May = func(key solana.PublicKey) bool {
		return slices.ContainsFunc(a.view.Keepers(), func(k market.Keeper) bool { return k.Wallet == key || k.SigningKey() == key })
	}
	p2p.Handle(a.p2p, boot, process.Answer)
	peers := a.keepers()
	a.connect(peers)
	return process, process.Before(ctx, len(peers) > 0)
}

// reached are the keepers that are connected, in any order.
func (a *Agent) reached() []solana.PublicKey {
	var out []solana.PublicKey
	for _, k := range a.keepers() {
		if a.p2p.Connected(k.Key) {
			out = append(out, k.Key)
		}
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
