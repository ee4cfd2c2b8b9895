package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/internal/filelock"
)

// ErrNotRunning means that no network runs in the directory.
var ErrNotRunning = errors.New("no local network runs here")

// State is what a running network says about itself in its state directory, for people and for other commands.
type State struct {
	PID         int              `json:"pid"`
	Engine      string           `json:"engine"`
	RPC         string           `json:"rpc"`
	WS          string           `json:"ws"`
	Genesis     string           `json:"genesis"`
	Program     solana.PublicKey `json:"program"`
	PaymentMint solana.PublicKey `json:"payment_mint"`
	StakeMint   solana.PublicKey `json:"stake_mint"`
	Keepers     []Member         `json:"keepers"`
	Nodes       []Member         `json:"nodes"`
	Customers   []Member         `json:"customers"`
	Providers   []Member         `json:"providers"`
}

// Member is a wallet or process of the network.
type Member struct {
	Name    string           `json:"name"`
	Address solana.PublicKey `json:"address"`
	Keypair string           `json:"keypair"`
	// Log is the process's log file, empty for mere wallets.
	Log string `json:"log,omitempty"`
	// Detail says in words what it is.
	Detail string `json:"detail,omitempty"`
	// Metrics is the URL of the process's metrics, if it has any.
	Metrics string `json:"metrics,omitempty"`
}

func statePath(dir string) string { return filepath.Join(dir, "network.json") }

// ReadState reads what the network in dir says about itself. It fails with ErrNotRunning when there is none, or when
// the one that wrote it is gone: a lock that no process holds is stale.
func ReadState(dir string) (State, error) {
	raw, err := os.ReadFile(statePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, fmt.Errorf("%w (%s); start one with `gantry-localnet up`", ErrNotRunning, dir)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the network's state: %w", err)
	}
	var s State
	if err := json.Unmarshal(raw, &s); err != nil {
		return State{}, fmt.Errorf("%s: %w", statePath(dir), err)
	}
	held, err := lockHeld(dir)
	if err != nil {
		return State{}, err
	}
	if !held {
		return s, fmt.Errorf("%w (%s): the one of process %d has ended; start it again with `gantry-localnet up`", ErrNotRunning, dir, s.PID)
	}
	return s, nil
}

// lockHeld reports whether a process holds the directory's lock.
func lockHeld(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	defer f.Close() // gives a lock taken here back
	err = filelock.Try(f, false)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, filelock.ErrHeld):
		return true, nil
	default:
		return false, fmt.Errorf("lock: %w", err)
	}
}

// writeState replaces the file in one step, so that readers never see half of it.
func writeState(dir string, s State) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the network's state: %w", err)
	}
	if err := atomicfile.Write(statePath(dir), append(raw, '\n')); err != nil {
		return fmt.Errorf("write the network's state: %w", err)
	}
	return nil
}

// ConfigPath is the Solana configuration file that a network writes: the node and the first customer's wallet.
func ConfigPath(dir string) string { return filepath.Join(dir, "solana.yml") }

// writeConfig writes the settings that `gantry --config` and `solana --config` take.
func writeConfig(dir string, s State) error {
	text := fmt.Sprintf("json_rpc_url: %s\nwebsocket_url: %s\ncommitment: confirmed\n", s.RPC, s.WS)
	if len(s.Customers) > 0 {
		text += fmt.Sprintf("keypair_path: %s\n", s.Customers[0].Keypair)
	}
	if err := os.WriteFile(ConfigPath(dir), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the Solana configuration: %w", err)
	}
	return nil
}
