package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/txm"
)

// extensionsKept is how long the key of an extension stands for it.
const extensionsKept = 365 * 24 * time.Hour

// extender extends leases over HTTP. A key is a transaction of the manager's store, which sends it once.
type extender struct {
	buyer
	m *txm.Manager
}

// extender extends with the session's key; what it has sent is in the folder. The returned function closes that.
func (s *session) extender(f *purchase.Folder) (*extender, func(keep bool), error) {
	b, err := s.servedBuyer("")
	if err != nil {
		return nil, nil, err
	}
	sender, err := s.sender()
	if err != nil {
		return nil, nil, err
	}
	m, closeBoth, err := sender.Open(s.ctx, filepath.Join(f.Dir(), "extensions.db"), extensionsKept)
	if err != nil {
		return nil, nil, err
	}
	return &extender{*b, m}, closeBoth, nil
}

// Extend implements serve.Extender.
func (x *extender) Extend(ctx context.Context, key string, lease solana.PublicKey, seconds uint32) (service.Lease, error) {
	if _, err := x.s.service.Lease(ctx, x.s.actsFor, lease); err != nil {
		return service.Lease{}, err
	}
	return x.b.Extend(ctx, x.m, key, lease, seconds)
}
