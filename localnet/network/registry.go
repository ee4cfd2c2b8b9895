package network

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/process"
)

// registryName is the name of the registry's process.
const registryName = "registry"

// Registry is the address, host:port, of the network's registry of images, which takes and gives them without a password.
func (n *Network) Registry() string { return n.loopback(registryName) }

// startRegistry runs localnet/registry as a process of its own, so that a scenario can kill it.
func (n *Network) startRegistry(ctx context.Context) error {
	if !n.cfg.Registry {
		return nil
	}
	p, err := n.sup.Start(process.Spec{
		Name: registryName, Path: n.bins.localnet, Dir: n.cfg.Dir, Restart: process.OnCrash, Env: n.home(registryName),
		Args: []string{"registry", "--listen", n.Registry(), "--dir", filepath.Join(n.cfg.Dir, registryName)},
	})
	if err != nil {
		return err
	}
	return waitFor(ctx, "the registry to be ready", readyTimeout, func(ctx context.Context) (bool, error) {
		select {
		case <-p.Done():
			return false, fmt.Errorf("the registry has ended: %w; its log: %s", p.Err(), p.LogPath())
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Registry()+"/v2/", nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
}
