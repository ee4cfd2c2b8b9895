package lease

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// clock is the time of a test.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Unix(1_800_000_000, 0)} }

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }

func (c *clock) add(d time.Duration) { c.mu.Lock(); c.t = c.t.Add(d); c.mu.Unlock() }

// fault is what happens to the next transaction.
type fault int

const (
	none   fault = iota
	lost         // it never lands, and the caller is told so
	unsure       // it lands, and the caller is told that it failed
)

var errNetwork = errors.New("the network is away")

// fakeChain is a chain with at most one lease of the node. It refuses what the program refuses.
type fakeChain struct {
	mu       sync.Mutex
	clock    *clock
	changed  chan struct{}
	exists   bool
	lease    market.Lease
	order    Order
	deadline time.Duration
	next     fault
	ask      market.PricePerHour
	declines []market.DeclineReason

	// hidden: Lease shows shown until Look reads the chain, which fails with lookErr.
	hidden  bool
	shown   market.Lease
	lookErr error
	looks   int

	// lacks: what the endpoint lists lacks the lease. Gone reads the account, which fails with goneErr; not yet final is
	// that it is gone for so many questions.
	lacks    bool
	goneErr  error
	notFinal int
	asked    int

	starts, ends int
	commits      int
	hash         [32]byte
	session      solana.PublicKey // of the customer
}

func (c *fakeChain) Look(context.Context, solana.PublicKey) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	if c.lookErr == nil {
		c.hidden = false
	}
	return c.lookErr
}

func (c *fakeChain) Gone(_ context.Context, a solana.PublicKey, awardedAt int64, since uint64) (Presence, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	switch {
	case c.goneErr != nil:
		return There, 0, c.goneErr
	case c.exists && a == c.lease.Address && c.lease.AwardedAt <= awardedAt:
		c.lacks = false
		return There, 0, nil
	case c.notFinal > 0:
		c.notFinal--
		return Leaving, max(since, 7), nil
	}
	return Gone, 8, nil
}

func (c *fakeChain) Final(context.Context, solana.PublicKey, uint64) (market.Lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease, c.goneErr
}

func (c *fakeChain) Source() string { return "http://rpc.test" }

// hide has the view stay as it is.
func (c *fakeChain) hide() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hidden, c.shown = true, c.lease
}

func (c *fakeChain) ActsFor(key, customer solana.PublicKey) bool {
	return key == customer || key == c.session && !key.IsZero()
}

func (f *fakeChain) CommitOutput(_ context.Context, _ market.Lease, commitment [32]byte) error {
	return f.send(func() error {
		if market.OutputState(f.lease.Output) != market.OutputWanted {
			return nil // done before
		}
		f.lease.Output, f.lease.OutputHash = uint8(market.OutputCommitted), commitment
		f.order.Outputs.Committed++
		f.commits++
		return nil
	})
}

func (f *fakeChain) Checkpoint(_ context.Context, _ market.Lease, hash [32]byte) error {
	return f.send(func() error {
		if f.lease.State() != market.LeaseRunning {
			return errors.New("not running")
		}
		f.lease.CheckpointHash = hash
		return nil
	})
}

func (f *fakeChain) RevealOutput(_ context.Context, l market.Lease, output, salt [32]byte) error {
	return f.send(func() error {
		switch {
		case market.OutputState(f.lease.Output) == market.OutputRevealed:
			return nil
		case market.OutputState(f.lease.Output) != market.OutputCommitted, f.order.Outputs.Committed < f.order.Outputs.Wanted:
			return errors.New("too early")
		case market.OutputCommitment(testDomain, l.Address, output, salt) != f.lease.OutputHash:
			return errors.New("not what was committed to")
		}
		f.lease.Output, f.lease.OutputHash = uint8(market.OutputRevealed), output
		return nil
	})
}

var (
	testNode     = solana.PublicKey{1}
	testKey      = solana.PublicKey{2}
	testCustomer = solana.PublicKey{3}
	testLease    = solana.PublicKey{4}
	testOrder    = solana.PublicKey{5}
	testDomain   = records.Domain{3}
)

func newFakeChain(c *clock) *fakeChain {
	return &fakeChain{clock: c, changed: make(chan struct{}), deadline: 16 * time.Second}
}

// award makes a lease over a job.
func (f *fakeChain) award(job messages.JobSpec, completes bool, duration time.Duration, complete bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	digest, err := job.Digest()
	if err != nil {
		panic(err)
	}
	now := f.clock.now()
	f.exists, f.lease = true, market.Lease{Meta: market.Meta{Address: testLease}}
	f.lease.Order, f.lease.Node, f.lease.NodeKey, f.lease.Customer = testOrder, testNode, testKey, testCustomer
	f.lease.Status, f.lease.AwardedAt, f.lease.GpuMask, f.lease.Gpus = uint8(market.LeaseAwarded), now.Unix(), 1, 1
	if completes {
		f.lease.RunToCompletion = 1
	}
	f.order = Order{Complete: complete, Digest: digest, Duration: duration, AwardedAt: now}
	f.starts, f.ends, f.hash = 0, 0, [32]byte{}
	f.touch()
}

func (f *fakeChain) touch() { close(f.changed); f.changed = make(chan struct{}) }

func (f *fakeChain) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.touch()
}

func (f *fakeChain) Leases() []market.Lease {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.exists || f.lacks {
		return nil
	}
	return []market.Lease{f.lease}
}

func (f *fakeChain) Lease(a solana.PublicKey) (market.Lease, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hidden {
		return f.shown, a == f.shown.Address
	}
	return f.lease, f.exists && !f.lacks && a == f.lease.Address
}

func (f *fakeChain) Changed() <-chan struct{} { f.mu.Lock(); defer f.mu.Unlock(); return f.changed }

func (f *fakeChain) Order(context.Context, market.Lease) (Order, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	order := f.order
	order.StartDeadline = f.deadline
	return order, nil
}

// send applies an effect, or fails as the next fault says.
func (f *fakeChain) send(effect func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := f.next
	f.next = none
	if fault == lost {
		return errNetwork
	}
	err := effect()
	f.touch()
	if fault == unsure {
		return errNetwork
	}
	return err
}

func (f *fakeChain) Start(_ context.Context, l market.Lease, hash [32]byte) error {
	return f.send(func() error {
		now := f.clock.now()
		switch {
		case !f.exists || f.lease.State() != market.LeaseAwarded || l.AwardedAt != f.lease.AwardedAt:
			return nil // as AlreadyDone has it
		case !f.order.Complete:
			return errors.New("order is not complete")
		case now.After(f.order.AwardedAt.Add(f.deadline)):
			return errors.New("too late")
		}
		f.starts++
		f.hash = hash
		f.lease.Status, f.lease.ConnectionHash = uint8(market.LeaseRunning), hash
		f.lease.StartedAt, f.lease.FundedUntil = now.Unix(), now.Add(f.order.Duration).Unix()
		return nil
	})
}

func (f *fakeChain) Decline(_ context.Context, l market.Lease, why market.DeclineReason) error {
	return f.send(func() error {
		switch {
		case !f.exists || f.lease.State() != market.LeaseAwarded || l.AwardedAt != f.lease.AwardedAt:
			return nil // as AlreadyDone has it
		case !f.order.Complete:
			return errors.New("order is not complete")
		case f.clock.now().After(f.order.AwardedAt.Add(f.deadline)):
			return errors.New("too late")
		}
		f.exists = false
		f.declines = append(f.declines, why)
		return nil
	})
}

func (f *fakeChain) Ask(bool) market.PricePerHour {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ask
}

func (f *fakeChain) End(_ context.Context, l market.Lease, immediate bool) error {
	return f.send(func() error {
		if !f.exists || (f.lease.State() != market.LeaseRunning && f.lease.State() != market.LeaseFailed) || l.AwardedAt != f.lease.AwardedAt {
			return nil
		}
		now := f.clock.now().Unix()
		reason := market.EndedJobDone
		switch {
		case f.lease.State() == market.LeaseFailed:
			reason = market.EndedFailed
		case now >= f.lease.FundedUntil:
			reason, now = market.EndedUnfunded, f.lease.FundedUntil
		case f.lease.RunToCompletion == 0 && immediate:
			reason = market.EndedByProvider
		case f.lease.RunToCompletion == 0:
			return errors.New("the node would only give notice")
		}
		f.ends++
		f.end(reason, now)
		return nil
	})
}

// end must be called with the lock held.
func (f *fakeChain) end(reason market.EndReason, at int64) {
	f.lease.Status, f.lease.EndReason = uint8(market.LeaseEnded), uint8(reason)
	if f.lease.EndedAt == 0 {
		f.lease.EndedAt = at
	}
}

// fakeJob is a job of fakeRuntime.
type fakeJob struct {
	spec    runtime.Spec
	started time.Time
	exit    *runtime.Exit
	lost    bool
	// snapshot of its volume, if one was made.
	snapshot *runtime.Snapshot
}

// fakeRuntime pretends to run jobs; it survives the agent, as the real one does.
type fakeRuntime struct {
	mu     sync.Mutex
	clock  *clock
	jobs   map[string]*fakeJob
	starts int
	// measured counts the calls of Usage.
	measured int
	fail     int // how many starts fail
	// prepare fetches images; nil: the machine runs none.
	prepare func(ctx context.Context, c image.Credential) error
	// report is that of the last Prepare.
	report func(image.Progress)
	// fill restores what a job goes on from; nil: nothing.
	fill func(ctx context.Context, s runtime.Spec) error
	// held are jobs that were restored and wait for Start.
	held map[string]bool
	// suspension is what Suspend answers, unless the container is starting.
	suspension runtime.Suspension
	starting   bool
}

func newFakeRuntime(c *clock) *fakeRuntime {
	return &fakeRuntime{clock: c, jobs: map[string]*fakeJob{}}
}

func (r *fakeRuntime) Check(s runtime.Spec) error {
	if s.Image != "" && r.prepare == nil {
		return runtime.ErrImage
	}
	return s.Validate()
}

func (r *fakeRuntime) Prepare(ctx context.Context, s runtime.Spec, p runtime.Pull) error {
	if err := r.Check(s); err != nil || s.Image == "" {
		return err
	}
	r.mu.Lock()
	r.report = p.Report
	r.mu.Unlock()
	return r.prepare(ctx, p.Credential)
}

func (r *fakeRuntime) Fill(ctx context.Context, s runtime.Spec) error {
	if r.fill == nil {
		return nil
	}
	return r.fill(ctx, s)
}

func (r *fakeRuntime) Suspend(_ context.Context, id, attempt string) (runtime.Suspension, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.status(id)
	if err == nil && st.Phase != runtime.Running {
		err = runtime.ErrNotRunning
	} else if err == nil && r.starting {
		err = runtime.ErrStarting
	}
	r.suspension.Attempt = attempt
	return r.suspension, err
}

func (r *fakeRuntime) Start(_ context.Context, s runtime.Spec) (runtime.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := s.Validate(); err != nil {
		return runtime.Status{}, err
	}
	if r.jobs[s.LeaseID] != nil {
		return runtime.Status{}, runtime.ErrExists
	}
	if r.fail > 0 {
		r.fail--
		return runtime.Status{}, errNetwork
	}
	r.starts++
	delete(r.held, s.LeaseID)
	r.jobs[s.LeaseID] = &fakeJob{spec: s, started: r.clock.now()}
	return r.status(s.LeaseID)
}

func (r *fakeRuntime) status(id string) (runtime.Status, error) {
	j := r.jobs[id]
	if j == nil && r.held[id] {
		return runtime.Status{LeaseID: id, Phase: runtime.Preparing}, nil
	}
	if j == nil {
		return runtime.Status{}, runtime.ErrNotFound
	}
	st := runtime.Status{LeaseID: id, Phase: runtime.Running, StartedAt: j.started, Spec: j.spec, PID: 7, Snapshot: j.snapshot}
	switch {
	case j.exit != nil:
		st.Phase, st.Exit = runtime.Exited, j.exit
	case j.lost:
		st.Phase = runtime.Lost
	}
	return st, nil
}

func (r *fakeRuntime) Status(_ context.Context, id string) (runtime.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status(id)
}

// active reports whether any job runs.
func (r *fakeRuntime) active() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		if j.exit == nil && !j.lost {
			return true
		}
	}
	return false
}

// finish ends the job by itself.
func (r *fakeRuntime) finish(code int, lostIt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		if j.exit != nil || j.lost {
			continue
		}
		if j.lost = lostIt; !lostIt {
			j.exit = &runtime.Exit{Reason: runtime.ReasonExited, Code: code, StartedAt: j.started, FinishedAt: r.clock.now()}
		}
	}
}

func (r *fakeRuntime) Extend(_ context.Context, id string, left time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[id]
	switch {
	case j == nil:
		return runtime.ErrNotFound
	case j.exit != nil || j.lost:
		return runtime.ErrOver
	}
	j.spec.Limits.Wall = r.clock.now().Sub(j.started) + left
	return nil
}

func (r *fakeRuntime) Stop(_ context.Context, id string, _ time.Duration) (runtime.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, id)
	if j := r.jobs[id]; j != nil && j.exit == nil && !j.lost {
		j.exit = &runtime.Exit{Reason: runtime.ReasonStopped, Code: 143, StartedAt: j.started, FinishedAt: r.clock.now()}
	}
	return r.status(id)
}

func (r *fakeRuntime) Usage(_ context.Context, id string) (runtime.Usage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.status(id)
	if err == nil && st.Phase != runtime.Running {
		err = runtime.ErrNotRunning
	}
	r.measured++
	return runtime.Usage{At: time.Now(), CPU: time.Duration(r.measured) * time.Second, Memory: 100 << 20, Volume: 3 << 20, VolumeSize: 60 << 20}, err
}

func (r *fakeRuntime) Logs(context.Context, string, runtime.Stream, int64, bool) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("output\n")), nil
}

func (r *fakeRuntime) Shell(ctx context.Context, _ string, _ bool, setup []byte, stream io.ReadWriter) error {
	if _, err := stream.Write(setup); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (r *fakeRuntime) Remove(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.jobs[id]; j != nil && j.exit == nil && !j.lost {
		return runtime.ErrRunning
	}
	delete(r.jobs, id)
	return nil
}

// memDir is a folder on a memory file system where there is one: the tests sync thousands of times.
func memDir(t interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
},
) string {
	t.Helper()
	base := ""
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "gantry-lease-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func openStore(dir string, c *clock) (*store.Store, error) {
	return store.Open(filepath.Join(dir, "agent.db"), store.Options{Owner: store.Owner{NodeKey: store.Key(testKey)}, Now: c.now})
}

func testJob() messages.JobSpec {
	return messages.JobSpec{Version: messages.Version, Command: []string{"true"}}
}

// newTestManager is a manager over fakes.
func newTestManager(t *testing.T) (*Manager, *fakeChain, *fakeRuntime, *clock) {
	t.Helper()
	c := &clock{t: time.Now()} // workers wait in real time
	s, err := openStore(memDir(t), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	chain, rt := newFakeChain(c), newFakeRuntime(c)
	m, err := New(Options{Chain: chain, Store: s, Runtime: rt, NodeKey: testKey, Domain: testDomain, GPUUUIDs: []string{"SIM-1"}, Log: zerolog.Nop(), Now: c.now, Keep: 5 * time.Second})
	require.NoError(t, err)
	return m, chain, rt, c
}
