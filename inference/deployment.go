package inference

import (
	"context"
	"sync"
	"time"
)

// deployment is one that runs.
type deployment struct {
	s    *Service
	wake chan struct{} // the scaler looks again
	gone chan struct{} // closed when it is being deleted
	done chan struct{} // closed when it is deleted, and nothing of it is left

	mu       sync.Mutex
	rec      record
	replicas map[uint64]*replica
	waiting  []*waiter
	active   int
	scale    scale
	failures int // replicas that never served, one after the other
	// notBefore is when the next replica may begin.
	notBefore time.Time
	// reason is why the last replica did not serve.
	reason string
}

func newDeployment(s *Service, rec record) *deployment {
	d := &deployment{s: s, rec: rec, wake: make(chan struct{}, 1), gone: make(chan struct{}), done: make(chan struct{}), replicas: map[uint64]*replica{}}
	if rec.Deleting {
		close(d.gone)
	}
	return d
}

// poke lets the scaler look again soon.
func (d *deployment) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run scales until ctx ends, or the deployment is deleted and nothing of it is left. It waits for its replicas' workers, which
// leave leases as they are when ctx ends.
func (d *deployment) run(ctx context.Context, had []replicaRecord) {
	var workers sync.WaitGroup
	defer workers.Wait()
	begin := func(rec replicaRecord) {
		r := newReplica(ctx, d, rec)
		d.mu.Lock()
		d.replicas[rec.ID] = r
		d.mu.Unlock()
		workers.Go(r.run)
	}
	for _, rec := range had {
		begin(rec)
	}
	t := time.NewTicker(d.s.o.Every)
	defer t.Stop()
	for {
		what := d.look()
		for range what.start {
			rec, err := d.s.o.Store.addReplica(&d.rec.Spec)
			if err != nil {
				d.s.o.Log.Error().Err(err).Str("deployment", d.rec.Spec.Name).Msg("replica cannot be stored, and is not bought")
				break
			}
			begin(rec)
		}
		if d.over() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-t.C:
		}
	}
}

// look decides, and tells replicas to leave that are not needed.
func (d *deployment) look() decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	spec := &d.rec.Spec
	now := time.Now()
	f := facts{
		now: now, min: spec.Min, max: spec.Max, concurrency: spec.Concurrency, idle: spec.Idle, active: d.active, waiting: len(d.waiting),
		notBefore: d.notBefore, deleting: d.rec.Deleting,
	}
	for _, r := range d.replicas {
		switch {
		case r.leaving:
		case r.expires(now):
			f.expiring++
		case r.serving:
			f.serving++
		default:
			f.coming++
		}
	}
	var what decision
	d.scale, what = decide(d.scale, f)
	for range what.drain {
		if r := d.leastUseful(now); r != nil {
			r.leave()
		}
	}
	if what.replaced {
		for _, r := range d.replicas {
			if !r.leaving && r.expires(now) {
				r.leave()
			}
		}
	}
	return what
}

// leastUseful is a replica that does not serve, or the least loaded one. The caller holds the lock.
func (d *deployment) leastUseful(now time.Time) (least *replica) {
	for _, r := range d.replicas {
		switch {
		case r.leaving || r.expires(now):
		case least == nil, least.serving && !r.serving, least.serving == r.serving && r.active < least.active:
			least = r
		}
	}
	return least
}

// over reports whether a deployment that is being deleted is gone, and forgets it.
func (d *deployment) over() bool {
	d.mu.Lock()
	left := len(d.replicas)
	deleting := d.rec.Deleting
	d.mu.Unlock()
	if !deleting || left > 0 {
		return false
	}
	if err := d.s.o.Store.remove(d.rec.Spec.Name); err != nil {
		d.s.o.Log.Error().Err(err).Str("deployment", d.rec.Spec.Name).Msg("deployment cannot be forgotten")
		return false
	}
	d.s.forget(d)
	close(d.done)
	return true
}

// remove begins the end of the deployment.
func (d *deployment) remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rec.Deleting {
		return nil
	}
	if err := d.s.o.Store.markDeleting(d.rec.Spec.Name); err != nil {
		return err
	}
	d.rec.Deleting = true
	close(d.gone)
	d.poke()
	return nil
}

// failed counts a replica that never served, and lets the next one wait: a model server that cannot start must not cost a
// lease a minute.
func (d *deployment) failed(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := min(d.s.o.Backoff<<min(d.failures, 16), maxBackoff)
	d.failures++
	d.notBefore, d.reason = time.Now().Add(wait), reason
}

// served forgets failures.
func (d *deployment) served() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failures, d.notBefore, d.reason = 0, time.Time{}, ""
}

// why says why no replica serves, for who waits.
func (d *deployment) why() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	reason := d.reason
	for _, r := range d.replicas {
		if r.reason != "" {
			reason = r.reason
		}
	}
	return reason
}

// Replica is one as it is shown.
type Replica struct {
	ID      uint64 `json:"id"`
	Phase   string `json:"phase" enum:"buying,starting,serving,suspect,leaving"`
	Reason  string `json:"reason,omitempty" doc:"Why it does not serve"`
	Lease   string `json:"lease,omitempty"`
	Active  int    `json:"activeRequests"`
	PerHour string `json:"pricePerHour,omitempty" doc:"Of all its GPUs, USDC"`
	Until   int64  `json:"fundedUntil,omitempty"`
}

// DeploymentStatus is a deployment as it is shown.
type DeploymentStatus struct {
	Name        string    `json:"name"`
	Deleting    bool      `json:"deleting,omitempty"`
	MinReplicas int       `json:"minReplicas"`
	MaxReplicas int       `json:"maxReplicas"`
	Wanted      int       `json:"wantedReplicas"`
	Serving     int       `json:"servingReplicas"`
	Active      int       `json:"activeRequests"`
	Waiting     int       `json:"waitingRequests"`
	Reason      string    `json:"reason,omitempty" doc:"Why the last replica did not serve"`
	RetryAt     int64     `json:"retryAt,omitempty" doc:"When the next replica begins"`
	Created     int64     `json:"createdAt"`
	Replicas    []Replica `json:"replicas"`
}

// State says what the deployment waits for, or why its last replica did not serve.
func (d *DeploymentStatus) State() string {
	switch {
	case d.Deleting:
		return "is being deleted"
	case d.Reason != "":
		return d.Reason
	case d.Wanted == 0:
		return "the first request starts a replica"
	case d.Serving < d.Wanted:
		return "replicas start"
	}
	return "serves"
}

func (d *deployment) status() DeploymentStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	spec := &d.rec.Spec
	out := DeploymentStatus{
		Name: spec.Name, Deleting: d.rec.Deleting, MinReplicas: spec.Min, MaxReplicas: spec.Max, Wanted: d.scale.target, Active: d.active,
		Waiting: len(d.waiting), Reason: d.reason, Created: spec.Created.Unix(), Replicas: []Replica{},
	}
	if d.notBefore.After(time.Now()) {
		out.RetryAt = d.notBefore.Unix()
	}
	for _, id := range sortedKeys(d.replicas) {
		r := d.replicas[id]
		v := Replica{ID: r.rec.ID, Phase: r.phase(), Reason: r.reason, Lease: r.rec.Lease, Active: r.active}
		if r.perHour > 0 {
			v.PerHour, v.Until = r.perHour.String(), r.until.Unix()
		}
		if v.Phase == phaseServing {
			out.Serving++
		}
		out.Replicas = append(out.Replicas, v)
	}
	return out
}
