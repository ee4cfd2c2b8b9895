package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

const secs = 4

var domain = records.Domain{1}

// cluster is keepers that share a chain and a network, in one process and without either.
type cluster struct {
	t            *testing.T
	view         *view.View
	period       records.Period // the one that has just ended
	participants []*participant
	began        time.Time // when its clock did, at the end of the period

	mu    sync.Mutex                                 // of what follows and of the participants' faults
	chain market.Report                              // the period's
	votes map[solana.PublicKey]map[records.Hash]bool // that were sent and accepted
}

// participant is one keeper of a cluster: a real engine and store.
type participant struct {
	cluster *cluster
	key     solana.PrivateKey
	store   *store.Store
	engine  *Engine

	partitioned     bool         // neither sends nor receives anything
	withoutGossip   bool         // receives no gossip, but may ask
	withholding     bool         // hands out no statements of its own
	hidingProposals bool         // neither publishes proposals nor hands them out
	refused         atomic.Int32 // proposals that were checked in vain
}

func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{
		t: t, view: view.New(view.Options{}), period: records.Period(time.Now().Unix()/secs) - 1,
		votes: map[solana.PublicKey]map[records.Hash]bool{},
	}
	m := &market.Market{}
	m.Params = bindings.Params{PeriodSecs: secs, ReportRetentionSecs: 15 * secs, QuorumBps: 6667}
	c.view.Put(market.MarketAddress(), m)
	for i := range n {
		key, err := solana.NewRandomPrivateKey()
		require.NoError(t, err)
		k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(key.PublicKey())}}
		k.Wallet, k.Weight, k.Keeper.Status, k.Index = key.PublicKey(), 1000, uint8(market.KeeperActive), uint16(i)
		c.view.Put(k.Address, k)
		s, err := store.Open(filepath.Join(t.TempDir(), "k.db"), store.Options{Keeper: key.PublicKey(), Domain: domain})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		c.participants = append(c.participants, &participant{cluster: c, key: key, store: s})
	}
	for _, p := range c.participants {
		p.restart()
	}
	return c
}

func (p *participant) wallet() solana.PublicKey { return p.key.PublicKey() }

// has reads one of a participant's faults.
func (p *participant) has(fault *bool) bool {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	return *fault
}

// set changes one of a participant's faults.
func (p *participant) set(fault *bool, to bool) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	*fault = to
}

// withholds reports whether a participant keeps the statements that are asked for to itself.
func (p *participant) withholds(req messages.BlobRequest) bool {
	if !p.has(&p.withholding) || req.Kind != messages.BlobSet {
		return false
	}
	for _, m := range p.engine.cache.manifests(records.Period(req.Period)) {
		if m.Keeper == p.wallet() && m.Digest == req.Digest {
			return true
		}
	}
	return false
}

// heal ends all partitions.
func (c *cluster) heal() {
	for _, p := range c.participants {
		p.set(&p.partitioned, false)
	}
}

// restart gives a keeper a new engine with the store that it has.
func (p *participant) restart() {
	c := p.cluster
	n := time.Duration(len(c.participants))
	var err error
	p.engine, err = New(Options{
		View: c.view, Pool: statement.NewPool(), Store: p.store, Signer: p.key, Domain: domain,
		Timing: Timing{Delay: time.Millisecond, Round: max(150*time.Millisecond, n*100*time.Millisecond)},
		Peers:  p, Submit: p.submit, Damaged: func(err error) { c.t.Errorf("damaged: %v", err) }, Observe: p,
		Log: zerolog.Nop(), Now: c.now,
	})
	require.NoError(c.t, err)
}

func (c *cluster) now() time.Time {
	return time.Unix(int64(c.period+1)*secs, 0).Add(time.Since(c.began))
}

// observe lets a keeper sign what it saw of a node in the period.
func (p *participant) observe(node byte, covered uint32) {
	st := records.CheckStatement{
		Domain: domain, Node: solana.PublicKey{node}, Period: p.cluster.period, Kind: records.CheckLiveness, Passed: true,
		CoveredSeconds: covered, CheckedAt: int64(p.cluster.period)*secs + 2,
	}
	_, refused, err := p.store.Sign([]records.CheckStatement{st}, func(s records.CheckStatement) (solana.Signature, error) { return s.Sign(p.key) })
	require.NoError(p.cluster.t, err)
	require.Empty(p.cluster.t, refused)
}

// start seals the period everywhere and lets the keepers work until stop.
func (c *cluster) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	c.began = time.Now()
	for _, p := range c.participants {
		require.NoError(c.t, p.store.Seal(c.period))
	}
	for _, p := range c.participants {
		wg.Add(1)
		go func() { defer wg.Done(); _ = p.engine.Run(ctx) }()
	}
	return func() { cancel(); wg.Wait() }
}

// final returns the root of the final report.
func (c *cluster) final() (records.Hash, bool) {
	var root records.Hash
	ok := false
	c.view.Read(func(v *view.Accounts) {
		if r := v.Reports[uint64(c.period)]; r != nil && r.State() == market.ReportFinal {
			root, ok = r.Root, true
		}
	})
	return root, ok
}

// requireOneVoteEach makes sure that on the chain every keeper is counted once, and more than two thirds of them at the
// final root. A vote may have moved on its way there: on a busy machine two proposers can be at work at once.
func (c *cluster) requireOneVoteEach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := map[uint8]int{}
	for _, root := range c.chain.Roots() {
		n := bits.OnesCount8(root.Voters[0])
		require.EqualValues(c.t, 1000*n, root.Weight)
		for k := range uint8(len(c.participants)) {
			if root.Voters[0]&(1<<k) != 0 {
				counted[k]++
			}
		}
		if root.Root == c.chain.Root {
			require.Greater(c.t, 3*n, 2*len(c.participants))
		}
	}
	for k, n := range counted {
		require.Equal(c.t, 1, n, "keeper %d", k)
	}
}

// submit sends a vote to the chain.
func (p *participant) submit(_ context.Context, in txm.Intent) (txm.Result, error) {
	c := p.cluster
	if p.has(&p.partitioned) {
		return txm.Result{}, errors.New("no endpoint answers")
	}
	data, err := in.Instructions[0].Data()
	if err != nil {
		return txm.Result{}, err
	}
	period, root := binary.LittleEndian.Uint64(data[8:]), records.Hash(data[16:48])
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.count(p.wallet(), period, root); err != nil {
		return txm.Result{}, err
	}
	r := c.chain
	c.view.Put(market.ReportAddress(period), &r)
	return txm.Result{}, nil
}

// count does what the program does with a vote.
func (c *cluster) count(keeper solana.PublicKey, period uint64, root records.Hash) error {
	var k *market.Keeper
	c.view.Read(func(v *view.Accounts) { k = v.Keepers[keeper] })
	r, bit := &c.chain, uint8(1)<<k.Index
	r.Period, r.Report.Status = period, max(r.Report.Status, uint8(market.ReportOpen))
	at := r.Find(root)
	for i := range r.Candidates[:r.CandidateCount] {
		from := &r.Candidates[i]
		if from.Voters[0]&bit == 0 {
			continue
		}
		switch {
		case i == at:
			return nil
		case r.State() == market.ReportFinal:
			return bindings.ErrorCodeAlreadyVoted
		case at < 0 || r.Candidates[at].Weight+k.Weight <= from.Weight:
			return bindings.ErrorCodeVoteNotHeavier
		}
		from.Voters[0] &^= bit
		from.Weight -= k.Weight
	}
	if at < 0 {
		at = int(r.CandidateCount)
		r.CandidateCount++
		r.Candidates[at].Root = root
	}
	r.Candidates[at].Weight += k.Weight
	r.Candidates[at].Voters[0] |= bit
	r.Voters[0] |= bit
	if r.State() != market.ReportFinal && r.Candidates[at].Weight*market.BPS >= uint64(len(c.participants))*1000*6667 {
		r.Report.Status, r.Root, r.FinalisedAt = uint8(market.ReportFinal), root, c.now().Unix()
	}
	if c.votes[keeper] == nil {
		c.votes[keeper] = map[records.Hash]bool{}
	}
	c.votes[keeper][root] = true
	return nil
}

// Publish implements Peers.
func (p *participant) Publish(ctx context.Context, m messages.Proposal) error {
	c := p.cluster
	if p.has(&p.partitioned) || p.has(&p.hidingProposals) {
		return nil
	}
	for _, o := range c.participants {
		if o != p && !o.has(&o.withoutGossip) && !o.has(&o.partitioned) {
			o.engine.HandleProposal(ctx, m)
		}
	}
	return nil
}

// peer returns another participant, if it can be reached.
func (p *participant) peer(k solana.PublicKey) (*participant, error) {
	for _, o := range p.cluster.participants {
		if o.wallet() == k && !o.has(&o.partitioned) && !p.has(&p.partitioned) {
			return o, nil
		}
	}
	return nil, errors.New("no answer")
}

func (p *participant) Announce(ctx context.Context, m messages.Manifest) error {
	c := p.cluster
	if p.has(&p.partitioned) {
		return nil
	}
	for _, o := range c.participants {
		if o != p && !o.has(&o.withoutGossip) && !o.has(&o.partitioned) {
			o.engine.HandleManifest(ctx, m)
		}
	}
	return nil
}

func (p *participant) Manifests(_ context.Context, k solana.PublicKey, period records.Period) ([]messages.Manifest, error) {
	o, err := p.peer(k)
	if err != nil {
		return nil, err
	}
	return o.engine.Manifests(period)
}

func (p *participant) Blob(_ context.Context, k solana.PublicKey, req messages.BlobRequest) (messages.Piece, error) {
	o, err := p.peer(k)
	if err != nil {
		return messages.Piece{}, err
	}
	if o.withholds(req) {
		return messages.Piece{}, errors.New("no answer")
	}
	raw, err := o.engine.Blob(req.Kind, records.Period(req.Period), req.Digest)
	if err != nil {
		return messages.Piece{}, err
	}
	piece := Piece(raw, req.Offset)
	piece.Data = piece.Data[:min(len(piece.Data), 30)] // so that there are several
	return piece, nil
}

func (p *participant) Proposal(_ context.Context, k solana.PublicKey, period records.Period, root records.Hash) (messages.Proposal, error) {
	var m messages.Proposal
	o, err := p.peer(k)
	if err != nil {
		return m, err
	}
	if o.has(&o.hidingProposals) {
		return m, errors.New("no answer")
	}
	raw, err := o.store.Proposal(period, root)
	if err != nil {
		return m, err
	}
	return m, p2p.Decode(raw, &m)
}

func (p *participant) Proposed(uint64)             {}
func (p *participant) Voted(uint64, error)         {}
func (p *participant) Refused(uint64, error)       { p.refused.Add(1) }
func (p *participant) Final(uint64, time.Duration) {}

// proposer is who proposes in a round.
func (c *cluster) proposer(round uint32) *participant {
	var weights report.Weights
	c.view.Read(func(v *view.Accounts) { weights = v.Weights(int64(c.period+1) * secs) })
	k, ok := report.Proposer(c.period, round, weights)
	require.True(c.t, ok)
	for _, p := range c.participants {
		if p.wallet() == k {
			return p
		}
	}
	c.t.Fatal("no keeper proposes")
	return nil
}

// allHold reports whether all keepers but some hold the leaves of a root.
func (c *cluster) allHold(root records.Hash, except ...*participant) bool {
	for _, p := range c.participants {
		if !slices.Contains(except, p) && p.engine.Set(c.period, root) == nil {
			return false
		}
	}
	return true
}

// awaitFinal waits until the report is final and returns its root.
func (c *cluster) awaitFinal() records.Hash {
	require.Eventually(c.t, func() bool { _, ok := c.final(); return ok }, 90*time.Second, 5*time.Millisecond)
	root, _ := c.final()
	return root
}

// proposalOf is a sound proposal of all statements but those of some keepers, signed by a keeper for round 0.
func (c *cluster) proposalOf(p *participant, but ...*participant) messages.Proposal {
	r, _, ok := p.engine.chain(c.period)
	require.True(c.t, ok)
	d := report.NewTally(frameOf(domain, r))
	var all []statement.Manifest
	for _, o := range c.participants {
		if slices.Contains(but, o) {
			continue
		}
		raw, m := c.setOf(o)
		_, err := d.Add(o.wallet(), raw)
		require.NoError(c.t, err)
		all = append(all, m)
	}
	m, _, err := report.Propose(d, r.weights, committee.NewRoster(committee.Seed{}, r.weights), all, 0, p.key)
	require.NoError(c.t, err)
	return m
}

// setOf is what a keeper signed in the period.
func (c *cluster) setOf(o *participant) ([]byte, statement.Manifest) {
	have, err := o.store.Statements(c.period)
	require.NoError(c.t, err)
	var all []records.CheckStatement
	for _, s := range have {
		all = append(all, s.Statement)
	}
	f := statement.Frame{Domain: domain, Period: c.period, Secs: secs}
	raw, n := statement.EncodeSet(f, all)
	m, err := statement.NewManifest(f, raw, n, o.key)
	require.NoError(c.t, err)
	return raw, m
}

// vote lets a keeper vote for a proposal, without a check.
func (p *participant) vote(m messages.Proposal) {
	t := p.cluster.t
	raw, err := p2p.Encode(m)
	require.NoError(t, err)
	require.NoError(t, p.store.Vote(p.cluster.period, m.Root, raw))
	instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: p.wallet(), Period: uint64(p.cluster.period), Root: m.Root})
	require.NoError(t, err)
	_, err = p.submit(t.Context(), txm.Intent{Instructions: []solana.Instruction{instruction}})
	require.NoError(t, err)
}
