package txm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/sdk/chain"
)

const (
	maxUnits = 1_400_000 // the runtime's limit of compute units a transaction
	maxTx    = 1232      // bytes a transaction may have on the network
)

// prepared is what is known before signing.
type prepared struct {
	hash  chain.Blockhash
	units uint64
	limit uint32
	price chain.MicroLamports
	logs  []string
}

// prepare simulates the intent and fetches a blockhash and a price, all at the same time.
func (m *Manager) prepare(ctx context.Context, r Entry) (prepared, error) {
	var p prepared
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
		sim, err = m.simulate(gctx, r)
		if te := malformed(err); te != nil {
			return te
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return p, err
	}
	if sim.Err != nil {
		err := decodeTxError(sim.Err, sim.Logs, r.Instructions, r.Payer)
		var pe *txerr.ProgramError
		if errors.As(err, &pe) {
			pe.Simulated = true
		}
		return p, err
	}
	p.units, p.logs = sim.Units, sim.Logs
	p.limit = unitLimit(sim.Units, m.o.MinUnits, r.Boost)
	return p, nil
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

func (m *Manager) simulate(ctx context.Context, r Entry) (chain.Simulation, error) {
	tx, err := assemble(r, solana.Hash{1}, maxUnits, 0)
	if err != nil {
		return chain.Simulation{}, err
	}
	tx.Signatures = make([]solana.Signature, tx.Message.Header.NumRequiredSignatures)
	return m.o.RPC.Simulate(ctx, tx, chain.SimulateOptions{
		// The newest state, so that what was just confirmed is seen on any node.
		Commitment: chain.Processed, MinContextSlot: max(r.MinSlot, m.seen.get()),
	})
}

// assemble puts the compute-budget instructions after the intent's own: the runtime finds them anywhere, and indices
// stay the caller's, for errors and for programs that inspect neighbouring instructions.
func assemble(r Entry, hash solana.Hash, limit uint32, price chain.MicroLamports) (*solana.Transaction, error) {
	ixs := make([]solana.Instruction, 0, len(r.Instructions)+2)
	for _, ix := range r.Instructions {
		ixs = append(ixs, ix)
	}
	ixs = append(ixs, Instruction{
		Program: solana.ComputeBudget, Payload: binary.LittleEndian.AppendUint32([]byte{2}, limit),
	})
	ixs = append(ixs, Instruction{
		Program: solana.ComputeBudget, Payload: binary.LittleEndian.AppendUint64([]byte{3}, uint64(price)),
	})
	tx, err := solana.NewTransaction(ixs, hash, solana.TransactionPayer(r.Payer))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	return tx, nil
}

// sign builds and signs a transaction.
func (m *Manager) sign(r Entry, p prepared, extra Keys) (*Attempt, error) {
	tx, err := assemble(r, p.hash.Hash, p.limit, p.price)
	if err != nil {
		return nil, err
	}
	switch price, err := m.o.Fees.fit(p.price, p.limit, int(tx.Message.Header.NumRequiredSignatures)); {
	case err != nil:
		return nil, fmt.Errorf("intent %s: %w", r.ID, err)
	case price != p.price:
		p.price = price
		if tx, err = assemble(r, p.hash.Hash, p.limit, p.price); err != nil {
			return nil, err
		}
	}
	msg, err := tx.Message.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	for _, key := range tx.Message.AccountKeys[:tx.Message.Header.NumRequiredSignatures] {
		s, err := m.signer(key, extra)
		if err != nil {
			return nil, fmt.Errorf("intent %s: %w", r.ID, err)
		}
		sig, err := s.Sign(msg)
		if err != nil {
			return nil, fmt.Errorf("intent %s: sign with %s: %w", r.ID, key, err)
		}
		tx.Signatures = append(tx.Signatures, sig)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	if len(raw) > maxTx {
		return nil, fmt.Errorf("intent %s has %d: %w; split it", r.ID, len(raw), ErrTooLarge)
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
