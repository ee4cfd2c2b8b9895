package daemon

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// gatewaysProtocol names gateways to members of the market.
var gatewaysProtocol = p2p.Protocol{ID: messages.Gateways, MaxRequest: 1 << 10, MaxResponse: 192 << 10, Rate: 2, Burst: 20, Concurrent: 64, PerPeer: 2}

// maxGatewayAddrs bounds the addresses of one gateway.
const maxGatewayAddrs = 8

// listGateways names the gateways that are connected with this keeper.
func (k *Keeper) listGateways(context.Context, solana.PublicKey, messages.GatewaysRequest) (messages.GatewaysAnswer, error) {
	out := messages.GatewaysAnswer{Version: messages.Version}
	for _, p := range k.rankGateways(k.node.Speakers(messages.GatewayOpen)) {
		out.Gateways = append(out.Gateways, messages.KnownGateway{Key: p.Key, Addrs: p.Addrs[:min(len(p.Addrs), maxGatewayAddrs)]})
	}
	return out, nil
}

// rankGateways orders gateways by their free credits, most first. It leaves out gateways without credits, and those beyond the bound
// of an answer. To fill the list with keys of its own, an owner must leave more money in the credits of each key than others do.
func (k *Keeper) rankGateways(connected []p2p.Peer) []p2p.Peer {
	free := map[solana.PublicKey]market.USDC{}
	k.view.Read(func(v *view.Accounts) {
		for _, p := range connected {
			if c, ok := v.Credits[p.Key]; ok && len(p.Addrs) > 0 {
				free[p.Key] = c.Free()
			}
		}
	})
	connected = slices.DeleteFunc(connected, func(p p2p.Peer) bool { _, ok := free[p.Key]; return !ok })
	slices.SortFunc(connected, func(a, b p2p.Peer) int {
		return cmp.Or(cmp.Compare(free[b.Key], free[a.Key]), bytes.Compare(a.Key[:], b.Key[:]))
	})
	return connected[:min(len(connected), messages.MaxGateways)]
}
