package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// inspections measures machines of leases that a server has bought, as deploy --inspect does for the lease that it attends,
// and knows what it has found. That is stored with each purchase, so that a server that is killed goes on with what is due.
type inspections struct {
	ctx context.Context // of the server
	wg  sync.WaitGroup

	mu    sync.Mutex
	known map[string]service.Inspection // by lease
}

// beginInspections lets inspections run until ctx ends or end is called, which waits for them.
func beginInspections(ctx context.Context) (i *inspections, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	i = &inspections{ctx: ctx, known: map[string]service.Inspection{}}
	return i, func() {
		i.mu.Lock()
		cancel() // from here on nothing is begun
		i.mu.Unlock()
		i.wg.Wait()
	}
}

// Of implements service.Inspections.
func (i *inspections) Of(lease string) *service.Inspection {
	i.mu.Lock()
	defer i.mu.Unlock()
	if x, ok := i.known[lease]; ok {
		return &x
	}
	return nil
}

// bought takes the leases of a purchase. Each is taken once, however often its purchase is repeated.
func (i *inspections) bought(b *buyer, mode string, leases []service.Lease) error {
	if i == nil || (mode != verifyAuto && mode != verifyAlways) {
		return nil
	}
	for n := range leases {
		if err := i.take(b, mode, &leases[n]); err != nil {
			return err
		}
	}
	return nil
}

// take goes on with what is stored of a lease, or draws whether it is inspected, and stores that.
func (i *inspections) take(b *buyer, mode string, l *service.Lease) error {
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
func (i *inspections) begin(b *buyer, l *service.Lease, x service.Inspection) {
	i.known[l.Address] = x
	if x.Over() || i.ctx.Err() != nil {
		return
	}
	i.wg.Go(func() {
		x := i.inspect(b, l)
		if i.ctx.Err() != nil && x.State != service.InspectionPassed && x.State != service.InspectionFailed {
			return // the next server goes on
		}
		x.At = time.Now().Unix()
		if err := store(b, l, &x); err != nil {
			b.s.log.Warn().Err(err).Str("lease", l.Address).Msg("what came of an inspection is not stored")
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.known[l.Address] = x
	})
}

// resume goes on with what a server before has left: of each purchase of the buyer's folder that was to be inspected. Names
// with the prefix mcp/ are those of the other kind of server.
func (i *inspections) resume(b *buyer) error {
	all, err := b.s.state.All()
	if err != nil { // those that can be read go on
		b.s.log.Warn().Err(err).Msg("purchases that cannot be read are not inspected")
	}
	asked := map[string]string{}
	for _, p := range all {
		models := strings.HasPrefix(p.Name, mcpPurchases)
		if p.Detach && (p.Inspect == verifyAuto || p.Inspect == verifyAlways) && models == (b.prefix == mcpPurchases) {
			asked[p.Order.String()] = p.Inspect
		}
	}
	if len(asked) == 0 {
		return nil
	}
	leases, err := b.s.service.Leases(b.s.ctx, b.s.actsFor)
	if err != nil {
		return err
	}
	for n := range leases {
		if err := i.bought(b, asked[leases[n].Order], leases[n:n+1]); err != nil {
			return err
		}
	}
	return nil
}

// inspect waits for a second of the lease that it draws, and measures the machine then.
func (i *inspections) inspect(b *buyer, l *service.Lease) service.Inspection {
	var wait time.Duration
	over := i.onRunning(b, l, func(ss *session, _ *view.View, cur *market.Lease, m *measurement) error {
		now, err := ss.now()
		if err == nil {
			wait, err = drawWait(time.Duration(max(0, cur.FundedUntil-now))*time.Second - m.takes())
		}
		return err
	})
	if over != nil {
		return *over
	}
	if sleep(i.ctx, wait) != nil {
		return service.Inspection{}
	}
	var x service.Inspection
	over = i.onRunning(b, l, func(ss *session, v *view.View, _ *market.Lease, m *measurement) error {
		r, err := ss.dial(v)
		if err != nil {
			return err
		}
		found, why, err := m.inspect(i.ctx, r)
		if err != nil {
			return err
		}
		x.State = found
		x.Show(m.result.Figures)
		if why != nil {
			x.Why = why.Error()
		}
		return nil
	})
	if over != nil {
		return *over
	}
	if x.State == service.InspectionFailed {
		b.s.log.Warn().Str("lease", l.Address).Str("why", x.Why).Msg("a machine does not pass its inspection: its lease is ended")
		x.Why += i.end(b, l)
	}
	return x
}

// onRunning gives f a session with a lease that runs, and what is asked of its machine. What the server itself has trouble
// with says nothing of the machine, and is tried again. The inspection that it returns is over; nil where f was done.
func (i *inspections) onRunning(b *buyer, l *service.Lease, f func(*session, *view.View, *market.Lease, *measurement) error) *service.Inspection {
	var err error
	for try := range inspectTries {
		if try > 0 && sleep(i.ctx, inspectPause) != nil {
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

func (i *inspections) once(b *buyer, l *service.Lease, f func(*session, *view.View, *market.Lease, *measurement) error) (missed bool, err error) {
	_, lease, err := keysOf(l)
	if err != nil {
		return false, err
	}
	ss, _, err := b.session(i.ctx, &cli.Command{Name: "verify", Flags: asSession()}, nil, nil)
	if err != nil {
		return false, err
	}
	defer ss.close()
	if _, err := ss.service.Lease(i.ctx, ss.actsFor, lease); err != nil {
		return errors.Is(err, service.ErrNoLease), err
	}
	mk, err := ss.market()
	if err != nil {
		return false, err
	}
	v, cur, err := ss.ownLease(ss.live, l.Address, query.Kind(market.KindKeeper), query.Kind(market.KindModel))
	if err != nil {
		return false, err
	}
	if cur.State() != market.LeaseRunning {
		return true, nil
	}
	m, err := measuredLease(v, mk, cur)
	if err != nil {
		return false, err
	}
	return false, f(ss, v, &cur, m)
}

// end ends the lease of a machine that does not pass, and says what is to be known if it cannot.
func (i *inspections) end(b *buyer, l *service.Lease) string {
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
		if sleep(i.ctx, inspectPause) != nil {
			return ""
		}
	}
	return fmt.Sprintf("; the lease could not be ended, and is billed: %v", err)
}

// store stores what is known of a lease's inspection beside its purchase.
func store(b *buyer, l *service.Lease, x *service.Inspection) error {
	order, lease, err := keysOf(l)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("inspection of lease %s: %w", l.Address, err)
	}
	return b.s.state.SetInspection(order, lease, raw)
}

// stored is what is known of a lease's inspection from before.
func stored(b *buyer, l *service.Lease) (x service.Inspection, known bool, err error) {
	order, lease, err := keysOf(l)
	if err != nil {
		return x, false, err
	}
	raw, err := b.s.state.Inspection(order, lease)
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
