package daemon

import (
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// A keeper names gateways by what is free in their credits, so that a thousand keys without money push nobody off the list.
func TestGatewaysAreRankedByTheirFreeCredits(t *testing.T) {
	v := view.New(view.Options{})
	key := func(n uint32) (k solana.PublicKey) {
		binary.BigEndian.PutUint32(k[:], n)
		return k
	}
	credits := func(n uint32, balance, reserved uint64) {
		c := &market.Credits{Meta: market.Meta{Address: market.CreditsAddress(key(n))}, Credits: bindings.Credits{Customer: key(n), Balance: balance, Reserved: reserved}}
		v.Put(c.Address, c)
	}
	credits(1, 5_000_000, 4_500_000)
	credits(2, 1_000_000, 0)
	credits(3, 9_000_000, 0)
	connected := []p2p.Peer{{Key: key(1), Addrs: []string{"a"}}, {Key: key(2), Addrs: []string{"b"}}, {Key: key(3)}, {Key: key(4), Addrs: []string{"c"}}}
	for n := uint32(100); n < 1_100; n++ {
		credits(n, 1, 0)
		connected = append(connected, p2p.Peer{Key: key(n), Addrs: []string{"x"}})
	}
	k := &Keeper{view: v}
	ranked := k.rankGateways(connected)
	require.Len(t, ranked, messages.MaxGateways)
	require.Equal(t, []solana.PublicKey{key(2), key(1)}, []solana.PublicKey{ranked[0].Key, ranked[1].Key})
	for _, p := range ranked {
		require.NotEqual(t, key(3), p.Key, "it has no address")
		require.NotEqual(t, key(4), p.Key, "it has no credits")
	}
}
