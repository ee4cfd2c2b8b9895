package signing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// noEnd is a context that never ends.
type noEnd struct{ context.Context }

func (noEnd) Done() <-chan struct{}       { return nil }
func (noEnd) Err() error                  { return nil }
func (noEnd) Value(any) any               { return nil }
func (noEnd) Deadline() (time.Time, bool) { return time.Time{}, false }

// A keeper with a signer finds there what a keeper finds in its own store.
func TestClientIsAStore(t *testing.T) {
	p, key := protected(t)
	dir := t.TempDir()
	stop := serve(t, p, socket(t, filepath.Join(dir, "s.sock")), time.Minute, nil)
	defer stop()
	c := client(t, "unix:"+filepath.Join(dir, "s.sock"), dir)
	_, err := c.Sealed()
	require.ErrorIs(t, err, ErrHold)
	c.had = true // as after the signer's restart
	require.NoError(t, c.Acquire(t.Context()))
	require.Equal(t, key.PublicKey(), c.PublicKey())
	require.Equal(t, testDomain, c.Domain())
	require.Equal(t, records.Period(firstPeriod), c.FirstPeriod())

	own, other := aStatement(1, 7, 70, true), aStatement(1, 7, 70, false)
	signed, refused, err := c.SignStatements([]records.CheckStatement{own, other, aStatement(2, 4, 1, true)})
	require.NoError(t, err)
	require.Len(t, signed, 1)
	require.Equal(t, own, signed[0].Statement)
	require.NoError(t, own.Verify(key.PublicKey(), signed[0].Signature))
	require.Len(t, refused, 2)
	require.ErrorIs(t, refused[0].Err, store.ErrConflict)
	require.ErrorIs(t, refused[1].Err, store.ErrEarly)
	for _, about := range []func() ([]store.Signed, error){
		func() ([]store.Signed, error) { return c.Statements(7) },
		func() ([]store.Signed, error) { return c.StatementsAbout(7, solana.PublicKey{1}) },
	} {
		got, err := about()
		require.NoError(t, err)
		require.Equal(t, signed, got)
	}
	for st, want := range map[records.CheckStatement]bool{own: true, other: false, aStatement(9, 4, 1, true): true} {
		known, err := c.Knows(st)
		require.NoError(t, err)
		require.Equal(t, want, known)
	}
	ref := store.SetRef{Count: 1, Size: 2, Digest: [32]byte{3}}
	require.ErrorIs(t, c.PutManifest(7, ref), store.ErrOpen)
	require.NoError(t, c.Seal(7))
	sealed, err := c.Sealed()
	require.NoError(t, err)
	require.Equal(t, records.Period(8), sealed)
	require.NoError(t, c.PutManifest(7, ref))
	require.ErrorIs(t, c.PutManifest(7, store.SetRef{}), store.ErrManifest)

	root := records.Hash{4}
	_, err = c.Voted(7)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, c.Vote(7, root, []byte("proposal")))
	voted, err := c.Voted(7)
	require.NoError(t, err)
	require.Equal(t, root, voted)
	got, err := c.Proposal(7, root)
	require.NoError(t, err)
	require.Equal(t, "proposal", string(got))
	require.NoError(t, c.PutProposal(8, root, []byte("late")))
	require.NoError(t, c.PutLeaves(7, root, []byte("leaves")))
	got, err = c.Leaves(7, root)
	require.NoError(t, err)
	require.Equal(t, "leaves", string(got))
	_, err = c.Leaves(9, root)
	require.ErrorIs(t, err, store.ErrNotFound)

	require.NoError(t, c.PutProof("a", []byte{1}))
	require.NoError(t, c.PutProof("b", []byte{2}))
	require.NoError(t, c.DropProof("a"))
	proofs, err := c.Proofs()
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"b": {2}}, proofs)
	bidsOfAClient(t, c)

	n, err := c.Pack()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = c.Prune(8)
	require.NoError(t, err)
	require.Positive(t, n)
	require.Equal(t, records.Period(8), c.FirstPeriod())
	require.NoError(t, c.Frozen())
	require.NoError(t, c.Freeze("for this test"))
	require.ErrorIs(t, c.Frozen(), store.ErrFrozen)
	require.ErrorContains(t, c.Frozen(), "for this test")
	require.ErrorIs(t, p.Frozen(), store.ErrFrozen)
}

func bidsOfAClient(t *testing.T, c *Client) {
	a, b := store.AuctionKey{CloseAt: 100, Order: solana.PublicKey{1}}, store.AuctionKey{CloseAt: 200, Order: solana.PublicKey{2}}
	require.NoError(t, c.PutBids(a, map[[32]byte][]byte{{5}: []byte("x"), {6}: []byte("y")}))
	require.NoError(t, c.PutBids(b, map[[32]byte][]byte{{5}: []byte("z")}))
	all := func(from int64) (out []string) {
		require.NoError(t, c.EachBid(from, func(a store.AuctionKey, node [32]byte, raw []byte) error {
			out = append(out, fmt.Sprint(a.CloseAt, a.Order[0], node[0], string(raw)))
			return nil
		}))
		return out
	}
	require.Equal(t, []string{"100 1 5x", "100 1 6y", "200 2 5z"}, all(0))
	require.Equal(t, []string{"200 2 5z"}, all(101))
	keeper := c.PublicKey()
	require.NoError(t, c.PutBidSet(a, keeper, []byte("set")))
	got, err := c.BidSet(a, keeper)
	require.NoError(t, err)
	require.Equal(t, "set", string(got))
	_, err = c.BidSet(b, keeper)
	require.ErrorIs(t, err, store.ErrNotFound)
	last, err := c.LastBidSet(a.Order, keeper)
	require.NoError(t, err)
	require.Equal(t, a, last)
	n, err := c.PruneBids(101)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Len(t, all(0), 1)
}

// A standby waits; it works soon after the first keeper is not heard any more, and at once when that gives the hold back.
// The first one then ends.
func TestStandby(t *testing.T) {
	p, _ := protected(t)
	dir := t.TempDir()
	const ttl = 400 * time.Millisecond
	stop := serve(t, p, socket(t, filepath.Join(dir, "s.sock")), ttl, nil)
	defer stop()
	keeper := func(name string) *Client {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		return client(t, "unix:"+filepath.Join(dir, "s.sock"), filepath.Join(dir, name))
	}
	first, second := keeper("first"), keeper("second")
	require.NoError(t, first.Acquire(t.Context()))
	limit, cancel := context.WithTimeout(t.Context(), 3*ttl)
	defer cancel()
	kept := make(chan error, 1)
	living, die := context.WithCancel(t.Context())
	go func() { kept <- first.Keep(living) }()
	require.ErrorIs(t, second.Acquire(limit), context.DeadlineExceeded, "the first one is there")
	die() // its machine is gone: it does not say so
	require.ErrorIs(t, <-kept, context.Canceled)
	began := time.Now()
	require.NoError(t, second.Acquire(t.Context()))
	require.Less(t, time.Since(began), 10*ttl)
	_, err := first.Sealed()
	require.ErrorIs(t, err, ErrHold)
	require.ErrorIs(t, first.Keep(t.Context()), ErrHold, "the first one comes back, and ends")

	third := keeper("third")
	require.ErrorIs(t, third.Hold(), ErrHold)
	require.NoError(t, second.Close())
	require.NoError(t, third.Hold())
}

// An older copy of the store in the signer's folder is noticed by every keeper that has seen more, now and after its
// restart, and signs nothing any more.
func TestOldCopyOfTheStore(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		dir := folder(t)
		key, path := newKey(t), filepath.Join(dir, "keeper.db")
		run := func(f func()) {
			p := open(t, path, key)
			stop := serve(t, p, socket(t, filepath.Join(dir, "s.sock")), time.Minute, nil)
			f()
			stop()
			require.NoError(t, p.Close())
		}
		c := client(t, "unix:"+filepath.Join(dir, "s.sock"), dir)
		c.had = true
		sign := func(p records.Period) {
			require.NoError(t, c.Hold())
			signed, _, err := c.SignStatements([]records.CheckStatement{aStatement(1, p, int64(p)*60, true)})
			require.NoError(t, err)
			require.Len(t, signed, 1)
			require.NoError(t, c.Hold())
		}
		run(func() { sign(7) })
		old, err := os.ReadFile(path)
		require.NoError(t, err)
		run(func() { sign(8) })
		run(func() { sign(9) }) // the same file after a restart is no older one
		require.NoError(t, os.WriteFile(path, old, 0o600))
		if restarted {
			c = client(t, "unix:"+filepath.Join(dir, "s.sock"), dir)
			c.had = true
		}
		run(func() {
			require.ErrorIs(t, c.Hold(), store.ErrFrozen)
			require.ErrorIs(t, c.Acquire(t.Context()), store.ErrFrozen)
			_, _, err := c.SignStatements([]records.CheckStatement{aStatement(1, 9, 9*60, false)})
			require.ErrorIs(t, err, store.ErrFrozen)
		})
		_, err = store.Open(path, store.Options{Keeper: key.PublicKey(), Domain: testDomain})
		require.ErrorIs(t, err, store.ErrFrozen, "it stays so")
	}
}

// A socket is for its user only; over TLS each end takes the other's key and no other one.
func TestLinks(t *testing.T) {
	p, _ := protected(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "s.sock")
	stop := serve(t, p, socket(t, path), time.Millisecond, nil)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	stop()
	stop = serve(t, p, socket(t, path), time.Millisecond, nil) // what the former one left is no obstacle
	stop()

	signer, keeper, stranger := newKey(t), newKey(t), newKey(t)
	l, err := ListenTLS("127.0.0.1:0", signer, []solana.PublicKey{keeper.PublicKey()})
	require.NoError(t, err)
	stop = serve(t, p, l, time.Millisecond, nil)
	defer stop()
	hold := func(key solana.PrivateKey, expected solana.PublicKey) error {
		at, err := ParseAddress(fmt.Sprintf("tls://%s@%s", expected, l.Addr()))
		require.NoError(t, err)
		c, err := NewClient(ClientOptions{Dial: Dialer{at, key}, Seen: filepath.Join(t.TempDir(), "seen"), Timeout: 5 * time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		c.had = true
		return c.Hold()
	}
	require.NoError(t, hold(keeper, signer.PublicKey()))
	require.Error(t, hold(stranger, signer.PublicKey()))
	require.ErrorContains(t, hold(keeper, stranger.PublicKey()), ErrLink.Error())
	for _, bad := range []string{"", "signer.sock", "unix:relative", "tls://127.0.0.1:1", "tls://key@127.0.0.1:1", "tls://" + signer.PublicKey().String() + "@host", "http://x"} {
		_, err := ParseAddress(bad)
		require.ErrorIs(t, err, ErrAddress, bad)
	}
	own := filepath.Join(dir, "link.json")
	made, err := LinkKey(own)
	require.NoError(t, err)
	again, err := LinkKey(own)
	require.NoError(t, err)
	require.Equal(t, made, again)
}

// What is not of the protocol is refused, and the document lists what is.
func TestProtocol(t *testing.T) {
	p, _ := protected(t)
	s, err := NewServer(ServerOptions{Key: p, TTL: time.Second, Log: zerolog.Nop()})
	require.NoError(t, err)
	raw, err := os.ReadFile("../../docs/protocol/signer.md")
	require.NoError(t, err)
	_, requests, ok := strings.Cut(string(raw), "\n## Requests\n")
	require.True(t, ok)
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z/-]+)` \\|").FindAllStringSubmatch(requests, -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	answered := slices.Clone(s.paths)
	slices.Sort(answered)
	require.Equal(t, answered, documented)
	for _, c := range codes {
		require.Contains(t, string(raw), "`"+c.code+"`")
	}
	for _, name := range Transactions {
		require.Contains(t, string(raw), "`"+name+"`")
	}
	require.Contains(t, string(raw), "/"+Version+"/")
	require.Contains(t, string(raw), holderHeader)
	require.False(t, strings.Contains(Version, "/"))
	options.Without(s.o, []string{"Log", "Now"}, func(field string, o ServerOptions) {
		_, err := NewServer(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}
