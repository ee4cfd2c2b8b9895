package rehearsal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// What migration/program.patch makes of models: the errors behind the last one that this build knows, where the account has its version,
// and how many bytes are new.
const (
	unknownVersion  = bindings.ErrorCodeSignerStands + 1
	alreadyMigrated = bindings.ErrorCodeSignerStands + 2
	modelVersionAt  = 203
	modelAdded      = 8
)

// migrateModels upgrades the program to a build that gives models one more field. Keepers, machines and customers read both layouts
// by then. Until somebody has migrated a model, the program refuses what reads it: orders wait, leases are paid.
func (r *rehearsal) migrateModels(ctx context.Context) error {
	code, err := os.ReadFile(r.o.NextProgram)
	if err != nil {
		return err
	}
	before, err := r.models(ctx)
	if err != nil {
		return err
	}
	old := r.net.Keys.Faucet // whose commands are of this build
	if _, err := r.succeed(ctx, old, "market", "show"); err != nil {
		return fmt.Errorf("an older client before the migration: %w", err)
	}
	if err := r.deploy(ctx, r.o.NextProgram, code); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	defer func() { _ = g.Wait() }()
	waits := make(chan struct{})
	g.Go(func() error {
		defer close(waits)
		_, err := r.succeed(gctx, r.net.Keys.Customers[0], "deploy", "--gpu", "A100", "--count", "1", "--max-price", "2", "--duration", "10m", "--allow-simulated",
			"--run-to-completion", "--", "true")
		return err
	})
	if err := r.waiting(ctx, before, old); err != nil {
		return err
	}
	select {
	case <-waits:
		return errors.Join(errors.New("an order was served by models of the former layout"), g.Wait())
	default:
	}
	for _, m := range before {
		if _, err := r.loader.send.Send(ctx, old.Key, nil, migrate(m.Key, old)); err != nil {
			return fmt.Errorf("migrate model %s: %w", m.Key, err)
		}
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("the order that waited for the migration: %w", err)
	}
	if err := r.migrated(ctx, before, old); err != nil {
		return err
	}
	if err := r.olderClient(ctx, old); err != nil {
		return err
	}
	if err := r.trade(ctx); err != nil {
		return err
	}
	return r.lives(ctx)
}

// models are the accounts of all models, as they are on chain.
func (r *rehearsal) models(ctx context.Context) ([]chain.Account, error) {
	var keys []solana.PublicKey
	for _, m := range r.view.Models() {
		keys = append(keys, m.Address)
	}
	accounts, err := r.net.Chain.Accounts(ctx, keys, chain.Confirmed)
	if err != nil {
		return nil, err
	}
	out := make([]chain.Account, len(accounts))
	for i, a := range accounts {
		if a == nil {
			return nil, fmt.Errorf("model %s is gone", keys[i])
		}
		out[i] = *a
	}
	if len(out) == 0 {
		return nil, errors.New("the market has no models")
	}
	return out, nil
}

// migrate is the instruction that the next build of the program has and this one has not.
func migrate(model solana.PublicKey, payer seed.Wallet) solana.Instruction {
	name := sha256.Sum256([]byte("global:gpu_model_migrate"))
	return solana.NewInstruction(market.ProgramID, solana.AccountMetaSlice{
		solana.Meta(payer.Address()).WRITE().SIGNER(), solana.Meta(model).WRITE(), solana.Meta(solana.SystemProgramID),
	}, name[:8])
}

// answers sends an instruction that the program refuses with a number of its own.
func (r *rehearsal) answers(ctx context.Context, by seed.Wallet, i solana.Instruction, want bindings.ErrorCode) error {
	_, err := r.loader.send.Send(ctx, by.Key, nil, i)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("custom program error: 0x%x", uint32(want))) {
		return fmt.Errorf("the program has not refused with %d: %w", want, err)
	}
	return nil
}

// waiting checks what there is between the upgrade and the migration: models are refused by an error that says why, and have not
// changed; the lease that runs is paid.
func (r *rehearsal) waiting(ctx context.Context, before []chain.Account, by seed.Wallet) error {
	for _, m := range r.view.Models() {
		apply, err := ix.GpuModelApply(m.Id)
		if err != nil {
			return err
		}
		if err := r.answers(ctx, by, apply, unknownVersion); err != nil {
			return fmt.Errorf("model %s of the former layout: %w", m.Address, err)
		}
	}
	if err := r.lives(ctx); err != nil {
		return err
	}
	now, err := r.models(ctx)
	if err != nil {
		return err
	}
	for i, m := range now {
		if !bytes.Equal(m.Data, before[i].Data) {
			return fmt.Errorf("model %s has changed before its migration", m.Key)
		}
	}
	return nil
}

// migrated checks the bytes of each model: what it said it says, its version is the next one, what is new is zero. It is migrated once.
func (r *rehearsal) migrated(ctx context.Context, before []chain.Account, by seed.Wallet) error {
	now, err := r.models(ctx)
	if err != nil {
		return err
	}
	if len(now) != len(before) {
		return fmt.Errorf("%d models are read of %d", len(now), len(before))
	}
	for i, m := range now {
		want := append(bytes.Clone(before[i].Data), make([]byte, modelAdded)...)
		want[modelVersionAt]++
		if m.Key != before[i].Key || !bytes.Equal(m.Data, want) {
			return fmt.Errorf("model %s is %x after its migration, not %x", m.Key, m.Data, want)
		}
		if err := r.answers(ctx, by, migrate(m.Key, by), alreadyMigrated); err != nil {
			return err
		}
	}
	return nil
}

// olderClient checks that a client of the former build says what is wrong, in place of a market that lacks what it cannot read.
func (r *rehearsal) olderClient(ctx context.Context, by seed.Wallet) error {
	out, err := r.net.Gantry(ctx, by, "market", "show")
	switch {
	case err != nil:
		return err
	case out.Code == 0 || !strings.Contains(out.Stdout+out.Stderr, market.ErrProgramMismatch.Error()):
		return fmt.Errorf("an older client after the migration: exit code %d, %s %s", out.Code, out.Stdout, out.Stderr)
	}
	return nil
}
