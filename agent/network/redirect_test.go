package network

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// A machine's own rules may publish a service at its address, or take connections that were meant for others. A lease
// follows neither.
func TestHostileContainerIsNotRedirected(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web)
	own, err := strconv.Atoi(nettest.Serve(t))
	require.NoError(t, err)
	published, taken := uint16(8080), uint16(8081)
	c, err := nftables.New()
	require.NoError(t, err)
	table := c.AddTable(&nftables.Table{Name: "nat", Family: nftables.TableFamilyIPv4})
	chain := c.AddChain(&nftables.Chain{Name: "PREROUTING", Table: table, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: slices.Concat(tcpPort(published), []expr.Any{
		&expr.Immediate{Register: 1, Data: netip.MustParseAddr(nettest.Web).AsSlice()},
		&expr.Immediate{Register: 2, Data: binaryutil.BigEndian.PutUint16(80)},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1, RegProtoMin: 2},
	})})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: slices.Concat(tcpPort(taken), []expr.Any{
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(uint16(own))},
		&expr.Redir{RegisterProtoMin: 1},
	})})
	require.NoError(t, c.Flush())
	asks := func(addr string, port uint16) (answer string) {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(addr, strconv.Itoa(int(port))), 3*time.Second)
		if err != nil {
			return ""
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
		raw, _ := io.ReadAll(c)
		return string(raw)
	}
	_, pid, _ := attach(t, Options{Owner: "x"}, "l")
	require.NoError(t, within(pid, func() error {
		require.NotEmpty(t, asks(nettest.Web, 80))
		require.Empty(t, asks(nettest.Host, published))
		require.Empty(t, asks(nettest.Web, taken))
		return nil
	}))
	// The world follows both.
	nettest.In(t, "world", func() { require.NotEmpty(t, asks(nettest.Host, taken)) })
}

// A provider's limit holds in both directions.
func TestBandwidthIsLimited(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web)
	_, pid, _ := attach(t, Options{Owner: "x", Mbit: 40}, "l")
	const size = 10 << 20 // 2.1 s at 40 Mbit/s, of which the first 64 KiB pass at once
	for _, port := range []string{nettest.Sink, nettest.Source} {
		begin := time.Now()
		require.NoError(t, within(pid, func() error { return nettest.Transfer(net.JoinHostPort(nettest.Web, port), size) }))
		took := time.Since(begin)
		t.Logf("%s: %.1f Mbit/s", port, float64(size)*8/1e6/took.Seconds())
		require.Greater(t, took, 1500*time.Millisecond, "a busy machine is slower, none is faster")
	}
}
