package inference

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// maxBackoff is the longest wait after failures.
	maxBackoff = 10 * time.Minute
	// suspectAfter is how many health checks in a row a replica may miss.
	suspectAfter = 3
	// healthWithin is how long a health check may take.
	healthWithin = 5 * time.Second
	// dialWithin is how long a connection may take.
	dialWithin = 5 * time.Second
	// refreshWithin is how long reading a lease, and extending it, may take.
	refreshWithin = 30 * time.Second
	// stopWithin is how long one try to end a lease may take.
	stopWithin = time.Minute
)

// The phases of a replica, as they are shown.
const (
	phaseBuying   = "buying"
	phaseStarting = "starting"
	phaseServing  = "serving"
	phaseSuspect  = "suspect"
	phaseLeaving  = "leaving"
)

// errLost: the replica's lease is over, or it does not answer any more.
var errLost = errors.New("the replica is lost")

// replica is one of a deployment. Its worker takes it from the purchase to the end of its lease.
type replica struct {
	d    *deployment
	ctx  context.Context // of the server
	lost context.Context // ends when the replica is lost
	lose context.CancelCauseFunc
	// quit ends what a replica that leaves need not finish: a purchase, and the wait for its health.
	quit   context.Context
	depart context.CancelFunc
	nudge  chan struct{} // the worker looks again
	client *http.Client  // to the model server; set before it serves
	// refused: the last try to extend the lease has failed. The worker's own.
	refused bool

	way struct { // to the container
		sync.Mutex
		Connection
	}

	// The deployment's lock guards what follows.
	rec     replicaRecord
	leaving bool
	serving bool
	was     bool // it has served
	active  int
	reason  string
	perHour market.USDC
	until   time.Time
	shared  float64 // see account
	counted time.Time
}

func newReplica(ctx context.Context, d *deployment, rec replicaRecord) *replica {
	r := &replica{d: d, ctx: ctx, rec: rec, nudge: make(chan struct{}, 1), counted: time.Now()}
	r.lost, r.lose = context.WithCancelCause(ctx)
	r.quit, r.depart = context.WithCancel(r.lost)
	return r
}

func (r *replica) poke() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// leave tells the worker to end the replica when its requests are done. The caller holds the deployment's lock.
func (r *replica) leave() {
	r.leaving = true
	r.depart()
	r.poke()
}

// suspect takes a replica out of use until it answers a health check, which is made at once.
func (r *replica) suspect(reason string) {
	r.down(reason)
	r.poke()
}

// down takes a replica out of use.
func (r *replica) down(reason string) {
	r.d.mu.Lock()
	r.serving, r.reason = false, reason
	r.d.mu.Unlock()
	r.d.poke()
}

// expires reports whether its money ends soon. The caller holds the deployment's lock.
func (r *replica) expires(now time.Time) bool {
	return !r.until.IsZero() && now.After(r.until.Add(-r.d.rec.Spec.lead()))
}

// phase is where it is. The caller holds the deployment's lock.
func (r *replica) phase() string {
	switch {
	case r.leaving:
		return phaseLeaving
	case r.rec.Lease == "":
		return phaseBuying
	case r.serving:
		return phaseServing
	case r.was:
		return phaseSuspect
	}
	return phaseStarting
}

// run is the worker. It ends with the server, and then leaves the lease and the record of it as they are.
func (r *replica) run() {
	defer r.lose(errLost)
	log := r.d.s.o.Log.With().Str("deployment", r.d.rec.Spec.Name).Uint64("replica", r.rec.ID).Logger()
	if r.rec.Lease != "" || r.buy() {
		log.Info().Str("lease", r.rec.Lease).Msg("replica has its lease")
		err := r.serve()
		wanted := r.quit.Err() == nil
		r.lose(errLost) // requests that have no token yet go elsewhere
		if err != nil && wanted {
			reason := printable.Text(err.Error())
			log.Warn().Str("lease", r.rec.Lease).Str("reason", reason).Msg("replica is given up")
			if !r.was {
				r.d.failed(reason)
			}
		}
	}
	if r.ctx.Err() != nil {
		return
	}
	r.d.mu.Lock()
	r.serving, r.leaving = false, true
	r.d.mu.Unlock()
	r.d.poke()
	if r.end() {
		log.Info().Str("lease", r.rec.Lease).Msg("replica has ended")
	}
}

// buy brings the purchase to a lease. A purchase that fails is tried again under the same name, which never buys twice.
func (r *replica) buy() bool {
	for try := 0; r.quit.Err() == nil; try++ {
		lease, err := r.d.s.buy(r.quit, r.rec.Name, r.d.rec.Spec.Order)
		if err == nil {
			rec := r.rec
			rec.Lease = lease
			if err = r.d.s.o.Store.putReplica(r.d.rec.Spec.Name, rec); err == nil {
				r.d.mu.Lock()
				r.rec.Lease, r.reason = lease, ""
				r.d.mu.Unlock()
				return true
			}
		}
		if r.quit.Err() != nil || errors.Is(err, ErrOver) {
			return false
		}
		r.d.mu.Lock()
		r.reason = printable.Text(err.Error())
		r.d.mu.Unlock()
		_ = wait.For(r.quit, min(r.d.s.o.Backoff<<min(try, 16), time.Minute))
	}
	return false
}

// serve looks after a replica with a lease until it is to leave (nil), is lost, or does not serve in time.
func (r *replica) serve() error {
	defer r.disconnect()
	spec := &r.d.rec.Spec
	transport := &http.Transport{
		DialContext: r.dial, MaxIdleConns: spec.Concurrency, MaxIdleConnsPerHost: spec.Concurrency, IdleConnTimeout: 90 * time.Second,
		DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
	defer transport.CloseIdleConnections()
	r.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return r.watch(time.Now().Add(spec.Deadline))
}

// watch checks the replica's health, and now and then its lease.
func (r *replica) watch(deadline time.Time) error {
	o := &r.d.s.o
	missed := 0
	var looked time.Time
	for {
		err := r.healthy()
		switch {
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case r.quit.Err() != nil:
			r.drain()
			return nil
		case err == nil:
			missed = 0
			deadline = time.Now().Add(o.Patience)
		default:
			if missed++; missed >= suspectAfter {
				r.down(printable.Text(err.Error()))
			}
		}
		if since := time.Since(looked); since > o.LeaseEvery || (err != nil && since > o.LeaseEvery/5) {
			looked = time.Now()
			if err := r.refresh(); errors.Is(err, ErrOver) {
				return err
			}
		}
		if err == nil {
			r.up()
		} else if time.Now().After(deadline) {
			return fmt.Errorf("it does not serve: %w", err)
		}
		every := o.HealthEvery
		if err != nil {
			every = min(every, time.Second)
		}
		t := time.NewTimer(every)
		select {
		case <-r.quit.Done():
		case <-r.nudge:
		case <-t.C:
		}
		t.Stop()
	}
}

// up lets a replica take requests.
func (r *replica) up() {
	r.d.mu.Lock()
	fresh := !r.serving
	if !r.leaving {
		r.serving, r.was, r.reason = true, true, ""
		r.d.handOut()
	}
	r.d.mu.Unlock()
	if fresh {
		r.d.served()
		r.d.poke()
	}
}

// refresh reads the lease's state, and extends a lease that nears its end.
func (r *replica) refresh() error {
	ctx, cancel := context.WithTimeout(r.lost, refreshWithin)
	defer cancel()
	l, err := r.d.s.o.Compute.Lease(ctx, r.rec.Lease)
	if err != nil {
		return err
	}
	if !r.paid(l) {
		return nil
	}
	// A key for each end: what was sent for this end is not sent again, whatever became of the answer.
	spec := &r.d.rec.Spec
	key := fmt.Sprintf("%s/%d", r.rec.Name, l.Until.Unix())
	log := r.d.s.o.Log.With().Str("deployment", spec.Name).Uint64("replica", r.rec.ID).Str("lease", r.rec.Lease).Logger()
	if l, err = r.d.s.o.Compute.Extend(ctx, key, r.rec.Lease, spec.Lease); err != nil {
		// It is tried again, and replaced where that does not help.
		if !r.refused {
			log.Warn().Str("reason", printable.Text(err.Error())).Msg("lease is not extended")
		}
		r.refused = true
		return nil
	}
	r.refused = false
	log.Info().Time("until", l.Until).Msg("lease is extended")
	r.paid(l)
	return nil
}

// paid takes over what a lease costs and until when it is paid, and reports whether it is to be extended: a replica that
// serves and is wanted, and whose money ends in twice the time in which it would be replaced.
func (r *replica) paid(l Lease) (extend bool) {
	now := r.d.s.o.Now() // may ask the chain
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	r.account(time.Now())
	r.perHour, r.until = l.PerHour, l.Until
	return r.serving && !r.leaving && !l.Until.IsZero() && now.After(l.Until.Add(-2*r.d.rec.Spec.lead()))
}

// drain waits until the requests of a replica that leaves are done, not for ever.
func (r *replica) drain() {
	ctx, cancel := context.WithTimeout(r.lost, r.d.s.o.DrainWithin)
	defer cancel()
	for {
		r.d.mu.Lock()
		active := r.active
		r.d.mu.Unlock()
		if active == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.nudge:
		}
	}
}

// end ends the lease, or what the purchase has come to, again and again, and forgets the replica. It is not forgotten while
// it may cost money.
func (r *replica) end() bool {
	o := &r.d.s.o
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(r.ctx, stopWithin)
		var err error
		if r.rec.Lease != "" {
			err = o.Compute.Stop(ctx, r.rec.Lease)
		} else {
			err = o.Compute.Abandon(ctx, r.rec.Name)
		}
		cancel()
		if err == nil {
			err = o.Store.removeReplica(r.d.rec.Spec.Name, r.rec.ID)
		}
		if err == nil {
			r.d.mu.Lock()
			delete(r.d.replicas, r.rec.ID)
			r.d.mu.Unlock()
			r.d.poke()
			return true
		}
		if r.ctx.Err() != nil {
			return false
		}
		r.d.mu.Lock()
		r.reason = "its lease could not be ended: " + printable.Text(err.Error())
		r.d.mu.Unlock()
		_ = wait.For(r.ctx, min(o.Backoff<<min(try, 16), time.Minute))
	}
}
