package p2p

import (
	"fmt"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

// Connections that never prove a key leave room for those of others, of which nothing is known before either.
func TestHalfOpenConnectionsLeaveRoom(t *testing.T) {
	for name, c := range map[string]struct {
		addr func(i int) string
		most int
	}{
		"two IPv4 addresses": {func(i int) string { return fmt.Sprintf("/ip4/31.%d.1.1/tcp/1", i%2) }, 40},
		"one IPv6 /48":       {func(i int) string { return fmt.Sprintf("/ip6/2001:4dd0:1:%x00::1/tcp/1", i%256) }, 40},
		"sixteen addresses":  {func(i int) string { return fmt.Sprintf("/ip4/%d.1.1.1/tcp/1", 11+i%16) }, 96},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{}
			o.setDefaults()
			rm, err := resources(&o)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, rm.Close()) })
			var open []network.ConnManagementScope
			for i := range 1024 {
				if s, err := rm.OpenConnection(network.DirInbound, true, ma.StringCast(c.addr(i))); err == nil {
					open = append(open, s)
				}
			}
			require.LessOrEqual(t, len(open), c.most)
			other, err := rm.OpenConnection(network.DirInbound, true, ma.StringCast("/ip4/203.0.113.7/tcp/1"))
			require.NoError(t, err)
			id, err := PeerID(newKey(t).PublicKey())
			require.NoError(t, err)
			require.NoError(t, other.SetPeer(id))
			other.Done()
			other.Done()
			for _, s := range open {
				s.Done()
			}
			again, err := rm.OpenConnection(network.DirInbound, true, ma.StringCast("/ip4/203.0.113.7/tcp/1"))
			require.NoError(t, err)
			again.Done()
			require.Equal(t, [4]map[string]int{{}, {}, {}, {}}, rm.(*entrance).halfOpen.taken)
		})
	}
}

// A key that is proved gives its half-open place back, and connections of one address are still as many as they may be.
func TestProvedConnectionsAreNotHalfOpen(t *testing.T) {
	o := Options{}
	o.setDefaults()
	rm, err := resources(&o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rm.Close()) })
	addrs := []string{"/ip4/31.1.1.1/tcp/1", "/ip6/2002:1f01:101::1/tcp/1", "/ip6/64:ff9b::1f01:101/tcp/1", "/ip6/::ffff:31.1.1.1/tcp/1"}
	for i := range o.MaxPerIP {
		s, err := rm.OpenConnection(network.DirInbound, true, ma.StringCast(addrs[i%len(addrs)]))
		require.NoError(t, err, i)
		id, err := PeerID(newKey(t).PublicKey())
		require.NoError(t, err)
		require.NoError(t, s.SetPeer(id))
		t.Cleanup(s.Done)
	}
	for _, addr := range addrs {
		_, err = rm.OpenConnection(network.DirInbound, true, ma.StringCast(addr))
		require.Error(t, err, "one address, however it is written")
	}
}
