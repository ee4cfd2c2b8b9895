package txm

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

type landedReport struct {
	entry   Entry
	err     error
	latency time.Duration
}

// queueLanded queues a landed transaction for OnLanded. If OnLanded is far behind, the report is dropped and logged:
// following transactions goes first.
func (m *Manager) queueLanded(r Entry, err error, latency time.Duration) {
	if m.o.OnLanded == nil {
		return
	}
	select {
	case m.landed <- landedReport{r, err, latency}:
	default:
		m.log.Warn().Str("intent", r.ID).Msg("queue of landed transactions is full; one is not reported")
	}
}

// reportLanded reads each landed transaction's figures and calls OnLanded. When the manager closes it still reports
// what is queued, within a short time.
func (m *Manager) reportLanded() {
	for {
		select {
		case n := <-m.landed:
			m.reportOne(m.ctx, n)
		case <-m.ctx.Done():
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			for {
				select {
				case n := <-m.landed:
					m.reportOne(ctx, n)
				default:
					return
				}
			}
		}
	}
}

func (m *Manager) reportOne(ctx context.Context, n landedReport) {
	a := n.entry.Current
	for try := range 6 {
		l, err := m.o.RPC.Transaction(ctx, a.Signature, chain.Confirmed)
		if err == nil {
			m.o.OnLanded(Landed{
				ID: n.entry.ID, Kind: n.entry.Kind, Signature: a.Signature, Slot: l.Slot, Units: l.Units,
				Limit: a.Limit, Fee: l.Fee, Logs: l.Logs, Err: n.err, Latency: n.latency,
			})
			return
		}
		if try == 5 || wait.For(ctx, m.o.Poll<<try) != nil {
			m.log.Warn().Str("intent", n.entry.ID).Err(err).Msg("node has no figures of a landed transaction")
			return
		}
	}
}

// DryRun is the outcome of simulating an intent.
type DryRun struct {
	Units     uint64
	UnitLimit uint32
	UnitPrice chain.MicroLamports
	Fee       chain.Lamports // signatures and priority
	Logs      []string
}

// DryRun simulates an intent. Nothing is stored, signed or sent, and no key is needed. Errors: *txerr.ProgramError,
// *TxError, ErrIntent, ErrTooLarge, ErrFees, chain's.
func (m *Manager) DryRun(ctx context.Context, in Intent) (DryRun, error) {
	payer := in.Payer
	if payer.IsZero() {
		payer = m.o.Payer
	}
	r, err := newEntry(in, payer, time.Now())
	if err != nil {
		return DryRun{}, err
	}
	f, err := m.form(ctx, r)
	if err != nil {
		return DryRun{}, err
	}
	p, err := m.prepare(ctx, r, f)
	if err != nil {
		return DryRun{}, err
	}
	tx, err := m.build(r, &p)
	if err != nil {
		return DryRun{}, err
	}
	return DryRun{Units: p.units, UnitLimit: p.limit, UnitPrice: p.price, Fee: txform.Fee(&tx.Message), Logs: p.logs}, nil
}

// Leaves simulates an intent, and returns what an account that it writes holds afterwards. Nothing is stored, signed or sent.
// Errors: those of DryRun.
func (m *Manager) Leaves(ctx context.Context, in Intent, key solana.PublicKey) (chain.Lamports, error) {
	r, err := newEntry(in, in.Payer, time.Now())
	if err != nil {
		return 0, err
	}
	f, err := m.form(ctx, r)
	if err != nil {
		return 0, err
	}
	sim, err := m.simulate(ctx, r, f, key)
	switch {
	case malformed(err) != nil:
		return 0, malformed(err)
	case err != nil:
		return 0, err
	case sim.Err != nil:
		return 0, simulated(sim, r)
	case len(sim.Accounts) != 1 || sim.Accounts[0] == nil:
		return 0, nil
	}
	return sim.Accounts[0].Lamports, nil
}
