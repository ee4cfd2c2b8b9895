package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/client/txm"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
)

const secs = 4

var domain = records.Domain{1}

// town is keepers that share a chain and a network, in one process and without either.
type town struct {
	t      *testing.T
	n      int // keepers
	view   *view.View
	period records.Period // the one that has just ended
	people []*person
	start  time.Time // when its clock began to run, at the end of the period

	mu    sync.Mutex
	chain market.Report                              // the period's
	votes map[solana.PublicKey]map[records.Hash]bool // that were sent and accepted
	cut   map[solana.PublicKey]bool                  // hears and says nothing
	deaf  map[solana.PublicKey]bool                  // hears no gossip, but may ask
	mean  map[solana.PublicKey]bool                  // hands out no statements of its own
	mute  map[solana.PublicKey]bool                  // says nothing of proposals
}

// hides reports whether a keeper keeps its own statements to itself.
func (w *town) hides(o *person, req messages.BlobRequest) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mean[o.key.PublicKey()] || req.Kind != messages.BlobSet {
		return false
	}
	for _, m := range o.engine.cache.manifests(records.Period(req.Period)) {
		if m.Keeper == o.key.PublicKey() && m.Digest == req.Digest {
			return true
		}
	}
	return false
}

type person struct {
	town   *town
	key    solana.PrivateKey
	store  *store.Store
	engine *Engine
}

func newTown(t *testing.T, n int) *town {
	w := &town{
		t: t, n: n, view: view.New(view.Options{}), period: records.Period(time.Now().Unix()/secs) - 1,
		votes: map[solana.PublicKey]map[records.Hash]bool{}, cut: map[solana.PublicKey]bool{}, deaf: map[solana.PublicKey]bool{},
		mean: map[solana.PublicKey]bool{}, mute: map[solana.PublicKey]bool{},
	}
	m := &market.Market{}
	m.Params = bindings.Params{PeriodSecs: secs, ReportRetentionSecs: 15 * secs, QuorumBps: 6667}
	w.view.Put(market.MarketAddress(), m)
	for i := range n {
		key, err := solana.NewRandomPrivateKey()
		require.NoError(t, err)
		k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(key.PublicKey())}}
		k.Wallet, k.Weight, k.Keeper.Status, k.Index = key.PublicKey(), 1000, uint8(market.KeeperActive), uint16(i)
		w.view.Put(k.Address, k)
		s, err := store.Open(filepath.Join(t.TempDir(), "k.db"), store.Options{Keeper: key.PublicKey(), Domain: domain})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		p := &person{town: w, key: key, store: s}
		p.restart()
		w.people = append(w.people, p)
	}
	return w
}

// restart gives a keeper a new engine with the store that it has.
func (p *person) restart() {
	w := p.town
	n := time.Duration(w.n)
	var err error
	p.engine, err = New(Options{
		View: w.view, Pool: statement.NewPool(), Store: p.store, Signer: p.key, Domain: domain,
		Timing: Timing{Delay: time.Millisecond, Round: max(150*time.Millisecond, n*100*time.Millisecond)},
		Peers:  p, Submit: p.submit, Damaged: func(err error) { w.t.Errorf("damaged: %v", err) }, Observe: p,
		Log: zerolog.Nop(), Now: w.now,
	})
	require.NoError(w.t, err)
}

func (w *town) now() time.Time {
	return time.Unix(int64(w.period+1)*secs, 0).Add(time.Since(w.start))
}

// see lets a keeper sign what it saw of a node in the period.
func (p *person) see(node byte, covered uint32) {
	st := records.CheckStatement{
		Domain: domain, Node: solana.PublicKey{node}, Period: p.town.period, Kind: records.CheckLiveness, Passed: true,
		CoveredSeconds: covered, CheckedAt: int64(p.town.period)*secs + 2,
	}
	_, refused, err := p.store.Sign([]records.CheckStatement{st}, func(s records.CheckStatement) (solana.Signature, error) { return s.Sign(p.key) })
	require.NoError(p.town.t, err)
	require.Empty(p.town.t, refused)
}

// run seals the period everywhere and lets the keepers work until stop.
func (w *town) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	w.start = time.Now()
	for _, p := range w.people {
		require.NoError(w.t, p.store.Seal(w.period))
	}
	for _, p := range w.people {
		wg.Add(1)
		go func() { defer wg.Done(); _ = p.engine.Run(ctx) }()
	}
	return func() { cancel(); wg.Wait() }
}

func (w *town) apart(k solana.PublicKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut[k]
}

func (w *town) silent(k solana.PublicKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mute[k]
}

func (w *town) final() (records.Hash, bool) {
	var root records.Hash
	ok := false
	w.view.Read(func(v *view.Accounts) {
		if r := v.Reports[uint64(w.period)]; r != nil && r.State() == market.ReportFinal {
			root, ok = r.Root, true
		}
	})
	return root, ok
}

// check makes sure that on the chain every keeper is counted once, and more than two thirds of them at the final root. A vote
// may have moved on its way there: on a busy machine two proposers can be at work at once.
func (w *town) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	counted := map[uint8]int{}
	for _, c := range w.chain.Roots() {
		n := bits.OnesCount8(c.Voters[0])
		require.EqualValues(w.t, 1000*n, c.Weight)
		for k := range uint8(len(w.people)) {
			if c.Voters[0]&(1<<k) != 0 {
				counted[k]++
			}
		}
		if c.Root == w.chain.Root {
			require.Greater(w.t, 3*n, 2*len(w.people))
		}
	}
	for k, n := range counted {
		require.Equal(w.t, 1, n, "keeper %d", k)
	}
}

func (p *person) submit(_ context.Context, in txm.Intent) (txm.Result, error) {
	w := p.town
	if w.apart(p.key.PublicKey()) {
		return txm.Result{}, errors.New("no endpoint answers")
	}
	data, err := in.Instructions[0].Data()
	if err != nil {
		return txm.Result{}, err
	}
	period, root := binary.LittleEndian.Uint64(data[8:]), records.Hash(data[16:48])
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.count(p.key.PublicKey(), period, root); err != nil {
		return txm.Result{}, err
	}
	r := w.chain
	w.view.Put(market.ReportAddress(period), &r)
	return txm.Result{}, nil
}

// count does what the program does with a vote.
func (w *town) count(keeper solana.PublicKey, period uint64, root records.Hash) error {
	var k *market.Keeper
	w.view.Read(func(v *view.Accounts) { k = v.Keepers[keeper] })
	r, bit := &w.chain, uint8(1)<<k.Index
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
	if r.State() != market.ReportFinal && r.Candidates[at].Weight*market.BPS >= uint64(len(w.people))*1000*6667 {
		r.Report.Status, r.Root, r.FinalisedAt = uint8(market.ReportFinal), root, w.now().Unix()
	}
	if w.votes[keeper] == nil {
		w.votes[keeper] = map[records.Hash]bool{}
	}
	w.votes[keeper][root] = true
	return nil
}

func (p *person) Publish(ctx context.Context, m messages.Proposal) error {
	w := p.town
	if w.apart(p.key.PublicKey()) || w.silent(p.key.PublicKey()) {
		return nil
	}
	for _, o := range w.people {
		w.mu.Lock()
		deaf := w.deaf[o.key.PublicKey()] || w.cut[o.key.PublicKey()]
		w.mu.Unlock()
		if o != p && !deaf {
			o.engine.HandleProposal(ctx, m)
		}
	}
	return nil
}

func (p *person) other(k solana.PublicKey) (*person, error) {
	for _, o := range p.town.people {
		if o.key.PublicKey() == k && !p.town.apart(k) && !p.town.apart(p.key.PublicKey()) {
			return o, nil
		}
	}
	return nil, errors.New("no answer")
}

func (p *person) Announce(ctx context.Context, m messages.Manifest) error {
	w := p.town
	if w.apart(p.key.PublicKey()) {
		return nil
	}
	for _, o := range w.people {
		w.mu.Lock()
		deaf := w.deaf[o.key.PublicKey()] || w.cut[o.key.PublicKey()]
		w.mu.Unlock()
		if o != p && !deaf {
			o.engine.HandleManifest(ctx, m)
		}
	}
	return nil
}

func (p *person) Manifests(_ context.Context, k solana.PublicKey, period records.Period) ([]messages.Manifest, error) {
	o, err := p.other(k)
	if err != nil {
		return nil, err
	}
	return o.engine.Manifests(period)
}

func (p *person) Blob(_ context.Context, k solana.PublicKey, req messages.BlobRequest) (messages.Piece, error) {
	o, err := p.other(k)
	if err != nil {
		return messages.Piece{}, err
	}
	if p.town.hides(o, req) {
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

func (p *person) Proposal(_ context.Context, k solana.PublicKey, period records.Period, root records.Hash) (messages.Proposal, error) {
	var m messages.Proposal
	o, err := p.other(k)
	if err != nil {
		return m, err
	}
	if p.town.silent(k) {
		return m, errors.New("no answer")
	}
	raw, err := o.store.Proposal(period, root)
	if err != nil {
		return m, err
	}
	return m, p2p.Decode(raw, &m)
}

func (p *person) Proposed(uint64)             {}
func (p *person) Voted(uint64, error)         {}
func (p *person) Refused(uint64, error)       {}
func (p *person) Final(uint64, time.Duration) {}

// proposer is who proposes in a round.
func (w *town) proposer(round uint32) *person {
	var weights report.Weights
	w.view.Read(func(v *view.Accounts) { weights = v.Weights(int64(w.period+1) * secs) })
	k, ok := report.Proposer(w.period, round, weights)
	require.True(w.t, ok)
	for _, p := range w.people {
		if p.key.PublicKey() == k {
			return p
		}
	}
	w.t.Fatal("nobody proposes")
	return nil
}

func (w *town) everybodyHolds(root records.Hash, but ...*person) bool {
	for _, p := range w.people {
		skip := false
		for _, b := range but {
			skip = skip || b == p
		}
		if !skip && p.engine.Set(w.period, root) == nil {
			return false
		}
	}
	return true
}

func (w *town) untilFinal() records.Hash {
	require.Eventually(w.t, func() bool { _, ok := w.final(); return ok }, 90*time.Second, 5*time.Millisecond)
	root, _ := w.final()
	return root
}

// proposalOf is a sound proposal of all statements but some keepers', signed by a keeper for round 0.
func (w *town) proposalOf(p *person, tier func(solana.PublicKey) uint8, but ...*person) messages.Proposal {
	r, _, ok := p.engine.chain(w.period)
	require.True(w.t, ok)
	d := report.NewTally(frameOf(domain, r))
	var all []statement.Manifest
	for _, o := range w.people {
		if slices.Contains(but, o) {
			continue
		}
		raw, m := w.setOf(o)
		_, err := d.Add(o.key.PublicKey(), raw)
		require.NoError(w.t, err)
		all = append(all, m)
	}
	m, _, err := report.Propose(d, r.weights, committee.NewRoster(committee.Seed{}, r.weights), tier, all, 0, p.key)
	require.NoError(w.t, err)
	return m
}

// setOf is what a keeper signed in the period.
func (w *town) setOf(o *person) ([]byte, statement.Manifest) {
	have, err := o.store.Statements(w.period)
	require.NoError(w.t, err)
	var all []records.CheckStatement
	for _, s := range have {
		all = append(all, s.Statement)
	}
	f := statement.Frame{Domain: domain, Period: w.period, Secs: secs}
	raw, n := statement.EncodeSet(f, all)
	m, err := statement.NewManifest(f, raw, n, o.key)
	require.NoError(w.t, err)
	return raw, m
}

func TestAgreement(t *testing.T) {
	w := newTown(t, 3)
	for i, p := range w.people {
		p.see(100, uint32(i+1))
	}
	stop := w.run()
	defer stop()
	root := w.untilFinal()
	require.Eventually(t, func() bool { return w.everybodyHolds(root) }, 90*time.Second, 5*time.Millisecond)
	require.EqualValues(t, 2, w.people[0].engine.Set(w.period, root).Leaves[0].UpSeconds, "the median of 1, 2 and 3")
	w.check()
}

func TestTheNextOneProposes(t *testing.T) {
	w := newTown(t, 4)
	for _, p := range w.people {
		p.see(100, 4)
	}
	dead := w.proposer(0)
	w.cut[dead.key.PublicKey()] = true
	stop := w.run()
	defer stop()
	root := w.untilFinal()
	require.Eventually(t, func() bool { return w.everybodyHolds(root, dead) }, 90*time.Second, 5*time.Millisecond)

	// Back again, it fetches what it missed. Its own statement is not in it, so it does not vote for it.
	w.mu.Lock()
	w.cut[dead.key.PublicKey()] = false
	w.mu.Unlock()
	require.Eventually(t, func() bool { return w.everybodyHolds(root) }, 90*time.Second, 5*time.Millisecond)
	_, err := dead.store.Voted(w.period)
	require.ErrorIs(t, err, store.ErrNotFound)
	w.check()
}

func TestGossipIsNotNeeded(t *testing.T) {
	w := newTown(t, 3)
	for _, p := range w.people {
		p.see(100, 4)
		if p != w.proposer(0) {
			w.deaf[p.key.PublicKey()] = true
		}
	}
	stop := w.run()
	defer stop()
	root := w.untilFinal()
	require.Eventually(t, func() bool { return w.everybodyHolds(root) }, 90*time.Second, 5*time.Millisecond)
	w.check()
}

// A proposer whose leaves do not follow from the statements gets no honest vote; the next one's report becomes final.
func TestACheatingProposerIsPassedOver(t *testing.T) {
	w := newTown(t, 4)
	for _, p := range w.people {
		p.see(100, 4)
	}
	cheat := w.proposer(0)
	w.mu.Lock()
	w.cut[cheat.key.PublicKey()] = true // it does not do what an engine would
	w.mu.Unlock()
	stop := w.run()
	defer stop()
	m := w.proposalOf(cheat, nil)
	m.Root[0] ^= 1
	m, err := report.Resign(m, domain, 0, cheat.key)
	require.NoError(t, err)
	for _, p := range w.people {
		if p != cheat {
			p.engine.HandleProposal(t.Context(), m)
		}
	}
	root := w.untilFinal()
	require.NotEqual(t, records.Hash(m.Root), root)
	w.check()
}

// A proposer that tells one half of the others this and the other half that, and then is silent, divides nobody: no root is
// opened before the next proposer opens one.
func TestAProposerWithTwoFacesDividesNobody(t *testing.T) {
	w := newTown(t, 4)
	for i, p := range w.people {
		p.see(100, uint32(i+1))
	}
	cheat := w.proposer(0)
	w.cut[cheat.key.PublicKey()] = true
	stop := w.run()
	defer stop()
	one, other := w.proposalOf(cheat, nil), w.proposalOf(cheat, nil, cheat)
	require.NotEqual(t, one.Root, other.Root)
	for i, p := range w.people {
		switch {
		case p == cheat:
		case i%2 == 0:
			p.engine.HandleProposal(t.Context(), one)
		default:
			p.engine.HandleProposal(t.Context(), other)
		}
	}
	root := w.untilFinal()
	require.Eventually(t, func() bool { return w.everybodyHolds(root, cheat) }, 90*time.Second, 5*time.Millisecond)
	w.check()
}

// A proposer that leaves out the statements of two honest keepers, and a keeper that stands at a root of which nobody knows:
// the two vote for the proposer's root all the same once it must have honest votes, or for that of the next proposer.
func TestLeftOutKeepersDoNotUndoAPeriod(t *testing.T) {
	w := newTown(t, 7)
	for i, p := range w.people {
		p.see(100, uint32(i%4+1))
	}
	cheat := w.proposer(0)
	var others []*person
	for _, p := range w.people {
		if p != cheat {
			others = append(others, p)
		}
	}
	leftOut, lost := others[:2], others[2]
	m := w.proposalOf(cheat, nil, leftOut...)
	raw, err := p2p.Encode(m)
	require.NoError(t, err)
	require.NoError(t, cheat.store.Vote(w.period, m.Root, raw))
	require.NoError(t, lost.store.Vote(w.period, records.Hash{1}, raw))
	stop := w.run()
	defer stop()
	require.NotEqual(t, records.Hash{1}, w.untilFinal())
}

// Three of seven have voted for a root of which the others know nothing yet; one of those has opened another, which all of
// them know. Nobody follows it: what a third of the weight has voted for is where all will be.
func TestWhatAThirdVotedForIsAwaited(t *testing.T) {
	w := newTown(t, 7)
	for i, p := range w.people {
		p.see(100, uint32(i%4+1))
	}
	first := w.people[:3]
	hasty, others := w.people[3], w.people[4:]
	theirs, known := w.proposalOf(first[0], nil, hasty), w.proposalOf(hasty, nil)
	require.NotEqual(t, theirs.Root, known.Root)
	for _, p := range first {
		w.mute[p.key.PublicKey()] = true
	}
	stop := w.run()
	defer stop()
	for _, p := range first {
		p.vote(theirs)
	}
	for _, p := range others {
		p.engine.HandleProposal(t.Context(), known)
	}
	hasty.vote(known)
	time.Sleep(2 * others[0].engine.o.Timing.Round)
	w.mu.Lock()
	clear(w.mute)
	w.mu.Unlock()
	require.Equal(t, records.Hash(theirs.Root), w.untilFinal())
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range others {
		require.NotContains(t, w.votes[p.key.PublicKey()], records.Hash(known.Root))
	}
}

// vote lets a keeper vote for a proposal, whatever it thinks of it.
func (p *person) vote(m messages.Proposal) {
	t := p.town.t
	raw, err := p2p.Encode(m)
	require.NoError(t, err)
	require.NoError(t, p.store.Vote(p.town.period, m.Root, raw))
	instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: p.key.PublicKey(), Period: uint64(p.town.period), Root: m.Root})
	require.NoError(t, err)
	_, err = p.submit(t.Context(), txm.Intent{Instructions: []solana.Instruction{instruction}})
	require.NoError(t, err)
}

// A network that was cut in two while they voted has left four of seven at one root and three at another. Neither is two
// thirds; when it has healed, the three come over, though the root of the four leaves one of them out.
func TestVotesComeTogether(t *testing.T) {
	w := newTown(t, 7)
	for i, p := range w.people {
		p.see(100, uint32(i%4+1))
	}
	four, three := w.people[:4], w.people[4:]
	heavy, light := w.proposalOf(four[0], nil, three[0]), w.proposalOf(three[0], nil)
	require.NotEqual(t, heavy.Root, light.Root)
	for _, p := range four {
		p.vote(heavy)
	}
	for _, p := range three {
		p.vote(light)
	}
	stop := w.run()
	defer stop()
	require.Equal(t, records.Hash(heavy.Root), w.untilFinal())
}

// Equal roots do not keep each other waiting, and two liars that move to where they do most harm cannot keep the five others
// apart: each move makes the heaviest heavier.
func TestLiarsCannotKeepVotesApart(t *testing.T) {
	w := newTown(t, 7)
	for i, p := range w.people {
		p.see(100, uint32(i%4+1))
	}
	one, other, liars := w.people[:3], w.people[3:5], w.people[5:]
	a, b := w.proposalOf(one[0], nil), w.proposalOf(other[0], nil, one[0])
	for _, p := range one {
		p.vote(a)
	}
	for _, p := range other {
		p.vote(b)
	}
	w.mu.Lock()
	for _, p := range liars {
		w.cut[p.key.PublicKey()] = true // their engines do nothing
	}
	w.mu.Unlock()
	lie := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, p := range liars {
			lightest := a.Root
			if i, j := w.chain.Find(a.Root), w.chain.Find(b.Root); w.chain.Candidates[j].Weight < w.chain.Candidates[i].Weight {
				lightest = b.Root
			}
			// The program refuses what would make the votes more even.
			_ = w.count(p.key.PublicKey(), uint64(w.period), lightest)
		}
		r := w.chain
		w.view.Put(market.ReportAddress(uint64(w.period)), &r)
	}
	stop := w.run()
	defer stop()
	require.Eventually(t, func() bool { lie(); _, ok := w.final(); return ok }, 90*time.Second, 5*time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	honest := 0
	for _, p := range w.people[:5] {
		if w.votes[p.key.PublicKey()][w.chain.Root] {
			honest++
		}
	}
	require.GreaterOrEqual(t, honest, 3, "of five votes two at most are liars'")
}

// Who has left or was expelled since a period ended counts in its report all the same, so that those who look at a proposal
// later come to what its first voters came to.
func TestAnExpelledKeeperDoesNotChangeAReport(t *testing.T) {
	w := newTown(t, 7)
	for i, p := range w.people {
		p.see(100, uint32(i%4+1))
	}
	expelled, early := w.people[0], w.people[1:5]
	m := w.proposalOf(early[0], nil)
	for _, p := range early {
		p.vote(m)
	}
	var k market.Keeper
	w.view.Read(func(v *view.Accounts) { k = *v.Keepers[expelled.key.PublicKey()] })
	k.FormerWeight, k.Weight, k.WeightSince, k.Keeper.Status = k.Weight, 0, int64(w.period+1)*secs+1, uint8(market.KeeperSlashed)
	w.view.Put(k.Address, &k)
	stop := w.run()
	defer stop()
	require.Equal(t, records.Hash(m.Root), w.untilFinal())
	w.check()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.votes[expelled.key.PublicKey()])
}

func TestNothingToReport(t *testing.T) {
	w := newTown(t, 3)
	stop := w.run()
	time.Sleep(500 * time.Millisecond)
	stop()
	_, ok := w.final()
	require.False(t, ok)
	require.Empty(t, w.votes)
}

// A keeper whose store remembers a vote sends that one and no other, whatever is proposed now.
func TestARestartedKeeperKeepsItsWord(t *testing.T) {
	w := newTown(t, 4)
	for _, p := range w.people {
		p.see(100, 4)
	}
	faithful := w.people[0]
	m := w.proposalOf(faithful, func(solana.PublicKey) uint8 { return 3 }) // another root than the others will find
	raw, err := p2p.Encode(m)
	require.NoError(t, err)
	require.NoError(t, faithful.store.Vote(w.period, m.Root, raw))
	stop := w.run()
	defer stop()
	root := w.untilFinal()
	require.NotEqual(t, records.Hash(m.Root), root)
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.votes[faithful.key.PublicKey()][m.Root]
	}, 90*time.Second, 5*time.Millisecond)
	w.check()
}
