package p2p

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/stretchr/testify/require"
)

const certhash = "/certhash/uEiDDq4_xNyDorZBH3TlGazyJdOWSwvo4PUo0kcPhyDL2dA"

// knocks is a machine that takes no part, and counts what reaches it: whoever may name addresses could have others dial it.
func knocks(t *testing.T) (tcp, udp string, count func() int64) {
	var n atomic.Int64
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = l.Close(), u.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			n.Add(1)
			_ = c.Close()
		}
	}()
	go func() {
		b := make([]byte, 2048)
		for _, _, err := u.ReadFrom(b); err == nil; _, _, err = u.ReadFrom(b) {
			n.Add(1)
		}
	}()
	_, tcp, _ = net.SplitHostPort(l.Addr().String())
	_, udp, _ = net.SplitHostPort(u.LocalAddr().String())
	return tcp, udp, n.Load
}

// Peers dial TCP and QUIC. What an address names beside these is not dialled, whether it comes from the chain, a lookup, or the
// peer itself.
func TestOtherTransportsAreNotDialled(t *testing.T) {
	tcp, udp, count := knocks(t)
	n := newNode(t)
	for _, addr := range []string{
		"/ip4/127.0.0.1/tcp/" + tcp + "/ws",
		"/ip4/127.0.0.1/tcp/" + tcp + "/tls/ws",
		"/ip4/127.0.0.1/tcp/" + tcp + "/http",
		"/ip4/127.0.0.1/udp/" + udp + "/quic-v1/webtransport" + certhash,
		"/ip4/127.0.0.1/udp/" + udp + "/webrtc-direct" + certhash,
		"/ip4/127.0.0.1/udp/" + udp,
		"/dnsaddr/bootstrap.libp2p.io",
		"/dns4/localhost/tcp/" + tcp + "/ws",
		"/unix/tmp/socket",
		"/ip4/127.0.0.1/tcp/" + tcp + "/ip4/10.0.0.1/tcp/22",
	} {
		key := newKey(t).PublicKey()
		p := Peer{Key: key, Addrs: []string{addr}}
		require.ErrorIs(t, n.Remember(p), ErrAddress, addr)
		require.ErrorIs(t, n.Keep([]Peer{p}), ErrAddress, addr)
		require.ErrorIs(t, n.Connect(t.Context(), p), ErrAddress, addr)
		// As when the peer names it itself.
		id, err := PeerID(key)
		require.NoError(t, err)
		n.host.Peerstore().AddAddrs(id, []ma.Multiaddr{ma.StringCast(addr)}, peerstore.PermanentAddrTTL)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		require.Error(t, n.host.Connect(ctx, peer.AddrInfo{ID: id}), addr)
		cancel()
		require.Zero(t, count(), addr)
	}
	for _, addr := range []string{
		"/ip4/8.8.8.8/tcp/4101", "/ip4/8.8.8.8/udp/4101/quic-v1", "/ip6/2a00:1450:4001::1/tcp/1", "/dns/keeper.example.org/tcp/1", "/dns4/keeper.example.org/udp/1/quic-v1",
		"/ip6zone/eth0/ip6/fe80::1/tcp/1", "/dns4/relay.example.org/tcp/1/p2p/" + n.ID().String() + "/p2p-circuit",
	} {
		key := newKey(t).PublicKey()
		id, err := PeerID(key)
		require.NoError(t, err)
		require.NoError(t, n.Remember(Peer{Key: key, Addrs: []string{addr, addr + "/p2p/" + id.String()}}), addr)
	}
}

// asked is a resolver that remembers names.
type asked struct{ names []string }

func (a *asked) ResolveDNSAddr(_ context.Context, _ peer.ID, m ma.Multiaddr, _, _ int) ([]ma.Multiaddr, error) {
	a.names = append(a.names, m.String())
	return nil, nil
}

func (a *asked) ResolveDNSComponent(_ context.Context, m ma.Multiaddr, _ int) ([]ma.Multiaddr, error) {
	a.names = append(a.names, m.String())
	return nil, nil
}

// On public clusters only public names are looked up, and nowhere lists of addresses: others choose the names.
func TestWhichNamesAreLookedUp(t *testing.T) {
	for addr, public := range map[string]bool{
		"/dns4/keeper.example.org/tcp/1": true, "/dns/Keeper.Example.ORG./tcp/1": true, "/dns6/a.b.co.uk/udp/1/quic-v1": true,
		"/dns4/printer/tcp/1": false, "/dns4/localhost/tcp/1": false, "/dns4/x.localhost/tcp/1": false, "/dns4/metadata.google.internal/tcp/80": false,
		"/dns4/metadata.google.internal./tcp/80": false, "/dns4/nas.local/tcp/1": false, "/dns4/router.home.arpa/tcp/1": false, "/dns4/1.0.0.10.in-addr.arpa/tcp/1": false,
		"/dns4/db.corp/tcp/1": false, "/dns4/router.lan/tcp/1": false, "/dns4/127.0.0.1/tcp/1": false, "/dns4/.org/tcp/1": false, "/dns4/x.onion/tcp/1": false,
	} {
		for _, publicOnly := range []bool{true, false} {
			var a asked
			r := resolver{a: &a, publicOnly: publicOnly}
			_, err := r.ResolveDNSComponent(t.Context(), ma.StringCast(addr), 10)
			require.Equal(t, public || !publicOnly, err == nil, addr)
			require.Equal(t, public || !publicOnly, len(a.names) == 1, addr)
			_, err = r.ResolveDNSAddr(t.Context(), "", ma.StringCast("/dnsaddr/example.org"), 1, 10)
			require.ErrorIs(t, err, ErrAddress)
		}
	}
}
