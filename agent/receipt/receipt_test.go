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
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

// fakeChain has one lease and settles as the program does.
type fakeChain struct {
	l      lease.OnChain
	gone   bool
	now    func() time.Time
	fail   bool           // the next settlement lands, and the caller is told that it failed
	lost   bool           // the next settlement never lands
	before *lease.OnChain // what a list that was made earlier shows
	landed int
	by     map[solana.PublicKey]bool // session keys of the customer
}

func (f *fakeChain) ActsFor(key, customer solana.PublicKey) bool { return key == customer || f.by[key] }

func (f *fakeChain) Leases() []lease.OnChain {
	if f.gone {
		return nil
	}
	if f.before != nil {
		return []lease.OnChain{*f.before}
	}
	return []lease.OnChain{f.l}
}

func (f *fakeChain) Lease(a solana.PublicKey) (lease.OnChain, bool) {
	return f.l, !f.gone && a == f.l.Address
}

func (f *fakeChain) Changed() <-chan struct{} { return nil }

var errAway = errors.New("the network is away")

func (f *fakeChain) SettleReceipt(_ context.Context, l lease.OnChain, r Signed) error {
	if f.lost {
		f.lost = false
		return errAway
	}
	message := market.LeaseReceipt(l, r.Sequence, uint64(r.Seconds))
	switch {
	case f.gone:
		return errors.New("no such account")
	case r.Sequence <= f.l.ReceiptSequence || r.Seconds < f.l.ReceiptSecs:
		return nil // stale: as AlreadyDone has it
	case r.Seconds > f.l.BillableSecs(f.now().Unix()):
		return errors.New("receipt too large")
	case message.Verify(f.l.NodeKey, r.NodeSignature) != nil || message.Verify(f.speaker(r), r.CustomerSignature) != nil:
		return errors.New("bad signature")
	}
	f.l.ReceiptSequence, f.l.ReceiptSecs = r.Sequence, r.Seconds
	f.l.PaidSecs = max(f.l.PaidSecs, r.Seconds)
	f.landed++
	if f.fail {
		f.fail = false
		return errAway
	}
	return nil
}

// speaker is whose signature a receipt must have, as the program sees it.
func (f *fakeChain) speaker(r Signed) solana.PublicKey {
	if f.by[r.CustomerKey] {
		return r.CustomerKey
	}
	return f.l.Customer
}

var address = solana.PublicKey{4}

type office struct {
	*Office
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

func newOffice(t failer) *office {
	t.Helper()
	o := &office{now: time.Unix(1_800_000_000, 0)}
	base := ""
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		base = "/dev/shm"
	}
	var err error
	o.dir, err = os.MkdirTemp(base, "gantry-receipt-test")
	require.NoError(t, err)
	t.Cleanup(func() { _ = o.store.Close(); _ = os.RemoveAll(o.dir) })
	o.node, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	o.customer, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	l := lease.OnChain{Meta: market.Meta{Address: address}}
	l.NodeKey, l.Customer, l.Domain = o.node.PublicKey(), o.customer.PublicKey(), [8]byte{1}
	l.AwardedAt, l.StartedAt, l.FundedUntil = o.now.Unix()-1, o.now.Unix(), o.now.Unix()+300
	l.Status = uint8(market.LeaseRunning)
	o.chain = &fakeChain{l: l, now: func() time.Time { return o.now }}
	o.open(t)
	_, err = o.store.AddLease(store.Lease{Address: store.Key(address), Customer: store.Key(l.Customer), AwardedAt: time.Unix(l.AwardedAt, 0)})
	require.NoError(t, err)
	return o
}

// open opens, or after a crash opens again.
func (o *office) open(t failer) {
	if o.store != nil {
		require.NoError(t, o.store.Close())
	}
	var err error
	o.store, err = store.Open(filepath.Join(o.dir, "agent.db"), store.Options{Owner: store.Owner{NodeKey: store.Key(o.node.PublicKey())}})
	require.NoError(t, err)
	o.Office, err = New(Options{
		Ledger: o.chain, Store: o.store, Key: o.node, Domain: records.Domain{1}, Interval: 20 * time.Second,
		Log: zerolog.Nop(), Now: func() time.Time { return o.now },
	})
	require.NoError(t, err)
}

func (o *office) sign(t failer, r messages.Receipt) messages.SignedReceipt {
	message := market.LeaseReceipt(o.chain.l, r.Sequence, r.Seconds)
	require.NoError(t, message.Verify(o.node.PublicKey(), r.NodeSignature))
	sig, err := message.Sign(o.customer)
	require.NoError(t, err)
	return messages.SignedReceipt{Receipt: r, CustomerSignature: sig}
}

// Whatever happens, the node never signs a lower number after a higher one, never two numbers under one sequence, and
// never more than the chain would take; and what both have signed is settled in the end.
func TestReceiptsOnlyGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := newOffice(rt)
		ctx := context.Background()
		signed := map[uint64]uint64{}
		var highest, agreed uint64
		var open []messages.SignedReceipt
		rt.Repeat(map[string]func(*rapid.T){
			"offer": func(r *rapid.T) {
				offer, err := o.Offer(ctx, o.customer.PublicKey(), address)
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
				require.Greater(rt, offer.Sequence, o.chain.l.ReceiptSequence)
				highest = offer.Seconds
				open = append(open, o.sign(rt, offer))
			},
			"return": func(r *rapid.T) {
				if len(open) == 0 {
					return
				}
				s := open[rapid.IntRange(0, len(open)-1).Draw(r, "which")]
				if o.Accept(ctx, o.customer.PublicKey(), s) == nil {
					agreed = max(agreed, s.Receipt.Sequence)
				}
			},
			"settle": func(*rapid.T) { o.round(ctx) },
			"flush":  func(*rapid.T) { _ = o.Flush(ctx, address) },
			"time":   func(r *rapid.T) { o.now = o.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(r, "s")) * time.Second) },
			"down": func(r *rapid.T) {
				if d := uint32(rapid.IntRange(0, 3).Draw(r, "s")); o.chain.l.BillableSecs(o.now.Unix()) > o.chain.l.PaidSecs+d {
					o.chain.l.DowntimeSecs += d
				}
			},
			"crash": func(*rapid.T) { o.open(rt) },
			"trouble": func(r *rapid.T) {
				o.chain.fail, o.chain.lost = rapid.Bool().Draw(r, "lands"), rapid.Bool().Draw(r, "lost")
			},
			"end": func(*rapid.T) {
				if o.chain.l.EndedAt == 0 {
					o.chain.l.Status, o.chain.l.EndedAt = uint8(market.LeaseEnded), min(o.now.Unix(), o.chain.l.FundedUntil)
				}
			},
		})
		o.chain.fail, o.chain.lost = false, false
		for range 5 {
			o.now = o.now.Add(time.Minute)
			o.round(ctx)
		}
		if most := o.chain.l.BillableSecs(o.now.Unix()); signed[agreed] <= uint64(most) {
			require.GreaterOrEqual(rt, o.chain.l.ReceiptSequence, agreed, "what both signed is settled")
		}
	})
}

// A list of leases may be older than a receipt: the lease started in between, and the receipt says when.
func TestSettlesTheLeaseAsItIs(t *testing.T) {
	o := newOffice(t)
	old := o.chain.l
	old.Status, old.StartedAt = uint8(market.LeaseAwarded), 0
	o.chain.before = &old
	o.now = o.now.Add(30 * time.Second)
	r, err := o.Offer(t.Context(), o.customer.PublicKey(), address)
	require.NoError(t, err)
	require.NoError(t, o.Accept(t.Context(), o.customer.PublicKey(), o.sign(t, r)))
	o.round(t.Context())
	require.Equal(t, 1, o.chain.landed)
	require.Empty(t, o.lastErr)

	_, due := o.pending(old)
	require.False(t, due, "nothing is owed before the start")
}

// A session key signs for its customer with its own key, across a crash of the agent; what it signed is not brought to the
// chain any more once it is over.
func TestSessionKeysSignReceipts(t *testing.T) {
	o := newOffice(t)
	o.now = o.now.Add(10 * time.Second)
	session, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	var refused *lease.RefusedError
	_, err = o.Offer(t.Context(), session.PublicKey(), address)
	require.ErrorAs(t, err, &refused, "nobody has named it")
	o.chain.by = map[solana.PublicKey]bool{session.PublicKey(): true}
	offer, err := o.Offer(t.Context(), session.PublicKey(), address)
	require.NoError(t, err)
	require.ErrorAs(t, o.Accept(t.Context(), session.PublicKey(), o.sign(t, offer)), &refused, "the customer's signature, from a session key")
	sig, err := market.LeaseReceipt(o.chain.l, offer.Sequence, offer.Seconds).Sign(session)
	require.NoError(t, err)
	require.NoError(t, o.Accept(t.Context(), session.PublicKey(), messages.SignedReceipt{Receipt: offer, CustomerSignature: sig}))
	o.open(t)
	o.chain.by = nil // over
	require.NoError(t, o.Flush(t.Context(), address))
	require.Zero(t, o.chain.landed)
	o.chain.by = map[solana.PublicKey]bool{session.PublicKey(): true}
	require.NoError(t, o.Flush(t.Context(), address))
	require.Equal(t, 1, o.chain.landed)
	require.EqualValues(t, offer.Seconds, o.chain.l.ReceiptSecs)
}

func TestSeconds(t *testing.T) {
	start := int64(1_000)
	base := func(change func(*lease.OnChain)) lease.OnChain {
		var l lease.OnChain
		l.StartedAt, l.FundedUntil = start, start+100
		if change != nil {
			change(&l)
		}
		return l
	}
	exit := &store.Exit{At: time.Unix(start+20, 0)}
	for name, c := range map[string]struct {
		l    lease.OnChain
		exit *store.Exit
		now  int64
		want uint64
	}{
		"not started":       {l: lease.OnChain{}, now: start + 50, want: 0},
		"running":           {l: base(nil), now: start + 50, want: 49},
		"just started":      {l: base(nil), now: start, want: 0},
		"out of money":      {l: base(nil), now: start + 500, want: 100},
		"downtime":          {l: base(func(l *lease.OnChain) { l.DowntimeSecs = 9 }), now: start + 50, want: 40},
		"ended is exact":    {l: base(func(l *lease.OnChain) { l.EndedAt = start + 30 }), now: start + 30, want: 30},
		"all of it was bad": {l: base(func(l *lease.OnChain) { l.EndedAt, l.DowntimeSecs = start+5, 9 }), now: start + 30, want: 0},
		"job done":          {l: base(func(l *lease.OnChain) { l.RunToCompletion = 1 }), exit: exit, now: start + 50, want: 21},
		"job over, kept":    {l: base(nil), exit: exit, now: start + 50, want: 49},
	} {
		require.Equal(t, c.want, Seconds(c.l, c.exit, time.Unix(c.now, 0)), name)
	}
}

func TestRefusals(t *testing.T) {
	o := newOffice(t)
	ctx := t.Context()
	refused := func(err error, want string) {
		t.Helper()
		var r *lease.RefusedError
		require.ErrorAs(t, err, &r)
		require.Contains(t, r.Why, want)
	}
	_, err := o.Offer(ctx, o.node.PublicKey(), address)
	refused(err, "another customer")
	_, err = o.Offer(ctx, o.customer.PublicKey(), address)
	refused(err, "nothing to sign")
	o.now = o.now.Add(10 * time.Second)
	offer, err := o.Offer(ctx, o.customer.PublicKey(), address)
	require.NoError(t, err)
	require.EqualValues(t, 9, offer.Seconds)
	good := o.sign(t, offer)

	bad := good
	bad.CustomerSignature[3] ^= 1
	refused(o.Accept(ctx, o.customer.PublicKey(), bad), "signature")
	bad = good
	bad.Receipt.Seconds++
	refused(o.Accept(ctx, o.customer.PublicKey(), bad), "offered last")
	refused(o.Accept(ctx, o.node.PublicKey(), good), "another customer")
	o.now = o.now.Add(10 * time.Second)
	_, err = o.Offer(ctx, o.customer.PublicKey(), address)
	require.NoError(t, err)
	refused(o.Accept(ctx, o.customer.PublicKey(), good), "offered last")

	// A signed receipt outlives the offer of a newer one that nobody answers.
	offer, err = o.Offer(ctx, o.customer.PublicKey(), address)
	require.NoError(t, err)
	require.NoError(t, o.Accept(ctx, o.customer.PublicKey(), o.sign(t, offer)))
	o.now = o.now.Add(30 * time.Second)
	_, err = o.Offer(ctx, o.customer.PublicKey(), address)
	require.NoError(t, err)
	o.open(t)
	o.round(ctx)
	require.Equal(t, offer.Sequence, o.chain.l.ReceiptSequence)

	o.chain.gone = true
	_, err = o.Offer(ctx, o.customer.PublicKey(), address)
	refused(err, "no such lease")
	_, err = New(Options{})
	require.Error(t, err)
}
