package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Run registers every machine that is not registered yet and serves all of them until ctx ends. A machine whose agent
// fails ends the fleet.
func Run(ctx context.Context, s Spec, log zerolog.Logger) error {
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.RPC, WS: s.WS}}, Commitment: chain.Confirmed, Log: log})
	if err != nil {
		return err
	}
	defer client.Close()
	shared := &daemon.Shared{Client: client, View: view.New(view.Options{Log: log}), Executable: s.Agent}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return shared.View.Run(gctx, view.Source{Client: client}) })
	g.Go(func() error {
		if err := shared.View.Ready(gctx); err != nil {
			return err
		}
		if err := register(gctx, s, shared, log); err != nil {
			return err
		}
		log.Info().Int("machines", len(s.Members)).Bool("simulated", true).Msg("all machines are registered")
		for _, m := range s.Members {
			cfg, err := s.config(m)
			if err != nil {
				return err
			}
			g.Go(func() error {
				agent, err := daemon.New(daemon.Options{Config: cfg, Log: log.With().Str("machine", m.Name).Logger(), Shared: shared})
				if err == nil {
					err = agent.Run(gctx)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", m.Name, err)
				}
				return nil
			})
		}
		return nil
	})
	err = g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
