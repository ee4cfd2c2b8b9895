package txm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

const maxUnits = 1_400_000 // the runtime's limit of compute units a transaction

// prepared is what is known before signing.
type prepared struct {
	form  txform.Form
	hash  chain.Blockhash
	units uint64
	limit uint32
	price chain.MicroLamports
	logs  []string
}

// build makes the transaction, at a price at which it costs no more than it may.
// Errors: ErrFees, those of assemble.
func (m *Manager) build(r Entry, p *prepared) (*solana.Transaction, error) {
	tx, err := assemble(r, p.form, p.hash.Hash, txform.Budget{Units: p.limit, Price: p.price})
	if err != nil {
		return nil, err
	}
	switch price, err := m.o.Fees.fit(p.price, p.limit, txform.Signatures(&tx.Message)); {
	case err != nil:
		return nil, fmt.Errorf("intent %s: %w", r.ID, err)
	case price == p.price:
		return tx, nil
	default:
		p.price = price
	}
	return assemble(r, p.form, p.hash.Hash, txform.Budget{Units: p.limit, Price: p.price})
}

// prepare simulates the intent in a form and fetches a blockhash and a price, all at the same time.
func (m *Manager) prepare(ctx context.Context, r Entry, f txform.Form) (prepared, error) {
	p := prepared{form: f}
	var sim chain.Simulation
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		p.hash, err = m.hash.get(gctx, m.o.RPC, m.o.BlockhashTTL)
		return err
	})
	g.Go(func() (err error) {
		p.price, err = m.price(gctx, r)
		return err
	})
	g.Go(func() (err error) {
		sim, err = m.simulate(gctx, r, f)
		if te := malformed(err); te != nil {
			return te
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return p, err
	}
	if sim.Err != nil {
		return p, simulated(sim, r)
	}
	p.units, p.logs = sim.Units, sim.Logs
	p.limit = unitLimit(sim.Units, m.o.MinUnits, r.Boost)
	return p, nil
}

// simulated is the refusal that a simulation has found.
func simulated(sim chain.Simulation, r Entry) error {
	err := decodeTxError(sim.Err, sim.Logs, r.Instructions, r.Payer)
	var pe *txerr.ProgramError
	if errors.As(err, &pe) {
		pe.Simulated = true
	}
	return err
}

// unitLimit is the simulated use plus a tenth, rounded up, doubled for every boost, within the floor and the runtime's
// limit.
func unitLimit(units uint64, floor uint32, boost uint) uint32 {
	units = min(units, maxUnits)
	limit := (units*11 + 9) / 10
	limit = max(limit, uint64(floor)) << min(boost, 8)
	return uint32(min(limit, maxUnits))
}

// UnitLimit is the limit of a transaction that takes so many compute units, as the options' defaults set it.
func UnitLimit(units uint64) uint32 { return unitLimit(units, minUnits, 0) }

// simulate tries an entry in a form, and shows these accounts as it leaves them.
func (m *Manager) simulate(ctx context.Context, r Entry, f txform.Form, show ...solana.PublicKey) (chain.Simulation, error) {
	tx, err := assemble(r, f, solana.Hash{1}, txform.Budget{Units: maxUnits})
	if err != nil {
		return chain.Simulation{}, err
	}
	tx.Signatures = make([]solana.Signature, tx.Message.Header.NumRequiredSignatures)
	return m.o.RPC.Simulate(ctx, tx, chain.SimulateOptions{
		// The newest state, so that what was just confirmed is seen on any node.
		Commitment: chain.Processed, MinContextSlot: max(r.MinSlot, m.seen.get()), Accounts: show,
	})
}

// sign builds and signs a transaction.
func (m *Manager) sign(r Entry, p prepared, extra Keys) (*Attempt, error) {
	tx, err := m.build(r, &p)
	if err != nil {
		return nil, err
	}
	msg, err := tx.Message.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	keys := tx.Message.AccountKeys[:tx.Message.Header.NumRequiredSignatures]
	tx.Signatures = make([]solana.Signature, len(keys))
	for i, key := range slices.Backward(keys) { // the payer signs last: a sponsor counts what it signs, and a person may still refuse
		s, err := m.signer(key, extra)
		if err != nil {
			return nil, fmt.Errorf("intent %s: %w", r.ID, err)
		}
		sig, err := s.Sign(msg)
		if err != nil {
			return nil, fmt.Errorf("intent %s: sign with %s: %w", r.ID, key, err)
		}
		tx.Signatures[i] = sig
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	return &Attempt{
		Raw: raw, Signature: tx.Signatures[0], LastValid: p.hash.LastValidBlockHeight,
		SinceSlot: p.hash.Slot, Units: p.units, Limit: p.limit, Price: p.price,
	}, nil
}

// blockhashCache shares a blockhash among transactions of the same moment.
type blockhashCache struct {
	mu   sync.Mutex
	hash chain.Blockhash
	at   time.Time
}

func (c *blockhashCache) get(ctx context.Context, rpc RPC, ttl time.Duration) (chain.Blockhash, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < ttl {
		return c.hash, nil
	}
	h, err := rpc.LatestBlockhash(ctx, chain.Confirmed)
	if err != nil {
		return h, err
	}
	c.hash, c.at = h, time.Now()
	return h, nil
}

// drop forgets the blockhash after a node did not know it.
func (c *blockhashCache) drop() {
	c.mu.Lock()
	c.at = time.Time{}
	c.mu.Unlock()
}
