//go:build e2e

package scenario

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	astore "github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/idl/bindings"
	kstore "github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/market"
)

// billTolerance is for how long after its job's end a lease may be billed: the chain counts whole seconds (2 s), a receipt
// speaks for its interval (1 s) and a keeper's check for its own. Billing begins with the lease, which is shown and
// not judged: how soon a job is started depends on how busy the computer is.
const billTolerance = 3*time.Second + killCheckEvery

// billed is what the chain says about one lease, from its events alone.
type billed struct {
	node    solana.PublicKey
	starts  int
	started time.Time
	reason  market.EndReason
	closed  *bindings.LeaseClosed
	aborted bool
}

// placed is what it says about an order.
type placed struct {
	customer solana.PublicKey
	leases   map[solana.PublicKey]bool
}

// killResult is what the table shows.
type killResult struct {
	purchases, orders, leases, refunded, jobs, bare int
	billed                                          uint32
	ran, most, least, waited                        time.Duration // waited: from a lease's start to its job's
	statements, manifests                           int
}

func quiet(t *testing.T) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
}

// judge checks everything that must hold after the kills.
func (k *killRun) judge(received *listener, took time.Duration) {
	after, err := invariants.Take(k.t.Context(), k.n.Chain, k.n.Mints())
	require.NoError(k.t, err)
	assert.Empty(k.t, invariants.NewChecker().Check(after), "sums at the end")
	history, err := invariants.ReadHistory(k.t.Context(), k.n.Chain, nil, 0)
	require.NoError(k.t, err)
	assert.Empty(k.t, history.Flows().Conservation(after, 0, 0), "sums of everything that was moved")
	orders, leases := ledger(history)
	var r killResult
	k.judgeJobs(&r)
	k.judgeOrders(orders, leases, after, &r)
	k.judgeBills(leases, &r)
	k.judgeAudits(leases)
	k.judgeKeepers(history, received, &r)
	k.judgeStores(received)
	k.print(r, took)
}

// ledger reads the life of every order and lease from the history's events, in whatever order one slot has them.
func ledger(h invariants.History) (map[solana.PublicKey]*placed, map[solana.PublicKey]*billed) {
	orders, leases := map[solana.PublicKey]*placed{}, map[solana.PublicKey]*billed{}
	order := func(address solana.PublicKey) *placed {
		if orders[address] == nil {
			orders[address] = &placed{leases: map[solana.PublicKey]bool{}}
		}
		return orders[address]
	}
	lease := func(address solana.PublicKey) *billed {
		if leases[address] == nil {
			leases[address] = &billed{}
		}
		return leases[address]
	}
	for _, t := range h.Transactions {
		for _, event := range t.Events {
			switch e := event.(type) {
			case *bindings.OrderCreated:
				order(e.Order).customer = e.Customer
			case *bindings.LeaseAwarded:
				lease(e.Lease).node = e.Node
				order(e.Order).leases[e.Lease] = true
			case *bindings.LeaseStarted:
				lease(e.Lease).starts++
				lease(e.Lease).started = time.Unix(e.StartedAt, 0)
			case *bindings.LeaseEnded:
				lease(e.Lease).reason = market.EndReason(e.Reason)
			case *bindings.LeaseAborted:
				lease(e.Lease).aborted = true
			case *bindings.LeaseClosed:
				lease(e.Lease).closed = e
			}
		}
	}
	return orders, leases
}

// judgeJobs: a purchase runs its job at most once, and never two at once.
func (k *killRun) judgeJobs(r *killResult) {
	r.purchases = len(k.purchases)
	for _, p := range k.purchases {
		assert.Empty(k.t, p.lines("doubles"), "%s ran twice at once", p.name)
		assert.LessOrEqual(k.t, len(p.lines("starts")), 1, "%s was run again", p.name)
		if len(p.lines("starts")) > 0 {
			r.jobs++
		}
		if p.stays && p.failed == "" {
			assert.NotEmpty(k.t, p.lines("over"), "the job of %s did not come to its end", p.name)
		}
	}
}

// judgeOrders: an order ends in one lease, or with all of its money back, and credits are short of what was billed.
func (k *killRun) judgeOrders(orders map[solana.PublicKey]*placed, leases map[solana.PublicKey]*billed, after invariants.Snapshot, r *killResult) {
	r.orders, r.leases = len(orders), 0
	paid, placedBy := map[solana.PublicKey]uint64{}, map[solana.PublicKey]int{}
	for address, o := range orders {
		started := 0
		placedBy[o.customer]++
		for lease := range o.leases {
			l := leases[lease]
			if assert.LessOrEqual(k.t, l.starts, 1, "lease %s was started twice", lease); l.starts == 0 {
				assert.True(k.t, l.aborted, "lease %s was neither started nor given back", lease)
				continue
			}
			started++
			if assert.NotNil(k.t, l.closed, "lease %s was not closed", lease) {
				assert.Contains(k.t, []market.EndReason{market.EndedJobDone, market.EndedByCustomer}, l.reason, "lease %s was ended by a restart", lease)
				paid[o.customer] += l.closed.Paid
			}
		}
		assert.LessOrEqual(k.t, started, 1, "order %s has several leases", address)
		if r.leases += started; started == 0 {
			r.refunded++
		}
	}
	purchases := map[solana.PublicKey]int{}
	for _, p := range k.purchases {
		purchases[p.customer.Address()]++
	}
	for _, c := range k.n.Keys.Customers {
		key := c.Address()
		assert.LessOrEqual(k.t, placedBy[key], purchases[key], "%s placed more orders than it bought", c.Name)
		for _, credits := range after.Credits {
			if credits.Customer == key {
				assert.Zero(k.t, credits.Reserved, c.Name)
				assert.EqualValues(k.t, uint64(killDeposit), credits.Balance+paid[key], "%s: what is left and what was billed is the deposit", c.Name)
			}
		}
	}
}

// judgeBills: a lease is billed until its job ends, and one without a job is not billed.
func (k *killRun) judgeBills(leases map[solana.PublicKey]*billed, r *killResult) {
	jobs := map[string]*purchase{}
	for _, p := range k.purchases {
		for _, lease := range p.lines("starts") {
			jobs[lease] = p
		}
	}
	for address, l := range leases {
		if l.closed == nil {
			continue
		}
		r.billed += l.closed.PaidSecs
		p := jobs[address.String()]
		if p == nil {
			r.bare++
			assert.Zero(k.t, l.closed.PaidSecs, "lease %s of %s was billed and ran no job", address, k.agentOf(l.node))
			continue
		}
		from, until := p.ran()
		bill, ran := time.Duration(l.closed.PaidSecs)*time.Second, until.Sub(from)
		r.ran += ran
		r.most, r.least, r.waited = max(r.most, bill-ran), min(r.least, bill-ran), max(r.waited, from.Sub(l.started))
		assert.LessOrEqual(k.t, bill, until.Sub(l.started)+billTolerance, "%s: lease %s on %s was billed %s; its job began %s after it, and ran %s",
			p.name, address, k.agentOf(l.node), bill, from.Sub(l.started), ran)
	}
}

// judgeAudits: an auditor who has nothing but the transactions finds every amount, signature and proof in order.
func (k *killRun) judgeAudits(leases map[solana.PublicKey]*billed) {
	var all errgroup.Group
	all.SetLimit(2)
	for _, address := range slices.SortedFunc(maps.Keys(leases), func(a, b solana.PublicKey) int { return strings.Compare(a.String(), b.String()) }) {
		all.Go(func() error {
			out, err := k.n.Gantry(k.t.Context(), k.n.Keys.Customers[0], "audit", address.String())
			if err != nil {
				return err
			}
			assert.NoError(k.t, out.Err(), "audit of lease %s", address)
			return nil
		})
	}
	require.NoError(k.t, all.Wait())
}

// judgeKeepers: no two statements against each other, no honest machine blamed, a final report of every period.
func (k *killRun) judgeKeepers(h invariants.History, received *listener, r *killResult) {
	var wrong []string
	r.statements, r.manifests, wrong = received.count()
	assert.Empty(k.t, wrong, "keepers contradict themselves")
	_, _, proven := invariants.Find(h, func(*bindings.EquivocationProven) bool { return true })
	assert.False(k.t, proven, "a keeper was slashed for two statements")
	assert.Empty(k.t, k.faults, "honest machines have faults")
	periods := slices.Sorted(maps.Keys(k.periods))
	if assert.NotEmpty(k.t, periods, "no report was final") {
		assert.Len(k.t, periods, int(periods[len(periods)-1]-periods[0])+1, "periods without a final report; those with one: %v", periods)
	}
}

// judgeStores: every process was started again as often as it was killed, so none has refused its own files; and the
// stores hold what was signed.
func (k *killRun) judgeStores(received *listener) {
	for _, w := range k.n.Keys.Keepers[:killKeepers] {
		restarts, err := k.n.Restarts(w.Name)
		require.NoError(k.t, err)
		assert.Equal(k.t, k.kills[w.Name], restarts, "starts of %s", w.Name)
		require.NoError(k.t, k.n.Stop(k.t.Context(), w.Name))
		s, err := kstore.Open(filepath.Join(k.n.Dir(), "keepers", w.Name, "keeper.db"), kstore.Options{Keeper: w.Address(), Domain: received.domain})
		require.NoError(k.t, err)
		for key, statement := range received.signed {
			if key.Keeper == w.Address() {
				known, err := s.Knows(statement)
				assert.NoError(k.t, err)
				assert.True(k.t, known, "%s has signed what is not in its store", w.Name)
			}
		}
		require.NoError(k.t, s.Close())
	}
	for _, m := range k.n.Nodes {
		restarts, err := k.n.Restarts(m.Name)
		require.NoError(k.t, err)
		assert.Equal(k.t, k.kills[m.Name], restarts, "starts of %s", m.Name)
		require.NoError(k.t, k.n.Stop(k.t.Context(), m.Name))
		owner := astore.Owner{Domain: received.domain, NodeKey: astore.Key(m.Key.Address())}
		s, err := astore.Open(filepath.Join(k.n.Dir(), "agents", m.Name, "agent.db"), astore.Options{Owner: owner})
		if assert.NoError(k.t, err, m.Name) {
			require.NoError(k.t, s.Close())
		}
	}
}
