package network

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
)

// GatewayName is that of the network's gateway.
const GatewayName = "gateway"

func (n *Network) gatewayDir() string { return filepath.Join(n.cfg.Dir, GatewayName) }

// StartGateway starts a gateway with a wallet's key, and returns when it says that it is ready. The wallet needs credits.
func (n *Network) StartGateway(ctx context.Context, wallet seed.Wallet, args ...string) error {
	binary, err := Binary("gantry-gateway")
	if err != nil {
		return err
	}
	all := append([]string{"run", "--keypair", wallet.Path, "--data", n.gatewayDir(), "--log-json"}, n.direct()...)
	p, err := n.sup.Start(process.Spec{
		Name: GatewayName, Path: binary, Args: append(all, args...), Dir: n.cfg.Dir, Restart: process.OnCrash, Env: n.home(GatewayName),
	})
	if err != nil {
		return err
	}
	return waitFor(ctx, "the gateway to be ready", readyTimeout, func(ctx context.Context) (bool, error) {
		select {
		case <-p.Done():
			return false, fmt.Errorf("the gateway has ended: %w; its log: %s", p.Err(), p.LogPath())
		default:
		}
		return n.keeperReady(ctx, GatewayName)
	})
}
