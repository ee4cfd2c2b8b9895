package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/chain"
)

// Event is one state of one account.
type Event struct {
	Pubkey   solana.PublicKey
	Owner    solana.PublicKey
	Lamports chain.Lamports
	Data     []byte
	Slot     uint64 // at which the state was seen; the change is not later
	Deleted  bool   // the account is closed or left the program; Data is nil
}

// Options configure a Watcher. Client and Program are required.
type Options struct {
	Client     *chain.Client
	Program    solana.PublicKey
	Commitment chain.Commitment // default Confirmed
	Filter     chain.Filter     // e.g. a discriminator; the zero filter takes all accounts
	Resnapshot time.Duration    // guard against anything unforeseen, default an hour, negative for never
	ResyncGap  time.Duration    // least time between two snapshots for transactions that nobody can read, default a minute
	Log        zerolog.Logger
}

// Status says how well the watcher follows the chain.
type Status struct {
	Connected    bool
	Slot         uint64 // highest seen
	Accounts     int
	Snapshots    uint64
	Reconnects   uint64
	LastSnapshot time.Time
	LastError    error
}

// Watcher follows one program. Create one with New and call Run once.
type Watcher struct {
	o     Options
	log   zerolog.Logger
	ready chan struct{}
	once  sync.Once
	// resync holds a token while a snapshot has to repair what single transactions did not tell.
	resync chan struct{}

	mu     sync.Mutex
	status Status

	st state // owned by Run's goroutine
}

// New checks the options.
func New(o Options) (*Watcher, error) {
	if o.Client == nil || o.Program.IsZero() {
		return nil, errors.New("watch: Client and Program are required")
	}
	if o.Commitment == "" {
		o.Commitment = chain.Confirmed
	}
	if o.Resnapshot == 0 {
		o.Resnapshot = time.Hour
	}
	if o.ResyncGap <= 0 {
		o.ResyncGap = time.Minute
	}
	return &Watcher{o: o, log: o.Log, ready: make(chan struct{}), resync: make(chan struct{}, 1), st: newState(o.Program)}, nil
}

// Ready is closed after the first snapshot has been emitted in full.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Status returns a copy of the watcher's figures.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 3 * time.Second
)

// Run watches until ctx ends and calls emit for every event, from one goroutine. It survives any failure of the node;
// its only error is ctx's.
func (w *Watcher) Run(ctx context.Context, emit func(Event)) error {
	pause := minBackoff
	for {
		began := time.Now()
		err := w.session(ctx, emit)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.mu.Lock()
		w.status.Connected = false
		w.status.Reconnects++
		w.status.LastError = err
		w.mu.Unlock()
		if time.Since(began) > 10*time.Second {
			pause = minBackoff
		}
		w.log.Info().Err(err).Dur("pause", pause).Msg("chain watcher lost its connection and reconnects")
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		pause = min(2*pause, maxBackoff)
	}
}

// errGap asks for another snapshot over a new connection.
var errGap = errors.New("slots went backwards")

// session is one connection: subscribe, snapshot, then apply notifications.
func (w *Watcher) session(ctx context.Context, emit func(Event)) error {
	ws, err := w.o.Client.DialWS(ctx)
	if err != nil {
		return err
	}
	defer ws.Close()
	conf := map[string]any{"encoding": "base64", "commitment": string(w.o.Commitment)}
	if f := w.o.Filter.Params(); f != nil {
		conf["filters"] = f
	}
	sctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	accounts, err := ws.Subscribe(sctx, "programSubscribe", "programUnsubscribe", w.o.Program, conf)
	if err != nil {
		return fmt.Errorf("program subscription: %w", err)
	}
	logs, err := ws.Subscribe(sctx, "logsSubscribe", "logsUnsubscribe",
		map[string]any{"mentions": []string{w.o.Program.String()}},
		map[string]any{"commitment": string(atLeastConfirmed(w.o.Commitment))})
	if err != nil {
		return fmt.Errorf("logs subscription: %w", err)
	}

	// Everything is applied in this goroutine; the others only fetch.
	g, gctx := errgroup.WithContext(ctx)
	gctx, stop := context.WithCancel(gctx)
	defer func() { stop(); _ = g.Wait() }()
	updates := make(chan json.RawMessage)
	g.Go(func() error { return forward(gctx, accounts, updates) })
	touched := make(chan reread)
	written := make(chan json.RawMessage)
	g.Go(func() error { return forward(gctx, logs, written) })
	t := &writeReader{w: w, out: touched}
	g.Go(func() error { return t.run(gctx, written) })
	snaps := make(chan snapshot)

	// The subscription is active before the snapshot is taken, so that nothing falls between the two.
	if err := w.takeSnapshot(gctx, emit); err != nil {
		return err
	}
	w.mu.Lock()
	w.status.Connected, w.status.LastError = true, nil
	w.mu.Unlock()
	w.once.Do(func() { close(w.ready) })

	g.Go(func() error { return w.resnapshot(gctx, snaps) })
	broken := make(chan error, 1)
	go func() { broken <- g.Wait() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-broken:
			return err
		case raw := <-updates:
			if err := w.applyUpdate(raw, emit); err != nil {
				return err
			}
		case r := <-touched:
			w.st.applyReread(r, w.o.Filter, emit)
			w.updateStatus()
		case s := <-snaps:
			if err := w.applySnapshot(s, emit); err != nil {
				return err
			}
		}
	}
}

// forward moves notifications from a subscription to a channel.
func forward(ctx context.Context, sub *chain.Subscription, out chan<- json.RawMessage) error {
	for {
		raw, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		select {
		case out <- raw:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type snapshot struct {
	accounts []chain.Account
	slot     uint64
}

// resnapshot takes a snapshot at every interval, and when one is asked for, but then no more often than the gap allows:
// strangers can make transactions that ask for one.
func (w *Watcher) resnapshot(ctx context.Context, out chan<- snapshot) error {
	var every <-chan time.Time
	if w.o.Resnapshot > 0 {
		tick := time.NewTicker(w.o.Resnapshot)
		defer tick.Stop()
		every = tick.C
	}
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every:
		case <-w.resync:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-gap.C:
				gap.Reset(w.o.ResyncGap)
			}
		}
		accs, slot, err := w.o.Client.ProgramAccounts(ctx, w.o.Program, w.o.Commitment, w.o.Filter)
		if err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		select {
		case out <- snapshot{accs, slot}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *Watcher) takeSnapshot(ctx context.Context, emit func(Event)) error {
	accs, slot, err := w.o.Client.ProgramAccounts(ctx, w.o.Program, w.o.Commitment, w.o.Filter)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return w.applySnapshot(snapshot{accs, slot}, emit)
}

func (w *Watcher) applySnapshot(s snapshot, emit func(Event)) error {
	if err := w.st.applySnapshot(s, emit); err != nil {
		return err
	}
	w.mu.Lock()
	w.status.Snapshots++
	w.status.LastSnapshot = time.Now()
	w.mu.Unlock()
	w.updateStatus()
	return nil
}

func (w *Watcher) applyUpdate(raw json.RawMessage, emit func(Event)) error {
	acc, err := chain.DecodeProgramNotification(raw)
	if err != nil {
		return err
	}
	if err := w.st.applyUpdate(acc, w.o.Filter, emit); err != nil {
		return err
	}
	w.updateStatus()
	return nil
}

func (w *Watcher) updateStatus() {
	w.mu.Lock()
	w.status.Slot, w.status.Accounts = w.st.maxSlot, w.st.live
	w.mu.Unlock()
}

// atLeastConfirmed is for calls that nodes serve from confirmed blocks only.
func atLeastConfirmed(c chain.Commitment) chain.Commitment {
	if c == chain.Processed {
		return chain.Confirmed
	}
	return c
}
