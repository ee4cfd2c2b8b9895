//go:build e2e

package scenario

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Settings of TestAKilledServerBuysOnce: how many kills; the seed and the report are those of the other kill tests.
const (
	serveKillsVariable = "GANTRY_SERVE_KILLS"
	fewServeKills      = 6
	serveSeconds       = 300 // of a lease
	serveMore          = 60  // of an extension
	serveCap           = 60 * market.OneUSDC
)

// bought is what was asked for with one Idempotency-Key.
type bought struct {
	key, budget string
	order       string
	lease       string
	extended    bool
	book        string // folder of its job
}

// serveKills is a server that is killed while it buys.
type serveKills struct {
	*teamServer
	rng    *rand.Rand
	nodes  int
	kills  map[string]int // by kind of the moment
	missed int            // moments that came after the answer
	bought []*bought
	steps  map[string]*calm // of an order and of an extension
}

// calm is what a request does during which the server is not killed.
type calm struct {
	stores, sends int
	took          time.Duration
	perm          []int // of stores
	next          int
}

// moment is the next one at which the server is killed, in turn: before and after each transaction that it sends, at each
// write to its folder, and at any time. The writes come in a drawn order, all of them before one comes again.
func (k *serveKills) moment(i int, c *calm) (string, failpoint) {
	switch i % 4 {
	case 0:
		n := i / 4 % (2 * c.sends)
		if n%2 == 0 {
			return "before a transaction is sent", failpoint{sends: n/2 + 1, before: true}
		}
		return "after a transaction is sent", failpoint{sends: n/2 + 1}
	case 3:
		return "any", failpoint{after: time.Duration(k.rng.Int64N(int64(c.took * 6 / 5)))}
	}
	if c.next%c.stores == 0 {
		c.perm = k.rng.Perm(c.stores)
	}
	c.next++
	return "a write to the server's folder", failpoint{stores: c.perm[(c.next-1)%c.stores] + 1}
}

// request asks for an order or an extension until it is done. At the moment the server is killed; then it is started again,
// and the request repeated with its key.
func (k *serveKills) request(what, token, path, key string, body any, i int) (answer []byte) {
	c := k.steps[what]
	kind, at := "", failpoint{}
	if c == nil {
		kind = "calm"
	} else {
		kind, at = k.moment(i, c)
	}
	stores, sends := k.watch.count(), k.relay.count()
	began := time.Now()
	k.arm(at)
	status, answer, err := k.ask(http.MethodPost, path, token, key, body)
	if kind == "calm" {
		// A server answers 202 after a while, and is asked again: on a busy computer an award takes longer.
		for deadline := began.Add(3 * time.Minute); err == nil && status == http.StatusAccepted && time.Now().Before(deadline); {
			require.NoError(k.t, pause(k.t.Context(), 500*time.Millisecond))
			status, answer, err = k.ask(http.MethodPost, path, token, key, body)
		}
		require.NoError(k.t, err)
		require.Contains(k.t, []int{http.StatusCreated, http.StatusOK}, status, "%s", answer)
		k.steps[what] = &calm{stores: k.watch.count() - stores, sends: k.relay.count() - sends, took: time.Since(began)}
		return answer
	}
	if !k.killed() { // the answer came first
		k.missed++
	}
	k.kill()
	k.kills[kind]++
	k.start()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		status, answer, err = k.ask(http.MethodPost, path, token, key, body)
		if err == nil && (status == http.StatusCreated || status == http.StatusOK) {
			return answer
		}
		require.Less(k.t, time.Now(), deadline, "%s is not done, at %s %+v: %d %s %v", key, kind, at, status, answer, err)
		require.NoError(k.t, pause(k.t.Context(), 500*time.Millisecond))
	}
}

// buy buys one lease, extends every third, and stops it.
func (k *serveKills) buy(i int) {
	b := &bought{key: fmt.Sprintf("key-%d", i), budget: []string{"main", "ops"}[i%2]}
	b.book = filepath.Join(k.n.Dir(), "books", b.key)
	require.NoError(k.t, os.MkdirAll(b.book, 0o755))
	k.bought = append(k.bought, b)
	token := k.tokens[b.budget]
	order := map[string]any{
		"gpu": "A100", "seconds": serveSeconds, "maxPricePerGpuHour": "2", "allowSimulated": true,
		"command": []string{"sh", "-c", jobOfKills}, "env": map[string]string{"BOOK": b.book, "BEATS": "4000"},
	}
	var got struct {
		Order  string
		Leases []struct{ Address string }
	}
	extends := i%3 == 2
	what := "order"
	if extends {
		what = "order that is extended" // bought in peace
		delete(k.steps, what)
	}
	require.NoError(k.t, json.Unmarshal(k.request(what, token, "/v1/orders", b.key, order, i), &got))
	require.Len(k.t, got.Leases, 1, b.key)
	b.order, b.lease = got.Order, got.Leases[0].Address
	if extends {
		b.extended = true
		path := "/v1/leases/" + b.lease + "/extend"
		k.request("extension", token, path, b.key, map[string]any{"seconds": serveMore}, i/3)
	}
	job := purchase{book: b.book}
	require.Eventually(k.t, func() bool { return len(job.lines("starts")) > 0 }, time.Minute, 50*time.Millisecond, "the job of %s does not start", b.key)
	status, answer, err := k.ask(http.MethodPost, "/v1/leases/"+b.lease+"/stop", token, "", nil)
	require.NoError(k.t, err)
	require.Equal(k.t, http.StatusOK, status, "%s", answer)
}

// A server is killed with SIGKILL while it buys and extends, for its own budget and for a team's: at every transaction and
// every write, and at any time. The request is repeated with its key on the server that is started again. There is one order
// and one lease for a key, its job runs once, an extension extends once, and every change has its line in the log.
func TestAKilledServerBuysOnce(t *testing.T) {
	t.Parallel()
	kills, drawn := int(setting(t, serveKillsVariable, fewServeKills)), setting(t, killSeedVariable, rand.Uint64())
	t.Logf("seed %d: repeat with %s=%d %s=%d", drawn, killSeedVariable, drawn, serveKillsVariable, kills)
	params := seed.Params()
	params.AwardDeadlineSecs, params.StartDeadlineSecs, params.RatingSecs = 60, 120, 4
	n := teamNetwork(t, params, 2)
	k := &serveKills{
		teamServer: newTeamServer(t, n, map[string]market.USDC{"main": serveCap, "ops": serveCap}), rng: rand.New(rand.NewPCG(drawn, 0)), nodes: 2, kills: map[string]int{}, steps: map[string]*calm{},
	}
	began := time.Now()
	for i := 0; sum(k.kills) < kills; i++ {
		k.buy(i)
	}
	k.judge(time.Since(began), drawn)
}

func sum(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}

// judge checks everything from the chain, the jobs' books and the log.
func (k *serveKills) judge(took time.Duration, drawn uint64) {
	v := view.New(view.Options{})
	require.Eventually(k.t, func() bool {
		v = snapshotOf(k.t, k.n)
		return len(v.Orders()) == 0 && len(v.Leases()) == 0
	}, killRest, time.Second, "orders or leases are left")
	after, err := invariants.Take(k.t.Context(), k.n.Chain, k.n.Mints())
	require.NoError(k.t, err)
	assert.Empty(k.t, invariants.NewChecker().Check(after), "sums at the end")
	history, err := invariants.ReadHistory(k.t.Context(), k.n.Chain, nil, 0)
	require.NoError(k.t, err)
	orders, leases := ledger(history)
	assert.Len(k.t, orders, len(k.bought), "orders on chain, one for a key")
	assert.Len(k.t, leases, len(k.bought), "leases on chain, one for a key")
	spent, paid := map[string]market.USDC{}, uint64(0)
	seen := map[string]bool{}
	for _, b := range k.bought {
		assert.False(k.t, seen[b.order] || seen[b.lease], b.key)
		seen[b.order], seen[b.lease] = true, true
		o, l := orders[solana.MustPublicKeyFromBase58(b.order)], leases[solana.MustPublicKeyFromBase58(b.lease)]
		if assert.NotNil(k.t, o, b.key) && assert.NotNil(k.t, l, b.key) {
			assert.True(k.t, o.leases[solana.MustPublicKeyFromBase58(b.lease)] && len(o.leases) == 1, b.key)
			assert.Equal(k.t, 1, l.starts, b.key)
			assert.Equal(k.t, market.EndedByCustomer, l.reason, b.key)
			if assert.NotNil(k.t, l.closed, b.key) {
				paid += l.closed.Paid
			}
		}
		job := purchase{book: b.book}
		assert.Equal(k.t, []string{b.lease}, job.lines("starts"), "the job of %s", b.key)
		assert.Empty(k.t, job.lines("doubles"), b.key)
		seconds := uint32(serveSeconds)
		if b.extended {
			seconds += serveMore
		}
		cost, err := market.Cost(market.PricePerHour(1_260_000), 1, seconds)
		require.NoError(k.t, err)
		spent[b.budget] += cost
	}
	for _, c := range after.Credits {
		if c.Customer == k.customer.Address() {
			assert.EqualValues(k.t, uint64(teamDeposit), c.Balance+paid, "what is left and what was billed is the deposit")
			assert.Zero(k.t, c.Reserved)
		}
	}
	for name, left := range k.left() {
		assert.Equal(k.t, serveCap-spent[name], left, "what is left of the budget %s: each key reserved once", name)
	}
	lines := k.logged()
	for _, b := range k.bought {
		assert.True(k.t, lines[b.key], "%s has a line in the log", b.key)
	}
	k.print(took, drawn, uint64(len(lines)))
}

// print shows the result, and writes the section of the page where one was asked for.
func (k *serveKills) print(took time.Duration, drawn, keys uint64) {
	var b strings.Builder
	fmt.Fprintf(&b, "| moment | kills |\n| --- | --- |\n")
	for _, kind := range []string{"before a transaction is sent", "after a transaction is sent", "a write to the server's folder", "any"} {
		fmt.Fprintf(&b, "| %s | %d |\n", kind, k.kills[kind])
	}
	extended := 0
	for _, x := range k.bought {
		if x.extended {
			extended++
		}
	}
	order := k.steps["order"]
	fmt.Fprintf(&b, "| all | %d |\n\n|  |  |\n| --- | --- |\n", sum(k.kills))
	fmt.Fprintf(&b, "| network | %s, %d keepers, %d machines, %s, seed %d |\n", k.n.EngineKind(), teamKeepers, k.nodes, took.Round(time.Second), drawn)
	fmt.Fprintf(&b, "| a purchase in peace | %d writes, %d transactions, %.1f s |\n", order.stores, order.sends, order.took.Seconds())
	fmt.Fprintf(&b, "| kills that came after the answer | %d |\n", k.missed)
	fmt.Fprintf(&b, "| bought | %d keys in 2 budgets, %d orders, %d leases, %d extensions, %d jobs run, none twice |\n", len(k.bought), len(k.bought), len(k.bought), extended, len(k.bought))
	fmt.Fprintf(&b, "| log of changes | every one of %d keys has its lines; no line changed or missing |\n", keys)
	k.t.Log("\n" + b.String())
	if path := os.Getenv(killReportVariable); path != "" && !k.t.Failed() {
		require.NoError(k.t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
}

// teamNetwork is a market with machines that run jobs as processes.
func teamNetwork(t *testing.T, params bindings.Params, machines int) *network.Network {
	nodes := make([]network.NodeSpec, machines)
	for i := range nodes {
		nodes[i] = network.NodeSpec{Name: fmt.Sprintf("node-%d", i+1), Provider: i, GPU: "A100", Count: 2, Region: "us-west-2", Price: market.PricePerHour(1_260_000)}
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: teamKeepers, Customers: 1, Nodes: nodes, Params: &params, Log: quiet(t),
		KeeperFlags: []string{"--simulate-unmeasured", "--evidence-every", "0"}, // their figures are not what is tried
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	return n
}
