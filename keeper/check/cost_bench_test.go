package check

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// meter passes TCP connections on to an address and counts what travels.
func meter(b *testing.B, to string) (at string, bytes *atomic.Int64) {
	bytes = &atomic.Int64{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				return
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(counted{way[0], bytes}, way[1])
					_ = way[0].Close()
				}()
			}
		}
	}()
	return l.Addr().String(), bytes
}

type counted struct {
	io.Writer
	n *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Writer.Write(p)
}

// One liveness check over the network: keeper, node and a meter in one process, so that the processor time is that of
// both ends and of the meter. The bytes are those on the wire, both ways.
func BenchmarkCheckOverTheNetwork(b *testing.B) {
	open := func() (*p2p.Node, solana.PrivateKey) {
		key, err := solana.NewRandomPrivateKey()
		require.NoError(b, err)
		n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
		require.NoError(b, err)
		b.Cleanup(func() { _ = n.Close() })
		return n, key
	}
	keeper, _ := open()
	node, nodeKey := open()
	serving := challengeProtocol
	serving.Rate, serving.Burst = 1e9, 1<<30
	p2p.Handle(node, serving, func(_ context.Context, _ solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
		return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Liveness: &messages.Liveness{
			UnixTime: time.Now().Unix(), UpSeconds: 100_000,
			Leases: []messages.LeaseStatus{{Lease: [32]byte{1}, State: messages.LeaseRunning, StartedAt: 1_700_000_000}},
		}}, nil
	})
	addr := strings.Split(node.Addrs()[0], "/") // "", ip4, 127.0.0.1, tcp, port, p2p, id
	at, bytes := meter(b, net.JoinHostPort(addr[2], addr[4]))
	_, port, err := net.SplitHostPort(at)
	require.NoError(b, err)
	require.NoError(b, keeper.Remember(p2p.Peer{Key: nodeKey.PublicKey(), Addrs: []string{"/ip4/127.0.0.1/tcp/" + port}}))
	ask := func() {
		_, err := (Network{Node: keeper}).Ask(b.Context(), nodeKey.PublicKey(), messages.ChallengeRequest{
			Version: messages.Version, Kind: messages.CheckLiveness, Node: [32]byte{1}, Nonce: [32]byte{2},
		})
		require.NoError(b, err)
	}
	ask() // connects
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, sent := used(), bytes.Load()
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64((used()-began).Microseconds())/float64(b.N), "cpu-us/check")
	b.ReportMetric(float64(bytes.Load()-sent)/float64(b.N), "B/check")
}
