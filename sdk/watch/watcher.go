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

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
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
	Scope      Scope            // default all accounts of the program
	Resnapshot time.Duration    // guard against anything unforeseen, default an hour, negative for never
	ResyncGap  time.Duration    // least time between two snapshots for transactions that this program cannot read, default a minute
	// Certain is an account that the program has for certain: a first list of all its accounts without it is incomplete.
	// Zero for none.
	Certain solana.PublicKey
	// SoleWord is how long slots far below one that was seen must be said until they are believed, where no two endpoints
	// agree on them. Default two minutes.
	SoleWord time.Duration
	Log      zerolog.Logger
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

	mu         sync.Mutex
	status     Status
	avoid      []string // endpoints that gave the last list, and it was of no use
	incomplete int      // lists in a row that lacked accounts

	st     state   // owned by Run's goroutine, as are doubts and below
	doubts *doubts // of the session
	below  below
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
	if o.SoleWord <= 0 {
		o.SoleWord = 2 * time.Minute
	}
	return &Watcher{o: o, log: o.Log, ready: make(chan struct{}), resync: make(chan struct{}, 1), st: newState(o.Program, o.Scope)}, nil
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
		if Refused(err) && !w.st.scope.All() {
			w.log.Warn().Err(err).Msg("the RPC endpoint refuses filters or subscriptions to single accounts: all accounts of the program are followed, " +
				"which costs more the larger the market is; another --url may serve them")
			w.st.scope = Scope{}
		}
		if time.Since(began) > 10*time.Second {
			pause = minBackoff
		}
		w.log.Info().Err(err).Dur("pause", pause).Msg("chain watcher lost its connection and reconnects")
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, maxBackoff)
	}
}

var (
	// errGap asks for another snapshot over a new connection.
	errGap = errors.New("the RPC endpoint is behind")
	// errSlot: an answer names a slot to come. What is stored under it would keep every later state out.
	errSlot = errors.New("the RPC endpoint names a slot that the cluster has not reached")
	// errIncomplete: a list lacks an account that is there for certain.
	errIncomplete = errors.New("the RPC endpoint lists the program's accounts incompletely; if it continues to do so, give another --url")
	// errForeign is what comes of announcements that the RPC endpoint knows nothing of.
	errForeign = errors.New("the WebSocket endpoint announces what the RPC endpoint does not know; check that --ws and --url are of one cluster")
)

// connect subscribes to what may announce a change of an account of the scope. Data are never sent: they are read.
func (w *Watcher) connect(ctx context.Context, ws *chain.WS, h *hints) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	filters := w.st.scope.Filters
	if w.st.scope.All() {
		filters = []chain.Filter{{}}
		_, err := ws.Listen(ctx, "logsSubscribe", "logsUnsubscribe", h.logs,
			map[string]any{"mentions": []string{w.o.Program.String()}},
			map[string]any{"commitment": string(atLeastConfirmed(w.o.Commitment))})
		if err != nil {
			return fmt.Errorf("logs subscription: %w", err)
		}
	}
	for _, f := range filters {
		conf := w.announced()
		if p := f.Params(); p != nil {
			conf["filters"] = p
		}
		if _, err := ws.Listen(ctx, "programSubscribe", "programUnsubscribe", h.program, w.o.Program, conf); err != nil {
			return fmt.Errorf("program subscription: %w", err)
		}
	}
	return nil
}

// announced asks for notifications without the accounts' data.
func (w *Watcher) announced() map[string]any {
	return map[string]any{
		"encoding": "base64", "commitment": string(w.o.Commitment), "dataSlice": map[string]any{"offset": 0, "length": 0},
	}
}

// checkCluster compares the slots of the two endpoints once: a WebSocket endpoint that tells nothing of the program
// could be one of another cluster, and the watcher would wait for the next snapshot without knowing.
func (w *Watcher) checkCluster(ctx context.Context, ws *chain.WS) error {
	slots := make(chan uint64, 1)
	sub, err := ws.Listen(ctx, "slotSubscribe", "slotUnsubscribe", func(raw json.RawMessage) error {
		var n struct {
			Slot uint64 `json:"slot"`
		}
		if json.Unmarshal(raw, &n) == nil {
			select {
			case slots <- n.Slot:
			default:
			}
		}
		return nil
	})
	if Refused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var there uint64
	select {
	case there = <-slots:
	case <-ctx.Done():
		return ctx.Err()
	}
	here, err := w.o.Client.Slot(ctx, chain.Processed)
	if err != nil {
		return err
	}
	if there > here+apart || here > there+apart {
		return fmt.Errorf("%w: its slot is %d, that of the RPC endpoint %d", errForeign, there, here)
	}
	return sub.Unsubscribe(ctx)
}

// apart is how many slots two endpoints of one cluster may be apart.
const apart = 1000

// session is one connection: subscribe, snapshot, then look at what is announced.
func (w *Watcher) session(ctx context.Context, emit func(Event)) error {
	ws, err := w.o.Client.DialWS(ctx)
	if err != nil {
		return err
	}
	defer ws.Close()
	h := newHints(w)
	if err := w.connect(ctx, ws, h); err != nil {
		return err
	}

	// Everything is applied in this goroutine; the others only fetch.
	g, gctx := errgroup.WithContext(ctx)
	gctx, stop := context.WithCancel(gctx)
	defer func() { stop(); _ = g.Wait() }()
	rereads := make(chan reread)
	snaps := make(chan snapshot)
	w.doubts = newDoubts(w)

	// The subscription is active before the snapshot is taken, so that nothing falls between the two.
	first, err := w.takeSnapshot(gctx, emit)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.status.Connected, w.status.LastError = true, nil
	w.mu.Unlock()
	w.once.Do(func() { close(w.ready) })

	f := newFollower(ws, h, w.announced())
	follow := func() {
		if !w.st.scope.All() {
			f.follow(w.st.wanted())
		}
	}
	follow()
	g.Go(func() error { return f.run(gctx) })
	g.Go(func() error { return h.run(gctx, rereads) })
	g.Go(func() error { return w.doubts.run(gctx, rereads) })
	g.Go(func() error { return w.resnapshot(gctx, first.empty, snaps) })
	g.Go(func() error { return w.checkCluster(gctx, ws) })
	broken := make(chan error, 1)
	go func() { broken <- g.Wait() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ws.Done():
			return ws.Err()
		case err := <-broken:
			return err
		case r := <-rereads:
			if err := w.applyReread(r, emit); err != nil {
				return err
			}
		case s := <-snaps:
			if err := w.applySnapshot(s, emit); err != nil {
				return err
			}
		}
		for _, key := range w.st.unread() {
			h.account(key, 0)
		}
		follow()
	}
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
