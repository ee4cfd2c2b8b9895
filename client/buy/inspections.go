package buy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Inspections measures machines of leases that a server has bought, as an attended purchase does for its own, and
// knows what it has found. That is stored with each purchase, so that a server that was killed continues with what is
// due.
type Inspections struct {
	ctx context.Context // of the server
	wg  sync.WaitGroup

	mu    sync.Mutex
	known map[string]service.Inspection // by lease
}

// NewInspections lets inspections run until ctx ends or end is called, which waits for them.
func NewInspections(ctx context.Context) (i *Inspections, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	i = &Inspections{ctx: ctx, known: map[string]service.Inspection{}}
	return i, func() {
		i.mu.Lock()
		cancel() // from here on nothing is begun
		i.mu.Unlock()
		i.wg.Wait()
	}
}

// Of implements service.Inspections.
func (i *Inspections) Of(lease string) *service.Inspection {
	i.mu.Lock()
	defer i.mu.Unlock()
	if x, ok := i.known[lease]; ok {
		return &x
	}
	return nil
}

// Bought takes the leases of a purchase. Each is taken once, however often its purchase is repeated.
func (i *Inspections) Bought(b *Buyer, mode string, leases []service.Lease) error {
	if i == nil || (mode != Auto && mode != Always) {
		return nil
	}
	for n := range leases {
		if err := i.take(b, mode, &leases[n]); err != nil {
			return err
		}
	}
	return nil
}

// take continues with what is stored of a lease, or draws whether it is inspected, and stores that.
func (i *Inspections) take(b *Buyer, mode string, l *service.Lease) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, taken := i.known[l.Address]; taken {
		return nil
	}
	x, before, err := stored(b, l)
	if err != nil {
		return err
	}
	if !before {
		if l.Status != market.LeaseRunning.String() {
			return nil
		}
		drawn, err := drawByte()
		if err != nil {
			return err
		}
		x = service.Inspection{State: service.InspectionSpared, At: time.Now().Unix()}
		if drawnFor(mode, l.Simulated, drawn) {
			x = service.Inspection{State: service.InspectionDue}
		}
		if err := store(b, l, &x); err != nil {
			return err
		}
	}
	i.begin(b, l, x)
	return nil
}

// begin inspects a lease that is due. The caller holds the lock.
func (i *Inspections) begin(b *Buyer, l *service.Lease, x service.Inspection) {
	i.known[l.Address] = x
	if x.Over() || i.ctx.Err() != nil {
		return
	}
	i.wg.Go(func() {
		x := i.inspect(b, l)
		if i.ctx.Err() != nil && x.State != service.InspectionPassed && x.State != service.InspectionFailed {
			return // the next server continues
		}
		x.At = time.Now().Unix()
		if err := store(b, l, &x); err != nil {
			b.log.Warn().Err(err).Str("lease", l.Address).Msg("what came of an inspection is not stored")
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.known[l.Address] = x
	})
}

// Resume continues with the inspections that a server before has left: of each detached purchase of the buyer's folder
// that was to be inspected, and whose name is one of this server's.
func (i *Inspections) Resume(ctx context.Context, b *Buyer, ours func(name string) bool) error {
	all, err := b.folder.All()
	if err != nil { // those that can be read go on
		b.log.Warn().Err(err).Msg("purchases that cannot be read are not inspected")
	}
	asked := map[string]string{}
	for _, p := range all {
		if p.Detach && (p.Inspect == Auto || p.Inspect == Always) && ours(purchase.NameOf(all, &p)) {
			asked[p.Order.String()] = p.Inspect
		}
	}
	if len(asked) == 0 {
		return nil
	}
	leases, err := b.service.Leases(ctx, b.customer)
	if err != nil {
		return err
	}
	for n := range leases {
		if err := i.Bought(b, asked[leases[n].Order], leases[n:n+1]); err != nil {
			return err
		}
	}
	return nil
}

// inspect waits for a second of the lease that it draws, and measures the machine then.
func (i *Inspections) inspect(b *Buyer, l *service.Lease) service.Inspection {
	var pause time.Duration
	over := i.onRunning(b, l, func(_ *view.View, cur *market.Lease, m *Measurement) error {
		now, err := b.client.Now(i.ctx)
		if err == nil {
			pause, err = drawWait(time.Duration(max(0, cur.FundedUntil-now))*time.Second - m.takes())
		}
		return err
	})
	if over != nil {
		return *over
	}
	if wait.For(i.ctx, pause) != nil {
		return service.Inspection{}
	}
	var x service.Inspection
	over = i.onRunning(b, l, func(v *view.View, _ *market.Lease, m *Measurement) error {
		r, err := b.dial(i.ctx, v)
		if err != nil {
			return err
		}
		defer r.Close()
		found, why, err := m.inspect(i.ctx, r)
		if err != nil {
			return err
		}
		x.State = found
		x.Show(m.Result.Figures)
		if why != nil {
			x.Why = why.Error()
		}
		return nil
	})
	if over != nil {
		return *over
	}
	if x.State == service.InspectionFailed {
		b.log.Warn().Str("lease", l.Address).Str("why", x.Why).Msg("a machine does not pass its inspection: its lease is ended")
		x.Why += i.end(b, l)
	}
	return x
}

// onRunning gives f a lease that runs, and what is asked of its machine. What the server itself has trouble
// with says nothing of the machine, and is tried again. The inspection that it returns is over; nil where f was done.
func (i *Inspections) onRunning(b *Buyer, l *service.Lease, f func(*view.View, *market.Lease, *Measurement) error) *service.Inspection {
	var err error
	for try := range inspectTries {
		if try > 0 && wait.For(i.ctx, inspectPause) != nil {
			return &service.Inspection{}
		}
		var missed bool
		if missed, err = i.once(b, l, f); missed {
			return &service.Inspection{State: service.InspectionMissed, Why: "the lease was over before"}
		}
		if err == nil {
			return nil
		}
	}
	return &service.Inspection{State: service.InspectionUndecided, Why: classify(err).Reason}
}

func (i *Inspections) once(b *Buyer, l *service.Lease, f func(*view.View, *market.Lease, *Measurement) error) (missed bool, err error) {
	_, lease, err := keysOf(l)
	if err != nil {
		return false, err
	}
	if _, err := b.service.Lease(i.ctx, b.customer, lease); err != nil {
		return errors.Is(err, service.ErrNoLease), err
	}
	mk, err := b.market(i.ctx)
	if err != nil {
		return false, err
	}
	v, cur, stop, err := b.own(i.ctx, lease, query.Kind(market.KindKeeper), query.Kind(market.KindModel))
	if err != nil {
		return false, err
	}
	defer stop()
	if cur.State() != market.LeaseRunning {
		return true, nil
	}
	m, err := MeasurementOf(v, mk, cur)
	if err != nil {
		return false, err
	}
	return false, f(v, &cur, m)
}

// end ends the lease of a machine that does not pass, and says what is to be known if it cannot.
func (i *Inspections) end(b *Buyer, l *service.Lease) string {
	_, lease, err := keysOf(l)
	for try := 0; err == nil; try++ {
		var stopped error
		if _, stopped = b.Stop(i.ctx, lease); stopped == nil {
			return ""
		}
		if try+1 == inspectTries {
			err = stopped
			break
		}
		if wait.For(i.ctx, inspectPause) != nil {
			return ""
		}
	}
	return fmt.Sprintf("; the lease could not be ended, and is billed: %v", err)
}

// store stores what is known of a lease's inspection next to its purchase.
func store(b *Buyer, l *service.Lease, x *service.Inspection) error {
	order, lease, err := keysOf(l)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("inspection of lease %s: %w", l.Address, err)
	}
	return b.folder.SetInspection(order, lease, raw)
}

// stored is what is known of a lease's inspection from before.
func stored(b *Buyer, l *service.Lease) (x service.Inspection, known bool, err error) {
	order, lease, err := keysOf(l)
	if err != nil {
		return x, false, err
	}
	raw, err := b.folder.Inspection(order, lease)
	if err != nil || raw == nil {
		return x, false, err
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return x, false, fmt.Errorf("%w: inspection of lease %s: %w", purchase.ErrRecord, l.Address, err)
	}
	return x, true, nil
}

func keysOf(l *service.Lease) (order, lease solana.PublicKey, err error) {
	if order, err = solana.PublicKeyFromBase58(l.Order); err == nil {
		lease, err = solana.PublicKeyFromBase58(l.Address)
	}
	if err != nil {
		return order, lease, fmt.Errorf("lease %s of order %s: %w", l.Address, l.Order, err)
	}
	return order, lease, nil
}
