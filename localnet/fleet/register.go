package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/host"
	registry "github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// owners is how many providers register machines side by side.
const owners = 8

// register brings all machines into the market, those of one provider after each other: each raises the provider's
// stake.
func register(ctx context.Context, s Spec, shared *daemon.Shared, log zerolog.Logger) error {
	byOwner := map[string][]Member{}
	for _, m := range s.Members {
		byOwner[m.Wallet] = append(byOwner[m.Wallet], m)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(owners)
	for wallet, members := range byOwner {
		g.Go(func() error { return registerOf(ctx, s, wallet, members, shared, log) })
	}
	return g.Wait()
}

// registerOf registers a provider's machines.
func registerOf(ctx context.Context, s Spec, wallet string, members []Member, shared *daemon.Shared, log zerolog.Logger) (err error) {
	owner, err := chain.LoadKeypair(wallet)
	if err != nil {
		return err
	}
	genesis, err := shared.Client.Genesis(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		cfg, err := s.config(m)
		if err != nil {
			return err
		}
		key, err := chain.LoadKeypair(m.NodeKey)
		if err != nil {
			return fmt.Errorf("machine %s: %w", m.Name, err)
		}
		store, err := txm.OpenStore(cfg.ProviderPath(), genesis)
		if err != nil {
			return err
		}
		manager, err := txm.New(txm.Options{RPC: shared.Client, Store: store, Keys: txm.NewKeys(owner, key), Payer: owner.PublicKey(), Log: log})
		if err != nil {
			return errors.Join(err, store.Close())
		}
		c, err := registry.New(registry.Options{
			PlanOptions: registry.PlanOptions{Chain: shared.Client, Wallet: owner.PublicKey(), NodeKey: key.PublicKey()}, Txm: manager,
		})
		if err == nil {
			err = join(ctx, c, key.PublicKey(), cfg, shared.View)
		}
		manager.Close()
		if err = errors.Join(err, store.Close()); err != nil {
			return fmt.Errorf("machine %s: %w", m.Name, err)
		}
	}
	return nil
}

// join registers one machine with what it has.
func join(ctx context.Context, c *registry.Commands, nodeKey solana.PublicKey, cfg config.Config, view *view.View) error {
	source, err := config.ParseInventory(cfg.Inventory)
	if err != nil {
		return err
	}
	m, err := host.New(ctx, host.Options{Source: source, Seed: [32]byte(nodeKey), DiskPath: cfg.DataDir})
	if err != nil {
		return err
	}
	defer m.Close()
	model, err := m.Model(view.Models())
	if err != nil {
		return err
	}
	price, err := market.ParsePrice(cfg.Price)
	if err != nil {
		return err
	}
	_, err = c.Register(ctx, registry.Join{Price: price, Spec: m.Spec(model, cfg.Region, cfg.Site), Model: model, Devices: m.Devices()})
	return err
}
