package network

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// Config says what a network consists of.
type Config struct {
	// Engine is the kind of Solana node; empty means surfnet.
	Engine engine.Kind
	// SlotTime is the time between blocks; 0 is the engine's default.
	SlotTime time.Duration
	// Dir is the state directory. What an earlier network left there is replaced, except keypairs.
	Dir string
	// Keepers and Customers are counts; Nodes names each machine.
	Keepers, Customers int
	Nodes              []NodeSpec
	// Params are the market's; nil means seed.Params.
	Params *bindings.Params
	// Relay puts a relay between keepers and agents and the node, so that a test can cut the connection, or inject
	// faults into answers.
	Relay bool
	// OmitBidsOf names a machine whose sealed bids every keeper acknowledges and leaves out: dishonest keepers.
	OmitBidsOf string
	// Models are the GPU models; nil means seed.Models.
	Models []bindings.GpuModelArgs
	// KeeperFlags are added to those that every keeper is run with, such as other timing.
	KeeperFlags []string
	// Flags are added to those that a named keeper or machine is run with.
	Flags map[string][]string
	// Listen are the multiaddresses at which named keepers and machines listen, with a port; the others listen on loopback.
	Listen map[string]string
	// KeeperHost is an address of this machine at which keepers reach the node. They take part as on a public cluster then;
	// empty is loopback.
	KeeperHost string
	// Fleet runs all agents in one process: hundreds of machines need it. None of them can be killed alone then.
	Fleet bool
	// Reach are more addresses of loopback, host:port, that machines in namespaces of their own reach.
	Reach []string
	// Spoiled are keepers and machines that each have a proxy of their own before the node, by whose faults a test makes theirs
	// a bad one, see Network.Spoil.
	Spoiled []string
	// Registry starts a registry of images on loopback, see Network.Registry.
	Registry bool
	// Log gets what the network does; processes have log files of their own.
	Log zerolog.Logger
}

// NodeSpec describes one machine and its agent.
type NodeSpec struct {
	// Name is unique, such as "node-1".
	Name string
	// Provider is the index of the wallet that owns it.
	Provider int
	// GPU is the simulated model, such as "A100", and Count how many of them.
	GPU   string
	Count int
	// Real has the machine's agent offer the GPUs of this computer: Count of the model that is named GPU. One machine can.
	Real bool
	// Region is where it says it stands.
	Region string
	// Price is its ask.
	Price market.PricePerHour
	// Slow is by how much it computes slower than what it claims would; 0 is honest.
	Slow int
	// Namespaces runs the machine in namespaces of its own, with a small internet: see package machine. Its containers get a
	// network then, and killing it kills all that runs on it.
	Namespaces bool
	// Service has such a machine start its agent again when it crashes, as a service manager does, so that the agent can be killed
	// alone.
	Service bool
	// LinkMbits has such a machine be reached by a link of so many Mbit/s each way, in place of loopback, from the network
	// namespace that the local network runs in: that must not be the computer's own.
	LinkMbits int
	// Wrong has it make up what it computes in measurements.
	Wrong bool
	// Setup has it join by `gantry-agent setup`, as a newcomer's does, and run by the settings that this has written.
	Setup bool
}

// Detail is the machine in words.
func (s NodeSpec) Detail() string {
	gpu := s.GPU
	if !s.Real {
		gpu += " simulated"
	}
	text := fmt.Sprintf("%d×%s, %s, %s $/GPU-h", s.Count, gpu, s.Region, s.Price)
	if s.Slow > 1 {
		text += fmt.Sprintf(", computes %d× too slowly", s.Slow)
	}
	if s.Wrong {
		text += ", computes wrongly"
	}
	return text
}

// inventory is the agent's setting of its GPUs.
func (s NodeSpec) inventory() string {
	if s.Real {
		return config.InventoryNVML
	}
	return fmt.Sprintf("simulated:%s:%d", s.GPU, s.Count)
}

// stake is what the machine's GPUs need of the network's models.
func (s NodeSpec) stake(models []bindings.GpuModelArgs) (market.GNT, error) {
	id, ok := map[string]uint16{"A100": seed.A100, "H100": seed.H100}[s.GPU]
	if !ok && !s.Real {
		return 0, fmt.Errorf("node %s: no GPU model %q here; want A100 or H100", s.Name, s.GPU)
	}
	for _, m := range models {
		if ok && m.Id == id || s.Real && m.Name == market.Text32(s.GPU) {
			return market.GNT(m.MinStake) * market.GNT(s.Count), nil
		}
	}
	return 0, fmt.Errorf("node %s: the network has no model of %s", s.Name, s.GPU)
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("network: no state directory given")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("state directory: %w", err)
	}
	c.Dir = dir
	if c.Engine == "" {
		c.Engine = engine.Surfnet
	}
	if c.Params == nil {
		p := seed.Params()
		c.Params = &p
	}
	if c.Models == nil {
		c.Models = seed.Models()
	}
	if c.Keepers < 1 {
		return c, errors.New("network: at least one keeper is needed")
	}
	names := map[string]bool{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Count == 0 {
			n.Count = 1
		}
		if names[n.Name] || n.Name == "" {
			return c, fmt.Errorf("network: node name %q is empty or used twice", n.Name)
		}
		names[n.Name] = true
		if _, err := n.stake(c.Models); err != nil {
			return c, err
		}
		if n.Setup && c.Fleet {
			return c, fmt.Errorf("network: node %s joins by setup, which no part of a fleet does", n.Name)
		}
		if n.Namespaces && (c.Fleet || c.Listen[n.Name] != "") {
			return c, fmt.Errorf("network: node %s in namespaces of its own is part of no fleet, and listens on loopback", n.Name)
		}
	}
	return c, nil
}

// providers is the number of provider wallets that the nodes need.
func (c Config) providers() int {
	count := 0
	for _, n := range c.Nodes {
		count = max(count, n.Provider+1)
	}
	return count
}

// DefaultNodes are the machines of `gantry-localnet up`: count simulated machines of two models in three regions, each
// with a provider of its own.
func DefaultNodes(count int) []NodeSpec {
	regions := []string{"us-west-2", "us-east-1", "eu-central-1"}
	nodes := make([]NodeSpec, count)
	for i := range nodes {
		n := NodeSpec{Name: fmt.Sprintf("node-%d", i+1), Provider: i, GPU: "A100", Count: 1, Region: regions[i%len(regions)]}
		n.Price = market.PricePerHour(1_260_000 + 20_000*i)
		if i%2 == 1 {
			n.GPU, n.Price = "H100", market.PricePerHour(2_300_000+20_000*i)
		}
		nodes[i] = n
	}
	return nodes
}
