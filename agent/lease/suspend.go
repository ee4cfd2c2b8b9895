package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Suspend suspends a lease's container, or says how far that is. The customer ends the lease once it is done. Error:
// *RefusedError.
func (m *Manager) Suspend(ctx context.Context, from solana.PublicKey, req messages.SuspendRequest) (messages.SuspendAnswer, error) {
	answer := messages.SuspendAnswer{Version: messages.Version}
	if err := m.authorise(ctx, from, req.Lease); err != nil {
		return answer, err
	}
	r, err := m.o.Store.Lease(req.Lease)
	switch {
	case errors.Is(err, store.ErrNotFound) || (err == nil && r.Job == nil):
		return answer, refuse(messages.JobMissing)
	case err != nil:
		return answer, err
	}
	made, err := m.o.Runtime.Suspend(ctx, keyString(req.Lease), fmt.Sprintf("%x", req.Attempt))
	switch {
	case errors.Is(err, runtime.ErrStarting):
		return answer, refuse(messages.ContainerStarts)
	case errors.Is(err, runtime.ErrSuspend), errors.Is(err, runtime.ErrNotRunning), errors.Is(err, runtime.ErrNotFound):
		return answer, refuse("%v", err)
	case err != nil:
		return answer, err
	}
	if made.Hash != "" {
		if n, err := hex.Decode(answer.Hash[:], []byte(made.Hash)); err != nil || n != len(answer.Hash) {
			return answer, fmt.Errorf("snapshot %q of lease %s: %w", made.Hash, keyString(req.Lease), err)
		}
	}
	answer.Failed = made.Error
	return answer, nil
}
