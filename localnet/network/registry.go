package network

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/process"
)

// registryName is the name of the registry's process, and of its program: the distribution project's.
const registryName = "registry"

// Registry is the address, host:port, of the network's registry of images, which takes and gives them without a password.
func (n *Network) Registry() string { return n.loopback(registryName) }

// FindRegistry returns the path of the registry's program. It fails with ErrMissing.
func FindRegistry() (string, error) {
	path, err := exec.LookPath(registryName)
	if err != nil {
		return "", fmt.Errorf("a registry server is %w: scripts/toolchain.sh registry", ErrMissing)
	}
	return path, nil
}

func (n *Network) startRegistry(ctx context.Context) error {
	if !n.cfg.Registry {
		return nil
	}
	program, err := FindRegistry()
	if err != nil {
		return err
	}
	dir := filepath.Join(n.cfg.Dir, registryName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	config, err := json.Marshal(map[string]any{ // JSON is YAML
		"version": 0.1, "log": map[string]any{"level": "error", "accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{"filesystem": map[string]any{"rootdirectory": filepath.Join(dir, "data")}},
		"http":    map[string]any{"addr": n.Registry(), "secret": "of nobody else"},
	})
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	path := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	p, err := n.sup.Start(process.Spec{
		Name: registryName, Path: program, Args: []string{"serve", path}, Dir: n.cfg.Dir, Restart: process.OnCrash,
		Env: append(n.home(registryName), "OTEL_TRACES_EXPORTER=none"),
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
