package idle

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// fakeRuntime has at most one job, whose end takes a time unless its grace is shorter.
type fakeRuntime struct {
	t *testing.T

	mu       sync.Mutex
	spec     *runtime.Spec
	over     *runtime.Exit
	deadline time.Time
	ending   time.Duration // how long the job takes to exit after SIGTERM
	endsIn   time.Duration // how long it runs until it exits; 0 for ever
	at       time.Time
	pulling  time.Duration
	pulls    int
	starts   []time.Time
	runs     []runtime.Spec
	refuses  error
	hangs    bool // its processes do not die
}

func (f *fakeRuntime) Check(runtime.Spec) error { return f.refuses }

func (f *fakeRuntime) Prepare(ctx context.Context, s runtime.Spec, p runtime.Pull) error {
	require.True(f.t, p.Own)
	f.mu.Lock()
	f.pulls++
	takes := f.pulling
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(takes):
		return nil
	}
}

func (f *fakeRuntime) Start(_ context.Context, s runtime.Spec) (runtime.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spec != nil {
		return runtime.Status{}, runtime.ErrExists
	}
	f.spec, f.at, f.over = &s, time.Now(), nil
	f.starts, f.runs = append(f.starts, time.Now()), append(f.runs, s)
	f.deadline = time.Now().Add(s.Limits.Wall)
	return f.status()
}

// status applies what time has done. The caller holds mu.
func (f *fakeRuntime) status() (runtime.Status, error) {
	if f.spec == nil {
		return runtime.Status{}, runtime.ErrNotFound
	}
	now := time.Now()
	if f.over == nil && f.endsIn > 0 && now.Sub(f.at) >= f.endsIn {
		f.over = &runtime.Exit{Reason: runtime.ReasonExited, Code: 3, FinishedAt: now}
	}
	if f.over == nil && !now.Before(f.deadline) {
		f.over = &runtime.Exit{Reason: runtime.ReasonWall, FinishedAt: now}
	}
	st := runtime.Status{LeaseID: ID, Phase: runtime.Running, StartedAt: f.at, Spec: *f.spec, PID: 1}
	if f.over != nil {
		st.Phase, st.Exit = runtime.Exited, f.over
	}
	return st, nil
}

func (f *fakeRuntime) Status(context.Context, string) (runtime.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status()
}

func (f *fakeRuntime) Stop(ctx context.Context, _ string, grace time.Duration) (runtime.Status, error) {
	f.mu.Lock()
	st, err := f.status()
	hangs := f.hangs
	f.mu.Unlock()
	if err != nil || st.Phase.Over() {
		return st, err
	}
	if hangs {
		<-ctx.Done()
		return st, ctx.Err()
	}
	time.Sleep(min(grace, f.ending))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = &runtime.Exit{Reason: runtime.ReasonStopped, FinishedAt: time.Now()}
	return f.status()
}

func (f *fakeRuntime) Logs(context.Context, string, runtime.Stream, int64, bool) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("printed\n")), nil
}

func (f *fakeRuntime) Remove(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spec != nil && f.over == nil {
		return runtime.ErrRunning
	}
	f.spec = nil
	return nil
}

// alive reports whether the job runs now.
func (f *fakeRuntime) alive() bool {
	st, err := f.Status(context.Background(), ID)
	return err == nil && !st.Phase.Over()
}

// machine is one with a job, whose leases and offer a test sets.
type machine struct {
	*Job
	run *fakeRuntime

	mu       sync.Mutex
	leased   uint64
	withheld string
	share    float64
	period   uint64
	changed  chan struct{}
	blind    bool // the chain does not answer
}

const hour = uint32(3600)

// seedOf draws instants as a chain with a block every second does.
func seedOf(p records.Period, at time.Time) [32]byte {
	return sha256.Sum256(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(p)), uint64(at.Unix())))
}

// instantOf is the tick of a period's instant.
func instantOf(p records.Period, secs uint32) int {
	for k := range instant.Ticks {
		at := instant.Tick(p, k, secs)
		if _, here := instant.Draw(records.Domain{1}, p, k, uint64(at.Unix()), seedOf(p, at), at); here {
			return k
		}
	}
	return instant.Ticks
}

var errBlind = errors.New("the chain does not answer")

// drawn implements Instants for blocks that come two seconds late.
func (m *machine) drawn(secs uint32) Instants {
	return func(_ context.Context, p records.Period, from, to int) (at, next int, err error) {
		if m.blind {
			return instant.Ticks, from, errBlind
		}
		for k := from; k <= to; k++ {
			tick := instant.Tick(p, k, secs)
			if time.Now().Before(tick.Add(2 * time.Second)) {
				return instant.Ticks, k, nil
			}
			if k == instantOf(p, secs) {
				return k, k + 1, nil
			}
		}
		return instant.Ticks, to + 1, nil
	}
}

func (m *machine) set(f func()) {
	m.mu.Lock()
	f()
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
}

// newMachine must be called in a bubble.
func newMachine(t *testing.T, secs uint32, change func(*Options)) *machine {
	t.Helper()
	m := &machine{run: &fakeRuntime{t: t}, changed: make(chan struct{}), share: 1}
	o := Options{
		Runtime: m.run, Spec: runtime.Spec{Command: []string{"work"}}, UUIDs: []string{"GPU-0", "GPU-1", "GPU-2", "GPU-3"},
		Resolve: func(_ context.Context, image string) (string, error) { return image, nil },
		Part: func(n int) jobspec.Share {
			return jobspec.Share{CPUs: 4 * float64(n), MemoryMiB: 1024 * uint64(n), DiskMiB: 10240 * uint64(n)}
		},
		Leased: func() (uint64, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.leased, nil
		},
		Changed: func() <-chan struct{} {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.changed
		},
		Withheld: func() string {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.withheld
		},
		Share: func() (uint64, float64, bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.period, m.share, m.period != 0
		},
		Period: func() uint32 { return secs }, Instants: m.drawn(secs), Output: filepath.Join(t.TempDir(), "idle.log"), Log: zerolog.Nop(),
	}
	if change != nil {
		change(&o)
	}
	var err error
	m.Job, err = New(o)
	require.NoError(t, err)
	return m
}

// goes runs the job until the test ends it.
func (m *machine) goes(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

// until waits for the job to run, or not to.
func (m *machine) until(t *testing.T, runs bool, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); m.run.alive() != runs; time.Sleep(10 * time.Millisecond) {
		s, _ := m.State()
		require.False(t, time.Now().After(end), "after %v: %s", within, s)
	}
}
