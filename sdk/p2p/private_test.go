package p2p

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

// Outside private clusters nobody can make a machine dial addresses of its own site, whoever announces them.
func TestPrivateAddressesAreNotDialledOnPublicClusters(t *testing.T) {
	victim := newNode(t) // on loopback
	for _, public := range []bool{true, false} {
		n := newNode(t, func(c *Options) { c.PublicOnly = public })
		require.NoError(t, n.Remember(victim.Self()))
		err := n.Connect(t.Context(), Peer{Key: victim.Key()})
		require.Equal(t, public, err != nil, "%v", err)
		require.Equal(t, !public, victim.Connected(n.Key()))
	}
	g := newGate(nil)
	g.publicOnly = true
	id, err := PeerID(victim.Key())
	require.NoError(t, err)
	for addr, dialled := range map[string]bool{
		"/ip4/10.1.2.3/tcp/22": false, "/ip4/192.168.0.1/tcp/80": false, "/ip4/172.16.9.9/udp/4001/quic-v1": false, "/ip4/127.0.0.1/tcp/8899": false,
		"/ip4/169.254.169.254/tcp/80": false, "/ip4/100.64.0.1/tcp/4001": false, "/ip6/::1/tcp/22": false, "/ip6/fe80::1/tcp/22": false, "/ip6/fc00::1/tcp/22": false, "/ip4/0.0.0.0/tcp/22": false,
		"/ip6/::ffff:10.0.0.1/tcp/22": false,
		"/ip4/8.8.8.8/tcp/4001":       true, "/ip6/2a00:1450:4001::1/tcp/4001": true, "/dns4/keeper.gantry.market/tcp/4001": true,
		"/ip4/8.8.8.8/tcp/4001/p2p/" + id.String() + "/p2p-circuit": true,
	} {
		require.Equal(t, dialled, g.InterceptAddrDial(peer.ID(""), ma.StringCast(addr)), addr)
	}
}
