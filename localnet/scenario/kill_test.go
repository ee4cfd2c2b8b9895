//go:build e2e

package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Settings of TestKilledProcessesLoseNothing: how many kills, the seed of their moments, and the file that the table
// is written to.
const (
	killsVariable      = "GANTRY_KILLS"
	killSeedVariable   = "GANTRY_KILL_SEED"
	killReportVariable = "GANTRY_KILL_REPORT"
	fewKills           = 8
)

const (
	killKeepers    = 4 // a fifth is bonded and does not run, its wallet listens: four are the quorum, and every death delays reports
	killMachines   = 3
	killCustomers  = 3
	killDeposit    = 200 * market.OneUSDC
	killPeriod     = 10 * time.Second
	killCheckEvery = 3 * time.Second
	// momentWait is how long the killer waits for a chosen moment before it takes any.
	momentWait = 8 * time.Second
	// killRest is how long the last leases may take to be settled and closed.
	killRest = 4 * time.Minute
)

// killRun is a market whose processes are killed while customers buy.
type killRun struct {
	t    *testing.T
	n    *network.Network
	seed uint64
	all  int // kills that are wanted
	view *view.View
	stop chan struct{} // closed when no more is bought

	mu        sync.Mutex
	running   map[string]*command // commands of customers that run now, by customer
	kills     map[string]int      // by name of the process
	moments   map[string]map[string]int
	aimed     map[string]bool
	purchases []*purchase
	periods   map[uint64]bool // with a final report
	faults    map[solana.PublicKey]bool
	checks    int // of all sums, while it ran
}

// setting is a number of the environment, or what it is without one.
func setting(t *testing.T, name string, without uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	v, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return v
}

// Keepers, agents and commands are killed while leases are bought, run, settled and closed, at random moments and at
// moments that were chosen, and started again at once. Nothing is bought twice, nothing is billed in which no job ran,
// nothing is lost: see judge.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv(killsVariable) == "" {
		long.Test(t, "kill after kill")
	}
	k := newKillRun(t)
	t.Logf("seed %d: repeat with %s=%d %s=%d (moments depend on the machine as well)", k.seed, killSeedVariable, k.seed, killsVariable, k.all)
	received := k.listen()
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching, watchCtx := errgroup.WithContext(ctx)
	watching.Go(func() error { return k.view.Run(watchCtx, view.Source{Client: k.n.Chain}) })
	watching.Go(func() error { return k.look(watchCtx) })
	require.NoError(t, k.view.Ready(ctx))

	buying, buyCtx := errgroup.WithContext(ctx)
	for i, c := range k.n.Keys.Customers {
		buying.Go(func() error { return k.buy(buyCtx, c, rand.New(rand.NewPCG(k.seed, uint64(i+1)))) })
	}
	buying.Go(func() error {
		defer close(k.stop)
		return k.killAll(buyCtx, rand.New(rand.NewPCG(k.seed, 0)))
	})
	require.NoError(t, buying.Wait())
	rest, done := context.WithTimeout(ctx, killRest)
	defer done()
	err := k.view.WaitFor(rest, func(v *view.View) bool { return len(v.Orders()) == 0 && len(v.Leases()) == 0 })
	for _, l := range k.view.Leases() {
		t.Logf("left: lease %s is %s", l.Address, l.State())
	}
	require.NoError(t, err, "%d orders and %d leases are left", len(k.view.Orders()), len(k.view.Leases()))
	took := time.Since(began)
	cancel()
	_ = watching.Wait() // it was cancelled; what it found is in k
	k.judge(received, took)
}

func newKillRun(t *testing.T) *killRun {
	params := seed.Params()
	// A loaded machine restarts processes and answers checks slowly: deadlines are as long as a market's, and a machine is
	// offline when it was not heard for most of a period.
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 60, 120
	params.PeriodSecs = uint32(killPeriod / time.Second)
	params.ReportRetentionSecs = 6*params.PeriodSecs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	params.RatingSecs = 4 // no lease is rated, and closing waits for it
	nodes := make([]network.NodeSpec, killMachines)
	for i := range nodes {
		nodes[i] = network.NodeSpec{Name: fmt.Sprintf("node-%d", i+1), Provider: i, GPU: "A100", Count: 1, Region: "us-west-2", Price: market.PricePerHour(1_260_000)}
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: killKeepers + 1, Customers: killCustomers, Nodes: nodes, Params: &params, Log: quiet(t),
		// Measurements on a machine that ten processes share would find nothing but their load.
		KeeperFlags: []string{"--check-interval", killCheckEvery.String(), "--check-timeout", killCheckEvery.String(), "--simulate-unmeasured", "--evidence-every", "0"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	for _, c := range n.Keys.Customers {
		ok(t, n, c, "credits", "add", killDeposit.String())
	}
	return &killRun{
		t: t, n: n, seed: setting(t, killSeedVariable, rand.Uint64()), all: int(setting(t, killsVariable, fewKills)),
		view: view.New(view.Options{}), stop: make(chan struct{}), running: map[string]*command{}, kills: map[string]int{},
		moments: map[string]map[string]int{}, aimed: map[string]bool{}, periods: map[uint64]bool{}, faults: map[solana.PublicKey]bool{},
	}
}

// listen stops a fifth keeper and hears with its wallet what the others sign.
func (k *killRun) listen() *listener {
	observer := k.n.Keys.Keepers[killKeepers]
	require.NoError(k.t, k.n.Stop(k.t.Context(), observer.Name))
	genesis, err := k.n.Chain.Genesis(k.t.Context())
	require.NoError(k.t, err)
	return listen(k.t, k.n, observer, records.DomainOf(genesis))
}

// look notes final reports and faults, and checks all sums from time to time.
func (k *killRun) look(ctx context.Context) error {
	checker := invariants.NewChecker()
	for i := 0; ; i++ {
		k.mu.Lock()
		for _, r := range k.view.Reports() {
			if r.State() == market.ReportFinal {
				k.periods[r.Period] = true
			}
		}
		for _, f := range k.view.Faults() {
			k.faults[f.Address] = true
		}
		k.mu.Unlock()
		if i%30 == 29 {
			// A market in which money moves during every try is looked at the next time.
			if s, err := invariants.Take(ctx, k.n.Chain, k.n.Mints()); err == nil {
				found := checker.Check(s)
				k.mu.Lock()
				k.checks++
				k.mu.Unlock()
				if len(found) > 0 {
					k.t.Errorf("while it ran: %v", found)
				}
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// killAll kills until as many processes were killed as wanted.
func (k *killRun) killAll(ctx context.Context, rng *rand.Rand) error {
	for done := 0; done < k.all; {
		if err := pause(ctx, time.Duration(rng.IntN(2000))*time.Millisecond); err != nil {
			return err
		}
		m := killMoments[rng.IntN(len(killMoments))]
		wait, cancel := context.WithTimeout(ctx, momentWait)
		victim, hit := m.await(wait, k, rng)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := m.name
		if !hit { // it did not come
			name, victim = anyMoment, k.anyone(rng)
		}
		if k.kill(victim, name) {
			done++
		}
	}
	return nil
}

// kill ends a process with SIGKILL, and counts it. It returns false when the process had ended or was starting.
func (k *killRun) kill(victim, moment string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := "keeper"
	if c, ok := k.running[victim]; ok {
		kind = "command"
		if !c.kill() {
			return false
		}
	} else {
		if err := k.n.Kill(victim); err != nil {
			return false
		}
		if victim[0] == 'n' {
			kind = "agent"
		}
	}
	k.kills[victim]++
	if k.moments[moment] == nil {
		k.moments[moment] = map[string]int{}
	}
	k.moments[moment][kind]++
	return true
}

// once says whether something is aimed at for the first time.
func (k *killRun) once(what string, of solana.PublicKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := what + of.String()
	first := !k.aimed[key]
	k.aimed[key] = true
	return first
}

func (k *killRun) keeper(rng *rand.Rand) string { return k.n.Keys.Keepers[rng.IntN(killKeepers)].Name }
func (k *killRun) agent(rng *rand.Rand) string  { return k.n.Nodes[rng.IntN(killMachines)].Name }

func (k *killRun) customer(rng *rand.Rand) string {
	return k.n.Keys.Customers[rng.IntN(killCustomers)].Name
}

func (k *killRun) anyone(rng *rand.Rand) string {
	return []string{k.keeper(rng), k.agent(rng), k.customer(rng)}[rng.IntN(3)]
}

// agentOf is the agent of a node.
func (k *killRun) agentOf(node solana.PublicKey) string {
	for _, m := range k.n.Nodes {
		if m.Address == node {
			return m.Name
		}
	}
	return ""
}

// stores are the databases of a keeper or an agent.
func (k *killRun) stores(name string) []string {
	if name[0] == 'n' {
		dir := filepath.Join(k.n.Dir(), "agents", name)
		return []string{filepath.Join(dir, "agent.db"), filepath.Join(dir, "transactions.db")}
	}
	dir := filepath.Join(k.n.Dir(), "keepers", name)
	return []string{filepath.Join(dir, "keeper.db"), filepath.Join(dir, "transactions.db")}
}
