package p2p

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

// remote is a connection's addresses as the gate sees them.
type remote struct{ addr ma.Multiaddr }

func (r remote) LocalMultiaddr() ma.Multiaddr  { return r.addr }
func (r remote) RemoteMultiaddr() ma.Multiaddr { return r.addr }

func remoteAt(t *testing.T, addr string) network.ConnMultiaddrs {
	m, err := ma.NewMultiaddr(addr)
	require.NoError(t, err)
	return remote{m}
}

func TestTwins(t *testing.T) {
	for addr, want := range map[string][]string{
		"/ip4/203.0.113.7/tcp/4101":             {"/ip4/203.0.113.7/tcp/4101", "/ip4/203.0.113.7/udp/4101/quic-v1"},
		"/dns4/keeper.example.org/tcp/4101":     {"/dns4/keeper.example.org/tcp/4101", "/dns4/keeper.example.org/udp/4101/quic-v1"},
		"/ip6/2001:db8::1/tcp/1":                {"/ip6/2001:db8::1/tcp/1", "/ip6/2001:db8::1/udp/1/quic-v1"},
		"/ip4/127.0.0.1/tcp/4101":               {"/ip4/127.0.0.1/tcp/4101"},
		"/ip4/203.0.113.7/udp/4101/quic-v1":     {"/ip4/203.0.113.7/udp/4101/quic-v1"},
		"nonsense":                              {"nonsense"},
		"/ip4/203.0.113.7/tcp/4101/ws":          {"/ip4/203.0.113.7/tcp/4101/ws"},
		"/ip4/203.0.113.7/tcp/4101/p2p-circuit": {"/ip4/203.0.113.7/tcp/4101/p2p-circuit"},
	} {
		require.Equal(t, want, TCPAndQUIC(addr))
	}
}
