package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

// errBudget: what a pod may cost is used up.
var errBudget = errors.New("the pod's budget is used up")

// order is the order of a pod's present attempt.
func (p *Provider) order(r *record) (market.OrderRequest, []string, error) {
	request, warnings, err := podspec.Order(r.Pod, p.o.Defaults)
	if err != nil {
		return request, nil, err
	}
	budget, err := micros(request.Budget)
	if err != nil {
		return request, nil, fmt.Errorf("%w: annotation %s: %w", podspec.ErrRefused, podspec.AnnotationBudget, err)
	}
	if budget <= r.Spent {
		return request, nil, fmt.Errorf("%w: its leases have cost up to %s USDC of %s; set %s on a new pod", errBudget, usdc(r.Spent), request.Budget, podspec.AnnotationBudget)
	}
	request.Budget = usdc(budget - r.Spent)
	return request, warnings, nil
}

// buy orders a pod's lease, or continues with that.
func (p *Provider) buy(ctx context.Context, w *work, r record) time.Duration {
	now := time.Now()
	if wait := r.NotBefore.Sub(now); wait > 0 {
		return wait
	}
	if late(&r, now) && !r.Sent {
		return p.tooLate(w, r, now)
	}
	if r.Request == nil {
		request, warnings, err := p.order(&r)
		if err == nil {
			err = p.addAccount(ctx, w, r.Pod, &request)
		}
		if err != nil {
			return p.refuse(w, err, now)
		}
		for _, says := range warnings {
			p.event(w, corev1.EventTypeWarning, "NotRun", says)
		}
		r.Request = &request
	}
	sent := r.Sent
	if err := p.change(w, func(c *record) {
		c.Request, c.Sent = r.Request, true
		if len(c.Pod.Status.ContainerStatuses) == 0 {
			setWaiting(c, reasonBuying, "a lease is being bought", now)
		}
	}); err != nil { // an order that nobody remembers is not sent
		return p.retry(w)
	}
	order, err := p.o.Market.Buy(ctx, r.key(), r.Request)
	now = time.Now()
	switch {
	case ctx.Err() != nil:
		return 0
	case err == nil && order.Bought():
		p.bought(w, order.Leases[0], now)
		return 0
	case err == nil:
		w.tries = 0
		_ = p.change(w, func(c *record) {
			setWaiting(c, reasonBuying, "the order waits for a machine, or the machine fetches the image", now)
		})
		return p.o.RetryLeast
	}
	return p.notBought(w, r, sent, err, now)
}

// bought begins a lease.
func (p *Provider) bought(w *work, l market.Lease, now time.Time) {
	w.tries = 0
	_ = p.change(w, func(c *record) {
		c.Lease, c.Sent = l.Address, false
		setWaiting(c, reasonCreating, "lease "+l.Address+" begins", now)
	})
	p.event(w, corev1.EventTypeNormal, reasonLeased, fmt.Sprintf("lease %s on machine %s: %d × %s at %s USDC per GPU-hour", l.Address, l.Node, l.GPUs, l.Model, l.Price))
}

// notBought tells why there is no lease, and says when to try again.
func (p *Provider) notBought(w *work, r record, sent bool, err error, now time.Time) time.Duration {
	reason, says := reasonUnreachable, err.Error()
	switch {
	case isImage(err, r.Request.Image):
		reason = reasonImage
		if w.tries > 0 {
			reason = reasonImageAgain
		}
	case market.Wrong(err):
		return p.refuse(w, err, now)
	case market.Certain(err):
		reason = reasonNotServed
	}
	_ = p.change(w, func(c *record) {
		switch {
		case market.Certain(err): // the next try is by what the pod's annotations say then
			c.Sent, c.Request = false, nil
		case isDenied(err): // it changes nothing
			c.Sent = sent
		}
		setWaiting(c, reason, says, now)
	})
	if reason == reasonImageAgain {
		reason = reasonImage // one event
	}
	p.event(w, corev1.EventTypeWarning, reason, says)
	return p.retry(w)
}

// refuse ends a pod that can never run. One that is to be restarted always waits instead, since its controller would make another
// at once.
func (p *Provider) refuse(w *work, err error, now time.Time) time.Duration {
	reason := reasonRefused
	if errors.Is(err, errBudget) {
		reason = reasonFunds
	}
	says := err.Error()
	_ = p.change(w, func(c *record) {
		c.Sent, c.Request = false, nil
		if c.Pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			setWaiting(c, reason, says, now)
			c.Pod.Status.Reason, c.Pod.Status.Message = reason, says
			return
		}
		if len(c.Pod.Spec.Containers) == 0 {
			return
		}
		setOver(c, ending{code: 1, reason: reason, message: says, finished: now, failed: true}, now)
	})
	p.event(w, corev1.EventTypeWarning, reason, says)
	return p.o.RetryMost
}

// tooLate ends a pod whose deadline is over before it has a lease.
func (p *Provider) tooLate(w *work, r record, now time.Time) time.Duration {
	e := ending{code: exitUnknown, reason: reasonDeadline, message: "activeDeadlineSeconds were over before a machine had the pod", finished: now, failed: true}
	_ = p.change(w, func(c *record) { setOver(c, e, now) })
	p.event(w, corev1.EventTypeWarning, e.reason, e.message)
	return 0
}

// isImage reports whether the registry does not have the image, in the words of the server.
func isImage(err error, image string) bool {
	var problem *market.Problem
	return errors.As(err, &problem) &&
		(strings.Contains(problem.Detail, "image "+image+" is not there") || strings.Contains(problem.Detail, "what image "+image+" is") ||
			strings.Contains(problem.Detail, fmt.Sprintf("image %q is not the name", image)))
}

// isDenied reports whether the token opens nothing.
func isDenied(err error) bool {
	var problem *market.Problem
	return errors.As(err, &problem) &&
		(problem.Status == http.StatusUnauthorized || problem.Status == http.StatusForbidden || problem.Status == http.StatusMisdirectedRequest)
}
