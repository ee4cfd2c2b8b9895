package receipt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// fakeChain has one lease and settles as the program does.
type fakeChain struct {
	l      market.Lease
	gone   bool
	now    func() time.Time
	fail   bool          // the next settlement lands, and the caller is told that it failed
	lost   bool          // the next settlement never lands
	before *market.Lease // what a list that was made earlier shows
	landed int
	by     map[solana.PublicKey]bool // session keys of the customer
}

func (f *fakeChain) ActsFor(key, customer solana.PublicKey) bool { return key == customer || f.by[key] }

func (f *fakeChain) Leases() []market.Lease {
	if f.gone {
		return nil
	}
	if f.before != nil {
		return []market.Lease{*f.before}
	}
	return []market.Lease{f.l}
}

func (f *fakeChain) Lease(a solana.PublicKey) (market.Lease, bool) {
	return f.l, !f.gone && a == f.l.Address
}

var errNetwork = errors.New("the network is away")

func (f *fakeChain) SettleReceipt(_ context.Context, l market.Lease, r Signed) error {
	if f.lost {
		f.lost = false
		return errNetwork
	}
	message := market.LeaseReceipt(l, r.Sequence, uint64(r.Seconds))
	switch {
	case f.gone:
		return errors.New("no such account")
	case r.Sequence <= f.l.ReceiptSequence || r.Seconds < f.l.ReceiptSecs:
		return nil // stale: as AlreadyDone has it
	case r.Seconds > f.l.BillableSecs(f.now().Unix()):
		return errors.New("receipt too large")
	case message.Verify(f.l.NodeKey, r.NodeSignature) != nil || message.Verify(f.signer(r), r.CustomerSignature) != nil:
		return errors.New("bad signature")
	}
	f.l.ReceiptSequence, f.l.ReceiptSecs = r.Sequence, r.Seconds
	f.l.PaidSecs = max(f.l.PaidSecs, r.Seconds)
	f.landed++
	if f.fail {
		f.fail = false
		return errNetwork
	}
	return nil
}

// signer is whose signature a receipt must have, as the program sees it.
func (f *fakeChain) signer(r Signed) solana.PublicKey {
	if f.by[r.CustomerKey] {
		return r.CustomerKey
	}
	return f.l.Customer
}

var address = solana.PublicKey{4}

type fixture struct {
	*Server
	chain    *fakeChain
	node     solana.PrivateKey
	customer solana.PrivateKey
	now      time.Time
	dir      string
	store    *store.Store
}

type failer interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

func newFixture(t failer) *fixture {
	t.Helper()
	f := &fixture{now: time.Unix(1_800_000_000, 0)}
	base := ""
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		base = "/dev/shm"
	}
	var err error
	f.dir, err = os.MkdirTemp(base, "gantry-receipt-test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.store.Close(); _ = os.RemoveAll(f.dir) })
	f.node, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	f.customer, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	l := market.Lease{Meta: market.Meta{Address: address}}
	l.NodeKey, l.Customer, l.Domain = f.node.PublicKey(), f.customer.PublicKey(), [8]byte{1}
	l.AwardedAt, l.StartedAt, l.FundedUntil = f.now.Unix()-1, f.now.Unix(), f.now.Unix()+300
	l.Status = uint8(market.LeaseRunning)
	f.chain = &fakeChain{l: l, now: func() time.Time { return f.now }}
	f.open(t)
	_, err = f.store.AddLease(store.Lease{Address: store.Key(address), Customer: store.Key(l.Customer), AwardedAt: time.Unix(l.AwardedAt, 0)})
	require.NoError(t, err)
	return f
}

// open opens, or after a crash opens again.
func (f *fixture) open(t failer) {
	if f.store != nil {
		require.NoError(t, f.store.Close())
	}
	var err error
	f.store, err = store.Open(filepath.Join(f.dir, "agent.db"), store.Options{Owner: store.Owner{NodeKey: store.Key(f.node.PublicKey())}})
	require.NoError(t, err)
	f.Server, err = New(Options{
		Chain: f.chain, Store: f.store, Key: f.node, Domain: records.Domain{1}, Interval: 20 * time.Second,
		Log: zerolog.Nop(), Now: func() time.Time { return f.now },
	})
	require.NoError(t, err)
}

func (f *fixture) sign(t failer, r messages.Receipt) messages.SignedReceipt {
	message := market.LeaseReceipt(f.chain.l, r.Sequence, r.Seconds)
	require.NoError(t, message.Verify(f.node.PublicKey(), r.NodeSignature))
	sig, err := message.Sign(f.customer)
	require.NoError(t, err)
	return messages.SignedReceipt{Receipt: r, CustomerSignature: sig}
}

// Whatever happens, the node never signs a lower number after a higher one, never two numbers under one sequence, and
// never more than the chain would take; and what both have signed is settled in the end.
func TestReceiptsOnlyGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(rt)
		ctx := context.Background()
		signed := map[uint64]uint64{}
		var highest, agreed uint64
		var open []messages.SignedReceipt
		rt.Repeat(map[string]func(*rapid.T){
			"offer": func(r *rapid.T) {
				offer, err := f.Offer(ctx, f.customer.PublicKey(), address)
				var refused *lease.RefusedError
				if errors.As(err, &refused) {
					return
				}
				require.NoError(rt, err)
				if seconds, ok := signed[offer.Sequence]; ok {
					require.Equal(rt, seconds, offer.Seconds, "sequence %d signed twice", offer.Sequence)
				}
				signed[offer.Sequence] = offer.Seconds
				require.GreaterOrEqual(rt, offer.Seconds, highest)
				require.Greater(rt, offer.Sequence, f.chain.l.ReceiptSequence)
				highest = offer.Seconds
				open = append(open, f.sign(rt, offer))
			},
			"return": func(r *rapid.T) {
				if len(open) == 0 {
					return
				}
				s := open[rapid.IntRange(0, len(open)-1).Draw(r, "which")]
				if f.Accept(ctx, f.customer.PublicKey(), s) == nil {
					agreed = max(agreed, s.Receipt.Sequence)
				}
			},
			"settle":     func(*rapid.T) { f.settleDue(ctx) },
			"settle now": func(*rapid.T) { _ = f.SettleNow(ctx, address) },
			"time":       func(r *rapid.T) { f.now = f.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(r, "s")) * time.Second) },
			"down": func(r *rapid.T) {
				if d := uint32(rapid.IntRange(0, 3).Draw(r, "s")); f.chain.l.BillableSecs(f.now.Unix()) > f.chain.l.PaidSecs+d {
					f.chain.l.DowntimeSecs += d
				}
			},
			"crash": func(*rapid.T) { f.open(rt) },
			"trouble": func(r *rapid.T) {
				f.chain.fail, f.chain.lost = rapid.Bool().Draw(r, "lands"), rapid.Bool().Draw(r, "lost")
			},
			"end": func(*rapid.T) {
				if f.chain.l.EndedAt == 0 {
					f.chain.l.Status, f.chain.l.EndedAt = uint8(market.LeaseEnded), min(f.now.Unix(), f.chain.l.FundedUntil)
				}
			},
		})
		f.chain.fail, f.chain.lost = false, false
		for range 5 {
			f.now = f.now.Add(time.Minute)
			f.settleDue(ctx)
		}
		if most := f.chain.l.BillableSecs(f.now.Unix()); signed[agreed] <= uint64(most) {
			require.GreaterOrEqual(rt, f.chain.l.ReceiptSequence, agreed, "what both signed is settled")
		}
	})
}

// A list of leases may be older than a receipt: the lease started in between, and the receipt says when.
func TestSettlesTheLeaseAsItIs(t *testing.T) {
	f := newFixture(t)
	old := f.chain.l
	old.Status, old.StartedAt = uint8(market.LeaseAwarded), 0
	f.chain.before = &old
	f.now = f.now.Add(30 * time.Second)
	r, err := f.Offer(t.Context(), f.customer.PublicKey(), address)
	require.NoError(t, err)
	require.NoError(t, f.Accept(t.Context(), f.customer.PublicKey(), f.sign(t, r)))
	f.settleDue(t.Context())
	require.Equal(t, 1, f.chain.landed)
	require.Empty(t, f.lastErr)

	_, due := f.pending(old)
	require.False(t, due, "nothing is owed before the start")
}

// A session key signs for its customer with its own key, across a crash of the agent; what it signed is not brought to
// the chain any more once it is over.
func TestSessionKeysSignReceipts(t *testing.T) {
	f := newFixture(t)
	f.now = f.now.Add(10 * time.Second)
	session, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	var refused *lease.RefusedError
	_, err = f.Offer(t.Context(), session.PublicKey(), address)
	require.ErrorAs(t, err, &refused, "nobody has named it")
	f.chain.by = map[solana.PublicKey]bool{session.PublicKey(): true}
	offer, err := f.Offer(t.Context(), session.PublicKey(), address)
	require.NoError(t, err)
	require.ErrorAs(t, f.Accept(t.Context(), session.PublicKey(), f.sign(t, offer)), &refused, "the customer's signature, from a session key")
	sig, err := market.LeaseReceipt(f.chain.l, offer.Sequence, offer.Seconds).Sign(session)
	require.NoError(t, err)
	require.NoError(t, f.Accept(t.Context(), session.PublicKey(), messages.SignedReceipt{Receipt: offer, CustomerSignature: sig}))
	f.open(t)
	f.chain.by = nil // over
	require.NoError(t, f.SettleNow(t.Context(), address))
	require.Zero(t, f.chain.landed)
	f.chain.by = map[solana.PublicKey]bool{session.PublicKey(): true}
	require.NoError(t, f.SettleNow(t.Context(), address))
	require.Equal(t, 1, f.chain.landed)
	require.EqualValues(t, offer.Seconds, f.chain.l.ReceiptSecs)
}

func TestSeconds(t *testing.T) {
	start := int64(1_000)
	base := func(change func(*market.Lease)) market.Lease {
		var l market.Lease
		l.StartedAt, l.FundedUntil = start, start+100
		if change != nil {
			change(&l)
		}
		return l
	}
	exit := &store.Exit{At: time.Unix(start+20, 0)}
	for name, c := range map[string]struct {
		l    market.Lease
		exit *store.Exit
		now  int64
		want uint64
	}{
		"not started":       {l: market.Lease{}, now: start + 50, want: 0},
		"running":           {l: base(nil), now: start + 50, want: 49},
		"just started":      {l: base(nil), now: start, want: 0},
		"out of money":      {l: base(nil), now: start + 500, want: 100},
		"downtime":          {l: base(func(l *market.Lease) { l.DowntimeSecs = 9 }), now: start + 50, want: 40},
		"ended is exact":    {l: base(func(l *market.Lease) { l.EndedAt = start + 30 }), now: start + 30, want: 30},
		"all of it was bad": {l: base(func(l *market.Lease) { l.EndedAt, l.DowntimeSecs = start+5, 9 }), now: start + 30, want: 0},
		"job done":          {l: base(func(l *market.Lease) { l.RunToCompletion = 1 }), exit: exit, now: start + 50, want: 21},
		"job done, ended late": {
			l: base(func(l *market.Lease) { l.RunToCompletion, l.EndedAt = 1, start+60 }), exit: exit, now: start + 70, want: 21,
		},
		"job over, kept": {l: base(nil), exit: exit, now: start + 50, want: 49},
		"job lost, kept": {l: base(nil), exit: &store.Exit{Reason: string(runtime.Lost), At: exit.At}, now: start + 50, want: 21},
	} {
		require.Equal(t, c.want, Seconds(c.l, c.exit, time.Unix(c.now, 0)), name)
	}
}

func TestRefusals(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	refused := func(err error, want string) {
		t.Helper()
		var r *lease.RefusedError
		require.ErrorAs(t, err, &r)
		require.Contains(t, r.Why, want)
	}
	_, err := f.Offer(ctx, f.node.PublicKey(), address)
	refused(err, "another customer")
	_, err = f.Offer(ctx, f.customer.PublicKey(), address)
	refused(err, "nothing to sign")
	f.now = f.now.Add(10 * time.Second)
	offer, err := f.Offer(ctx, f.customer.PublicKey(), address)
	require.NoError(t, err)
	require.EqualValues(t, 9, offer.Seconds)
	good := f.sign(t, offer)

	bad := good
	bad.CustomerSignature[3] ^= 1
	refused(f.Accept(ctx, f.customer.PublicKey(), bad), "signature")
	bad = good
	bad.Receipt.Seconds++
	refused(f.Accept(ctx, f.customer.PublicKey(), bad), "offered last")
	refused(f.Accept(ctx, f.node.PublicKey(), good), "another customer")
	f.now = f.now.Add(10 * time.Second)
	_, err = f.Offer(ctx, f.customer.PublicKey(), address)
	require.NoError(t, err)
	refused(f.Accept(ctx, f.customer.PublicKey(), good), "offered last")

	// A signed receipt outlives the offer of a newer one that nobody answers.
	offer, err = f.Offer(ctx, f.customer.PublicKey(), address)
	require.NoError(t, err)
	require.NoError(t, f.Accept(ctx, f.customer.PublicKey(), f.sign(t, offer)))
	f.now = f.now.Add(30 * time.Second)
	_, err = f.Offer(ctx, f.customer.PublicKey(), address)
	require.NoError(t, err)
	f.open(t)
	f.settleDue(ctx)
	require.Equal(t, offer.Sequence, f.chain.l.ReceiptSequence)

	f.chain.gone = true
	_, err = f.Offer(ctx, f.customer.PublicKey(), address)
	refused(err, "no such lease")
}

func TestNewNeedsEveryDependency(t *testing.T) {
	f := newFixture(t)
	complete := Options{Chain: f.chain, Store: f.store, Key: f.node, Domain: records.Domain{1}}
	_, err := New(complete)
	require.NoError(t, err)
	for name, remove := range map[string]func(*Options){
		"chain":  func(o *Options) { o.Chain = nil },
		"store":  func(o *Options) { o.Store = nil },
		"key":    func(o *Options) { o.Key = nil },
		"domain": func(o *Options) { o.Domain = records.Domain{} },
	} {
		o := complete
		remove(&o)
		_, err := New(o)
		require.ErrorContains(t, err, "required", name)
	}
}
