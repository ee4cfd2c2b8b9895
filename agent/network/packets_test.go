package network

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// outcome names an error.
func outcome(err error) string {
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return silent
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EACCES):
		return unreachable
	}
	return err.Error()
}

// tcpTo connects, and returns the answer.
func tcpTo(addr string) func(time.Duration) string {
	return func(wait time.Duration) string {
		c, err := net.DialTimeout("tcp", addr, wait)
		if err != nil {
			return outcome(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(wait))
		raw, err := io.ReadAll(c)
		if err != nil {
			return outcome(err)
		}
		return string(raw)
	}
}

// udpTo sends datagrams until one is answered.
func udpTo(addr string) func(time.Duration) string {
	return func(wait time.Duration) string {
		c, err := net.Dial("udp", addr)
		if err != nil {
			return outcome(err)
		}
		defer c.Close()
		answer := make([]byte, 256)
		for end := time.Now().Add(wait); ; {
			_, err := c.Write([]byte("x"))
			if err == nil {
				_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				var n int
				if n, err = c.Read(answer); err == nil {
					return string(answer[:n])
				}
			}
			if outcome(err) != silent || time.Now().After(end) {
				return outcome(err)
			}
		}
	}
}

// arrives sends datagrams from an address until one is at another, which is in a namespace, or the machine's.
func arrives(t *testing.T, namespace, from, to string) func(time.Duration) string {
	var c net.PacketConn
	listen := func() {
		var err error
		c, err = net.ListenPacket("udp", net.JoinHostPort(to, "7777"))
		require.NoError(t, err)
	}
	if namespace == "" {
		listen()
	} else {
		nettest.In(t, namespace, listen)
	}
	t.Cleanup(func() { c.Close() })
	return func(wait time.Duration) string { return arrivesBy(c, from, net.JoinHostPort(to, "7777"), wait) }
}

// arrivesBy sends datagrams until the other side has one.
func arrivesBy(there net.PacketConn, from, to string, wait time.Duration) string {
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(from)}
	}
	c, err := d.Dial("udp", to)
	if err != nil {
		return outcome(err)
	}
	defer c.Close()
	for end := time.Now().Add(wait); time.Now().Before(end); {
		_, _ = c.Write([]byte("x"))
		_ = there.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, _, err := there.ReadFrom(make([]byte, 16)); err == nil {
			return "arrived"
		}
	}
	return silent
}

// answerToNothing sends answers to a ping that was not sent, and looks whether the world sees one from an address. That of a
// lease should be seen by nothing outside the machine.
func answerToNothing(t *testing.T) func(from string) func(time.Duration) string {
	var world net.PacketConn
	nettest.In(t, "world", func() {
		var err error
		world, err = net.ListenPacket("ip4:icmp", nettest.Web)
		require.NoError(t, err)
	})
	t.Cleanup(func() { world.Close() })
	var mu sync.Mutex
	got := map[string]bool{}
	go func() { // ends with the connection
		for b := make([]byte, 256); ; {
			n, from, err := world.ReadFrom(b)
			if err != nil {
				return
			}
			mu.Lock()
			got[from.String()] = got[from.String()] || (n >= 8 && b[0] == 0)
			mu.Unlock()
		}
	}()
	var id atomic.Uint32
	send := func(own string, wait time.Duration) string {
		mu.Lock()
		got[own] = false
		mu.Unlock()
		c, err := net.Dial("ip4:icmp", nettest.Web)
		if err != nil {
			return outcome(err)
		}
		defer c.Close()
		k := uint16(id.Add(1)) // another connection each time
		answer := []byte{0, 0, 0, 0, byte(k >> 8), byte(k), 0, 1}
		sum := ^(k + 1)
		answer[2], answer[3] = byte(sum>>8), byte(sum)
		for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			_, _ = c.Write(answer)
			mu.Lock()
			seen := got[own]
			mu.Unlock()
			if seen {
				return "seen"
			}
		}
		return silent
	}
	return func(from string) func(time.Duration) string {
		return func(wait time.Duration) string { return send(from, wait) }
	}
}

// arrivesAtLease sends datagrams to a lease until it gets one.
func (w *watched) arrivesAtLease(t *testing.T, lease netip.Addr) func(time.Duration) string {
	var c net.PacketConn
	require.NoError(t, w.within("", func() (err error) { c, err = net.ListenPacket("udp", ":7001"); return err }))
	t.Cleanup(func() { c.Close() })
	return func(wait time.Duration) string {
		return arrivesBy(c, "", net.JoinHostPort(lease.String(), "7001"), wait)
	}
}

// listen answers connections, in the calling thread's namespace.
func listen(t *testing.T, addr string) {
	t.Helper()
	require.NoError(t, listenAt(t, addr))
}

func listenAt(t *testing.T, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, nettest.Answer(c.RemoteAddr()))
			c.Close()
		}
	}()
	return nil
}

// publish adds rules of the machine's own: port 8080 of its address is a service of the world, port 9090 one of the machine
// behind it, and it takes what is for port 8081 of others.
func publish(t *testing.T, own int) {
	t.Helper()
	c, err := nftables.New()
	require.NoError(t, err)
	table := c.AddTable(&nftables.Table{Name: "nat", Family: nftables.TableFamilyIPv4})
	chain := c.AddChain(&nftables.Chain{Name: "PREROUTING", Table: table, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest})
	for port, to := range map[uint16]string{8080: nettest.Web, 9090: behind} {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: slices.Concat(tcpPort(port), []expr.Any{
			&expr.Immediate{Register: 1, Data: netip.MustParseAddr(to).AsSlice()},
			&expr.Immediate{Register: 2, Data: binaryutil.BigEndian.PutUint16(80)},
			&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1, RegProtoMin: 2},
		})})
	}
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: slices.Concat(tcpPort(8081), []expr.Any{
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(uint16(own))},
		&expr.Redir{RegisterProtoMin: 1},
	})})
	require.NoError(t, c.Flush())
}
