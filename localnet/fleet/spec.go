package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/agent/config"
)

// Spec is a fleet as its file describes it.
type Spec struct {
	RPC string `json:"rpc"`
	WS  string `json:"ws"`
	// Agent is the path of gantry-agent, which supervises the machines' jobs.
	Agent   string   `json:"agent"`
	Members []Member `json:"members"`
}

// Member is one machine.
type Member struct {
	Name string `json:"name"`
	// Wallet and NodeKey are keypair files: the provider's and the machine's own.
	Wallet  string `json:"wallet"`
	NodeKey string `json:"node_key"`
	DataDir string `json:"data_dir"`
	// Inventory is simulated, such as "simulated:A100:1".
	Inventory string `json:"inventory"`
	Region    string `json:"region"`
	// Price is the ask, USDC per GPU-hour.
	Price string `json:"price"`
	// SilenceFile makes the machine answer no request while the file exists.
	SilenceFile string `json:"silence_file,omitempty"`
}

// ErrSpec is the error of a fleet that cannot be run.
var ErrSpec = errors.New("fleet cannot be run")

// Write writes the file, readable by its owner only.
func (s Spec) Write(path string) error {
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// Read reads and checks a file. Error: ErrSpec.
func Read(path string) (Spec, error) {
	var s Spec
	raw, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%w: %s: %w", ErrSpec, path, err)
	}
	return s, s.check()
}

func (s Spec) check() error {
	seen := map[string]bool{}
	for _, m := range s.Members {
		if m.Name == "" || seen[m.Name] {
			return fmt.Errorf("%w: machine name %q is empty or used twice", ErrSpec, m.Name)
		}
		seen[m.Name] = true
		inv, err := config.ParseInventory(m.Inventory)
		if err != nil {
			return fmt.Errorf("%w: machine %s: %w", ErrSpec, m.Name, err)
		}
		if !inv.Simulated {
			return fmt.Errorf("%w: machine %s: GPUs of this machine can be served by one agent only; use simulated ones", ErrSpec, m.Name)
		}
	}
	if len(s.Members) == 0 {
		return fmt.Errorf("%w: it has no machine", ErrSpec)
	}
	return nil
}

// config is the machine's agent's configuration.
func (s Spec) config(m Member) (config.Config, error) {
	if err := os.MkdirAll(m.DataDir, 0o700); err != nil {
		return config.Config{}, fmt.Errorf("machine %s: %w", m.Name, err)
	}
	c := config.Config{
		DataDir: filepath.Clean(m.DataDir), RPC: s.RPC, WS: s.WS, Wallet: m.Wallet, NodeKey: m.NodeKey,
		Inventory: m.Inventory, Region: m.Region, Price: m.Price, Simulation: config.Simulation{SilenceFile: m.SilenceFile},
		// A local network leaves the routes and the firewall of the machine that it is tried on alone.
		Network: config.LeaseNetwork{Off: true},
	}
	c, err := c.Complete()
	if err != nil {
		return c, fmt.Errorf("machine %s: %w", m.Name, err)
	}
	return c, nil
}
