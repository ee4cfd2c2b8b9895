package gossip

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	periodSecs = 10
	now        = 1_000_005 // in the middle of period 100,000
)

var domain = records.Domain{1}

// participant is a key on the network with a Gossip and recording handlers.
type participant struct {
	*Gossip
	t      *testing.T
	wallet solana.PrivateKey
	pool   *statement.Pool

	engine  fakeEngine
	checker fakeChecker
	proofs  fakeProofs
	metrics fakeMetrics
}

// checked is the node that statements are about.
var checked = solana.PublicKey{9}

// newParticipant opens a network node; the view is shared by all participants of a test.
func newParticipant(t *testing.T, v *view.View) *participant {
	p := &participant{t: t, pool: statement.NewPool()}
	v.Put(checked, &market.Node{Meta: market.Meta{Address: checked}})
	var err error
	p.wallet, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	node, err := p2p.New(p2p.Options{Key: p.wallet, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	directory, err := roles.New(roles.Options{View: v, PeriodSecs: periodSecs})
	require.NoError(t, err)
	p.Gossip, err = New(Options{
		Node: node, View: v, Roles: directory, Pool: p.pool, Store: emptyStore{}, Proofs: &p.proofs, Metrics: &p.metrics, Domain: domain,
		PeriodSecs: periodSecs, Retention: 200 * time.Second, AuditDelay: time.Second, Now: func() time.Time { return time.Unix(now, 0) },
	})
	require.NoError(t, err)
	return p
}

func (p *participant) handlers() Handlers {
	return Handlers{Engine: &p.engine, Checker: &p.checker, Bids: fakeBids{}}
}

// register puts the participant on chain as a keeper.
func (p *participant) register(v *view.View, s market.KeeperStatus, weight uint64) {
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(p.wallet.PublicKey())}}
	k.Wallet, k.Keeper.Status, k.Weight = p.wallet.PublicKey(), uint8(s), weight
	v.Put(k.Address, k)
}

// statement is signed by the participant.
func (p *participant) statement(period records.Period, passed bool) statement.Signed {
	s := records.CheckStatement{
		Domain: domain, Node: checked, Period: period, Kind: records.CheckLiveness, Passed: passed,
		CheckedAt: int64(period)*periodSecs + 1,
	}
	sig, err := s.Sign(p.wallet)
	require.NoError(p.t, err)
	return statement.Signed{Keeper: p.wallet.PublicKey(), Statement: s, Signature: sig}
}

func (p *participant) manifest(period records.Period) messages.Manifest {
	m, err := statement.NewManifest(statement.Frame{Domain: domain, Period: period, Secs: periodSecs}, []byte("set"), 1, p.wallet)
	require.NoError(p.t, err)
	return m.Message()
}

func TestMissingDependenciesAreErrors(t *testing.T) {
	p := newParticipant(t, view.New(view.Options{}))
	options.Without(p.o, []string{"Self", "Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	options.Without(p.handlers(), nil, func(field string, h Handlers) {
		require.ErrorIs(t, p.Join(h), options.ErrMissing, field)
	})
	require.ErrorIs(t, p.Publish(t.Context(), messages.Proposal{}), errNotJoined)
	require.ErrorIs(t, p.Announce(t.Context(), messages.Manifest{}), errNotJoined)
}

// What a keeper signs reaches the other keepers' pools, and a failed check their checkers; what a stranger signs
// reaches nobody.
func TestStatementsReachTheOtherKeepers(t *testing.T) {
	v := view.New(view.Options{})
	one, other, stranger := newParticipant(t, v), newParticipant(t, v), newParticipant(t, v)
	for _, p := range []*participant{one, other} {
		p.register(v, market.KeeperActive, 1)
	}
	for _, p := range []*participant{one, other, stranger} {
		require.NoError(t, p.Join(p.handlers()))
		for _, q := range []*participant{one, other, stranger} {
			require.NoError(t, p.o.Node.Remember(q.o.Node.Self()))
		}
		require.NoError(t, p.o.Node.Keep([]p2p.Peer{one.o.Node.Self(), other.o.Node.Self()}))
		go func() { _ = p.runOutbox(t.Context()) }()
	}
	failed, foreign := one.statement(now/periodSecs, false), stranger.statement(now/periodSecs, false)
	require.Eventually(t, func() bool {
		one.PublishStatements([]statement.Signed{failed})
		stranger.PublishStatements([]statement.Signed{foreign})
		return other.pool.Has(failed)
	}, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return other.checker.count() == 1 }, time.Minute, 10*time.Millisecond)
	require.False(t, other.pool.Has(foreign))
	require.False(t, one.pool.Has(foreign))
}

func TestKeepersSpeakForThemselvesOnly(t *testing.T) {
	v := view.New(view.Options{})
	p, author, other := newParticipant(t, v), newParticipant(t, v), newParticipant(t, v)
	for _, k := range []*participant{author, other} {
		k.register(v, market.KeeperActive, 1)
	}
	const current = records.Period(now / periodSecs)
	forged := author.statement(current, true)
	forged.Statement.Passed = false
	statements := func(version uint8, all ...statement.Signed) messages.StatementsAnswer {
		m := messages.StatementsAnswer{Version: version}
		for _, s := range all {
			m.Statements = append(m.Statements, s.Message())
		}
		return m
	}
	for name, c := range map[string]struct {
		m    messages.StatementsAnswer
		want p2p.Verdict
	}{
		"its own":            {statements(messages.Version, author.statement(current, true)), p2p.Accept},
		"another's":          {statements(messages.Version, other.statement(current, true)), p2p.Reject},
		"its own and others": {statements(messages.Version, author.statement(current, true), other.statement(current, true)), p2p.Reject},
		"forged":             {statements(messages.Version, forged), p2p.Reject},
		"none":               {statements(messages.Version), p2p.Reject},
		"long ago":           {statements(messages.Version, author.statement(current-30, true)), p2p.Ignore},
		"to come":            {statements(messages.Version, author.statement(current+2, true)), p2p.Ignore},
		"another version":    {statements(messages.Version+1, author.statement(current, true)), p2p.Ignore},
	} {
		require.Equal(t, c.want, p.validateStatements(t.Context(), author.wallet.PublicKey(), c.m), "statements: %s", name)
	}
	wrong := author.manifest(current)
	wrong.Count++
	for name, c := range map[string]struct {
		m    []messages.Manifest
		want p2p.Verdict
	}{
		"its own":   {[]messages.Manifest{author.manifest(current)}, p2p.Accept},
		"another's": {[]messages.Manifest{other.manifest(current)}, p2p.Reject},
		"two":       {[]messages.Manifest{author.manifest(current), author.manifest(current)}, p2p.Reject},
		"forged":    {[]messages.Manifest{wrong}, p2p.Reject},
		"long ago":  {[]messages.Manifest{author.manifest(current - 30)}, p2p.Ignore},
	} {
		m := messages.Manifests{Version: messages.Version, Manifests: c.m}
		require.Equal(t, c.want, p.validateManifest(t.Context(), author.wallet.PublicKey(), m), "manifests: %s", name)
	}
}

// An equivocation proof passes on for whoever brings it, as long as the keeper has a bond to lose.
func TestEquivocationProofs(t *testing.T) {
	v := view.New(view.Options{})
	p, keeper, finder := newParticipant(t, v), newParticipant(t, v), newParticipant(t, v)
	const current = records.Period(now / periodSecs)
	yes, no := keeper.statement(current, true), keeper.statement(current, false)
	proof := messages.EquivocationProof{Version: messages.Version, One: yes.Message(), Other: no.Message()}
	none := messages.EquivocationProof{Version: messages.Version, One: yes.Message(), Other: yes.Message()}
	verdict := func(m messages.EquivocationProof) p2p.Verdict {
		return p.validateEquivocation(t.Context(), finder.wallet.PublicKey(), m)
	}
	require.Equal(t, p2p.Ignore, verdict(proof), "a stranger has no bond")
	for status, want := range map[market.KeeperStatus]p2p.Verdict{
		market.KeeperPending: p2p.Accept, market.KeeperActive: p2p.Accept, market.KeeperExiting: p2p.Accept, market.KeeperSlashed: p2p.Ignore,
	} {
		keeper.register(v, status, 1)
		require.Equal(t, want, verdict(proof), status)
		if want == p2p.Accept {
			require.Equal(t, p2p.Reject, verdict(none), status)
		}
	}
	keeper.register(v, market.KeeperActive, 1)
	p.handleEquivocation(t.Context(), finder.wallet.PublicKey(), proof)
	require.Equal(t, 1, p.proofs.statements)
	require.Empty(t, p.Gossip.proofs, "what came by gossip is not published again")
	p.StatementEquivocation(yes, no)
	require.Empty(t, p.Gossip.proofs, "nor is a second proof")
	p.proofs.statements = 0
	p.StatementEquivocation(yes, no)
	require.Len(t, p.Gossip.proofs, 1, "the first one that is found here is")
	p.ManifestEquivocation(statement.Manifest{Keeper: keeper.wallet.PublicKey()}, statement.Manifest{Keeper: keeper.wallet.PublicKey()})
	require.Equal(t, 1, p.proofs.manifests)
	keeper.register(v, market.KeeperSlashed, 0)
	p.ManifestEquivocation(statement.Manifest{Keeper: keeper.wallet.PublicKey()}, statement.Manifest{Keeper: keeper.wallet.PublicKey()})
	require.Equal(t, 1, p.proofs.manifests, "nothing is left to be taken")
}

// Proposals and manifests are for keepers; statements, sets and leaves for everybody who may connect.
func TestWhoIsAnswered(t *testing.T) {
	v := view.New(view.Options{})
	p, keeper, stranger := newParticipant(t, v), newParticipant(t, v), newParticipant(t, v)
	keeper.register(v, market.KeeperPending, 0)
	p.h = p.handlers()
	_, err := p.serveManifests(t.Context(), keeper.wallet.PublicKey(), messages.ManifestsRequest{Period: 5})
	require.NoError(t, err)
	_, err = p.serveManifests(t.Context(), stranger.wallet.PublicKey(), messages.ManifestsRequest{Period: 5})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), err)
	_, err = p.serveProposal(t.Context(), keeper.wallet.PublicKey(), messages.ProposalRequest{Period: 5})
	require.True(t, p2p.IsCode(err, p2p.CodeNotFound), err)
	_, err = p.serveProposal(t.Context(), stranger.wallet.PublicKey(), messages.ProposalRequest{Period: 5})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), err)
	_, err = p.serveStatements(t.Context(), stranger.wallet.PublicKey(), messages.StatementsRequest{Period: 5})
	require.NoError(t, err)
	_, err = p.serveStatements(t.Context(), stranger.wallet.PublicKey(), messages.StatementsRequest{Period: 10})
	require.True(t, p2p.IsCode(err, p2p.CodeUnavailable), err)
	_, err = p.serveBlob(t.Context(), stranger.wallet.PublicKey(), messages.BlobRequest{Kind: messages.BlobSet, Period: 5})
	require.True(t, p2p.IsCode(err, p2p.CodeNotFound), err)
	var m messages.Proposal
	m.Proposer, m.Period = keeper.wallet.PublicKey(), now/periodSecs
	require.Equal(t, p2p.Ignore, p.validateProposal(t.Context(), keeper.wallet.PublicKey(), m), "a keeper without weight")
	require.Equal(t, p2p.Reject, p.validateProposal(t.Context(), stranger.wallet.PublicKey(), m), "in another's name")
}

// A keeper proposes in its own rounds only: checking a proposal costs more than sending one.
func TestProposalsOfAnothersRoundAreIgnored(t *testing.T) {
	v := view.New(view.Options{})
	p := newParticipant(t, v)
	weights := report.Weights{}
	keepers := map[solana.PublicKey]*participant{}
	for range 3 {
		k := newParticipant(t, v)
		k.register(v, market.KeeperActive, 1)
		weights[k.wallet.PublicKey()], keepers[k.wallet.PublicKey()] = 1, k
	}
	const last = records.Period(now/periodSecs) - 1
	manifests := map[solana.PublicKey]messages.Manifest{}
	for key, k := range keepers {
		manifests[key] = k.manifest(last)
	}
	for round := range uint32(3) {
		for key, k := range keepers {
			m := messages.Proposal{Version: messages.Version, Period: uint64(last)}
			for _, named := range slices.SortedFunc(maps.Keys(manifests), func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) }) {
				m.Manifests = append(m.Manifests, manifests[named])
			}
			m, err := report.Resign(m, domain, round, k.wallet)
			require.NoError(t, err)
			want := p2p.Ignore
			if proposer, _ := report.Proposer(last, round, weights); proposer == key {
				want = p2p.Accept
			}
			require.Equal(t, want, p.validateProposal(t.Context(), key, m), "round %d", round)
		}
	}
}
