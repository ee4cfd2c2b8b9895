package outage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

const begin = int64(100_000)

var (
	self    = solana.PublicKey{250}
	leased  = solana.PublicKey{1} // the node with the lease that may move
	errGone = errors.Join(check.ErrUnreachable, context.DeadlineExceeded)
)

// inline runs everything at once, on the caller's goroutine.
type inline struct{ schedule.Runner }

func (inline) Go(f func()) { f() }

func (inline) All(fs ...func()) {
	for _, f := range fs {
		f()
	}
}

// fakeNodes answers for all nodes of a fixture. The key of a node is its address.
type fakeNodes struct {
	outcome  map[solana.PublicKey]error // of a question; none is an answer
	noRenew  map[solana.PublicKey]error
	asked    map[solana.PublicKey]int
	renewals map[solana.PublicKey]int
}

func (f *fakeNodes) Ask(_ context.Context, key solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	f.asked[key]++
	return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce}, f.outcome[key]
}

func (f *fakeNodes) Renew(_ context.Context, key solana.PublicKey) error {
	f.renewals[key]++
	return f.noRenew[key]
}

// fixture is a market with three keepers and nodes, of which the first has a lease that may move.
type fixture struct {
	t     *testing.T
	x     *view.View
	now   time.Time
	nodes *fakeNodes
	watch *Watch
}

func newFixture(t *testing.T, others byte) *fixture {
	f := &fixture{t: t, x: view.New(view.Options{}), now: time.Unix(begin, 0), nodes: &fakeNodes{
		outcome: map[solana.PublicKey]error{}, noRenew: map[solana.PublicKey]error{}, asked: map[solana.PublicKey]int{}, renewals: map[solana.PublicKey]int{},
	}}
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(self)}}
	k.Wallet, k.Keeper.Status, k.Index, k.ActiveSince = self, uint8(market.KeeperActive), 3, begin-1000
	f.x.Put(k.Address, k)
	for i := byte(1); i <= 1+others; i++ {
		n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{i}}}
		n.NodeKey, n.Node.Status = n.Address, uint8(market.NodeActive)
		f.x.Put(n.Address, n)
	}
	f.lease(60, nil)
	f.restart()
	return f
}

func (f *fixture) lease(key byte, change func(*market.Lease)) {
	l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{key}}}
	l.Lease.Node, l.Lease.Status, l.StartedAt, l.FundedUntil, l.MayMigrate = leased, uint8(market.LeaseRunning), begin-500, begin+5000, 1
	if change != nil {
		change(l)
	}
	f.x.Put(l.Address, l)
}

// restart replaces the keeper's process: nothing that it knew is left.
func (f *fixture) restart() {
	var err error
	f.watch, err = New(Options{
		View: f.x, Asker: f.nodes, Self: self, Timing: DefaultTiming(), Now: func() time.Time { return f.now }, Tasks: inline{schedule.System{}},
	})
	require.NoError(f.t, err)
}

// heard has this keeper's other checks find every node but the leased one.
func (f *fixture) heard() {
	f.x.Read(func(v *view.Accounts) {
		for key := range v.Nodes {
			if key != leased && f.nodes.outcome[key] == nil {
				f.watch.Heard(check.Finding{Node: key, Kind: records.CheckLiveness, Passed: true, At: f.now})
			}
		}
	})
}

// pass lets seconds pass.
func (f *fixture) pass(secs int) {
	for range secs * 4 {
		f.now = f.now.Add(250 * time.Millisecond)
		f.watch.Tick(f.t.Context())
	}
}

// votes are those that are due now, by the chain's clock.
func (f *fixture) votes() (out []crank.Action) {
	f.x.Read(func(v *view.Accounts) {
		var err error
		out, err = f.watch.Due(v, f.now.Unix())
		require.NoError(f.t, err)
	})
	return out
}

// answering has run for a while with everybody there.
func answering(t *testing.T, others byte) *fixture {
	f := newFixture(t, others)
	f.heard()
	f.pass(10)
	require.NotZero(t, f.nodes.asked[leased])
	require.Empty(t, f.votes())
	return f
}

func TestANodeThatDoesNotAnswerIsVotedAbout(t *testing.T) {
	f := answering(t, 4)
	gone := f.now
	f.nodes.outcome[leased] = errGone
	f.pass(2)
	require.Empty(t, f.votes(), "its last answer may be two seconds older")
	f.pass(10)
	votes := f.votes()
	require.Len(t, votes, 1)
	require.True(t, votes[0].Mine)
	require.Equal(t, crank.OutageVote, votes[0].Kind)
	require.NotZero(t, f.nodes.renewals[leased], "over a new connection")
	last := votes[0].Since - silenceSecs
	require.LessOrEqual(t, last, gone.Unix())
	require.GreaterOrEqual(t, last, gone.Unix()-3)
	f.pass(20)
	require.Equal(t, votes[0].Key, f.votes()[0].Key, "one vote, however often it is looked for")
}

func TestWhatIsNoOutage(t *testing.T) {
	for name, c := range map[string]struct {
		others byte
		happen func(*fixture)
	}{
		"the keeper's own network is away": {4, func(f *fixture) {
			for i := byte(1); i <= 5; i++ {
				f.nodes.outcome[solana.PublicKey{i}] = errGone
			}
		}},
		"half of the others do not answer": {4, func(f *fixture) {
			for i := byte(1); i <= 3; i++ {
				f.nodes.outcome[solana.PublicKey{i}] = errGone
			}
		}},
		"there are no others": {0, func(f *fixture) { f.nodes.outcome[leased] = errGone }},
		"questions are lost":  {4, func(f *fixture) { f.nodes.outcome[leased] = check.ErrTransport }},
		"it refuses":          {4, func(f *fixture) { f.nodes.outcome[leased] = check.ErrRefused }},
		"it says nonsense":    {4, func(f *fixture) { f.nodes.outcome[leased] = check.ErrWrong }},
		"the lease may not move": {4, func(f *fixture) {
			f.nodes.outcome[leased] = errGone
			f.lease(60, func(l *market.Lease) { l.MayMigrate = 0 })
		}},
		"the lease is over": {4, func(f *fixture) {
			f.nodes.outcome[leased] = errGone
			f.lease(60, func(l *market.Lease) { l.Lease.Status = uint8(market.LeaseEnded) })
		}},
		"the keeper is exiting": {4, func(f *fixture) {
			f.nodes.outcome[leased] = errGone
			k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(self)}}
			k.Wallet, k.Keeper.Status = self, uint8(market.KeeperExiting)
			f.x.Put(k.Address, k)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := answering(t, c.others)
			c.happen(f)
			for range 40 {
				f.pass(1)
				require.Empty(t, f.votes())
			}
		})
	}
}

// One question that was lost among others that had no answer may be a stranger's doing.
func TestALostQuestionBeginsAnew(t *testing.T) {
	f := answering(t, 4)
	f.nodes.outcome[leased] = errGone
	f.pass(10)
	require.Len(t, f.votes(), 1)
	f.nodes.outcome[leased] = check.ErrTransport
	f.pass(1)
	require.Empty(t, f.votes())
}

func TestAnAnswerEndsIt(t *testing.T) {
	t.Run("to the same question", func(t *testing.T) {
		f := answering(t, 4)
		f.nodes.outcome[leased] = errGone
		f.pass(10)
		require.Len(t, f.votes(), 1)
		delete(f.nodes.outcome, leased)
		f.pass(1)
		require.Empty(t, f.votes())
		f.pass(20)
		require.Empty(t, f.votes())
	})
	t.Run("to another check", func(t *testing.T) {
		f := answering(t, 4)
		f.nodes.outcome[leased] = errGone
		f.pass(10)
		f.watch.Heard(check.Finding{Node: leased, Kind: records.CheckInventory, Passed: true, At: f.now})
		require.Empty(t, f.votes())
	})
}

// A lease that starts is a sign of life, signed by the node: the vote says no earlier second.
func TestAStartIsASignOfLife(t *testing.T) {
	f := answering(t, 4)
	f.nodes.outcome[leased] = errGone
	f.pass(10)
	started := f.now.Unix() - 4
	f.lease(61, func(l *market.Lease) { l.StartedAt, l.MayMigrate = started, 0 })
	require.Empty(t, f.votes())
	f.pass(5)
	votes := f.votes()
	require.Len(t, votes, 1)
	require.Equal(t, started+silenceSecs, votes[0].Since)
}

// A vote that counts is not sent again; that of one keeper decides nothing.
func TestOneKeeperOfMany(t *testing.T) {
	f := answering(t, 4)
	f.nodes.outcome[leased] = errGone
	f.pass(10)
	require.Len(t, f.votes(), 1)
	o := &market.Outage{Meta: market.Meta{Address: market.OutageAddress(leased)}}
	o.Outage.Node, o.OpenedAt, o.Voters[0] = leased, f.now.Unix(), 1<<2 // another keeper's
	f.x.Put(o.Address, o)
	require.Len(t, f.votes(), 1)
	mine := *o
	mine.Voters[0] |= 1 << 3
	f.x.Put(o.Address, &mine)
	require.Empty(t, f.votes())
	f.pass(market.OutageVoteSecs)
	require.Empty(t, f.votes(), "its last second")
	f.pass(1)
	require.Len(t, f.votes(), 1, "it votes again when its vote counts no more")

	seen := *o
	seen.OpenedAt, seen.SeenAt = f.now.Unix(), f.now.Unix()
	f.x.Put(o.Address, &seen)
	require.Empty(t, f.votes(), "it is decided")
	late := *o
	late.OpenedAt = begin - 1000
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(self)}}
	k.Wallet, k.Keeper.Status, k.Index, k.ActiveSince = self, uint8(market.KeeperActive), 3, f.now.Unix()
	late.OpenedAt = f.now.Unix()
	f.x.Put(k.Address, k)
	f.x.Put(o.Address, &late)
	require.Empty(t, f.votes(), "its weight is not older than the first vote")
}

// A keeper that starts while a node is away knows nothing of the time before: it votes when it has seen the silence itself,
// with the second in which it began to look.
func TestRestartDuringAnOutage(t *testing.T) {
	f := answering(t, 4)
	f.nodes.outcome[leased] = errGone
	f.pass(3)
	f.restart()
	restarted := f.now.Unix()
	f.heard()
	f.pass(7)
	require.Empty(t, f.votes())
	f.pass(5)
	votes := f.votes()
	require.Len(t, votes, 1)
	require.GreaterOrEqual(t, votes[0].Since, restarted+silenceSecs)
}

// What is away for longer than a vote may say is the report's.
func TestOldSilenceIsTheReports(t *testing.T) {
	f := answering(t, 4)
	f.nodes.outcome[leased] = errGone
	f.pass(10)
	f.now = f.now.Add(market.OutageMaxSecs * time.Second)
	f.heard()
	f.pass(2)
	require.Empty(t, f.votes())
}

func TestOptions(t *testing.T) {
	f := newFixture(t, 1)
	options.Without(f.watch.o, []string{"Log", "Tasks"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

// A question that decides about a vote does not make it later.
func TestTheLastQuestionEndsWhenTheSilenceIsLongEnough(t *testing.T) {
	f := answering(t, 4)
	s := f.watch.nodes[leased]
	at := func(silent int, age time.Duration) time.Duration {
		s.silent = silent
		return f.watch.timeout(s, f.watch.last(leased, s).Add(age))
	}
	full := DefaultTiming().Timeout
	require.Equal(t, full, at(0, 7*time.Second), "one without an answer is not enough")
	require.Equal(t, full, at(1, 3*time.Second))
	require.Equal(t, time.Second, at(1, (silenceSecs-1)*time.Second))
	require.Equal(t, full, at(1, silenceSecs*time.Second-100*time.Millisecond), "there must be time for an answer")
	require.Equal(t, full, at(2, 2*silenceSecs*time.Second))
}

// Machines end one after the other, each of them with a lease. Those that are known to be away say nothing of the keeper's
// own network.
func TestMachinesThatEndOneAfterTheOther(t *testing.T) {
	f := answering(t, 6)
	for i := byte(1); i <= 5; i++ {
		on := solana.PublicKey{i}
		f.lease(60, func(l *market.Lease) { l.Lease.Node = on })
		f.pass(5)
		f.nodes.outcome[on] = errGone
		f.pass(12)
		require.Len(t, f.votes(), 1, "machine %d", i)
	}
	f.nodes.outcome[solana.PublicKey{7}] = errGone // the last but one, without a lease: half of those that are left
	f.lease(60, func(l *market.Lease) { l.Lease.Node = solana.PublicKey{6} })
	f.pass(5)
	f.nodes.outcome[solana.PublicKey{6}] = errGone
	f.pass(12)
	require.Empty(t, f.votes(), "nobody is left to say that this keeper's network is there")
	delete(f.nodes.outcome, solana.PublicKey{2}) // it answers again
	f.heard()
	f.pass(5)
	require.Empty(t, f.votes(), "one of two is not most of them")
	delete(f.nodes.outcome, solana.PublicKey{3})
	f.heard()
	f.pass(5)
	require.Len(t, f.votes(), 1)
}
