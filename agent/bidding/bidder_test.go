package bidding

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
	"github.com/gantry-market/gantry/sdk/watch"
)

const start = 1_700_000_000

var domain = records.Domain{7}

// testbed is a market with one node, one sealed order and keepers in memory.
type testbed struct {
	t    *testing.T
	view *view.View
	path string
	key  solana.PrivateKey
	node solana.PublicKey

	order solana.PublicKey
	slot  uint64

	mu      sync.Mutex
	now     time.Time
	keepers []*keeper
	price   market.PricePerHour
	// withhold is why the node does not bid.
	withhold string
	calls    []messages.BidRequest
}

// keeper answers as the test wants.
type keeper struct {
	key    solana.PrivateKey
	silent bool
	refuse records.OutcomeCode // 0 acknowledges
	decide records.OutcomeCode // 0: not decided yet
	forge  bool
}

func newTestbed(t *testing.T, keepers int) *testbed {
	w := &testbed{
		t: t, view: view.New(view.Options{}), path: filepath.Join(t.TempDir(), "agent.db"), key: solana.NewWallet().PrivateKey,
		now: time.Unix(start, 0), price: 500_000, order: solana.PublicKey{200},
	}
	provider := solana.PublicKey{100}
	w.node = market.NodeAddress(provider, w.key.PublicKey())
	w.put(market.MarketAddress(), bindings.Account_Market, bindings.Market{Version: 1, Domain: domain, Params: bindings.Params{AwardDeadlineSecs: 20}})
	w.put(market.ModelAddress(1), bindings.Account_GpuModel, bindings.GpuModel{Id: 1, Version: 1})
	w.put(provider, bindings.Account_Provider, bindings.Provider{Stake: 1, Version: 1})
	n := bindings.Node{Provider: provider, NodeKey: w.key.PublicKey(), Status: uint8(market.NodeActive), UptimeBps: market.BPS, Version: market.LayoutVersion}
	n.Spec.Model, n.Spec.Gpus = 1, 1
	w.put(w.node, bindings.Account_Node, n)
	for range keepers {
		k := &keeper{key: solana.NewWallet().PrivateKey}
		w.keepers = append(w.keepers, k)
		w.put(market.KeeperAddress(k.key.PublicKey()), bindings.Account_Keeper, bindings.Keeper{Wallet: k.key.PublicKey(), Status: uint8(market.KeeperActive), Version: 1})
	}
	w.placed(market.OrderOpen)
	w.put(market.AuctionAddress(w.order), bindings.Account_Auction, bindings.Auction{Order: w.order, CloseAt: start + 10, RevealUntil: start + 20, Version: 1})
	return w
}

func (w *testbed) placed(state market.OrderStatus) {
	w.put(w.order, bindings.Account_Order, bindings.Order{
		Status: uint8(state), Mode: market.ModeSealed, NodesWanted: 1, GpusPerNode: 1, MaxPrice: 1_000_000,
		AuctionClose: start + 10, AwardDeadline: start + 40, Requirement: bindings.Requirement{Models: market.Models(1)}, Version: 1,
	})
}

func (w *testbed) put(key solana.PublicKey, disc [8]byte, account interface {
	MarshalWithEncoder(*bin.Encoder) error
},
) {
	var b bytes.Buffer
	b.Write(disc[:])
	require.NoError(w.t, account.MarshalWithEncoder(bin.NewBorshEncoder(&b)))
	w.slot++
	w.view.Apply(watch.Event{Pubkey: key, Data: b.Bytes(), Slot: w.slot})
}

func (w *testbed) find(k solana.PublicKey) (*keeper, error) {
	for _, x := range w.keepers {
		if x.key.PublicKey() == k && !x.silent {
			return x, nil
		}
	}
	return nil, errors.New("the keeper does not answer")
}

func (w *testbed) answer(to solana.PublicKey, req messages.BidRequest, stage records.AckStage) (messages.BidAnswer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.find(to)
	if err != nil {
		return messages.BidAnswer{}, err
	}
	w.calls = append(w.calls, req)
	if k.refuse != 0 {
		s, err := sealedbid.SignOutcome(k.key, records.Outcome{Commitment: req.Bid.Commitment, Code: k.refuse})
		return messages.BidAnswer{Version: 1, Outcome: &s}, err
	}
	a, err := sealedbid.SignAck(k.key, stage, req.Bid.Commitment, w.now.Unix())
	if k.forge {
		a.ReceivedAt++
	}
	return messages.BidAnswer{Version: 1, Ack: &a}, err
}

func (w *testbed) Commit(_ context.Context, k solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error) {
	return w.answer(k, req, records.AckCommitment)
}

func (w *testbed) Reveal(_ context.Context, k solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error) {
	return w.answer(k, req, records.AckReveal)
}

func (w *testbed) Outcome(_ context.Context, to solana.PublicKey, req messages.OutcomeRequest) (messages.SignedOutcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.find(to)
	if err != nil {
		return messages.SignedOutcome{}, err
	}
	if k.decide == 0 {
		return messages.SignedOutcome{}, p2p.Refuse(p2p.CodeUnavailable, "not yet")
	}
	return sealedbid.SignOutcome(k.key, records.Outcome{Commitment: req.Commitment, Code: k.decide, Price: 5})
}

func (w *testbed) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *testbed) at(second float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = time.Unix(start, 0).Add(time.Duration(second * float64(time.Second)))
}

// agent is one process of the node's agent; the testbed outlives it.
type agent struct {
	*Bidder
	w     *testbed
	store *store.Store
	shown []store.Bid
}

func (w *testbed) agent() *agent {
	s, err := store.Open(w.path, store.Options{Owner: store.Owner{Domain: domain, NodeKey: store.Key(w.key.PublicKey())}, Now: w.clock})
	require.NoError(w.t, err)
	a := &agent{w: w, store: s}
	a.Bidder, err = New(Options{
		View: w.view, Store: s, Network: w, Key: w.key, Node: w.node, Domain: domain, Log: zerolog.Nop(), Now: w.clock,
		Price: func(market.Order) market.PricePerHour { return w.price },
		Withholds: func(o market.Order) string {
			require.Equal(w.t, w.order, o.Address)
			return w.withhold
		},
		OnChange: func(all []store.Bid) { a.shown = all },
	})
	require.NoError(w.t, err)
	require.NoError(w.t, a.load())
	return a
}

func (a *agent) kill() {
	a.wg.Wait()
	require.NoError(a.w.t, a.store.Close())
}

// tickAt looks at the clock at some seconds after the start.
func (a *agent) tickAt(seconds ...float64) {
	for _, s := range seconds {
		a.w.at(s)
		_, err := a.tick(context.Background())
		require.NoError(a.w.t, err)
		a.wg.Wait()
	}
}

func (a *agent) bid() store.Bid {
	all, err := a.store.Bids()
	require.NoError(a.w.t, err)
	require.Len(a.w.t, all, 1)
	return all[0]
}

func acks(b store.Bid, stage records.AckStage) (n int) {
	for _, a := range b.Acks {
		if a.Stage == uint8(stage) {
			n++
		}
	}
	return n
}

// A bid's whole life, with the agent killed at every step: one price, one salt, nothing shown before the close.
func TestOneBidWhateverHappens(t *testing.T) {
	w := newTestbed(t, 3)
	w.keepers[2].silent = true
	a := w.agent()
	a.tickAt(0, 0.1)
	first := a.bid()
	require.EqualValues(t, 500_000, first.Price)
	require.Equal(t, 2, acks(first, records.AckCommitment))
	a.kill()
	w.price = 100_000 // the policy would name another price now
	for _, second := range []float64{1, 5, 11, 12, 15} {
		a = w.agent()
		a.tickAt(second, second+0.5)
		again := a.bid()
		require.Equal(t, first.Salt, again.Salt)
		require.Equal(t, first.Price, again.Price)
		require.Equal(t, first.Commitment, again.Commitment)
		a.kill()
	}
	w.keepers[2].silent = false // missed the commitments; the others vouch for it
	a = w.agent()
	a.tickAt(16, 16.5)
	got := a.bid()
	require.Equal(t, 3, acks(got, records.AckReveal))
	for _, c := range w.calls {
		require.Equal(t, [32]byte(first.Commitment), c.Bid.Commitment)
		if c.Bid.Reveal != nil {
			require.EqualValues(t, 500_000, c.Bid.Reveal.Price)
			require.Len(t, c.Bid.Acks, 2)
		}
	}
	a.tickAt(22, 23) // the order is still open: nobody is asked
	require.False(t, a.bid().Over)
	w.placed(market.OrderAwarded)
	w.keepers[1].decide = records.OutcomeOutbid
	a.tickAt(24, 25, 27, 29)
	got = a.bid()
	require.True(t, got.Over)
	out, err := records.DecodeOutcome(got.Outcome.Outcome)
	require.NoError(t, err)
	require.Equal(t, records.OutcomeOutbid, out.Code)
	require.Equal(t, w.keepers[1].key.PublicKey(), solana.PublicKey(got.Outcome.Keeper))
	calls := len(w.calls)
	a.kill()
	a = w.agent() // what is over stays over
	a.tickAt(30, 31)
	require.Len(t, w.calls, calls)
	require.True(t, a.shown[0].Over)
	a.kill()
}

// Nothing is shown while commitments are taken, whatever keepers say.
func TestNothingIsRevealedBeforeTheClose(t *testing.T) {
	w := newTestbed(t, 1)
	a := w.agent()
	a.tickAt(0, 1, 5, 9, 10, 10.9)
	for _, c := range w.calls {
		require.Nil(t, c.Bid.Reveal)
	}
	a.tickAt(11)
	require.NotNil(t, w.calls[len(w.calls)-1].Bid.Reveal)
	a.kill()
}

func TestNoBid(t *testing.T) {
	for name, change := range map[string]func(*testbed){
		"too little is paid": func(w *testbed) { w.price = 1_000_001 },
		"no price":           func(w *testbed) { w.price = 0 },
		"the close is over":  func(w *testbed) { w.at(11) },
		"not for this node": func(w *testbed) {
			w.put(market.ModelAddress(1), bindings.Account_GpuModel, bindings.GpuModel{Id: 1, MinTier: 3, Version: 1})
		},
		"the order is gone": func(w *testbed) { w.view.Apply(watch.Event{Pubkey: w.order, Deleted: true, Slot: 99}) },
	} {
		w := newTestbed(t, 1)
		change(w)
		a := w.agent()
		_, err := a.tick(context.Background())
		require.NoError(t, err)
		all, err := a.store.Bids()
		require.NoError(t, err)
		require.Empty(t, all, name)
		a.kill()
	}
}

// Why a bid was not taken is remembered with the keeper's signature; what may change is tried again.
func TestRefusals(t *testing.T) {
	w := newTestbed(t, 2)
	w.keepers[0].refuse, w.keepers[1].refuse = records.OutcomeUnsuitable, records.OutcomeSecondBid
	a := w.agent()
	a.tickAt(0, 0.5, 1)
	require.Len(t, a.bid().Refusals, 2, "each reason once")
	w.keepers[0].refuse = 0
	a.tickAt(2, 2.5)
	require.Equal(t, 1, acks(a.bid(), records.AckCommitment), "the node satisfies the order now")
	a.kill()

	w = newTestbed(t, 1)
	w.keepers[0].refuse = records.OutcomeFull
	a = w.agent()
	a.tickAt(0, 21)
	require.True(t, a.bid().Over)
	require.Equal(t, "no keeper acknowledged it", a.bid().Note)
	a.kill()
}

// No keeper answers: the note says so. Refusals without a signature count for nothing.
func TestUnreachable(t *testing.T) {
	w := newTestbed(t, 2)
	w.keepers[0].silent, w.keepers[1].forge = true, true
	a := w.agent()
	a.tickAt(0, 1, 11, 12, 21)
	require.Empty(t, a.bid().Acks)
	require.True(t, a.bid().Over)
	require.Equal(t, "no keeper could be reached in time", a.bid().Note)
	a.kill()

	w = newTestbed(t, 1)
	a = w.agent()
	a.tickAt(0, 11)
	w.placed(market.OrderAwarded)
	w.keepers[0].silent = true
	a.tickAt(21, 100, 700)
	require.Equal(t, "no keeper said what became of it", a.bid().Note)
	a.kill()
}

// The keeper that awarded is asked first; others when it does not answer.
func TestWhoIsAsked(t *testing.T) {
	w := newTestbed(t, 2)
	a := w.agent()
	a.tickAt(0, 11)
	w.placed(market.OrderAwarded)
	first := w.keepers[0]
	w.put(market.AuctionAddress(w.order), bindings.Account_Auction, bindings.Auction{
		Order: w.order, CloseAt: start + 10, RevealUntil: start + 20, Keeper: first.key.PublicKey(), WinnerCount: 1, Version: 1,
	})
	first.silent = true
	w.keepers[1].decide = records.OutcomeOutbid
	a.tickAt(21, 24)
	require.False(t, a.bid().Over)
	a.tickAt(27, 30, 33)
	require.True(t, a.bid().Over)
	require.Equal(t, w.keepers[1].key.PublicKey(), solana.PublicKey(a.bid().Outcome.Keeper))
	a.kill()
}

// Run ends with its context and leaves nothing behind.
func TestRun(t *testing.T) {
	w := newTestbed(t, 1)
	a := w.agent()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	require.Eventually(t, func() bool {
		all, err := a.store.Bids()
		return err == nil && len(all) == 1 && len(all[0].Acks) == 1
	}, 20*time.Second, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	a.kill()
}

func TestNewNeedsEveryDependency(t *testing.T) {
	w := newTestbed(t, 1)
	a := w.agent()
	defer a.kill()
	for name, remove := range map[string]func(*Options){
		"view":     func(o *Options) { o.View = nil },
		"store":    func(o *Options) { o.Store = nil },
		"network":  func(o *Options) { o.Network = nil },
		"key":      func(o *Options) { o.Key = nil },
		"node":     func(o *Options) { o.Node = solana.PublicKey{} },
		"domain":   func(o *Options) { o.Domain = records.Domain{} },
		"Price":    func(o *Options) { o.Price = nil },
		"OnChange": func(o *Options) { o.OnChange = nil },
		"Now":      func(o *Options) { o.Now = nil },
	} {
		o := a.o
		remove(&o)
		_, err := New(o)
		require.ErrorContains(t, err, "required", name)
	}
}

// What the machine withholds a bid for may change before the auction closes.
func TestAWithheldBid(t *testing.T) {
	w := newTestbed(t, 3)
	a := w.agent()
	defer a.kill()
	w.withhold = "outside of the hours"
	a.tickAt(0, 1)
	all, err := a.store.Bids()
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, w.calls)
	w.withhold = ""
	a.tickAt(2, 2.5)
	first := a.bid()
	require.Equal(t, 3, acks(first, records.AckCommitment))
	w.withhold = "outside of the hours" // a bid that was made is a promise
	a.tickAt(11, 11.5)
	require.Equal(t, 3, acks(a.bid(), records.AckReveal))
}
