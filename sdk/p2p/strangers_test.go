package p2p

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

// door is a gate to which peers come from chosen addresses.
type door struct {
	*gate
	t    *testing.T
	at   time.Time
	keys int
}

func newDoor(t *testing.T, known func(solana.PublicKey) bool) *door {
	d := &door{gate: newGate(known), t: t, at: time.Unix(1, 0)}
	d.now = func() time.Time { return d.at }
	return d
}

// key is another one each time.
func (d *door) key() peer.ID {
	d.keys++
	id, err := PeerID(solana.PublicKeyFromBytes(fmt.Appendf(nil, "%032d", d.keys)))
	require.NoError(d.t, err)
	return id
}

// enters reports whether a peer that comes from an address gets in.
func (d *door) enters(id peer.ID, addr string) bool {
	return d.admits(network.DirInbound, id, remoteAt(d.t, addr))
}

// flood has n new keys come from addresses, and returns which ones got in.
func (d *door) flood(n int, addr func(i int) string) (in []peer.ID) {
	for i := range n {
		if id := d.key(); d.enters(id, addr(i)) {
			in = append(in, id)
		}
	}
	return in
}

func nobody(solana.PublicKey) bool { return false }

// Whoever has few networks takes few places, however many addresses there are in them, and a stranger from elsewhere
// gets in beside it. This holds while the attacker takes again each place that becomes free.
func TestStrangersAreCountedByNetwork(t *testing.T) {
	const newcomer = "/ip6/2a00:1450:4001::1/tcp/1"
	for name, c := range map[string]struct {
		keys int
		addr func(i int) string
		most int
	}{
		"one IPv6 /64":                       {128, func(i int) string { return fmt.Sprintf("/ip6/2001:4dd0:1:2::%x/tcp/1", i+1) }, 8},
		"one IPv6 /64, over QUIC":            {128, func(i int) string { return fmt.Sprintf("/ip6/2001:4dd0:1:2::%x/udp/1/quic-v1", i+1) }, 8},
		"one IPv6 /56":                       {128, func(i int) string { return fmt.Sprintf("/ip6/2001:4dd0:1:%x::1/tcp/1", i) }, 8},
		"one IPv6 /48":                       {1024, func(i int) string { return fmt.Sprintf("/ip6/2001:4dd0:1:%x::%x/tcp/1", i%256<<8, i) }, 32},
		"one IPv6 /32":                       {4096, func(i int) string { return fmt.Sprintf("/ip6/2001:4dd0:%x::1/tcp/1", i%1024) }, 64},
		"one IPv4 address":                   {128, func(i int) string { return fmt.Sprintf("/ip4/31.1.1.1/tcp/%d", i+1) }, 8},
		"eight IPv4 addresses":               {512, func(i int) string { return fmt.Sprintf("/ip4/31.%d.1.1/tcp/%d", i%8, i+1) }, 64},
		"one IPv4 /24":                       {1024, func(i int) string { return fmt.Sprintf("/ip4/31.1.1.%d/tcp/1", i%256) }, 32},
		"one IPv4 /16":                       {4096, func(i int) string { return fmt.Sprintf("/ip4/31.1.%d.%d/tcp/1", i%256, i/256) }, 64},
		"one IPv4 address, mapped into IPv6": {128, func(i int) string { return fmt.Sprintf("/ip6/::ffff:31.1.1.1/tcp/%d", i+1) }, 8},
		"one IPv4 address, 6to4":             {128, func(i int) string { return fmt.Sprintf("/ip6/2002:1f01:0101:%x::1/tcp/1", i<<8) }, 8},
		"one IPv4 address, through NAT64":    {128, func(i int) string { return fmt.Sprintf("/ip6/64:ff9b::1f01:101/tcp/%d", i+1) }, 8},
		"one IPv4 address, written each way": {128, func(i int) string {
			return []string{"/ip4/31.1.1.1/tcp/1", "/ip6/::ffff:31.1.1.1/tcp/1", "/ip6/2002:1f01:0101::1/tcp/1", "/ip6/64:ff9b::1f01:101/tcp/1"}[i%4]
		}, 8},
		"one address of a link, in each zone": {128, func(i int) string { return fmt.Sprintf("/ip6zone/eth%d/ip6/fe80::1/tcp/1", i) }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, nobody)
			in := d.flood(c.keys, c.addr)
			require.LessOrEqual(t, len(in), c.most)
			require.NotEmpty(t, in)
			for range 8 { // some leave, and others of the attacker's keys come at once
				for _, id := range in[:min(8, len(in))] {
					d.forget(id)
				}
				in = append(in[min(8, len(in)):], d.flood(c.keys, c.addr)...)
				require.LessOrEqual(t, len(in), c.most)
			}
			friend := d.key()
			require.True(t, d.enters(friend, newcomer), "a stranger from elsewhere gets in")
			waiting, _ := d.count()
			require.Equal(t, len(in)+1, waiting)
			d.forget(friend)
			for _, id := range in {
				d.forget(id)
			}
			waiting, _ = d.count()
			require.Zero(t, waiting)
			require.True(t, d.enters(d.key(), c.addr(0)), "its places are free again")
		})
	}
}

// Addresses of IPv4 that reach this machine through a translator are many sites, although their IPv6 addresses are of one
// prefix.
// It holds finding A 17.
func TestSitesBehindATranslatorAreNotOne(t *testing.T) {
	d := newDoor(t, nobody)
	in := d.flood(12, func(i int) string { return fmt.Sprintf("/ip6/64:ff9b::%x01:101/tcp/1", i+16) })
	require.Len(t, in, 12)
}

// Who has a place gets no further one once half of them are taken; who has none still gets one.
func TestHalfOfThePlacesAreForNewcomers(t *testing.T) {
	d := newDoor(t, nobody)
	addr := func(i int) string { return fmt.Sprintf("/ip4/%d.1.1.1/tcp/1", i+11) }
	require.Len(t, d.flood(64, func(i int) string { return addr(i % 8) }), 64)
	require.Empty(t, d.flood(8, addr))
	require.Len(t, d.flood(80, func(i int) string { return addr(8 + i) }), 64, "then there are none left")
	_, refused := d.count()
	require.EqualValues(t, 8+16, refused)
	d.at = d.at.Add(StrangerGrace + time.Second)
	_, gone := d.overdue()
	require.Len(t, gone, 128)
	for _, id := range gone {
		d.forget(id)
	}
	require.Len(t, d.flood(8, addr), 8)
}

// Who is known gets in whatever strangers do, from their own addresses too.
func TestWhoIsKnownIsNotCounted(t *testing.T) {
	known := map[solana.PublicKey]bool{}
	d := newDoor(t, func(k solana.PublicKey) bool { return known[k] })
	d.flood(1024, func(i int) string { return fmt.Sprintf("/ip4/%d.1.1.1/tcp/1", i%200+11) })
	require.False(t, d.enters(d.key(), "/ip4/11.1.1.1/tcp/1"))
	for range 300 {
		id := d.key()
		key, err := PublicKey(id)
		require.NoError(t, err)
		known[key] = true
		require.True(t, d.enters(id, "/ip4/11.1.1.1/tcp/1"))
	}
	waiting, _ := d.count()
	require.LessOrEqual(t, waiting, maxStrangers)
}

// Who finds no place reads why, and what to do, from Connect and from Call, over TCP and over QUIC.
func TestWhoFindsNoPlaceReadsWhy(t *testing.T) {
	for _, listen := range []string{LoopbackListen, "/ip4/127.0.0.1/udp/0/quic-v1"} {
		t.Run(listen, func(t *testing.T) {
			ctx := testCtx(t)
			var known sync.Map
			k := member(t, &known, func(c *Options) { c.Listen = []string{listen} })
			Handle(k, echo, func(_ context.Context, from solana.PublicKey, r echoReq) (echoResp, error) {
				return echoResp{r.Text, from}, nil
			})
			for range maxStrangersPerGroup {
				require.NoError(t, newNode(t, func(c *Options) { c.Client = true }).Connect(ctx, k.Self()))
			}
			late := newNode(t, func(c *Options) { c.Client = true })
			require.NoError(t, late.Remember(k.Self()))
			// Over TCP the reason comes just before the connection ends. libp2p loses it when its writer meets the end first,
			// and then a caller reads why at its next try.
			reads := func(try func() error) (err error) {
				require.Eventually(t, func() bool { err = try(); return errors.Is(err, ErrNoPlace) }, 20*time.Second, 10*time.Millisecond, "%v", err)
				return err
			}
			_ = reads(func() error {
				_, err := Call[echoReq, echoResp](ctx, late, k.Key(), echo, echoReq{Text: "x"})
				require.Error(t, err)
				return err
			})
			err := reads(func() error { return late.Connect(ctx, k.Self()) })
			require.ErrorContains(t, err, "30s")
			require.ErrorContains(t, err, "another keeper")

			// Peers that are kept are not dialled without a pause meanwhile.
			_, before := k.Strangers()
			require.NoError(t, late.Keep([]Peer{k.Self()}))
			time.Sleep(2 * time.Second)
			_, after := k.Strangers()
			require.Less(t, after-before, uint64(10))

			known.Store(late.Key(), true)
			require.Eventually(t, func() bool { return late.Connected(k.Key()) }, time.Minute, 20*time.Millisecond)
			_, err = Call[echoReq, echoResp](ctx, late, k.Key(), echo, echoReq{Text: "x"})
			require.NoError(t, err)
		})
	}
}

// A peer cannot pass for a relay of many others: relays are those who are known, and each is a site.
func TestStrangersThroughRelays(t *testing.T) {
	known := map[solana.PublicKey]bool{}
	d := newDoor(t, func(k solana.PublicKey) bool { return known[k] })
	relay := func(i int, knows bool) func(int) string {
		id := d.key()
		key, err := PublicKey(id)
		require.NoError(t, err)
		known[key] = knows
		return func(int) string { return fmt.Sprintf("/ip4/%d.1.1.1/tcp/1/p2p/%s/p2p-circuit", i+11, id) }
	}
	require.Empty(t, d.flood(4, relay(0, false)), "through a stranger")
	require.Len(t, d.flood(128, relay(1, true)), 32)
	require.Len(t, d.flood(128, relay(2, true)), 32)
	require.Empty(t, d.flood(128, relay(3, true)), "relayed strangers have half of the places")
	require.Len(t, d.flood(8, func(i int) string { return fmt.Sprintf("/ip4/%d.1.1.1/tcp/1", i+11) }), 8)
}
