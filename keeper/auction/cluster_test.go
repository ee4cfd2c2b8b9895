package auction

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
	"github.com/gantry-market/gantry/sdk/txerr"
	"github.com/gantry-market/gantry/sdk/txm"
)

var domain = records.Domain{1, 2, 3}

// cluster is a market in memory with a clock that tests move: accounts that every keeper sees at once, and the rules of
// auction_award.
type cluster struct {
	t testing.TB

	mu       sync.Mutex
	now      time.Time
	accounts map[solana.PublicKey]any
	keepers  []*member
	nodes    []*bidder
	refuse   func(award) error // a test's own refusals
	awards   []award
	proofs   []solana.PublicKey                   // who brought prove_omitted_bid
	lost     func(from, to solana.PublicKey) bool // gossip that does not arrive
}

// award is what auction_award was called with.
type award struct {
	keeper, node, loser solana.PublicKey
	bid, bar            messages.BidPrice
	root                [32]byte
}

// member is a keeper.
type member struct {
	w      *cluster
	wallet solana.PrivateKey
	path   string

	view    *view.View
	store   *store.Store // nil when the cluster keeps everything in memory
	memory  *memory
	service *Service
	awarder *Awarder
	down    bool
}

// bidder is a node with its key.
type bidder struct {
	key     solana.PrivateKey
	account *market.Node
}

const start = 1_700_000_000

// newCluster keeps the keepers' stores on disk, newMemoryCluster in memory, which survives a kill as well.
func newCluster(t testing.TB, keepers, nodes int) *cluster {
	return makeCluster(t, keepers, nodes, true)
}

func newMemoryCluster(t testing.TB, keepers, nodes int) *cluster {
	return makeCluster(t, keepers, nodes, false)
}

func makeCluster(t testing.TB, keepers, nodes int, disk bool) *cluster {
	w := &cluster{t: t, now: time.Unix(start, 0), accounts: map[solana.PublicKey]any{}}
	m := &market.Market{Meta: market.Meta{Address: market.MarketAddress()}}
	m.Domain = domain
	m.Params = bindings.Params{PeriodSecs: 5, AwardDeadlineSecs: 20}
	w.put(m.Address, m)
	model := &market.Model{Meta: market.Meta{Address: market.ModelAddress(1)}}
	model.Id = 1
	w.put(model.Address, model)
	for i := range nodes {
		key := solana.NewWallet().PrivateKey
		p := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{100, byte(i), byte(i >> 8)}}}
		p.Stake, p.LockedStake = 1, 1
		w.put(p.Address, p)
		n := &market.Node{Meta: market.Meta{Address: market.NodeAddress(p.Address, key.PublicKey())}}
		n.Provider, n.NodeKey, n.Price = p.Address, key.PublicKey(), 1
		n.Node.Status, n.Spec.Model, n.Spec.Gpus = uint8(market.NodeActive), 1, 1
		n.UptimeBps, n.RegisteredAt = market.BPS, start-1000
		n.StartAvailability(start - 1000)
		w.put(n.Address, n)
		w.nodes = append(w.nodes, &bidder{key, n})
	}
	for i := range keepers {
		k := &member{w: w, wallet: solana.NewWallet().PrivateKey, memory: newMemory()}
		if disk {
			k.path = filepath.Join(t.TempDir(), "keeper.db")
		}
		account := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(k.wallet.PublicKey())}}
		account.Wallet, account.Keeper.Status, account.Index = k.wallet.PublicKey(), uint8(market.KeeperActive), uint16(i)
		w.put(account.Address, account)
		w.keepers = append(w.keepers, k)
	}
	for _, k := range w.keepers {
		k.start()
	}
	return w
}

// put changes an account for all participants. Callers hold mu or are alone.
func (w *cluster) put(key solana.PublicKey, value any) {
	if value == nil {
		delete(w.accounts, key)
	} else {
		w.accounts[key] = value
	}
	for _, k := range w.keepers {
		if k.view != nil {
			k.view.Put(key, value)
		}
	}
}

func (w *cluster) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *cluster) at(unix int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = time.Unix(unix, 0)
}

// order places a sealed order whose commitments count for 10 s and reveals for 10 s.
func (w *cluster) order(nodes uint8, change func(*market.Order)) *market.Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{200, byte(len(w.accounts))}}}
	o.Order.Status, o.Mode, o.NodesWanted, o.GpusPerNode, o.MaxPrice = uint8(market.OrderOpen), market.ModeSealed, nodes, 1, 1_000
	o.CreatedAt = w.now.Unix()
	o.Requirement.Models, o.AuctionClose, o.AwardDeadline = market.Models(1), w.now.Unix()+10, w.now.Unix()+40
	if change != nil {
		change(o)
	}
	a := &market.Auction{Meta: market.Meta{Address: market.AuctionAddress(o.Address)}}
	a.Order, a.CloseAt, a.RevealUntil = o.Address, o.AuctionClose, o.AuctionClose+10
	w.put(o.Address, o)
	w.put(a.Address, a)
	return o
}

func (k *member) start() {
	w := k.w
	var kept Store = k.memory
	if k.path != "" {
		var err error
		k.store, err = store.Open(k.path, store.Options{Keeper: k.wallet.PublicKey(), Domain: domain})
		require.NoError(w.t, err)
		kept = k.store
	}
	k.view = view.New(view.Options{})
	for key, value := range w.accounts {
		k.view.Put(key, value)
	}
	directory, err := roles.New(roles.Options{View: k.view, PeriodSecs: 5})
	require.NoError(w.t, err)
	k.service, err = New(Options{
		View: k.view, Store: kept, Roles: directory, PeriodSecs: 5, Signer: k.wallet, Domain: domain, Publish: k.publish,
		Damaged: func(err error) { w.t.Errorf("damaged: %v", err) }, Log: zerolog.Nop(), Now: w.clock,
	})
	require.NoError(w.t, err)
	k.awarder, err = NewAwarder(AwarderOptions{
		View: k.view, Bids: k.service, Self: k.wallet.PublicKey(), Submit: k.submit, Step: 3 * time.Second,
		Observe: func(int, time.Duration, error) {}, Fetch: k.fetch, Log: zerolog.Nop(), Now: w.clock,
	})
	require.NoError(w.t, err)
	k.down = false
}

// kill forgets everything but what is on disk.
func (k *member) kill() {
	k.awarder.wg.Wait()
	if k.store != nil {
		require.NoError(k.w.t, k.store.Close())
	}
	k.down, k.view = true, nil
}

// publish is gossip: every keeper that gets it validates it.
func (k *member) publish(m messages.BidGossip) {
	for _, other := range k.w.keepers {
		if other != k && !other.down {
			other.hear(k.wallet.PublicKey(), m)
		}
	}
}

// hear takes gossip as the network hands it over.
func (k *member) hear(author solana.PublicKey, m messages.BidGossip) p2p.Verdict {
	if lost := k.w.lost; lost != nil && lost(author, k.wallet.PublicKey()) {
		return p2p.Ignore
	}
	raw, err := p2p.Encode(m)
	require.NoError(k.w.t, err)
	var again messages.BidGossip
	require.NoError(k.w.t, p2p.Decode(raw, &again))
	v := k.service.Validate(context.Background(), author, again)
	if v == p2p.Accept {
		// Beside the sender, as on a network: a service that publishes holds its entry.
		done := make(chan struct{})
		go func() {
			defer close(done)
			k.service.Handle(context.Background(), author, again)
		}()
		<-done
	}
	return v
}

func (k *member) fetch(_ context.Context, key store.AuctionKey, keeper solana.PublicKey) (*sealedbid.Assembler, error) {
	for _, other := range k.w.keepers {
		if other.wallet.PublicKey() == keeper && !other.down {
			var out sealedbid.Assembler
			req := messages.BidSetRequest{Version: messages.Version, Order: key.Order, CloseAt: key.CloseAt}
			return &out, other.service.ServeBidSet(context.Background(), k.wallet.PublicKey(), req, out.Add)
		}
	}
	return nil, errors.New("nobody answers")
}

// submit is auction_award.
func (k *member) submit(_ context.Context, in txm.Intent) (txm.Result, error) {
	w := k.w
	switch in.Kind {
	case "token_accounts":
		return txm.Result{ID: in.ID, State: txm.StateConfirmed}, nil
	case "prove_omitted_bid":
		require.Len(w.t, in.Instructions, 3)
		w.mu.Lock()
		defer w.mu.Unlock()
		lease := in.Instructions[2].Accounts()[4].PublicKey
		l := *w.accounts[lease].(*market.Lease)
		if l.Lease.Score == 0 {
			return txm.Result{}, &txerr.ProgramError{Program: market.ProgramID, Code: uint32(bindings.ErrorCodeNotContestable), HasCode: true, Name: "Custom"}
		}
		l.Lease.Score = 0
		w.proofs = append(w.proofs, k.wallet.PublicKey())
		w.put(lease, &l)
		return txm.Result{ID: in.ID, State: txm.StateConfirmed}, nil
	}
	last := in.Instructions[len(in.Instructions)-1]
	data, err := last.Data()
	require.NoError(w.t, err)
	a := award{keeper: k.wallet.PublicKey(), node: last.Accounts()[6].PublicKey, root: [32]byte(data[len(data)-32:])}
	a.bid = messages.BidPrice{Price: binary.LittleEndian.Uint64(data[8:16]), Salt: [32]byte(data[16:48])}
	if loser := last.Accounts()[9].PublicKey; loser != market.ProgramID {
		a.loser = loser
		a.bar = messages.BidPrice{Price: binary.LittleEndian.Uint64(data[48:56]), Salt: [32]byte(data[56:88])}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.execute(a, last.Accounts()[3].PublicKey); err != nil {
		var code bindings.ErrorCode
		if errors.As(err, &code) {
			return txm.Result{}, &txerr.ProgramError{Program: market.ProgramID, Code: uint32(code), HasCode: true, Name: "Custom"}
		}
		return txm.Result{}, err
	}
	return txm.Result{ID: in.ID, State: txm.StateConfirmed}, nil
}

func (w *cluster) execute(a award, address solana.PublicKey) error {
	if w.refuse != nil {
		if err := w.refuse(a); err != nil {
			return err
		}
	}
	o := *w.accounts[address].(*market.Order)
	x := *w.accounts[market.AuctionAddress(address)].(*market.Auction)
	n := *w.accounts[a.node].(*market.Node)
	p := w.accounts[n.Provider].(*market.Provider)
	m := w.accounts[market.ModelAddress(1)].(*market.Model)
	mk := w.accounts[market.MarketAddress()].(*market.Market)
	now := w.now.Unix()
	if now <= x.RevealUntil {
		return bindings.ErrorCodeTooEarly
	}
	if err := market.Biddable(mk, &o, &n, p, m, now); err != nil {
		return err
	}
	switch {
	case x.WinnerCount > 0 && x.BidsRoot != a.root:
		return bindings.ErrorCodeOtherBids
	case x.WinnerCount > 0 && x.Keeper != a.keeper && now <= x.CompletableAfter(o.AwardDeadline):
		return bindings.ErrorCodeUnauthorised
	}
	score, err := market.Score(market.PricePerHour(a.bid.Price), n.Reputation(now), 0)
	if err != nil {
		return err
	}
	first := x.WinnerCount == 0
	if first || x.Keeper != a.keeper {
		bar := uint64(0)
		if !a.loser.IsZero() {
			l := w.accounts[a.loser].(*market.Node)
			if bar, err = market.Score(market.PricePerHour(a.bar.Price), l.Reputation(now), 0); err != nil {
				return err
			}
		}
		if first || !x.BarNode.IsZero() && (a.loser.IsZero() || bar > x.BarScore) {
			x.BarNode, x.BarScore = a.loser, bar
		}
	}
	if first {
		x.Keeper, x.BidsRoot, x.AwardedAt, x.ChallengeUntil = a.keeper, a.root, now, now+100
	}
	if !x.BarNode.IsZero() && score > x.BarScore {
		return bindings.ErrorCodeBidDoesNotWin
	}
	x.Winners[x.WinnerCount] = a.node
	x.WinnerCount++
	o.NodesAwarded++
	if o.NodesAwarded == o.NodesWanted {
		o.Order.Status = uint8(market.OrderAwarded)
	}
	n.GpuMask = 1
	l := &market.Lease{Meta: market.Meta{Address: market.LeaseAddress(address, a.node)}}
	l.Order, l.Node, l.Lease.Keeper, l.AwardedAt = address, a.node, a.keeper, now
	if l.Lease.Score, l.Price = x.BarScore, 1_000; x.BarNode.IsZero() {
		l.Lease.Score = 1_000
	}
	w.awards = append(w.awards, a)
	w.put(n.Address, &n)
	w.put(x.Address, &x)
	w.put(o.Address, &o)
	w.put(l.Address, l)
	return nil
}

// request is a node's message.
func (b *bidder) request(o *market.Order, price uint64, reveal bool) messages.BidRequest {
	p := messages.BidPrice{Price: price, Salt: [32]byte{byte(price)}}
	bid := sealedbid.AuctionOf(domain, o).Reveal(b.account.Address, p)
	sig, err := bid.Sign(b.key)
	if err != nil {
		panic(fmt.Sprint("a key signs: ", err))
	}
	r := messages.BidRequest{
		Version: messages.Version, Order: o.Address, CloseAt: o.AuctionClose,
		Bid: messages.Bid{Node: b.account.Address, Commitment: bid.Commitment(), Signature: sig},
	}
	if reveal {
		r.Bid.Reveal = &p
	}
	return r
}

// commit and reveal bring a bid to a keeper that must acknowledge it.
func (b *bidder) commit(w *cluster, k *member, o *market.Order, price uint64) messages.BidAck {
	a, err := k.service.Commit(context.Background(), b.key.PublicKey(), b.request(o, price, false))
	return acked(w, k, a, err, b.request(o, price, false), records.AckCommitment)
}

func (b *bidder) reveal(w *cluster, k *member, o *market.Order, price uint64) messages.BidAck {
	a, err := k.service.Reveal(context.Background(), b.key.PublicKey(), b.request(o, price, true))
	return acked(w, k, a, err, b.request(o, price, true), records.AckReveal)
}

func acked(w *cluster, k *member, a messages.BidAnswer, err error, req messages.BidRequest, stage records.AckStage) messages.BidAck {
	w.t.Helper()
	require.NoError(w.t, err)
	require.NotNil(w.t, a.Ack, "%v", a.Outcome)
	read, err := sealedbid.Ack(a.Ack, req.Bid.Commitment, records.Wallets)
	require.NoError(w.t, err)
	require.Equal(w.t, stage, read.Stage)
	require.Equal(w.t, k.wallet.PublicKey(), solana.PublicKey(a.Ack.Keeper))
	return *a.Ack
}

// refused is why a keeper does not take something, in its signed words.
func refused(w *cluster, k *member, a messages.BidAnswer, err error) records.OutcomeCode {
	w.t.Helper()
	require.NoError(w.t, err)
	require.Nil(w.t, a.Ack)
	require.NotNil(w.t, a.Outcome)
	o, err := sealedbid.ReadOutcome(a.Outcome, records.Wallets)
	require.NoError(w.t, err)
	require.Equal(w.t, k.wallet.PublicKey(), solana.PublicKey(a.Outcome.Keeper))
	return o.Code
}

// run lets all keepers work from one unix second to another.
func (w *cluster) run(from, to int64) {
	for s := from; s <= to; s++ {
		w.at(s)
		for _, k := range w.keepers {
			if !k.down {
				k.awarder.Tick(context.Background())
				k.awarder.wg.Wait()
			}
		}
	}
}

// memory is a Store that keeps everything in memory.
type memory struct {
	mu   sync.Mutex
	bids map[store.AuctionKey]map[[32]byte][]byte
	sets map[store.AuctionKey]map[solana.PublicKey][]byte
}

func newMemory() *memory {
	return &memory{bids: map[store.AuctionKey]map[[32]byte][]byte{}, sets: map[store.AuctionKey]map[solana.PublicKey][]byte{}}
}

func (m *memory) PutBids(a store.AuctionKey, bids map[[32]byte][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bids[a] == nil {
		m.bids[a] = map[[32]byte][]byte{}
	}
	for node, raw := range bids {
		m.bids[a][node] = raw
	}
	return nil
}

func (m *memory) EachBid(from int64, f func(store.AuctionKey, [32]byte, []byte) error) error {
	for a, bids := range m.bids {
		for node, raw := range bids {
			if a.CloseAt >= from {
				if err := f(a, node, raw); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *memory) PutBidSet(a store.AuctionKey, keeper solana.PublicKey, raw []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sets[a] == nil {
		m.sets[a] = map[solana.PublicKey][]byte{}
	}
	m.sets[a][keeper] = raw
	return nil
}

func (m *memory) BidSet(a store.AuctionKey, keeper solana.PublicKey) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if raw, ok := m.sets[a][keeper]; ok {
		return raw, nil
	}
	return nil, store.ErrNotFound
}

func (m *memory) LastBidSet(order, keeper solana.PublicKey) (found store.AuctionKey, err error) {
	err = store.ErrNotFound
	for a, sets := range m.sets {
		if _, ok := sets[keeper]; ok && a.Order == order && a.CloseAt > found.CloseAt {
			found, err = a, nil
		}
	}
	return found, err
}
