package jump

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	s, err := ssh.NewSignerFromSigner(key)
	require.NoError(t, err)
	return s
}

// bed is a jump host before two leases, each of a key of its own, whose SSH servers echo.
type bed struct {
	t        *testing.T
	at       string
	room     *limit.Room
	mine     ssh.Signer
	others   ssh.Signer
	entry    *grants.Entry
	end      context.CancelFunc
	dialFail atomic.Bool
}

func newEntry(ctx context.Context, key ssh.Signer) *grants.Entry {
	e := &grants.Entry{Places: limit.NewPlaces(12), Rate: limit.NewRate(1 << 30), In: new(atomic.Uint64), Out: new(atomic.Uint64), Lasts: ctx}
	e.Signed.Grant.SSHKeys = []records.Hash{sha256.Sum256(key.PublicKey().Marshal())}
	return e
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, mine: newSigner(t), others: newSigner(t), room: limit.NewRoom(limit.Options{Most: 40, MostOfOne: 20, PerSecond: 1e6, Burst: 1e6})}
	lasts, end := context.WithCancel(t.Context())
	b.end, b.entry = end, newEntry(lasts, b.mine)
	leases := map[string]*grants.Entry{"ssh-mine": b.entry, "ssh-other": newEntry(t.Context(), b.others)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.at = l.Addr().String()
	o := Options{
		Listener: l, Domain: "gw.test", HostKey: newSigner(t), Room: b.room, Idle: time.Minute, Seen: func(string) {},
		Knows: func(key []byte) bool {
			return b.entry.Signed.Grant.AllowsKey(key) || leases["ssh-other"].Signed.Grant.AllowsKey(key)
		},
		Find: func(label string) (*grants.Entry, bool) { e, ok := leases[label]; return e, ok },
		Dial: func(context.Context, *grants.Entry) (net.Conn, error) {
			if b.dialFail.Load() {
				return nil, errors.New("the machine of this lease is not reachable now")
			}
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(far, far); _ = far.Close() }()
			return near, nil
		},
	}
	s, err := New(o)
	require.NoError(t, err)
	options.Without(o, []string{"Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-done, context.Canceled) })
	return b
}

func (b *bed) login(key ssh.Signer) (*ssh.Client, error) {
	return ssh.Dial("tcp", b.at, &ssh.ClientConfig{
		User: "anybody", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute, //nolint:gosec // a test's own server
	})
}

func TestAKeyReachesItsLeaseAlone(t *testing.T) {
	b := newBed(t)
	c, err := b.login(b.mine)
	require.NoError(t, err)
	defer c.Close()
	for _, name := range []string{"ssh-mine:22", "SSH-mine.gw.test:22", "ssh-mine.gw.test.:22"} {
		conn, err := c.Dial("tcp", name)
		require.NoError(t, err, name)
		_, err = io.WriteString(conn, "hello")
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 5))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	for name, says := range map[string]string{
		"ssh-other:22": "no lease has this name here", "ssh-none:22": "no lease has this name here", "127.0.0.1:22": "no lease has this name here",
		"169.254.169.254:80": "no lease has this name here", "ssh-mine:8080": "port 22 alone",
	} {
		_, err := c.Dial("tcp", name)
		require.ErrorContains(t, err, says, name)
	}
	_, err = c.NewSession()
	require.ErrorContains(t, err, "has no shell")
	_, err = c.Listen("tcp", "127.0.0.1:0")
	require.Error(t, err)
	_, _, err = c.OpenChannel("direct-streamlocal@openssh.com", ssh.Marshal(struct {
		Path, Reserved string
		Unused         uint32
	}{"/etc/passwd", "", 0}))
	require.Error(t, err)
	b.dialFail.Store(true)
	_, err = c.Dial("tcp", "ssh-mine:22")
	require.ErrorContains(t, err, "not reachable now")
}

func TestNobodyLogsInWhomNoGrantNames(t *testing.T) {
	b := newBed(t)
	_, err := b.login(newSigner(t))
	require.ErrorContains(t, err, "unable to authenticate")
	_, err = ssh.Dial("tcp", b.at, &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.Password("root")}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}) //nolint:gosec // as above
	require.Error(t, err)
}

func TestConnectionsOfAKeyAreBounded(t *testing.T) {
	b := newBed(t)
	c, err := b.login(b.mine)
	require.NoError(t, err)
	defer c.Close()
	var open []net.Conn
	for range 3 {
		conn, err := c.Dial("tcp", "ssh-mine:22")
		require.NoError(t, err)
		open = append(open, conn)
	}
	_, err = c.Dial("tcp", "ssh-mine:22")
	require.ErrorContains(t, err, "too many connections to this lease")
	b.end()
	for _, conn := range open {
		_, err := io.Copy(io.Discard, conn)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return b.entry.Places.Taken() == 0 }, time.Minute, time.Millisecond)
}

// Those who say nothing, or junk, are sent away, and those who log in are served meanwhile.
func TestSilenceAndJunkEnd(t *testing.T) {
	b := newBed(t)
	var all []net.Conn
	for i := range 12 {
		c, err := net.Dial("tcp", b.at)
		require.NoError(t, err)
		defer c.Close()
		switch i % 3 {
		case 1:
			junk := make([]byte, 64<<10)
			_, _ = rand.Read(junk)
			_, _ = c.Write(junk)
		case 2:
			_, _ = io.WriteString(c, "SSH-2.0-slow\r\n")
		}
		all = append(all, c)
	}
	c, err := b.login(b.mine)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	for _, c := range all {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := io.Copy(io.Discard, c)
		var timeout net.Error
		require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the connection goes on")
	}
	require.Eventually(t, func() bool { n, _ := b.room.Count(); return n == 0 }, time.Minute, time.Millisecond)
}

// TestAJumpThatIsNotPaid is refused in words, and one that is under way ends where the allowance does.
func TestAJumpThatIsNotPaid(t *testing.T) {
	b := newBed(t)
	book, err := toll.Open(toll.Options{
		Path: filepath.Join(t.TempDir(), "payments.db"), Domain: records.Domain{1}, Gateway: solana.PublicKey{3}, Price: market.OneUSDC, Free: 20,
		Mint: solana.PublicKey{4}, Payee: solana.PublicKey{5},
		Transaction: func(context.Context, solana.Signature) (chain.Landed, error) {
			return chain.Landed{}, chain.ErrNotFound
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = book.Close() })
	b.entry.Toll = book.Account(solana.PublicKey{2}, solana.PublicKey{1})
	c, err := b.login(b.mine)
	require.NoError(t, err)
	defer c.Close()
	conn, err := c.Dial("tcp", "ssh-mine:22")
	require.NoError(t, err)
	_, err = io.WriteString(conn, "hello jump host") // 15 there, 5 of them back
	require.NoError(t, err)
	got, _ := io.ReadAll(conn)
	require.Equal(t, "hello", string(got))
	_, err = c.Dial("tcp", "ssh-mine:22")
	require.ErrorContains(t, err, "gantry gateway pay "+solana.PublicKey{2}.String())
}
