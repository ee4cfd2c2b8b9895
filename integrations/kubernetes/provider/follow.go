package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// exitWithin is how long a machine is asked how a job has ended.
const exitWithin = 2 * time.Minute

// closedAfter is how often a lease is not found before it counts as closed: a server that has just begun may not see it yet.
const closedAfter = 5

// exitUnknown is the exit code of a container of which nothing is known, as the kubelet's.
const exitUnknown = 137

// follow looks at a pod's lease.
func (p *Provider) follow(ctx context.Context, w *work, r record) time.Duration {
	now := time.Now()
	l, err := p.o.Market.Lease(ctx, r.Lease)
	switch {
	case ctx.Err() != nil:
		return 0
	case market.NotFound(err) && w.tries < closedAfter:
		w.tries++
		return p.o.Poll
	case market.NotFound(err): // it is over for so long that it was closed
		l = market.Lease{Address: r.Lease, Status: "closed"}
	case err != nil:
		p.o.Log.Warn().Err(err).Str("pod", nameOf(r.Pod)).Msg("the lease of a pod is not seen")
		return p.retry(w)
	}
	w.tries = 0
	if l.Over() {
		return p.ended(ctx, w, r, l, now)
	}
	if late(&r, now) {
		return p.stopLate(ctx, w, r, now)
	}
	if r.Started {
		return p.o.Poll
	}
	job, err := p.o.Market.Job(ctx, r.Lease)
	switch {
	case err != nil:
		p.o.Log.Debug().Err(err).Str("pod", nameOf(r.Pod)).Msg("the machine of a pod does not answer")
	case job.State == market.JobRunning, job.Over():
		since := now
		if job.StartedAt > 0 {
			since = time.Unix(job.StartedAt, 0)
		}
		_ = p.change(w, func(c *record) {
			c.Started = true
			setRunning(c, since, now)
		})
		p.event(w, corev1.EventTypeNormal, reasonStarted, "the container runs on machine "+l.Node)
	default:
		_ = p.change(w, func(c *record) {
			setWaiting(c, reasonCreating, "the machine prepares the container "+job.Detail, now)
		})
	}
	return p.o.Poll
}

// late reports whether a pod has run for longer than it may.
func late(r *record, now time.Time) bool {
	deadline, began := r.Pod.Spec.ActiveDeadlineSeconds, r.Pod.Status.StartTime
	return deadline != nil && began != nil && now.Sub(began.Time) >= time.Duration(*deadline)*time.Second
}

// stopLate ends the lease of a pod whose deadline is over.
func (p *Provider) stopLate(ctx context.Context, w *work, r record, now time.Time) time.Duration {
	l, err := p.o.Market.Stop(ctx, r.Lease)
	if err != nil || !l.Over() {
		return p.retry(w)
	}
	return p.ended(ctx, w, r, l, now)
}

// ended learns how a job has ended whose lease is over, and starts it again if the pod wants that.
func (p *Provider) ended(ctx context.Context, w *work, r record, l market.Lease, now time.Time) time.Duration {
	if r.EndSeen.IsZero() {
		r.EndSeen = now
		if p.change(w, func(c *record) { c.EndSeen = now }) != nil {
			return p.retry(w)
		}
	}
	job, err := p.o.Market.Job(ctx, r.Lease)
	if ctx.Err() != nil {
		return 0
	}
	known := err == nil && job.ExitCode != nil
	if !known && needsExit(&l) && now.Sub(r.EndSeen) < exitWithin {
		return p.o.Poll
	}
	if !known {
		job = market.Job{}
	}
	p.keepOutput(ctx, &r)
	e := endingOf(&r, &l, &job, now)
	if late(&r, now) {
		e.reason, e.failed = reasonDeadline, true
		e.message = fmt.Sprintf("the pod has run for longer than activeDeadlineSeconds, %d", *r.Pod.Spec.ActiveDeadlineSeconds)
	}
	cost, err := micros(l.Cost)
	if err != nil {
		cost = 0 // of a lease that is closed: what it cost is not shown any more
	}
	if e.reason != reasonDeadline && again(&r, &e) {
		p.startAgain(w, e, cost, now)
		return 0
	}
	_ = p.change(w, func(c *record) {
		c.Spent += cost
		setOver(c, e, now)
	})
	if !e.good() {
		p.event(w, corev1.EventTypeWarning, e.reason, e.message)
	}
	return 0
}

// startAgain begins a pod's next attempt, after a pause that grows.
func (p *Provider) startAgain(w *work, e ending, cost int64, now time.Time) {
	_ = p.change(w, func(c *record) {
		pause := min(p.o.RetryLeast<<min(c.Attempt, 20), p.o.RetryMost)
		if pause <= 0 {
			pause = p.o.RetryMost
		}
		last := e.state(c.Lease)
		c.Spent += cost
		c.Attempt++
		c.Lease, c.Request, c.Sent, c.Started, c.EndSeen, c.NotBefore = "", nil, false, false, time.Time{}, now.Add(pause)
		setWaiting(c, reasonCrash, fmt.Sprintf("the container has ended (%s); a new lease is bought in %s", e.message, pause), now)
		c.Pod.Status.ContainerStatuses[0].LastTerminationState = last
	})
	p.event(w, corev1.EventTypeWarning, reasonBackOff, "a new lease is bought: "+e.message)
}

// needsExit reports whether the job of a lease has ended before its lease was stopped, so that its exit code counts.
func needsExit(l *market.Lease) bool { return l.EndReason == market.EndedJobDone }

// again reports whether a container is to be started again.
func again(r *record, e *ending) bool {
	switch r.Pod.Spec.RestartPolicy {
	case corev1.RestartPolicyAlways:
		return e.reason != reasonFunds
	case corev1.RestartPolicyOnFailure:
		return !e.good() && e.reason != reasonFunds
	}
	return false
}

// endingOf says how a container has ended, from the lease and from what the machine says.
func endingOf(r *record, l *market.Lease, job *market.Job, now time.Time) ending {
	e := ending{code: exitUnknown, started: startedAt(&r.Pod.Status), finished: now, failed: true}
	if l.EndedAt > 0 {
		e.finished = time.Unix(l.EndedAt, 0)
	}
	if job.StartedAt > 0 {
		e.started = time.Unix(job.StartedAt, 0)
	}
	if job.ExitCode != nil {
		e.code = *job.ExitCode
	}
	switch {
	case job.State == market.JobBroken:
		e.reason, e.message = reasonStart, "the machine could not start the container: "+job.Detail
	case l.EndReason == market.EndedJobDone && job.ExitCode != nil:
		e.failed, e.reason, e.message = false, reasonCompleted, job.Detail
		if e.code != 0 {
			e.reason = reasonError
		}
		if strings.Contains(job.Detail, "more memory than its limit") {
			e.reason = reasonMemory
		}
	case l.EndReason == market.EndedJobDone:
		e.reason, e.message = reasonUnknown, "the job has ended, and its machine does not say how"
	case l.EndReason == market.EndedByProvider:
		e.reason, e.message = reasonGivenUp, "the owner of the machine has ended the lease "+l.Address
	case l.EndReason == market.EndedFailed:
		e.reason, e.message = reasonMachine, "the machine of lease "+l.Address+" has failed"
	case l.EndReason == market.EndedFunds:
		e.reason, e.message = reasonFunds, "the paid time of lease "+l.Address+" is over, and the budget or the credits are used up"
	case l.EndReason == market.EndedByCustomer:
		e.reason, e.message = reasonStopped, "the lease "+l.Address+" was stopped"
	default:
		e.reason, e.message = reasonUnknown, "lease "+l.Address+" is "+l.Status+", and how its job ended is not known"
	}
	return e
}
