package txm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Manager submits intents. It is safe for concurrent use.
type Manager struct {
	o      Options
	log    zerolog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu          sync.Mutex
	submissions map[string]*submission
	closed      bool

	hash  blockhashCache
	fees  feeCache
	one   versionOne
	track *tracker

	landed chan landedReport
	seen   slotMark
	built  atomic.Uint32 // transactions that were built to be signed elsewhere
}

// New starts a manager. Call Resume once, then Submit as needed, then Close.
func New(o Options) (*Manager, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	if n, err := o.Store.Prune(time.Now().Add(-o.Retain)); err != nil {
		return nil, err
	} else if n > 0 {
		o.Log.Debug().Int("intents", n).Msg("transaction manager removed old intents from its store")
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Manager{
		o: o, log: o.Log, ctx: ctx, cancel: cancel,
		submissions: map[string]*submission{},
		landed:      make(chan landedReport, 1024),
	}
	m.track = newTracker(o.RPC, o.Poll, o.Log)
	m.wg.Add(1)
	go func() { defer m.wg.Done(); m.track.run(ctx) }()
	if o.OnLanded != nil {
		m.wg.Add(1)
		go func() { defer m.wg.Done(); m.reportLanded() }()
	}
	return m, nil
}

// Close stops following transactions and waits for all goroutines. Unfinished intents stay stored; Resume continues
// them. The store is left open.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wg.Wait()
}

// Submit stores the intent, sends it and waits until it reaches its commitment. Calling it again with the same id never
// repeats an effect: it joins a running submission, returns the result of a finished one, and starts again only an
// intent that had failed without effect.
//
// If ctx ends first, the manager goes on with the intent; submit the same id again or Wait to learn its outcome.
//
// Errors: *txerr.ProgramError, *TxError, ErrMismatch, ErrUncertain,
// ErrSignerMissing, records.ErrRefused, ErrIntent, ErrTooLarge, ErrFees, ErrClosed, the context's with the last problem.
func (m *Manager) Submit(ctx context.Context, in Intent) (Result, error) {
	payer := in.Payer
	if payer.IsZero() {
		payer = m.o.Payer
	}
	fresh, err := newEntry(in, payer, time.Now())
	if err != nil {
		return Result{}, err
	}
	want := in.Commitment
	if want == "" {
		want = m.o.Commitment
	}
	f, res, err := m.start(in, fresh, want)
	if f == nil {
		return res, err
	}
	return f.wait(ctx, want)
}

// start finds or creates the submission of an intent. A nil submission means that the result is known already.
func (m *Manager) start(in Intent, fresh Entry, want chain.Commitment) (*submission, Result, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, Result{}, ErrClosed
	}
	if f, ok := m.submissions[in.ID]; ok && !f.over() {
		m.mu.Unlock()
		if f.snapshot().Digest != fresh.Digest {
			return nil, Result{}, fmt.Errorf("%w: %s", ErrMismatch, in.ID)
		}
		return f, Result{}, nil
	}
	// The id is reserved while the store is read and written, so that a concurrent Submit of it joins this submission.
	f := newSubmission(m, fresh, in)
	m.submissions[in.ID] = f
	m.mu.Unlock()

	have, err := m.o.Store.Get(in.ID)
	switch {
	case errors.Is(err, ErrUnknownIntent), err == nil && have.State == StateFailed && (in.Repeatable || !have.Failure.Uncertain):
		put := m.o.Store.put
		if fresh.Current != nil && err != nil { // signed elsewhere, and not stored yet
			put = m.o.Store.putSigned
		}
		if err = put(fresh); err == nil {
			m.changed(fresh)
		}
	case err == nil && have.Digest != fresh.Digest:
		err = fmt.Errorf("%w: %s is %s since %s", ErrMismatch, in.ID, have.State, have.Updated.UTC().Format(time.RFC3339))
	case err == nil && have.State == StateFailed:
		err = fmt.Errorf("intent %s: %w; look at the chain, then use another id", in.ID, ErrUncertain)
	case err == nil:
		f.resumeFrom(have)
	}
	if err != nil {
		f.finish(err)
		m.forget(f)
		return nil, Result{}, err
	}
	rec := f.snapshot()
	if rec.State.Terminal() {
		f.finish(nil)
		m.forget(f)
		return nil, rec.result(), nil
	}
	return m.launch(f), Result{}, nil
}

// launch runs the goroutine of a submission.
func (m *Manager) launch(f *submission) *submission {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		f.finish(ErrClosed)
		return f
	}
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		defer m.forget(f)
		f.sendWithRetry(m.ctx)
	}()
	return f
}

func (m *Manager) forget(f *submission) {
	m.mu.Lock()
	if m.submissions[f.id] == f {
		delete(m.submissions, f.id)
	}
	m.mu.Unlock()
}

// Resume continues every intent that an earlier process left unfinished and returns how many there are. readBack, which
// may be nil, gives the read-back of a stored intent, or nil.
func (m *Manager) Resume(readBack func(Entry) ReadBack) (int, error) {
	var open []Entry
	err := m.o.Store.Entries(func(r Entry) error {
		if !r.State.Terminal() {
			open = append(open, r)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	n := 0
	for _, r := range open {
		in := Intent{ID: r.ID, Kind: r.Kind}
		if readBack != nil {
			in.ReadBack = readBack(r)
		}
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return n, ErrClosed
		}
		if _, ok := m.submissions[r.ID]; ok {
			m.mu.Unlock()
			continue
		}
		f := newSubmission(m, r, in)
		f.resumeFrom(r)
		m.submissions[r.ID] = f
		m.mu.Unlock()
		m.launch(f)
		n++
	}
	return n, nil
}

// Wait waits for a stored intent as Submit would.
// Error: ErrUnknownIntent, and those of Submit.
func (m *Manager) Wait(ctx context.Context, id string, want chain.Commitment) (Result, error) {
	m.mu.Lock()
	f, ok := m.submissions[id]
	m.mu.Unlock()
	if ok {
		return f.wait(ctx, want)
	}
	r, err := m.o.Store.Get(id)
	if err != nil {
		return Result{}, err
	}
	if r.State == StateFailed {
		return r.result(), r.Failure.err()
	}
	if r.State.reaches(want) {
		return r.result(), nil
	}
	return r.result(), fmt.Errorf("intent %s is %s and not being followed: %w", id, r.State, ErrClosed)
}

// Get returns a stored intent. Error: ErrUnknownIntent.
func (m *Manager) Get(id string) (Entry, error) { return m.o.Store.Get(id) }

// InFlight returns how many intents are being followed.
func (m *Manager) InFlight() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.submissions)
}

func (m *Manager) changed(r Entry) {
	m.log.Debug().Str("intent", r.ID).Str("state", string(r.State)).Int("attempts", r.Attempts).Msg("intent changed its state")
	if m.o.OnStateChanged != nil {
		m.o.OnStateChanged(r)
	}
}

// slotMark remembers the highest slot in which one of our transactions was confirmed, so that later simulations never
// run on an older state.
type slotMark struct {
	mu   sync.Mutex
	slot uint64
}

func (s *slotMark) raise(slot uint64) {
	s.mu.Lock()
	s.slot = max(s.slot, slot)
	s.mu.Unlock()
}

func (s *slotMark) get() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slot
}
