package network

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/seed"
)

// Gantry runs the client with a wallet and the network's endpoints, and asks for JSON.
func (n *Network) Gantry(ctx context.Context, wallet seed.Wallet, args ...string) (Output, error) {
	return n.GantryRaw(ctx, wallet.Name, append([]string{"--json", "--yes", "--keypair", wallet.Path, "--url", n.At.RPC, "--ws", n.At.WS}, args...)...)
}

// GantryRaw runs the client with nothing but the given arguments. home names the directory for its files.
func (n *Network) GantryRaw(ctx context.Context, home string, args ...string) (Output, error) {
	return runBinary(ctx, n.mark, n.build(home, n.bins.gantry), n.home(home), args...)
}

// UseBuild makes a keeper, machine or customer run the binaries in a directory from its next start on.
func (n *Network) UseBuild(name, dir string) {
	if n.builds == nil {
		n.builds = map[string]string{}
	}
	n.builds[name] = dir
}

func (n *Network) build(name, path string) string {
	if dir, ok := n.builds[name]; ok {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// home is the environment of a process that must not see anybody's own settings: its files and the Solana configuration
// live in the network's directory.
func (n *Network) home(name string) []string {
	dir := filepath.Join(n.cfg.Dir, "homes", name)
	return []string{
		"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"XDG_DATA_HOME=" + filepath.Join(dir, "data"), "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"),
	}
}

// Silence makes a machine drop everything it is asked over the network, or answer again.
func (n *Network) Silence(m *Machine, silent bool) error {
	if silent {
		return os.WriteFile(m.silence, nil, 0o600)
	}
	return os.Remove(m.silence)
}
