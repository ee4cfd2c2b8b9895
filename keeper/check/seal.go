package check

import (
	"time"

	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// sealDue seals every period that is over.
func (r *Recorder) sealDue() error {
	now := r.o.Now()
	for !now.Before(time.Unix(r.end(r.next), 0).Add(sealAfter)) {
		p := r.next
		if err := r.sign(r.tails(p)); err != nil {
			return err
		}
		if err := r.o.Store.Seal(p); err != nil {
			return err
		}
		r.next++
		r.cover.Forget(int64(p) * int64(r.o.Secs))
		r.o.View.Read(func(v *view.Accounts) {
			for s := range r.strikes {
				if _, ok := v.Leases[s.Lease]; !ok {
					delete(r.strikes, s)
				}
			}
		})
		r.o.Sealed(p)
	}
	return nil
}

// tails returns the last statements of a period: what is held, with the time between the last check and the period's
// end for subjects that could still be up.
func (r *Recorder) tails(p records.Period) []records.CheckStatement {
	var out []records.CheckStatement
	r.o.View.Read(func(v *view.Accounts) {
		for _, s := range r.cover.Subjects() {
			w, there := r.window(v, s)
			var span Span
			var ok bool
			if there {
				span, ok = r.cover.Tail(s, w, p)
			} else {
				span, ok = r.cover.Flush(s, p)
			}
			if ok {
				out = append(out, r.spoken(s, span))
			}
		}
	})
	return out
}

// window returns when a subject can be up; false when it is not checked any more.
func (r *Recorder) window(v *view.Accounts, s Subject) (Window, bool) {
	n, ok := v.Nodes[s.Node]
	if !ok || !Checked(n.State()) {
		return Window{}, false
	}
	if s.Lease.IsZero() {
		return nodeWindow(n), true
	}
	l, ok := v.Leases[s.Lease]
	if !ok || l.StartedAt == 0 {
		return Window{}, false
	}
	return leaseWindow(l), true
}
