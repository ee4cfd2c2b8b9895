package daemon

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/server"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

const periodSecs = 2

// waitLimit is how long a test waits for what must come in the end: on a machine with many times more to do than processors
// it comes late.
const waitLimit = 5 * time.Minute

// replica is a keeper whose process is a goroutine.
type replica struct {
	t      *testing.T
	chain  *fakeChain
	wallet solana.PrivateKey
	data   string
	listen string
	log    io.Writer // where the keeper logs, if it is read

	k      *Keeper
	cancel context.CancelFunc
	done   chan error
}

func newReplica(t *testing.T, chain *fakeChain) *replica {
	return &replica{t: t, chain: chain, wallet: newWallet(t), data: t.TempDir(), listen: p2p.LoopbackListen}
}

// start opens stores and network as Open does, with the chain in memory in place of a cluster.
func (r *replica) start() {
	log := zerolog.Nop()
	if testing.Verbose() {
		log = zerolog.New(zerolog.NewTestWriter(r.t)).Level(zerolog.InfoLevel).With().Str("keeper", r.wallet.PublicKey().String()[:4]).Logger()
	}
	if r.log != nil {
		log = zerolog.New(r.log)
	}
	matcher := match.New()
	k := &Keeper{
		c: Config{Wallet: r.wallet, Data: r.data}, wallet: r.wallet.PublicKey(), log: log, now: time.Now, domain: r.chain.market.Domain,
		secs: periodSecs, retention: r.chain.market.Params.ReportRetentionSecs, view: view.New(view.Options{Listeners: []view.Listener{matcher}}), matcher: matcher, pool: statement.NewPool(),
		service: service.New(service.Manager{}, nil, log),
	}
	timing, err := Timing{
		CheckInterval: 450 * time.Millisecond, CheckTimeout: 400 * time.Millisecond, ChecksAtOnce: check.DefaultAtOnce,
		ReportDelay: 500 * time.Millisecond, RoundTimeout: 800 * time.Millisecond,
		CrankInterval: 150 * time.Millisecond, CrankStep: 200 * time.Millisecond, Keep: time.Hour,
	}.For(r.chain.market.Params)
	require.NoError(r.t, err)
	k.timing = timing
	// A first period of zero: tests do not wait for the next one.
	db, err := store.Open(filepath.Join(r.data, fileStore), store.Options{Keeper: r.wallet.PublicKey(), Domain: k.domain})
	require.NoError(r.t, err)
	key, err := records.NewSigner(r.wallet)
	require.NoError(r.t, err)
	protected := signing.New(db, key, k.domain)
	k.store, k.signer = protected, protected
	k.named = records.As(k.wallet, k.signer)
	k.clock, err = newClock(clockOptions{
		Chain: func(context.Context) (time.Time, error) { return time.Now().Add(-500 * time.Millisecond), nil },
		Now:   k.now, Limit: 5 * time.Second, Every: time.Second,
	})
	require.NoError(r.t, err)
	k.signing = &guardedStore{Store: k.store, clock: k.clock}
	k.watchOwn()
	require.NoError(r.t, k.openProofs())
	k.metrics = server.NewMetrics()
	require.NoError(r.t, k.openRoles())
	k.node, err = p2p.New(p2p.Options{Key: r.wallet, Listen: []string{r.listen}, Allow: k.allowance, Log: zerolog.Nop()})
	require.NoError(r.t, err)
	plain, err := WithoutPeer(k.node.Addrs()[0])
	require.NoError(r.t, err)
	r.listen = plain
	require.NoError(r.t, k.openGossip())
	k.submit, k.form = r.chain.submit, func(context.Context) txform.Form { return txform.Legacy }
	k.slotHash = func(context.Context) ([32]byte, error) { return [32]byte{1}, nil }
	k.blocks = func(chain.Commitment) chain.BlockSource { return liveBlocks{} }
	r.k = k
}

// run registers the keeper and lets it work.
func (r *replica) run() {
	r.chain.follow(r.k.view)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan error, 1)
	go func(k *Keeper) { r.done <- k.serve(ctx, k.service.Loop("start", startTime)) }(r.k)
}

// kill stops the keeper at once: it tells nobody.
func (r *replica) kill() {
	r.cancel()
	err := <-r.done
	require.True(r.t, errors.Is(err, context.Canceled), "%v", err)
	r.chain.mu.Lock()
	delete(r.chain.indexes, r.k.view)
	r.chain.mu.Unlock()
	require.NoError(r.t, r.k.Close())
}

// agent answers challenges like a node with one GPU.
type agent struct {
	account solana.PublicKey
	silent  atomic.Bool
	claims  atomic.Pointer[messages.Inventory] // shown in place of its own
}

// newAgent registers a node with a running lease and connects it to the keepers.
func newAgent(t *testing.T, chain *fakeChain, n byte, lease solana.PublicKey, keepers []*replica) *agent {
	key := newWallet(t)
	node, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	provider := solana.PublicKey{200, n}
	a := &agent{account: market.NodeAddress(provider, key.PublicKey())}
	p2p.Handle(node, p2p.Protocol{ID: messages.Challenge, MaxResponse: messages.MaxMessage, Rate: 100, Burst: 100},
		func(ctx context.Context, _ solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			resp := messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce}
			if a.silent.Load() {
				<-ctx.Done()
				return resp, ctx.Err()
			}
			switch req.Kind {
			case messages.CheckLiveness:
				resp.Liveness = &messages.Liveness{UnixTime: time.Now().Unix(), Leases: []messages.LeaseStatus{}}
				if !lease.IsZero() {
					resp.Liveness.Leases = append(resp.Liveness.Leases, messages.LeaseStatus{Lease: lease, State: messages.LeaseRunning})
				}
			case messages.CheckInventory:
				resp.Inventory = &messages.Inventory{
					GPUs:     []messages.GPU{{Name: "NVIDIA A100-SXM4-40GB", Identity: identity(n), VRAMMiB: 40960}},
					CPUCores: 8, RAMMiB: 1 << 14, Simulated: true, Device: [32]byte{n},
				}
				if claims := a.claims.Load(); claims != nil {
					resp.Inventory = claims
				}
			}
			return resp, nil
		})
	var peers []p2p.Peer
	for _, r := range keepers {
		peers = append(peers, r.k.node.Self())
	}
	require.NoError(t, node.Keep(peers))

	m := &market.Node{Meta: market.Meta{Address: a.account}}
	m.Provider, m.NodeKey = provider, key.PublicKey()
	m.Node.Status, m.Spec.Model, m.Spec.Gpus, m.Spec.Simulated = uint8(market.NodeActive), 1, 1, 1
	m.Spec.VramMib, m.RegisteredAt = 40960, time.Now().Unix()-100
	d := &market.Device{Meta: market.Meta{Address: market.DeviceAddress(identity(n))}, Node: a.account, Identity: identity(n)}
	chain.mu.Lock()
	defer chain.mu.Unlock()
	chain.put(m.Address, m)
	chain.put(d.Address, d)
	if !lease.IsZero() {
		l := &market.Lease{Meta: market.Meta{Address: lease}}
		l.Lease.Node, l.Lease.Provider, l.Lease.Status = a.account, provider, uint8(market.LeaseRunning)
		l.StartedAt, l.FundedUntil = time.Now().Unix()-10, time.Now().Unix()+3600
		chain.put(lease, l)
	}
	return a
}

func startAll(t *testing.T, n int, set ...func(*replica)) (*fakeChain, []*replica) {
	chain := newFakeChain(periodSecs)
	m := &market.Model{Meta: market.Meta{Address: market.ModelAddress(1)}}
	m.Id, m.VramMib, m.Name = 1, 40960, market.Text32("A100-SXM4-40GB")
	chain.put(m.Address, m)
	var keepers []*replica
	for range n {
		r := newReplica(t, chain)
		for _, f := range set {
			f(r)
		}
		r.start()
		chain.addKeeper(r.wallet.PublicKey(), r.listen)
		keepers = append(keepers, r)
	}
	return chain, keepers
}

func period() uint64 { return uint64(time.Now().Unix()) / periodSecs }

// untilOne waits until the report of a period is final, and returns the first such one. With a keeper down the three
// others must vote for one root: on a busy machine that takes a while, since they may have to come together first.
func untilOne(t *testing.T, chain *fakeChain, from uint64) (p uint64) {
	require.Eventually(t, func() (ok bool) {
		p, ok = firstFinal(chain, from)
		return ok
	}, waitLimit, 20*time.Millisecond, "a report from %d on", from)
	return p
}

// firstFinal is the first period from one on whose report is final.
func firstFinal(chain *fakeChain, from uint64) (p uint64, ok bool) {
	got := chain.final()
	for p = from; p <= period(); p++ {
		if _, ok = got[p]; ok {
			return p, true
		}
	}
	return 0, false
}

func TestReplicasAgreeAndSurviveAKill(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 4)
	lease := solana.PublicKey{77}
	one := newAgent(t, chain, 1, lease, keepers)
	newAgent(t, chain, 2, solana.PublicKey{}, keepers)
	for _, r := range keepers {
		r.run()
	}
	first := period() + 1
	// On a busy machine a keeper may come too late to vote for a report that is final: then all vote for a later one.
	for end, p, checked := time.Now().Add(waitLimit), first, 0; checked < 2; p++ {
		require.True(t, time.Now().Before(end), "%d reports have the votes of all keepers", checked)
		p = untilOne(t, chain, p)
		for len(chain.voted(p)) < 4 && period() < p+6 {
			time.Sleep(20 * time.Millisecond)
		}
		if len(chain.voted(p)) < 4 {
			continue
		}
		checked++
		// On a busy machine one may have voted for a proposal that came before another keeper's statements did.
		same := 0
		for _, root := range chain.voted(p) {
			if root == chain.final()[p] {
				same++
			}
		}
		require.GreaterOrEqual(t, same, 3, "period %d", p)
		for _, r := range keepers {
			root, err := r.k.store.Voted(records.Period(p))
			require.NoError(t, err)
			if root != records.Hash(chain.final()[p]) { // else its vote may have been about to move there when the report became final
				require.EqualValues(t, chain.voted(p)[r.wallet.PublicKey()], root, "each sent the vote that it wrote down")
			}
			require.Eventually(t, func() bool { return r.k.engine.Set(records.Period(p), chain.final()[p]) != nil },
				waitLimit, 20*time.Millisecond, "every keeper holds the leaves")
		}
	}
	// On a busy machine questions come too late to cover a period of two seconds, or find no answer in time: then a later
	// report says so.
	for end, p := time.Now().Add(waitLimit), first+1; ; p++ {
		require.True(t, time.Now().Before(end), "no report says that both nodes were up all the time")
		p = untilOne(t, chain, p)
		root := chain.final()[p]
		require.Eventually(t, func() bool { return keepers[0].k.engine.Set(records.Period(p), root) != nil }, waitLimit, 20*time.Millisecond)
		leaves := keepers[0].k.engine.Set(records.Period(p), root).Leaves
		up := slices.DeleteFunc(slices.Clone(leaves), func(l records.Leaf) bool { return l.UpSeconds != periodSecs })
		flagged := slices.ContainsFunc(leaves, func(l records.Leaf) bool { return l.Flags != 0 })
		paid := slices.ContainsFunc(up, func(l records.Leaf) bool {
			return l.Lease == lease && l.VerifiedSeconds == periodSecs && l.Node == one.account
		})
		if len(up) == 3 && paid && !flagged { // two nodes, one lease
			break
		}
	}

	// One is killed: the others are more than two thirds, whoever's turn it is to propose. The silent node is flagged
	// by all that are left, and its downtime counts.
	keepers[3].kill()
	one.silent.Store(true)
	// An answer from before may come in the next period yet: then a later report says so. Questions to a silent node take
	// as long as the interval between them, and periods here are of two seconds: not every second of one is covered.
	down := period() + 1
	for end := time.Now().Add(waitLimit); ; down++ {
		require.True(t, time.Now().Before(end), "no report says that the node was down")
		down = untilOne(t, chain, down)
		root := chain.final()[down]
		require.Eventually(t, func() bool { return keepers[0].k.engine.Set(records.Period(down), root) != nil }, waitLimit, 20*time.Millisecond)
		leaves := keepers[0].k.engine.Set(records.Period(down), root).Leaves
		if slices.ContainsFunc(leaves, func(l records.Leaf) bool {
			return l.Lease == lease && l.Flags == records.FlagOffline && l.DowntimeSeconds > 0 && l.VerifiedSeconds == 0
		}) {
			break
		}
	}
	one.silent.Store(false)

	// It comes back with its store, learns the leaf sets that it missed, and votes again as it did before.
	keepers[3].start()
	keepers[3].run()
	back := untilOne(t, chain, period()+1)
	require.Eventually(t, func() bool {
		final := chain.final()
		for p := down; p <= back; p++ {
			if root, ok := final[p]; ok && keepers[3].k.engine.Set(records.Period(p), root) == nil {
				return false
			}
		}
		_, voted := chain.voted(back)[keepers[3].wallet.PublicKey()]
		return voted
	}, waitLimit, 20*time.Millisecond)

	// Leaves were applied once each, by whichever keeper was first.
	chain.mu.Lock()
	require.NotEmpty(t, chain.applied)
	for key, n := range chain.applied {
		require.Equal(t, 1, n, key)
	}
	chain.mu.Unlock()
	for _, r := range keepers {
		r.kill()
	}
}

func TestAKeeperWithADamagedStoreDoesNotSign(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 1)
	newAgent(t, chain, 1, solana.PublicKey{}, keepers)
	r := keepers[0]
	r.run()
	untilOne(t, chain, period()+1)
	r.kill()
	// Damaged: it does not open again, so nothing is signed.
	path := filepath.Join(r.data, fileStore)
	damage(t, path)
	_, err := store.Open(path, store.Options{Keeper: r.wallet.PublicKey(), Domain: r.chain.market.Domain})
	require.ErrorIs(t, err, store.ErrCorrupt)
}

func TestTimingMustFitTheMarket(t *testing.T) {
	p := newFakeChain(5).market.Params
	_, err := LocalTiming().For(p)
	require.NoError(t, err)
	_, err = DefaultTiming().For(p)
	require.ErrorIs(t, err, ErrTiming)
	hour := newFakeChain(3600).market.Params
	got, err := DefaultTiming().For(hour)
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, got.CrankInterval)
	zero := DefaultTiming()
	zero.CheckTimeout = 0
	_, err = zero.For(hour)
	require.ErrorIs(t, err, ErrTiming)
}

func TestAnnounce(t *testing.T) {
	const id = "/p2p/12D3KooWGBNmkUoKcoreMK2qjotDVjjH1uLwbNyCPsq1su3oeHQ7"
	for name, c := range map[string]struct {
		given, listen string
		actual        []string
		want          string
	}{
		"what is listened on":     {"", "/ip4/127.0.0.1/tcp/0", []string{"/ip4/127.0.0.1/tcp/4000" + id}, "/ip4/127.0.0.1/tcp/4000"},
		"given":                   {"/dns4/k.example.org/tcp/4101" + id, "/ip4/0.0.0.0/tcp/4101", nil, "/dns4/k.example.org/tcp/4101"},
		"all interfaces":          {"", "/ip4/0.0.0.0/tcp/4101", []string{"/ip4/10.0.0.1/tcp/4101" + id}, ""},
		"before listening":        {"", "/ip4/127.0.0.1/tcp/4000", nil, "/ip4/127.0.0.1/tcp/4000"},
		"before, on any port":     {"", "/ip4/127.0.0.1/tcp/0", nil, ""},
		"nonsense":                {"here", "/ip4/127.0.0.1/tcp/4000", nil, ""},
		"not dialled by peers":    {"/ip4/203.0.113.7/tcp/4101/ws", "/ip4/127.0.0.1/tcp/4000", nil, ""},
		"nothing but a peer's id": {id, "/ip4/127.0.0.1/tcp/4000", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := announce(c.given, c.listen, c.actual)
			if c.want == "" {
				require.ErrorIs(t, err, ErrAnnounce)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
