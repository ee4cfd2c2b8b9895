package moves

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Move is one lease that moved. All times count from the end of its machine.
type Move struct {
	Voted    time.Duration // the first keeper's vote is on chain
	Decided  time.Duration // the votes are enough
	Awarded  time.Duration // the lease has its next machine
	Started  time.Duration // it runs there
	Paid     time.Duration // the last second that the first machine is paid for; negative where it is before the end
	Redone   time.Duration // from the last checkpoint to the end: work that is done again
	Finished bool          // the job went on from the checkpoint, and its customer's command ended well
}

// String is the move in a line.
func (m Move) String() string {
	s := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	return fmt.Sprintf("vote %s, enough %s, awarded %s, started %s", s(m.Voted), s(m.Decided), s(m.Awarded), s(m.Started))
}

// moveLimit bounds one move with everything around it.
const moveLimit = 3 * time.Minute

// job goes on from a checkpoint, if there is one, and is done soon after; else it works for longer than it will have.
const job = `if [ -n "$GANTRY_CHECKPOINT" ]; then sleep 1; echo "went on from $GANTRY_CHECKPOINT"; exit 0; fi; echo began; sleep 600`

// measured is one measurement. rest is how long the job works after its checkpoint, before the machine ends.
type measured struct {
	n    *network.Network
	v    *view.View
	rest time.Duration
}

// move rents a machine, puts a checkpoint on chain, ends the machine, and follows the lease.
func (x *measured) move(ctx context.Context) (m Move, err error) {
	ctx, cancel := context.WithTimeout(ctx, moveLimit)
	defer cancel()
	customer := x.n.Keys.Customers[0]
	type result struct {
		out network.Output
		err error
	}
	deployed := make(chan result, 1)
	go func() {
		out, err := x.n.Gantry(ctx, customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "10m", "--allow-simulated",
			"--migrate", "--run-to-completion", "--", "sh", "-c", job)
		deployed <- result{out, err}
	}()
	first, err := x.lease(ctx, func(l market.Lease) bool { return l.Continues == 0 && l.State() == market.LeaseRunning })
	if err != nil {
		return m, fmt.Errorf("the first lease did not start: %w", err)
	}
	on, err := x.machine(first.Node)
	if err != nil {
		return m, err
	}
	var checkpoint [32]byte
	if _, err := rand.Read(checkpoint[:]); err != nil {
		return m, err
	}
	put, err := ix.LeaseCheckpoint(first, checkpoint)
	if err == nil {
		_, err = x.n.Sender().Send(ctx, customer.Key, []solana.PrivateKey{on.Key.Key}, put)
	}
	if err != nil {
		return m, fmt.Errorf("checkpoint: %w", err)
	}
	kept := time.Now()
	if err := wait.For(ctx, x.rest); err != nil {
		return m, err
	}
	ended := time.Now()
	if err := x.n.Fail(ctx, on.Name); err != nil {
		return m, err
	}
	m.Redone = ended.Sub(kept)
	second, err := x.follow(ctx, first, ended, &m)
	if err != nil {
		return m, err
	}
	got := <-deployed
	if got.err != nil {
		return m, got.err
	}
	if err := got.out.Err(); err != nil {
		return m, err
	}
	if said := "went on from " + hex.EncodeToString(checkpoint[:]); strings.Count(got.out.Stderr, said) != 1 || strings.Count(got.out.Stderr, "moved") != 1 {
		return m, fmt.Errorf("the job did not continue exactly once from its checkpoint; its customer read:\n%s", got.out.Stderr)
	}
	m.Finished = true
	return m, x.billedOnce(ctx, first, second, ended, &m)
}

// follow waits for every step of the move.
func (x *measured) follow(ctx context.Context, first market.Lease, ended time.Time, m *Move) (second market.Lease, err error) {
	outage := func(decided bool) func(*view.View) bool {
		return func(v *view.View) (there bool) {
			v.Read(func(a *view.Accounts) {
				o := a.Outages[first.Node]
				there = o != nil && (!decided || o.SeenAt != 0)
			})
			return there
		}
	}
	next := func(state market.LeaseStatus) func(*view.View) bool {
		return func(v *view.View) bool {
			for _, l := range v.Leases() {
				if l.Continues == 1 && l.Order == first.Order && l.Node != first.Node && l.State() >= state {
					second = l
					return true
				}
			}
			return false
		}
	}
	for _, step := range []struct {
		name string
		took *time.Duration
		done func(*view.View) bool
	}{
		{"no keeper voted", &m.Voted, outage(false)},
		{"the votes were not enough", &m.Decided, outage(true)},
		{"no machine was awarded the lease", &m.Awarded, next(market.LeaseAwarded)},
		{"the lease did not start", &m.Started, next(market.LeaseRunning)},
	} {
		if err := x.v.WaitFor(ctx, step.done); err != nil {
			return second, fmt.Errorf("%s: %w", step.name, err)
		}
		*step.took = time.Since(ended)
	}
	return second, nil
}

// billedOnce checks that the first lease is paid for no later than its machine was there, and the second from its own start
// on, and that the sums of the market are right.
func (x *measured) billedOnce(ctx context.Context, first, second market.Lease, ended time.Time, m *Move) error {
	history, err := invariants.ReadAccounts(ctx, x.n.Chain, []solana.PublicKey{first.Address, second.Address}, 0)
	if err != nil {
		return err
	}
	_, failed, ok := invariants.Find(history, func(e *bindings.LeaseFailed) bool { return e.Lease == first.Address })
	if !ok {
		return fmt.Errorf("lease %s did not fail", first.Address)
	}
	_, started, ok := invariants.Find(history, func(e *bindings.LeaseStarted) bool { return e.Lease == second.Address })
	if !ok {
		return fmt.Errorf("lease %s did not start", second.Address)
	}
	m.Paid = time.Unix(failed.EndedAt, 0).Sub(ended)
	if failed.EndedAt > ended.Unix()+1 || started.StartedAt < failed.EndedAt {
		return fmt.Errorf("lease %s is paid for until %d, its machine ended at %d, and lease %s has started at %d", first.Address, failed.EndedAt, ended.Unix(), second.Address, started.StartedAt)
	}
	snapshot, err := invariants.Take(ctx, x.n.Chain, x.n.Mints())
	if err != nil {
		return err
	}
	if wrong := invariants.NewChecker().Check(snapshot); len(wrong) > 0 {
		return fmt.Errorf("the sums of the market are wrong: %v", wrong)
	}
	return nil
}

// lease waits for one that is as wanted.
func (x *measured) lease(ctx context.Context, wanted func(market.Lease) bool) (found market.Lease, err error) {
	err = x.v.WaitFor(ctx, func(v *view.View) bool {
		for _, l := range v.Leases() {
			if wanted(l) {
				found = l
				return true
			}
		}
		return false
	})
	return found, err
}

func (x *measured) machine(node solana.PublicKey) (*network.Machine, error) {
	for _, m := range x.n.Nodes {
		if m.Address == node {
			return m, nil
		}
	}
	return nil, fmt.Errorf("no machine has the account %s", node)
}
