package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
)

// verdict is whether a run's block is the instant.
type verdict uint8

const (
	unknown verdict = iota
	right
	wrong
)

// run is one measurement: of the node at a period's instant, or of a lease's GPUs at one of its customer's.
type run struct {
	at    instant.Instant // of a period; zero for a lease's
	place format.Place
	gpus  []GPU
	// turn calls a function when nothing else computes on the GPUs, bars says why they may not be used now, nil if they may.
	turn func(context.Context, func(context.Context) error) error
	bars func() error
	// watch ends the run through its argument when it may not go on. Each returns when its context ends.
	watch   []func(context.Context, context.CancelCauseFunc)
	ended   func() // called when the GPUs are free again; may be nil
	openFor time.Duration
	log     zerolog.Logger
	// open has a token for each GPU whose run can be opened; who holds it may use the run.
	open    []chan format.Run
	stopped chan struct{} // closed to end the time of openings
	once    sync.Once

	mu         sync.Mutex
	changed    chan struct{}   // closed and replaced at every change of what follows
	roots      [][]format.Hash // of each GPU; only appended to
	came       [][]time.Time   // when each root was there, by this machine's clock
	ready      *[32]byte       // SHA-256 of the commitment that is signed as soon as the block has been looked up
	signed     *messages.MeasureCommitment
	commitment format.Commitment
	yields     time.Time               // from when on the next period's run may end this one
	life       context.Context         // of what is opened; set with signed
	refused    messages.MeasureRefusal // why the run ended; 0 as long as it can be joined
	verdict    verdict
	done       bool // the GPUs are free again
	members    map[solana.PublicKey]*member
	rivals     map[solana.PublicKey]instant.Instant // which other block keepers have named
	outvoted   []solana.PublicKey                   // who names one of them, when they are more than are told of the run
}

// member is who was told of a run, and what it has drawn of each GPU.
type member struct{ drawn map[uint8]drawn }

type drawn struct {
	challenge [32]byte
	times     int
}

func newRun(place format.Place, gpus []GPU) *run {
	r := &run{
		place: place, gpus: gpus, stopped: make(chan struct{}), changed: make(chan struct{}),
		roots: make([][]format.Hash, len(gpus)), came: make([][]time.Time, len(gpus)), members: map[solana.PublicKey]*member{},
		rivals: map[solana.PublicKey]instant.Instant{},
	}
	for range gpus {
		r.open = append(r.open, make(chan format.Run, 1))
	}
	return r
}

// until waits for a status. Error: ctx's.
func (r *run) until(ctx context.Context, is func(status) bool) error {
	for {
		now := r.status()
		if is(now) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-now.changed:
		}
	}
}

// await waits until the GPUs are free again. Error: ctx's.
func (r *run) await(ctx context.Context) error {
	if err := r.until(ctx, func(s status) bool { return s.done }); err != nil {
		return fmt.Errorf("a measurement has the GPUs' memory: %w", err)
	}
	return nil
}

// stop ends the time of openings.
func (r *run) stop() { r.once.Do(func() { close(r.stopped) }) }

// status is how far a run is.
type status struct {
	committed, done bool
	outvoted        bool      // see run
	opened          bool      // all members have drawn of all GPUs
	yields          time.Time // see run
	refused         messages.MeasureRefusal
	verdict         verdict
	changed         <-chan struct{}
}

func (r *run) status() status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return status{r.signed != nil, r.done, len(r.outvoted) > 0, r.allDrawn(), r.yields, r.refused, r.verdict, r.changed}
}

// allDrawn reports whether every member has drawn of every GPU. Callers hold mu.
func (r *run) allDrawn() bool {
	for _, m := range r.members {
		if len(m.drawn) < len(r.gpus) {
			return false
		}
	}
	return true
}

// update changes the run and wakes up all who wait for that.
func (r *run) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.wake()
}

// wake wakes up all who wait for a change. Callers hold mu.
func (r *run) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// join counts a key among the members; false when there are too many.
func (r *run) join(key solana.PublicKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.members[key] == nil {
		if len(r.members) >= maxMembers {
			return false
		}
		r.members[key] = &member{drawn: map[uint8]drawn{}}
	}
	return true
}

// rival notes that a keeper names another block than the run's. When more keepers name that one than are told of the run, the run
// ends: else one keeper that lies could have the GPUs until the node has looked its block up.
func (r *run) rival(key solana.PublicKey, at instant.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rivals) < maxMembers {
		r.rivals[key] = at
	}
	var names []solana.PublicKey
	for k, b := range r.rivals {
		if same(b, at) {
			names = append(names, k)
		}
	}
	if r.verdict == unknown && len(r.outvoted) == 0 && !r.done && len(names) > len(r.members) {
		r.outvoted = names
		r.wake()
	}
}

// winner is the block that has outvoted the run's, and who names it.
func (r *run) winner() (instant.Instant, []solana.PublicKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rivals[r.outvoted[0]], r.outvoted
}

// voted ends a run that is outvoted.
func (r *run) voted(ctx context.Context, cancel context.CancelCauseFunc) {
	if r.until(ctx, func(s status) bool { return s.outvoted }) == nil {
		cancel(errOutvoted)
	}
}

// follow sends all roots from the first on, in as few items as the receiver's pace allows, then that the node is ready, then
// the commitment, or why there will be none. It holds nobody up but its caller.
func (r *run) follow(ctx context.Context, send func(messages.MeasureItem) error) error {
	sent := make([]int, len(r.gpus))
	fresh := make([][]format.Hash, len(r.gpus))
	told := false // that the node is ready
	for {
		r.mu.Lock()
		changed, ready, signed, refused, outvoted, more := r.changed, r.ready, r.signed, r.refused, len(r.outvoted) > 0, false
		for i, roots := range r.roots {
			fresh[i] = roots[sent[i]:] // what is in it does not change any more
			more = more || len(fresh[i]) > 0
		}
		r.mu.Unlock()
		switch {
		case outvoted: // who was right joins again
			return nil
		case refused != 0 && (signed == nil || refused != messages.MeasureOver):
			return send(messages.MeasureItem{Refused: refused})
		case !more && signed != nil:
			return send(messages.MeasureItem{Commitment: signed})
		case !more && ready != nil && !told:
			told = true
			if err := send(messages.MeasureItem{Ready: ready}); err != nil {
				return err
			}
		case !more:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-changed:
			}
		}
		for i, roots := range fresh {
			if len(roots) == 0 {
				continue
			}
			item := &messages.MeasureRoots{GPU: r.gpus[i].Index, First: uint32(sent[i]), Roots: make([]byte, 0, 32*len(roots))}
			for _, root := range roots {
				item.Roots = append(item.Roots, root[:]...)
			}
			if err := send(messages.MeasureItem{Roots: item}); err != nil {
				return err
			}
			sent[i] += len(roots)
		}
	}
}
