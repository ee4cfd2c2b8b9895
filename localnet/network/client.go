package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
)

// forwardTimeout bounds the wait for the connection to a container.
const forwardTimeout = time.Minute

// Gantry runs the client with a wallet and the network's endpoints, and asks for JSON.
func (n *Network) Gantry(ctx context.Context, wallet seed.Wallet, args ...string) (Output, error) {
	return n.GantryRaw(ctx, wallet.Name, slices.Concat([]string{"--json"}, n.as(wallet), args)...)
}

// GantryText runs the client with a wallet and the network's endpoints, and gets what people see.
func (n *Network) GantryText(ctx context.Context, wallet seed.Wallet, args ...string) (Output, error) {
	return n.GantryRaw(ctx, wallet.Name, append(n.as(wallet), args...)...)
}

func (n *Network) as(wallet seed.Wallet) []string {
	return []string{"--yes", "--keypair", wallet.Path, "--url", n.At.RPC, "--ws", n.At.WS}
}

// Command is the client with a wallet and the network's endpoints, not started yet.
func (n *Network) Command(ctx context.Context, wallet seed.Wallet, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.build(wallet.Name, n.bins.gantry), append(n.as(wallet), args...)...)
	cmd.Env = append(append(os.Environ(), n.home(wallet.Name)...), process.MarkVariable+"="+n.mark)
	return cmd
}

// Forward runs `gantry port` until stop is called, and returns the address at which the container's port is reached.
func (n *Network) Forward(ctx context.Context, wallet seed.Wallet, lease, port string) (at string, stop func() error, err error) {
	return n.stay(ctx, wallet, "port-"+port+"-"+lease, []string{"port", lease, port + ":0"}, func(said string) (string, bool) {
		return between(said, "http://", " ")
	})
}

// stay runs a command of the client until stop is called, and returns what ready finds in the text that it prints.
func (n *Network) stay(ctx context.Context, wallet seed.Wallet, name string, args []string, ready func(said string) (string, bool)) (at string, stop func() error, err error) {
	_ = os.Remove(n.LogPath(name))
	p, err := n.sup.Start(process.Spec{
		Name: name, Path: n.build(wallet.Name, n.bins.gantry), Args: append(n.as(wallet), args...),
		Dir: n.cfg.Dir, Env: n.home(wallet.Name),
	})
	if err != nil {
		return "", nil, err
	}
	stop = func() error { return p.Stop(context.WithoutCancel(ctx)) }
	err = waitFor(ctx, "gantry "+args[0]+" to be ready", forwardTimeout, func(context.Context) (bool, error) {
		said, err := os.ReadFile(p.LogPath())
		if err != nil {
			return false, err
		}
		var found bool
		if at, found = ready(string(said)); found {
			return true, nil
		}
		select {
		case <-p.Done():
			return false, fmt.Errorf("gantry %s has ended: %s", args[0], said)
		default:
			return false, nil
		}
	})
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return at, stop, nil
}

// Join runs `gantry vpn` until stop is called, and returns the address of its proxy, and of its forward if it has one.
func (n *Network) Join(ctx context.Context, wallet seed.Wallet, cluster string, args ...string) (proxy, forward string, stop func() error, err error) {
	at, stop, err := n.stay(ctx, wallet, "vpn-"+cluster, slices.Concat([]string{"vpn", cluster, "--listen", "127.0.0.1:0"}, args), func(said string) (string, bool) {
		proxy, found := between(said, "socks5h://", " ")
		forward, _ := between(said, "forwards http://", " ")
		return proxy + " " + forward, found
	})
	if err != nil {
		return "", "", nil, err
	}
	proxy, forward, _ = strings.Cut(at, " ")
	return proxy, forward, stop, nil
}

// between is the text after a word and before another one.
func between(text, before, after string) (string, bool) {
	_, rest, found := strings.Cut(text, before)
	if !found {
		return "", false
	}
	at, _, found := strings.Cut(rest, after)
	return at, found
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

// KeepBucketKeys gives a customer's commands the credentials of its bucket, where they look for them at home.
func (n *Network) KeepBucketKeys(wallet seed.Wallet, access, secret string) error {
	folder := filepath.Join(n.cfg.Dir, "homes", wallet.Name, ".aws")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("credentials of a bucket: %w", err)
	}
	text := "[default]\naws_access_key_id=" + access + "\naws_secret_access_key=" + secret + "\n"
	if err := os.WriteFile(filepath.Join(folder, "credentials"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("credentials of a bucket: %w", err)
	}
	return nil
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
