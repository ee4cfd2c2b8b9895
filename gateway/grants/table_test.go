package grants

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	testDomain  = records.Domain{1}
	testGateway = solana.PublicKey{2}
	testNode    = solana.PublicKey{3}
)

// world is a chain with leases that run.
type world struct {
	t      *testing.T
	dir    string
	leases map[solana.PublicKey]*Facts
	orders map[solana.PublicKey][]solana.PublicKey // leases of an order, as the chain shows them
	err    error
	asked  int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, dir: filepath.Join(t.TempDir(), "grants"), leases: map[solana.PublicKey]*Facts{}, orders: map[solana.PublicKey][]solana.PublicKey{}}
}

func (w *world) options() Options {
	return Options{
		Domain: testDomain, Gateway: testGateway, Dir: w.dir, MostLeases: 3, MostOfOne: 2, PerLease: 4, Rate: 1 << 20,
		Chain: func(_ context.Context, about []Question) ([]Facts, error) {
			w.asked += len(about)
			out := make([]Facts, len(about))
			for i, q := range about {
				if f := w.leases[q.Lease]; f != nil {
					out[i] = *f
					out[i].ActsFor = f.ActsFor && f.Lease.Customer == q.Signer
				}
			}
			return out, w.err
		},
		Leases: func(_ context.Context, order solana.PublicKey) (out []market.Lease, err error) {
			for _, l := range w.orders[order] {
				out = append(out, w.leases[l].Lease)
			}
			return out, w.err
		},
	}
}

func (w *world) table() *Table {
	w.t.Helper()
	t, err := New(w.options())
	require.NoError(w.t, err)
	return t
}

func (w *world) customer() solana.PrivateKey {
	w.t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(w.t, err)
	return key
}

// rents makes a lease of a customer run.
func (w *world) rents(customer solana.PrivateKey, lease byte) solana.PublicKey {
	address := solana.PublicKey{lease, 7}
	f := &Facts{Found: true, ActsFor: true}
	f.Lease.Address, f.Lease.Order = address, solana.PublicKey{lease, 8}
	f.Lease.Customer, f.Lease.NodeKey, f.Lease.Status = customer.PublicKey(), testNode, uint8(market.LeaseRunning)
	w.leases[address] = f
	return address
}

func (w *world) grant(by solana.PrivateKey, lease solana.PublicKey, change func(*records.Grant)) messages.SignedGrant {
	w.t.Helper()
	now := time.Now()
	g := records.Grant{
		Domain: testDomain, Lease: lease, Gateway: testGateway, IssuedAt: now.UnixMilli(), Expiry: now.Add(time.Hour).UnixMilli(),
		Ports: []records.GrantedPort{{Port: 80, Name: "web"}, {Port: 443, Name: "my-end", TLS: true}}, SSHKeys: []records.Hash{{5}},
	}
	if change != nil {
		change(&g)
	}
	sig, err := g.Sign(by)
	require.NoError(w.t, err)
	return messages.SignedGrant{Grant: g, Signer: by.PublicKey(), Signature: sig}
}

func refusedWith(t *testing.T, err error, why string) {
	t.Helper()
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Why, why)
}

func TestAGrantIsFoundByItsNames(t *testing.T) {
	w := newWorld(t)
	key := w.customer()
	lease := w.rents(key, 1)
	table := w.table()
	e, err := table.Open(t.Context(), w.grant(key, lease, nil), nil)
	require.NoError(t, err)
	names := e.Names()
	require.Len(t, names, 2)
	for i, name := range names {
		got, port, ok := table.ByName(name)
		require.True(t, ok, name)
		require.Same(t, e, got)
		require.Equal(t, e.Signed.Grant.Ports[i], port)
	}
	got, ok := table.BySSHName(e.SSHName())
	require.True(t, ok)
	require.Same(t, e, got)
	for _, name := range []string{"", "web", "web-", "-" + e.tail, "wub-" + e.tail, "end-" + e.tail, e.tail, "ssh-" + e.tail, "web-aaaaaaaaaaaaaaaa"} {
		_, _, ok := table.ByName(name)
		require.False(t, ok, name)
	}
	require.True(t, table.Concerns(key.PublicKey()))
	require.True(t, table.Concerns(testNode))
	require.False(t, table.Concerns(testGateway))

	// Again after a restart.
	again, err := table.Open(t.Context(), w.grant(key, lease, func(g *records.Grant) { g.IssuedAt++; g.SSHKeys = nil }), nil)
	require.NoError(t, err)
	require.Error(t, e.Lasts.Err(), "it is replaced")
	require.Same(t, e.Places, again.Places, "what its connections hold goes on to count")
	table = w.table()
	require.Len(t, table.All(), 1)
	_, _, ok = table.ByName(names[0])
	require.True(t, ok)
	_, ok = table.BySSHName(e.SSHName())
	require.False(t, ok, "no key is granted any more")
	_, err = table.Open(t.Context(), w.grant(key, lease, func(g *records.Grant) { g.IssuedAt -= time.Hour.Milliseconds() }), nil)
	refusedWith(t, err, "newer grant")
}

func TestWhatIsNoGrantIsRefused(t *testing.T) {
	w := newWorld(t)
	key, stranger := w.customer(), w.customer()
	lease := w.rents(key, 1)
	table := w.table()
	for _, c := range []struct {
		s   messages.SignedGrant
		why string
	}{
		{w.grant(key, lease, func(g *records.Grant) { g.Domain[3]++ }), "another cluster"},
		{w.grant(key, lease, func(g *records.Grant) { g.Gateway[3]++ }), "another gateway"},
		{w.grant(key, lease, func(g *records.Grant) { g.IssuedAt, g.Expiry = 1, 2 }), "expired"},
		{func() messages.SignedGrant {
			s := w.grant(key, lease, nil)
			s.Grant.SSHKeys = []records.Hash{{6}}
			return s
		}(), "not valid"},
	} {
		_, err := table.Open(t.Context(), c.s, nil)
		refusedWith(t, err, c.why)
	}
	require.Zero(t, w.asked, "nothing is asked about what is wrong by itself")
	_, err := table.Open(t.Context(), w.grant(stranger, lease, nil), nil)
	refusedWith(t, err, "another customer")
	_, err = table.Open(t.Context(), w.grant(key, solana.PublicKey{99}, nil), nil)
	refusedWith(t, err, "no such lease")
	w.leases[lease].Lease.Status = uint8(market.LeaseAwarded)
	_, err = table.Open(t.Context(), w.grant(key, lease, nil), nil)
	refusedWith(t, err, "does not run")
	w.err = errors.New("away")
	_, err = table.Open(t.Context(), w.grant(key, lease, nil), nil)
	require.ErrorIs(t, err, w.err)
	require.Empty(t, table.All())
	table.asks.SetLimit(0) // a slow computer takes seconds for what follows
	for range asksBurst + 1 {
		_, err = table.Open(t.Context(), w.grant(key, lease, nil), nil)
	}
	refusedWith(t, err, "too many grants")
}

func TestATableHasRoomForSoMany(t *testing.T) {
	w := newWorld(t)
	one, other, third := w.customer(), w.customer(), w.customer()
	table := w.table()
	open := func(key solana.PrivateKey, lease byte) error {
		_, err := table.Open(t.Context(), w.grant(key, w.rents(key, lease), nil), nil)
		return err
	}
	require.NoError(t, open(one, 1))
	require.NoError(t, open(one, 2))
	refusedWith(t, open(one, 3), "2 leases of your wallet")
	require.NoError(t, open(other, 4))
	refusedWith(t, open(third, 5), "3 leases")
	require.NoError(t, open(one, 1), "what is here may be replaced")
	same := solana.PublicKey{4, 7}
	same[31] = 1 // another lease, whose name would be that of 4
	w.leases[same] = w.leases[w.rents(one, 4)]
	_, err := table.Open(t.Context(), w.grant(one, same, nil), nil)
	refusedWith(t, err, "another lease has this lease's name")

	o := w.options()
	o.Customers, o.Dir = []solana.PublicKey{third.PublicKey()}, t.TempDir()
	table, err = New(o)
	require.NoError(t, err)
	refusedWith(t, open(one, 1), "does not serve your wallet")
	require.NoError(t, open(third, 6))
}

func TestAGrantEnds(t *testing.T) {
	w := newWorld(t)
	key := w.customer()
	table := w.table()
	open := func(lease byte, change func(*records.Grant)) *Entry {
		e, err := table.Open(t.Context(), w.grant(key, w.rents(key, lease), change), nil)
		require.NoError(t, err)
		return e
	}
	ends := func(e *Entry) {
		t.Helper()
		require.Error(t, e.Lasts.Err())
		_, _, ok := table.ByName(e.Names()[0])
		require.False(t, ok)
		require.NoFileExists(t, table.file(e.Lease()))
	}
	e := open(1, nil)
	refusedWith(t, table.Close(solana.PublicKey{9}, e.Lease()), "another customer")
	require.NoError(t, e.Lasts.Err())
	require.NoError(t, table.Close(key.PublicKey(), e.Lease()))
	ends(e)
	refusedWith(t, table.Close(key.PublicKey(), e.Lease()), "no grant")

	e = open(1, nil)
	w.err = errors.New("away")
	require.Error(t, table.refresh(t.Context()))
	require.NoError(t, e.Lasts.Err(), "silence of the chain ends nothing")
	w.err = nil
	require.NoError(t, table.refresh(t.Context()))
	require.NoError(t, e.Lasts.Err())
	w.leases[e.Lease()].Lease.Status = uint8(market.LeaseEnded)
	require.NoError(t, table.refresh(t.Context()))
	ends(e)

	e = open(1, nil)
	w.leases[e.Lease()].ActsFor = false // a session key that was taken away
	require.NoError(t, table.refresh(t.Context()))
	ends(e)

	e = open(1, func(g *records.Grant) { g.Expiry = time.Now().Add(200 * time.Millisecond).UnixMilli() })
	require.Eventually(t, func() bool { _, _, ok := table.ByName(e.Names()[0]); return !ok }, time.Minute, 10*time.Millisecond)
	require.NoError(t, table.refresh(t.Context()))
	ends(e)
}

func TestStoredGrantsThatHoldNoMore(t *testing.T) {
	w := newWorld(t)
	key := w.customer()
	table := w.table()
	gone, stays := w.rents(key, 1), w.rents(key, 2)
	for _, lease := range []solana.PublicKey{gone, stays} {
		_, err := table.Open(t.Context(), w.grant(key, lease, nil), nil)
		require.NoError(t, err)
	}
	delete(w.leases, gone)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "x.grant"), []byte("junk"), 0o600))
	table = w.table()
	require.Len(t, table.All(), 1)
	require.Equal(t, stays, table.All()[0].Lease())
	left, err := os.ReadDir(w.dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestATableNeedsItsOptions(t *testing.T) {
	options.Without(newWorld(t).options(), []string{"Try", "Customers", "Toll", "Now", "Turn", "Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

// Grants end by the chain's time: a gateway whose date is an hour off neither refuses nor drops what holds.
func TestGrantsEndByTheChainsTime(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		w := newWorld(t)
		chain := func() time.Time { return time.Now().Add(-off) }
		key := w.customer()
		lease := w.rents(key, 1)
		o := w.options()
		o.Now = chain
		table, err := New(o)
		require.NoError(t, err)
		e, err := table.Open(t.Context(), w.grant(key, lease, func(g *records.Grant) {
			g.IssuedAt, g.Expiry = chain().UnixMilli(), chain().Add(10*time.Minute).UnixMilli()
		}), nil)
		require.NoError(t, err, off)
		require.NoError(t, table.refresh(t.Context()))
		require.NoError(t, e.Lasts.Err())
		_, err = table.Open(t.Context(), w.grant(key, lease, func(g *records.Grant) {
			g.IssuedAt, g.Expiry = chain().Add(-time.Hour).UnixMilli(), chain().Add(-time.Minute).UnixMilli()
		}), nil)
		require.ErrorContains(t, err, "expired", off)
		again, err := New(o)
		require.NoError(t, err)
		require.Len(t, again.All(), 1, "a stored grant holds")
	}
}

// A watchdog sees that the table looks at the grants.
func TestTheLoopTurns(t *testing.T) {
	w := newWorld(t)
	o, turned := w.options(), make(chan struct{}, 1000)
	o.Turn = func() { turned <- struct{}{} }
	table, err := New(o)
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- table.Run(ctx) }()
	<-turned
	<-turned
	end()
	require.ErrorIs(t, <-done, context.Canceled)
}
