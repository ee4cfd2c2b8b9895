package challenge

import (
	"time"

	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/index"
)

// sealDue closes every period that is over.
func (r *Recorder) sealDue() error {
	now := r.Now()
	for !now.Before(time.Unix(r.end(r.next), 0).Add(sealAfter)) {
		p := r.next
		if err := r.sign(r.tails(p)); err != nil {
			return err
		}
		if err := r.Book.Seal(p); err != nil {
			return err
		}
		r.next++
		r.cover.Forget(int64(p) * int64(r.Secs))
		r.Index.Read(func(v *index.View) {
			for s := range r.strikes {
				if _, ok := v.Leases[s.Lease]; !ok {
					delete(r.strikes, s)
				}
			}
		})
		r.Sealed(p)
	}
	return nil
}

// tails covers the time between the last check and the period's end.
func (r *Recorder) tails(p wire.Period) []wire.CheckStatement {
	var out []wire.CheckStatement
	r.Index.Read(func(v *index.View) {
		for _, s := range r.cover.Subjects() {
			n, ok := v.Nodes[s.Node]
			if !ok || !Checked(n.State()) {
				continue
			}
			w := nodeWindow(n)
			if !s.Lease.IsZero() {
				l, ok := v.Leases[s.Lease]
				if !ok || l.StartedAt == 0 {
					continue
				}
				w = leaseWindow(l)
			}
			secs, passed, ok := r.cover.Tail(s, w, p)
			if ok {
				f := Finding{Node: s.Node, Kind: wire.CheckLiveness}
				out = append(out, r.statement(f, s.Lease, p, r.end(p), secs, passed))
			}
		}
	})
	return out
}
