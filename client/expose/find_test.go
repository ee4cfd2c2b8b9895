package expose

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// keepersOf is a Remote that knows keepers alone.
type keepersOf []solana.PublicKey

func (k keepersOf) Keepers() []solana.PublicKey                     { return k }
func (keepersOf) Reach(context.Context, solana.PublicKey) error     { return p2p.ErrUnknown }
func (keepersOf) Revoke(context.Context, market.Lease, int64) error { return p2p.ErrUnknown }
func names(of messages.GatewaysAnswer) func() messages.GatewaysAnswer {
	return func() messages.GatewaysAnswer { return of }
}

func offers(of messages.GatewayOfferAnswer) messages.GatewayOfferAnswer {
	of.Version = messages.Version
	return of
}

func knows(n *p2p.Node, more ...string) messages.KnownGateway {
	return messages.KnownGateway{Key: n.Key(), Addrs: append(n.Self().Addrs, more...)}
}

func member(t *testing.T) *p2p.Node {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// Keepers name gateways, of which the cheapest come first. What is full, of another cluster, away or a lie is left out, and a keeper
// that adds addresses which nobody can dial hides no gateway.
func TestGatewaysAreFound(t *testing.T) {
	cluster := records.Domain{1}
	gateway := func(offer messages.GatewayOfferAnswer, late time.Duration) *p2p.Node {
		n := member(t)
		p2p.Handle(n, offerProtocol, func(context.Context, solana.PublicKey, messages.GatewayOfferRequest) (messages.GatewayOfferAnswer, error) {
			time.Sleep(late)
			return offers(offer), nil
		})
		return n
	}
	dear := gateway(messages.GatewayOfferAnswer{Cluster: cluster, Domain: "dear.example.org", Price: 50_000, Free: 1 << 20}, 0)
	far := gateway(messages.GatewayOfferAnswer{Cluster: cluster, Domain: "far.example.org"}, time.Second)
	near := gateway(messages.GatewayOfferAnswer{Cluster: cluster, Domain: "near.example.org", SSH: true}, 0)
	full := gateway(messages.GatewayOfferAnswer{Cluster: cluster, Domain: "full.example.org", Full: true}, 0)
	foreign := gateway(messages.GatewayOfferAnswer{Cluster: records.Domain{2}, Domain: "foreign.example.org"}, 0)
	odd := gateway(messages.GatewayOfferAnswer{Cluster: cluster, Domain: "-oProxyCommand=x"}, 0)
	silent := member(t)
	away := member(t)
	gone := knows(away)
	require.NoError(t, away.Close())

	me := member(t)
	var keepers keepersOf
	for _, list := range [][]messages.KnownGateway{
		{knows(dear), knows(near, "/ip4/127.0.0.1/udp/1/webrtc-direct", "not an address"), knows(full), gone, knows(near)},
		{knows(dear), knows(far), knows(near), knows(foreign), knows(odd), knows(silent)},
	} {
		k := member(t)
		answer := names(messages.GatewaysAnswer{Version: messages.Version, Gateways: list})
		p2p.Handle(k, gatewaysProtocol, func(context.Context, solana.PublicKey, messages.GatewaysRequest) (messages.GatewaysAnswer, error) {
			return answer(), nil
		})
		require.NoError(t, me.Connect(t.Context(), k.Self()))
		keepers = append(keepers, k.Key())
	}
	mute := member(t)
	require.NoError(t, me.Connect(t.Context(), mute.Self()))

	e := New(Options{Net: me, Remote: append(keepers, mute.Key())})
	found := e.find(t.Context(), cluster)
	var domains []string
	for _, f := range found {
		domains = append(domains, f.Domain)
	}
	require.Equal(t, []string{"near.example.org", "far.example.org", "dear.example.org"}, domains)
	require.Equal(t, []int{2, 1, 2}, []int{found[0].Keepers, found[1].Keepers, found[2].Keepers})
	require.Equal(t, Found{Gateway: dear.Key().String(), Domain: "dear.example.org", Price: "0.05", Free: 1 << 20, Keepers: 2, Millis: found[2].Millis, key: dear.Key(), price: 50_000}, found[2])
	require.Greater(t, found[1].Millis, 1000.0)
	require.True(t, found[0].SSH)

	require.Empty(t, New(Options{Net: me, Remote: keepersOf{mute.Key()}}).find(t.Context(), cluster))
	require.True(t, slices.IsSortedFunc(found, func(a, b Found) int { return int(a.price) - int(b.price) }))
}
