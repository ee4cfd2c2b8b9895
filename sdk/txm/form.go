package txm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/txform"
)

// assemble puts an intent into a transaction. Errors: ErrTooLarge, ErrIntent.
func assemble(r Entry, f txform.Form, hash solana.Hash, b txform.Budget) (*solana.Transaction, error) {
	all := make([]solana.Instruction, len(r.Instructions))
	for n, i := range r.Instructions {
		all[n] = i
	}
	tx, err := f.Build(r.Payer, hash, b, all...)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("intent %s: %w; split it", r.ID, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	return tx, nil
}

// form decides in which form an intent is sent: the legacy one if the intent fits it, because everybody knows it; else
// version 1, if the cluster takes it. Errors: ErrTooLarge, ErrIntent, those of the node.
func (m *Manager) form(ctx context.Context, r Entry) (txform.Form, error) {
	_, legacy := assemble(r, txform.Legacy, solana.Hash{}, txform.Budget{})
	if !errors.Is(legacy, ErrTooLarge) {
		return txform.Legacy, legacy
	}
	if _, err := assemble(r, txform.VersionOne, solana.Hash{}, txform.Budget{}); err != nil {
		return 0, err
	}
	switch takes, err := m.one.get(ctx, m.o.RPC); {
	case err != nil:
		return 0, err
	case !takes:
		return 0, fmt.Errorf("%w, and this cluster does not take %s yet", legacy, txform.VersionOne)
	}
	return txform.VersionOne, nil
}

// Largest is the largest form that the cluster takes. Where the node does not say, it is the legacy one.
func (m *Manager) Largest(ctx context.Context) txform.Form {
	if takes, err := m.one.get(ctx, m.o.RPC); err == nil && takes {
		return txform.VersionOne
	}
	return txform.Legacy
}

// versionOne remembers whether the cluster takes transactions of version 1.
type versionOne struct {
	mu    sync.Mutex
	takes bool
	asked time.Time
}

// askAgain is when a cluster is asked again that did not take version 1. One that takes it does so for ever.
const askAgain = time.Minute

func (v *versionOne) get(ctx context.Context, rpc RPC) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.takes || !v.asked.IsZero() && time.Since(v.asked) < askAgain {
		return v.takes, nil
	}
	takes, err := rpc.FeatureActive(ctx, txform.Gate)
	if err != nil {
		return false, err
	}
	v.takes, v.asked = takes, time.Now()
	return takes, nil
}
