package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

var (
	kills    = flag.Int("kills", 30, "purchases whose command is killed at a random moment")
	killSeed = flag.Uint64("kill-seed", 0, "seed of the moments; 0 draws one")
)

// asCommand makes the test's binary the command line itself, so that it can be killed like any other process.
const asCommand = "GANTRY_TEST_AS_COMMAND"

// killed runs a command as a process of its own and kills it after a while. ended is false when it was killed.
func (s shell) killed(after time.Duration, args ...string) (r result, ended bool) {
	return s.killedBy(func(kill func()) (stop func() bool) { return time.AfterFunc(after, kill).Stop }, &bytes.Buffer{}, args...)
}

// killedOnceOrdered kills a command when it says that its order is placed, however long that takes. It waits for the award then.
func (s shell) killedOnceOrdered(args ...string) (r result, ended bool) {
	said := &watched{text: " ✓ escrow "}
	return s.killedBy(func(kill func()) (stop func() bool) {
		said.found = kill
		return func() bool { return true }
	}, said, args...)
}

// watched keeps what is written, and calls found when that has a text in it.
type watched struct {
	all   bytes.Buffer // not embedded: copying would use its ReadFrom and pass Write by
	text  string
	found func()
}

func (w *watched) String() string { return w.all.String() }

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.all.Write(b)
	if strings.Contains(w.String(), w.text) {
		w.found()
	}
	return n, err
}

// killedBy runs a command, which is killed when prepare's argument is called.
func (s shell) killedBy(prepare func(kill func()) (stop func() bool), errs interface {
	io.Writer
	fmt.Stringer
}, args ...string,
) (r result, ended bool) {
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0], append(append([]string{}, s.args...), args...)...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), s.env...)
	cmd.Stdout, cmd.Stderr = &out, errs
	started := make(chan struct{})
	stop := prepare(func() { <-started; _ = cmd.Process.Kill() })
	defer stop()
	require.NoError(s.t, cmd.Start())
	close(started)
	err := cmd.Wait()
	r = result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(s.t, err)
	}
	return r, r.code >= 0
}

// shop awards every order of a customer and serves its leases: it starts one with its job, or without it after a while, as
// agents do, and ends it with its job.
type shop struct {
	w      *testmarket.Testbed
	m      *machine
	node   solana.PublicKey
	orders map[solana.PublicKey]bool // that were awarded
	bare   int                       // leases that were started without a job
	stays  bool                      // jobs do not end
}

// grace is how long a lease waits for its job before it is started without.
const grace = time.Second

// serve runs until ctx ends.
func (s *shop) serve(ctx context.Context, customer solana.PublicKey) error {
	seen := map[solana.PublicKey]time.Time{}
	done := map[solana.PublicKey]bool{}
	for ctx.Err() == nil {
		for _, o := range s.w.View.OrdersOf(customer) {
			if o.State() == market.OrderOpen && !s.orders[o.Address] {
				n, _ := s.w.View.Node(s.node)
				instruction, err := ix.OrderAward(ix.OrderAwardArgs{Keeper: s.m.keeper.PublicKey(), Order: o, Node: n})
				if err != nil {
					return err
				}
				if _, err = s.w.Try("order_award", []solana.PrivateKey{s.m.keeper}, instruction); err != nil {
					s.m.refused(err)
					continue // no GPU is free, or it was cancelled
				}
				s.orders[o.Address] = true
			}
		}
		for _, l := range s.w.View.LeasesOfCustomer(customer) {
			if err := s.lease(l, seen, done); err != nil {
				return err
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func (s *shop) lease(l market.Lease, seen map[solana.PublicKey]time.Time, done map[solana.PublicKey]bool) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	_, has := s.m.jobs[l.Address]
	switch l.State() {
	case market.LeaseAwarded:
		if seen[l.Address].IsZero() {
			seen[l.Address] = time.Now()
		}
		if !has && time.Since(seen[l.Address]) > grace && !s.m.started[l.Address] {
			s.bare++
			return s.m.start(l)
		}
	case market.LeaseRunning:
		if has && !s.stays && !done[l.Address] {
			done[l.Address] = true
			instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: s.m.key.PublicKey(), Lease: l})
			if err != nil {
				return err
			}
			_, err = s.w.Try("lease_end", []solana.PrivateKey{s.m.key}, instruction)
			return err
		}
	}
	return nil
}

// Commands that buy are killed at random moments, the ones that go on with them too. Whatever the moment: repeating the
// command, or resuming the order, brings the purchase to its end, and each is bought once.
func TestKilledCommandsBuyOnceAndLeaveNothingBilling(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{Limit: time.Duration(*kills)*20*time.Second + 2*time.Minute})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs, params.PeriodSecs = 60, 60, 60
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "done\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}, started: map[solana.PublicKey]bool{}}
	close(m.hold)
	m.provider = w.Provider(2_000 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Node(m.provider, testmarket.A100, 8, 3_600_000)
	m.serve(t)
	customer := w.Customer(500*market.OneUSDC, 400*market.OneUSDC)
	me := newShell(t, w, customer)
	s := &shop{w: w, m: m, node: node.Address, orders: map[solana.PublicKey]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	var serving errgroup.Group
	serving.Go(func() error { return s.serve(ctx, customer.PublicKey()) })
	t.Cleanup(stop)

	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d: repeat with -kill-seed %d -kills %d", seed, seed, *kills)
	var tally struct {
		sync.Mutex
		kills, repeats, resumes int
		slowest                 time.Duration
	}
	// One undisturbed purchase says how long they take.
	began := time.Now()
	buy := func(name string) []string {
		return []string{"--json", "deploy", "--name", name, "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--job", "--allow-simulated", "--env", "RUN=" + name, "--", "true"}
	}
	r, ended := me.killed(2*time.Minute, buy("calm")...)
	require.True(t, ended && r.code == cli.ExitDone, r.err)
	usual := time.Since(began)
	t.Logf("a purchase takes %s", usual)

	one := func(i int) error {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		name := fmt.Sprintf("run-%d", i)
		began := time.Now()
		for try := 0; ; try++ {
			args := buy(name)
			resumed := try > 0 && rng.IntN(2) == 0
			if resumed {
				args = []string{"--json", "resume", name}
			}
			after := time.Duration(rng.Int64N(int64(usual * 3 / 2)))
			if try >= 2 {
				after = 2 * time.Minute // not killed any more
			}
			r, ended := me.killed(after, args...)
			if resumed && ended && r.code == cli.ExitUsage { // it died before it had stored anything
				continue
			}
			tally.Lock()
			switch {
			case !ended:
				tally.kills++
			case resumed:
				tally.resumes++
			case try > 0:
				tally.repeats++
			}
			tally.slowest = max(tally.slowest, time.Since(began))
			tally.Unlock()
			if !ended {
				if rng.IntN(4) == 0 {
					time.Sleep(grace + 500*time.Millisecond) // a lease that was awarded runs without its job by now
				}
				continue
			}
			if r.code != cli.ExitDone {
				return fmt.Errorf("%s, try %d, %v: code %d: %s%s", name, try, args, r.code, r.err, r.out)
			}
			return nil
		}
	}
	var all errgroup.Group
	all.SetLimit(4)
	for i := range *kills {
		all.Go(func() error { return one(i) })
	}
	require.NoError(t, all.Wait())

	// Nothing is left to resume, nothing is reserved but what waits to be closed, and every name has one lease.
	var left []struct{ Order, State string }
	me.ok(&left, "resume")
	require.Empty(t, left)
	w.Wait("all leases are over", func(v *view.View) bool {
		for _, l := range v.LeasesOfCustomer(customer.PublicKey()) {
			if l.State() != market.LeaseEnded {
				return false
			}
		}
		return true
	})
	stop()
	require.NoError(t, serving.Wait())
	m.mu.Lock()
	defer m.mu.Unlock()
	bought := map[string]int{}
	for _, job := range m.jobs {
		bought[job.Env["RUN"]]++
	}
	for name, n := range bought {
		require.Equal(t, 1, n, name)
	}
	require.Len(t, bought, *kills+1)
	require.Len(t, s.orders, *kills+1, "orders that were awarded")
	t.Logf("%d purchases: commands killed %d times, ended by the repeated command %d, by resume %d; %d leases had started without their job; slowest %s",
		*kills, tally.kills, tally.repeats, tally.resumes, s.bare, tally.slowest.Round(100*time.Millisecond))
}

// A name stands for one purchase: repeated it is not bought again, for something else it is refused. What is bought,
// with its secrets, is readable by its owner only, and the secrets are forgotten at the end.
func TestANameBuysOnceAndSecretsAreKept(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 20, 20
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "done\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}}
	m.provider = w.Provider(100 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Node(m.provider, testmarket.A100, 1, 3_600_000)
	m.serve(t)
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	me := newShell(t, w, customer)
	buy := []string{"deploy", "--name", "train", "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--job", "--allow-simulated", "--env", "TOKEN=hunter2", "--", "true"}

	// Nobody agrees: nothing is stored and nothing is sent.
	mute := me
	mute.args = slices.DeleteFunc(slices.Clone(me.args), func(a string) bool { return a == "--yes" })
	r := mute.run(context.Background(), buy...)
	require.Equal(t, cli.ExitUsage, r.code, r.err)
	for _, says := range []string{"0.666666 USDC of the credits are reserved", "cluster  localnet (genesis ", "wallet " + customer.PublicKey().String(), "not a terminal, and --yes is not given"} {
		require.Contains(t, r.err, says)
	}
	for answer, code := range map[string]int{"n\n": cli.ExitInterrupted, "": cli.ExitInterrupted, "\n": cli.ExitInterrupted} {
		var out, errs bytes.Buffer
		got := cli.Run(context.Background(), cli.Streams{In: strings.NewReader(answer), Out: &out, Err: &errs, Terminal: true}, append(slices.Clone(mute.args), buy...))
		require.Equal(t, code, got, errs.String())
		require.Contains(t, errs.String(), "continue? [y/N]")
	}
	require.Empty(t, w.View.OrdersOf(customer.PublicKey()))
	var list []struct{ Order, Name, State string }
	me.ok(&list, "resume")
	require.Empty(t, list)

	// It dies while it waits for the award.
	_, ended := me.killedOnceOrdered(buy...)
	require.False(t, ended)
	me.ok(&list, "resume")
	require.Len(t, list, 1)
	require.Equal(t, "train", list[0].Name)
	require.Equal(t, "open", list[0].State)
	r = me.run(context.Background(), "order", "list")
	require.Contains(t, r.err, "nobody attends it: continue with gantry resume "+list[0].Order)
	state := me.args[slices.Index(me.args, "--state-dir")+1]
	records, secrets := 0, func(path string) bool {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		return bytes.Contains(raw, []byte("hunter2"))
	}
	walk := func(visit func(path string, d fs.DirEntry, mode fs.FileMode)) {
		require.NoError(t, filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			visit(path, d, info.Mode().Perm())
			return nil
		}))
	}
	walk(func(path string, d fs.DirEntry, mode fs.FileMode) {
		require.Zero(t, mode&0o077, "%s %o", path, mode)
		if d.Name() == "purchase.json" {
			records++
			require.True(t, secrets(path))
		}
	})
	require.Equal(t, 1, records)

	// Awarded meanwhile: the lease waits for its job, and every command says so.
	lease := m.award(customer.PublicKey(), node)
	r = me.run(context.Background(), "leases")
	require.Contains(t, r.err, fmt.Sprintf("%s waits for its job and is billed as soon as its machine starts it: bring the job with gantry resume %s", lease.Address, list[0].Order))
	r = me.run(context.Background(), append(slices.Clone(buy), "more")...)
	require.Equal(t, cli.ExitUsage, r.code, r.err)
	require.Contains(t, r.err, `the name "train" stands for another purchase`)
	close(m.hold)
	done := make(chan result, 1)
	go func() { done <- me.run(context.Background(), "resume", "train") }()
	l := w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseRunning })
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: m.key.PublicKey(), Lease: l})
	w.Do("lease_end", []solana.PrivateKey{m.key}, instruction, err)
	r = <-done
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "done")
	m.mu.Lock()
	require.Len(t, m.jobs[lease.Address].Salt, messages.SaltBytes)
	m.mu.Unlock()
	walk(func(path string, d fs.DirEntry, _ fs.FileMode) {
		if d.Name() == "purchase.json" {
			require.False(t, secrets(path), "what is over needs no secrets")
		}
	})
	me.fails(cli.ExitRefused, "is over already", "stop", "train") // the name of a purchase names its lease

	// Repeated, it says what was bought.
	before := len(w.View.LeasesOfCustomer(customer.PublicKey()))
	r = me.run(context.Background(), buy...)
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.err, "nothing is ordered again")
	require.Contains(t, r.out, lease.Address.String())
	require.Empty(t, w.View.OrdersOf(customer.PublicKey())[1:])
	require.Len(t, w.View.LeasesOfCustomer(customer.PublicKey()), before)

	// A name whose order was taken back is free to buy again.
	other := slices.Clone(buy)
	other[2] = "later"
	_, ended = me.killedOnceOrdered(other...)
	require.False(t, ended)
	me.ok(&list, "resume")
	require.Len(t, list, 1)
	me.ok(nil, "order", "cancel", list[0].Order)
	first := list[0].Order
	_, ended = me.killedOnceOrdered(other...)
	require.False(t, ended)
	me.ok(&list, "resume")
	require.Len(t, list, 1)
	require.NotEqual(t, first, list[0].Order)
	me.ok(nil, "order", "cancel", list[0].Order)

	me.fails(cli.ExitUsage, "no order begins with", "resume", "nothing")
}
