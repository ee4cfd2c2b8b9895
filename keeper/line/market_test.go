package line

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	agent "github.com/gantry-market/gantry/agent/line"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	secs   = 3600
	period = records.Period(24 * 20_000)
	long   = time.Minute
)

var (
	domain  = records.Domain{9}
	account = solana.PublicKey{1}
)

// block is the n-th instant that a period could have at its first tick and that does or does not draw the node.
func block(p records.Period, n int, draws bool) instant.Instant {
	for i := uint64(0); ; i++ {
		hash := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("block"), i))
		at, here := instant.Draw(domain, p, 0, 77, hash, instant.Tick(p, 0, secs))
		if here && at.DrawsLine(account, secs) == draws {
			if n--; n < 0 {
				return at
			}
		}
	}
}

// market says who sits in the committee, and that block(p, 0, true) is the instant of every period.
type market struct {
	mu      sync.Mutex
	members map[solana.PublicKey]bool
	busy    bool
	now     time.Time
	fails   error
	lookups int
}

func newMarket() *market {
	return &market{members: map[solana.PublicKey]bool{}, now: instant.Tick(period, 0, secs).Add(time.Minute)}
}

func (m *market) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *market) Is(_ context.Context, at instant.Instant) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups++
	return at.Hash == block(at.Period, 0, true).Hash, m.fails
}

func (m *market) Sits(_ context.Context, _ records.Period, keeper solana.PublicKey) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.members[keeper], m.fails
}

func key(t *testing.T) solana.PrivateKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func peerOf(t testing.TB, k solana.PrivateKey) *p2p.Node {
	t.Helper()
	n, err := p2p.New(p2p.Options{Key: k, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// machine is a node with its agent.
type machine struct {
	*market
	peer   *p2p.Node
	server *agent.Server
}

// newMachine is a machine whose agent takes every keeper for an active one.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{market: newMarket(), peer: peerOf(t, key(t))}
	var err error
	m.server, err = agent.New(agent.Options{
		Node: account, Domain: domain, Draws: m.market,
		Member: func(solana.PublicKey) bool { return true },
		Busy: func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.busy
		},
		PeriodSecs: func() (uint32, bool) { return secs, true },
		Now: func() time.Time {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.now
		},
	})
	require.NoError(t, err)
	m.server.Register(m.peer)
	return m
}

func (m *machine) node() Node { return Node{Account: account, Key: m.peer.Key()} }

// keeper is a peer that is connected with the machine, at its own address or at another that leads there.
func (m *machine) keeper(t *testing.T, via ...string) *p2p.Node {
	t.Helper()
	peer, to := peerOf(t, key(t)), m.peer.Self()
	if len(via) > 0 {
		to.Addrs = via
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	require.NoError(t, peer.Connect(ctx, to))
	return peer
}

// member is a keeper that sits in the committee.
func (m *machine) member(t *testing.T, via ...string) (*Member, *p2p.Node) {
	t.Helper()
	peer := m.keeper(t, via...)
	m.change(func() { m.members[peer.Key()] = true })
	return newMember(t, Peers{peer}), peer
}

func newMember(t *testing.T, n Network) *Member {
	t.Helper()
	k, err := New(Options{Network: n})
	require.NoError(t, err)
	return k
}

// throttled is an address that leads to a peer through a line of so many Mbit/s each way: a token bucket of 64 KiB for each.
func throttled(t *testing.T, to *p2p.Node, down, up float64) string {
	t.Helper()
	addr := to.Addrs()[0] // /ip4/127.0.0.1/tcp/PORT/p2p/ID
	parts := strings.Split(addr, "/")
	target := "127.0.0.1:" + parts[4]
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp4", target)
			if err != nil {
				_ = in.Close()
				return
			}
			context.AfterFunc(ctx, func() { _ = errors.Join(in.Close(), out.Close()) })
			wg.Go(func() { pour(ctx, out, in, down) })
			wg.Go(func() { pour(ctx, in, out, up) })
		}
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	parts[4] = port
	return strings.Join(parts, "/")
}

func pour(ctx context.Context, to io.WriteCloser, from io.Reader, mbps float64) {
	defer to.Close()
	const burst = 64 << 10
	tokens := rate.NewLimiter(rate.Limit(mbps*1e6/8), burst)
	b := make([]byte, burst)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if tokens.WaitN(ctx, n) != nil {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
