package line

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	format "github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// BenchmarkCheck is one check, both directions, between two peers of one process: cpu-ms has both sides, which do much the same.
func BenchmarkCheck(b *testing.B) {
	k1, err := solana.NewRandomPrivateKey()
	require.NoError(b, err)
	k2, err := solana.NewRandomPrivateKey()
	require.NoError(b, err)
	node, keeper := peerOf(b, k1), peerOf(b, k2)
	p := protocol
	p.Rate, p.Burst = 1e6, 1e6
	p2p.HandleConn(node, p, func(_ context.Context, _ solana.PublicKey, req messages.LineRequest, accept func(messages.LineAnswer) (net.Conn, error)) error {
		c, err := accept(messages.LineAnswer{})
		if err != nil {
			return err
		}
		return answers(c, req.Direction, format.Blocks)
	})
	require.NoError(b, keeper.Connect(b.Context(), node.Self()))
	m, err := New(Options{Network: Peers{keeper}})
	require.NoError(b, err)
	at := block(period, 0, true)
	began := spent(b)
	var down, up uint64
	b.SetBytes(2 * format.Blocks * format.Block)
	for b.Loop() {
		r := m.Measure(b.Context(), Node{Account: account, Key: node.Key()}, at)
		require.NoError(b, r.Why)
		down, up = down+uint64(r.Down), up+uint64(r.Up)
	}
	n := float64(b.N)
	b.ReportMetric((spent(b)-began).Seconds()*1000/n, "cpu-ms/op")
	b.ReportMetric(float64(down)/n, "down-Mbit/s")
	b.ReportMetric(float64(up)/n, "up-Mbit/s")
}

// spent is the processor time of this process.
func spent(b *testing.B) time.Duration {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// answers answers as an honest node does, so many blocks.
func answers(c io.ReadWriter, d messages.LineDirection, blocks int) error {
	b, s := make([]byte, format.Block), format.Seed{}
	for range blocks {
		reply := b
		if d == messages.LineDown {
			if _, err := io.ReadFull(c, b); err != nil {
				return err
			}
			h := format.Hash(b)
			reply = h[:]
		} else {
			if _, err := io.ReadFull(c, s[:]); err != nil {
				return err
			}
			format.Expand(s, b)
		}
		if _, err := c.Write(reply); err != nil {
			return err
		}
	}
	return nil
}
