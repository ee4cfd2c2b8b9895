package check

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Store keeps what was signed. *store.Store is one.
type Store interface {
	SignStatements([]records.CheckStatement) ([]store.Signed, []store.Refusal, error)
	Statements(records.Period) ([]store.Signed, error)
	Seal(records.Period) error
}

// Finding is the outcome of one check, not yet a statement.
type Finding struct {
	Node    solana.PublicKey
	Kind    records.CheckKind
	Passed  bool
	At      time.Time
	Latency time.Duration
	// Period of a check that belongs to one, whenever its answer came; not used for liveness.
	Period  records.Period
	Figures records.Figures
	Detail  [32]byte
	// Liveness is the node's answer, if there was one.
	Liveness *messages.Liveness
	// Point marks a liveness check of a node that is not ours to watch: it says how the node was at that moment and
	// speaks for no time.
	Point bool
	// Unknown: a liveness check that says nothing: it was refused, or lost on the way. The time since the check before
	// is not verified.
	Unknown bool
	// Evaded: the node is up and did not answer the question.
	Evaded bool
	// Interval is the longest planned time between two liveness checks of the node; 0 for the shortest that there is.
	Interval time.Duration
}

// RecorderOptions of a Recorder; all but Log are required.
type RecorderOptions struct {
	View    *view.View
	Store   Store
	Self    solana.PublicKey // this keeper
	Domain  records.Domain
	Secs    uint32
	Doubt   time.Duration            // before a first failed check that counts as down: the interval of the checks
	Publish func([]statement.Signed) // after the statements are stored
	Sealed  func(records.Period)     // after a period's statements are complete
	Damaged func(error)              // the store cannot be trusted any more
	Log     zerolog.Logger
	Now     func() time.Time
}

// Recorder turns findings into signed statements, in order and by one goroutine, and seals each period when it is over.
type Recorder struct {
	o RecorderOptions

	findings chan Finding
	cover    *Cover
	strikes  map[Subject]int // times in a row that a live node left out a lease
	next     records.Period  // to be sealed
}

const (
	// gather is how long findings are collected to be stored together.
	gather = 40 * time.Millisecond
	// sealAfter is how long after a period's end it is sealed: findings made before are on their way.
	sealAfter = 2 * gather
)

// NewRecorder reads what was signed in the running period, which counts, and seals the earlier ones. Errors:
// options.ErrMissing, the store's.
func NewRecorder(o RecorderOptions) (*Recorder, error) {
	if err := options.Complete("recorder", o, "Log"); err != nil {
		return nil, err
	}
	doubt := int64((o.Doubt + time.Second - 1) / time.Second)
	r := &Recorder{o: o, findings: make(chan Finding, 1024), cover: NewCover(o.Secs, doubt), strikes: map[Subject]int{}}
	r.next = r.cover.PeriodAt(o.Now().Unix())
	if r.next > 0 {
		if err := o.Store.Seal(r.next - 1); err != nil {
			return nil, err
		}
	}
	have, err := o.Store.Statements(r.next)
	if err != nil {
		return nil, err
	}
	for _, s := range have {
		r.cover.Restore(s.Statement)
	}
	return r, nil
}

// Add hands a finding over. It waits while the recorder is behind.
func (r *Recorder) Add(ctx context.Context, f Finding) {
	select {
	case r.findings <- f:
	case <-ctx.Done():
	}
}

// Run records until ctx ends or the store is damaged.
func (r *Recorder) Run(ctx context.Context) error {
	timer := time.NewTimer(r.untilSeal())
	defer timer.Stop()
	for {
		var batch []Finding
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-r.findings:
			batch = r.collect(ctx, append(batch, f))
		case <-timer.C:
		}
		if err := r.take(batch); err != nil {
			return err
		}
		timer.Reset(r.untilSeal())
	}
}

// take signs a batch and seals what is over. An error means that the store is damaged.
func (r *Recorder) take(batch []Finding) error {
	err := r.recordInOrder(batch)
	if err == nil {
		err = r.sealDue()
	}
	if store.IsDamage(err) {
		r.o.Damaged(err)
		return err
	}
	if err != nil {
		r.o.Log.Error().Err(err).Msg("statements were not recorded")
	}
	return nil
}

// Tick takes what was added so far and seals what is over: what Run does, for whoever keeps the time. An error means
// that the store is damaged.
func (r *Recorder) Tick() error {
	var batch []Finding
	for {
		select {
		case f := <-r.findings:
			batch = append(batch, f)
			continue
		default:
		}
		return r.take(batch)
	}
}

// collect gathers findings for a moment, but not beyond the seal.
func (r *Recorder) collect(ctx context.Context, batch []Finding) []Finding {
	timer := time.NewTimer(min(gather, r.untilSeal()))
	defer timer.Stop()
	for len(batch) < 512 {
		select {
		case f := <-r.findings:
			batch = append(batch, f)
		case <-timer.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

func (r *Recorder) end(p records.Period) int64 { return int64(p+1) * int64(r.o.Secs) }

func (r *Recorder) untilSeal() time.Duration {
	return max(time.Millisecond, time.Unix(r.end(r.next), 0).Add(sealAfter).Sub(r.o.Now()))
}

// recordInOrder keeps findings of the next period from moving on what is covered before the rest of this one is.
func (r *Recorder) recordInOrder(batch []Finding) error {
	var early, late []Finding
	for _, f := range batch {
		if f.Kind == records.CheckLiveness && f.At.Unix() >= r.end(r.next) {
			late = append(late, f)
		} else {
			early = append(early, f)
		}
	}
	if err := r.record(early); err != nil || len(late) == 0 {
		return err
	}
	if err := r.sign(r.tails(r.next)); err != nil {
		return err
	}
	return r.record(late)
}

// record signs what the findings say.
func (r *Recorder) record(batch []Finding) error {
	var out []records.CheckStatement
	r.o.View.Read(func(v *view.Accounts) {
		for _, f := range batch {
			if f.Kind == records.CheckLiveness {
				out = append(out, r.liveness(v, f)...)
			} else if f.Period >= r.next {
				out = append(out, r.statement(f, solana.PublicKey{}, f.Period, min(f.At.Unix(), r.end(f.Period)), 0, f.Passed))
			}
		}
	})
	return r.sign(out)
}

func (r *Recorder) statement(f Finding, lease solana.PublicKey, p records.Period, at int64, covered uint32, passed bool) records.CheckStatement {
	return records.CheckStatement{
		Domain: r.o.Domain, Node: f.Node, Period: p, Kind: f.Kind, Passed: passed, Figures: f.Figures,
		CoveredSeconds: covered, CheckedAt: at, Lease: lease, Detail: f.Detail,
	}
}

// spoken is what a span says, as a statement.
func (r *Recorder) spoken(s Subject, x Span) records.CheckStatement {
	f := Finding{Node: s.Node, Kind: records.CheckLiveness, Latency: x.Latency}
	return r.statement(f, s.Lease, x.Period, x.At, x.Seconds, x.Passed)
}

// liveness says what there is to say at once about a node and about each of its leases that run.
func (r *Recorder) liveness(v *view.Accounts, f Finding) []records.CheckStatement {
	n, ok := v.Nodes[f.Node]
	if !ok || !Checked(n.State()) {
		return nil
	}
	// Findings of a period that is sealed speak from the running one's start.
	at := max(f.At.Unix(), int64(r.next)*int64(r.o.Secs))
	var out []records.CheckStatement
	reach := r.reach(f.Interval)
	if f.Unknown {
		return r.unknown(v, f, at)
	}
	if f.Point {
		return append(out, r.statement(f, solana.PublicKey{}, r.cover.PeriodAt(at), at, 0, f.Passed))
	}
	check := func(s Subject, w Window, passed bool) {
		for _, span := range r.cover.Check(s, w, at, passed, f.Latency, reach) {
			out = append(out, r.spoken(s, span))
		}
	}
	check(Subject{Node: f.Node}, nodeWindow(n), f.Passed)
	for _, l := range v.RunningLeases(f.Node) {
		s := Subject{f.Node, l.Address}
		up := f.Passed && f.Liveness != nil && LeaseUp(f.Liveness, l.Address)
		if f.Passed && !up {
			// The chain and the node may disagree for a moment around a lease's start and end.
			if r.strikes[s]++; r.strikes[s] < 2 {
				continue
			}
		} else {
			delete(r.strikes, s)
		}
		check(s, leaseWindow(l), up)
	}
	return out
}

// reach is for how many seconds around it a check can speak: an interval, and half of one, by which a check may be late.
func (r *Recorder) reach(interval time.Duration) int64 {
	if interval <= 0 {
		interval = r.o.Doubt
	}
	return int64((interval+interval/2)/time.Second) + 1
}

// unknown says what was held about a node and its leases up to the check before; the time from there on is nobody's.
func (r *Recorder) unknown(v *view.Accounts, f Finding, at int64) (out []records.CheckStatement) {
	if f.Point {
		return nil
	}
	note := func(s Subject, w Window) {
		if span, ok := r.cover.Unknown(s, w, at); ok {
			out = append(out, r.spoken(s, span))
		}
	}
	note(Subject{Node: f.Node}, Window{})
	for _, l := range v.RunningLeases(f.Node) {
		note(Subject{f.Node, l.Address}, leaseWindow(l))
	}
	return out
}

func nodeWindow(n *market.Node) Window { return Window{From: max(n.RegisteredAt, n.AvailableSince)} }

// leaseWindow ends where nothing is owed any more.
func leaseWindow(l *market.Lease) Window {
	to := l.FundedUntil
	if l.EndedAt != 0 {
		to = min(to, l.EndedAt)
	}
	return Window{From: l.StartedAt, To: to}
}

// sign stores, then publishes.
func (r *Recorder) sign(statements []records.CheckStatement) error {
	if len(statements) == 0 {
		return nil
	}
	signed, refused, err := r.o.Store.SignStatements(statements)
	if err != nil {
		return err
	}
	for _, x := range refused {
		level := zerolog.DebugLevel
		if errors.Is(x.Err, store.ErrConflict) {
			level = zerolog.InfoLevel
		}
		r.o.Log.WithLevel(level).Err(x.Err).Stringer("kind", x.Statement.Kind).Stringer("node", x.Statement.Node).Msg("keeper does not sign a statement")
	}
	out := make([]statement.Signed, 0, len(signed))
	for _, s := range signed {
		out = append(out, statement.Signed{Keeper: r.o.Self, Statement: s.Statement, Signature: s.Signature})
	}
	if len(out) > 0 {
		r.o.Publish(out)
	}
	return nil
}
