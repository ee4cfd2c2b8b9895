package inference

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

var (
	// errBusy: too many requests wait already.
	errBusy = errors.New("too many requests wait already")
	// errNoReplica: no replica took the request in time.
	errNoReplica = errors.New("no replica serves yet")
	// errDeleted: the deployment is being deleted.
	errDeleted = errors.New("the deployment is being deleted")
)

// maxWaiting is how many requests wait for replicas of one deployment.
const maxWaiting = 4096

// waiter is a request that waits for a replica.
type waiter struct {
	affinity uint64
	exclude  []uint64
	got      chan *replica // has place for one
}

// acquire gives a request a place at a replica, at once or after a while. affinity prefers the replica that has seen the same
// beginning; 0 has no preference. Replicas in exclude have failed it already. The caller calls release.
func (d *deployment) acquire(ctx context.Context, affinity uint64, exclude []uint64, wait bool) (*replica, error) {
	d.mu.Lock()
	if d.rec.Deleting {
		d.mu.Unlock()
		return nil, errDeleted
	}
	if r := d.pick(affinity, exclude); r != nil {
		d.take(r)
		d.mu.Unlock()
		return r, nil
	}
	if !wait {
		d.mu.Unlock()
		return nil, errNoReplica
	}
	if len(d.waiting) >= maxWaiting {
		d.mu.Unlock()
		return nil, errBusy
	}
	w := &waiter{affinity: affinity, exclude: exclude, got: make(chan *replica, 1)}
	d.waiting = append(d.waiting, w)
	d.mu.Unlock()
	d.poke()

	t := time.NewTimer(d.rec.Spec.Wait)
	defer t.Stop()
	var err error
	select {
	case r := <-w.got:
		return r, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-d.gone:
		err = errDeleted
	case <-t.C:
		err = errNoReplica
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.waiting, w); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
		return nil, err
	}
	return <-w.got, nil // it came meanwhile
}

// take counts a request of a replica. The caller holds the lock.
func (d *deployment) take(r *replica) {
	r.account(time.Now())
	r.active++
	d.active++
}

// release gives a place back.
func (d *deployment) release(r *replica) {
	d.mu.Lock()
	r.account(time.Now())
	r.active--
	d.active--
	d.handOut()
	drained := r.leaving && r.active == 0
	d.mu.Unlock()
	if drained {
		r.poke()
	}
}

// handOut gives free places to requests that wait, in their order. The caller holds the lock.
func (d *deployment) handOut() {
	d.waiting = slices.DeleteFunc(d.waiting, func(w *waiter) bool {
		r := d.pick(w.affinity, w.exclude)
		if r == nil {
			return false
		}
		d.take(r)
		w.got <- r
		return true
	})
}

// pick chooses a replica with a free place: the preferred one unless it is much busier than the least loaded, else the least
// loaded; nil for none. The caller holds the lock.
func (d *deployment) pick(affinity uint64, exclude []uint64) *replica {
	var least, preferred *replica
	var best uint64
	for _, r := range d.replicas {
		if !r.serving || r.leaving || r.active >= d.rec.Spec.Concurrency || slices.Contains(exclude, r.rec.ID) {
			continue
		}
		if least == nil || r.active < least.active || (r.active == least.active && r.rec.ID < least.rec.ID) {
			least = r
		}
		// Rendezvous hashing: when replicas come and go, few beginnings change their replica.
		if h := mix(affinity, r.rec.ID); affinity != 0 && (preferred == nil || h > best) {
			preferred, best = r, h
		}
	}
	if preferred == nil {
		return least
	}
	if slack := max(1, spare(d.rec.Spec.Concurrency)); preferred.active > least.active+slack {
		return least
	}
	return preferred
}

func mix(affinity, id uint64) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], affinity)
	binary.LittleEndian.PutUint64(b[8:], id)
	_, _ = h.Write(b[:])
	// FNV's high bits hardly depend on the last bytes.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// account adds up what a request costs: the replica's price is shared by the requests that it answers at the same time.
// The caller holds the lock.
func (r *replica) account(now time.Time) {
	if r.active > 0 {
		r.shared += now.Sub(r.counted).Seconds() * float64(r.perHour) / 3600 / float64(r.active)
	}
	r.counted = now
}

// cost is what a request owes that began when shared was at from, micro-USDC.
func (d *deployment) cost(r *replica, from float64) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.account(time.Now())
	return math.Max(0, r.shared-from)
}

// sharedNow is where the replica's shared cost is.
func (d *deployment) sharedNow(r *replica) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.account(time.Now())
	return r.shared
}
