// Package config holds the settings of an agent. They come from, in this order of precedence: flags, environment, the
// settings file in the data folder, `solana config`.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/hours"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txm"
)

// ErrConfig is the error of settings that cannot be used.
var ErrConfig = errors.New("settings cannot be used")

// Config is the settings of an agent. Zero values take the defaults of [Config.Complete].
type Config struct {
	// DataDir is the data folder; agent/README.md describes its contents.
	DataDir string `yaml:"-"`
	// RPC and WS are the Solana node's endpoints.
	RPC string `yaml:"url,omitempty"`
	WS  string `yaml:"ws,omitempty"`
	// Failover are the RPC nodes that stand in for the first, and FailoverWS the WebSocket endpoint of each, or none.
	Failover   []string `yaml:"failover_urls,omitempty"`
	FailoverWS []string `yaml:"failover_ws,omitempty"`
	// Fees bound what transactions cost; zero takes the defaults.
	Fees txm.Fees `yaml:"-"`
	// Wallet is the provider's keypair file. `run` never needs it.
	Wallet string `yaml:"keypair,omitempty"`
	// NodeKey is the machine's own keypair file; default DataDir/node.json.
	NodeKey string `yaml:"node_key,omitempty"`
	// Listen are the multiaddresses at which keepers and customers reach the node.
	Listen []string `yaml:"listen,omitempty"`
	Region string   `yaml:"region,omitempty"`
	Site   string   `yaml:"site,omitempty"`
	// Metrics is the address of figures, health and readiness; empty for none. It is on loopback, unless WebConfig has TLS and users.
	Metrics string `yaml:"metrics,omitempty"`
	// Notify are the URLs that get notices for people, as package alert reads them.
	Notify []string `yaml:"notify,omitempty"`
	// WebConfig is a file with TLS and passwords for Metrics, as Prometheus's exporters take it; empty for plain HTTP.
	WebConfig string `yaml:"web_config,omitempty"`
	// Inventory is where GPUs come from: "nvml", or "simulated:MODEL:COUNT" on local networks.
	Inventory string `yaml:"inventory,omitempty"`
	// Runsc is the path of gVisor's runtime, in which jobs with an image run. Empty: beside this binary, or in PATH, or
	// none, and then such jobs are refused.
	Runsc string `yaml:"runsc,omitempty"`
	// ImageCache is the most that images which no lease uses may take on the node's disk, GiB; 0 is a quarter of the data folder's file system.
	ImageCache uint64 `yaml:"image_cache_gib,omitempty"`
	// LocalRegistries fetches images also from addresses of the node and of private networks, which customers could misuse
	// to reach what is not public. On local networks it is always so.
	LocalRegistries bool `yaml:"local_registries,omitempty"`
	// Network is that of containers.
	Network LeaseNetwork `yaml:"lease_network,omitempty"`
	// Guest is how measured guests are started.
	Guest Guest `yaml:"guest,omitempty"`
	// Price is the pricing policy: USDC per GPU-hour, "auto" or "auto:FLOOR".
	Price string `yaml:"price,omitempty"`
	// Power, Watts and Wear are what a GPU-hour costs its owner: USDC per kWh, watts a GPU, USDC per GPU-hour. Bids in
	// sealed auctions cover them. Empty or 0 takes the defaults of package pricing.
	Power string `yaml:"power_price,omitempty"`
	Watts uint32 `yaml:"watts,omitempty"`
	Wear  string `yaml:"wear,omitempty"`
	// Hours are those in which the machine takes new leases, as package hours reads them, by the clock of TimeZone; empty for
	// always, and for the machine's own zone.
	Hours    string `yaml:"hours,omitempty"`
	TimeZone string `yaml:"time_zone,omitempty"`
	// StayWhenSlow keeps a node in the market that keepers measure below its class, until that costs stake.
	StayWhenSlow bool `yaml:"stay_when_slow,omitempty"`
	// PauseWhenUsed takes no new leases while somebody uses a GPU beside leases, and until nobody did for QuietTime.
	PauseWhenUsed bool          `yaml:"pause_when_used,omitempty"`
	QuietTime     time.Duration `yaml:"quiet_time,omitempty"`
	// SettleInterval is the time between two settlements of a running lease's receipts.
	SettleInterval time.Duration `yaml:"settle_interval,omitempty"`
	// ReportDeadAfter is how long the driver must call a GPU lost before the agent reports on chain that it has died;
	// negative: the agent never does so by itself.
	ReportDeadAfter time.Duration `yaml:"report_dead_after,omitempty"`
	// Idle is what the owner has the GPUs do while nobody rents them; nil for nothing.
	Idle       *IdleJob   `yaml:"idle,omitempty"`
	Simulation Simulation `yaml:"-"`
}

// FileName is the settings file in the data folder.
const FileName = "agent.yaml"

// DefaultReportDeadAfter is long enough for a driver that is loaded anew, and shorter than the time between two checks.
const DefaultReportDeadAfter = 30 * time.Second

// ServiceDataDir is the data folder of the service that the package installs.
const ServiceDataDir = "/var/lib/gantry-agent"

// DefaultDataDir is the data folder if none is set: that of the installed service for root, so that what root types by hand
// concerns the same machine.
func DefaultDataDir() string {
	if info, err := os.Stat(ServiceDataDir); err == nil && info.IsDir() && os.Geteuid() == 0 {
		return ServiceDataDir
	}
	return "~/.local/state/gantry-agent"
}

// Load reads the settings file of a data folder. A missing file is no error.
func Load(dataDir string) (Config, error) {
	var c Config
	if dataDir == "" {
		dataDir = DefaultDataDir()
	}
	dir, err := chain.ExpandHome(dataDir)
	if err != nil {
		return c, err
	}
	if c.DataDir, err = filepath.Abs(dir); err != nil {
		return c, fmt.Errorf("%w: data folder %s: %w", ErrConfig, dataDir, err)
	}
	path := filepath.Join(c.DataDir, FileName)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("%w: %s cannot be read: %w", ErrConfig, path, err)
	}
	d := yaml.NewDecoder(strings.NewReader(string(raw)))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %s: %s", ErrConfig, path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return c, nil
}

// Save writes the settings file, readable by its owner only, in place of the old one.
func (c Config) Save() error {
	raw, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	head := []byte("# Settings of gantry-agent. Flags and GANTRY_… variables win over them.\n")
	if err := atomicfile.Write(filepath.Join(c.DataDir, FileName), append(head, raw...)); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// Complete fills in defaults, the settings of the solana command among them, and checks what can be checked without the
// network. Errors: ErrConfig, chain.ErrEndpoint, chain.ErrConfig.
func (c Config) Complete() (Config, error) {
	if c.RPC == "" || c.Wallet == "" {
		cli, err := chain.LoadCLIConfig("")
		if err != nil {
			return c, err
		}
		if c.RPC == "" {
			c.RPC = cli.RPCURL
			if c.WS == "" {
				c.WS = cli.WebsocketURL
			}
		}
		if c.Wallet == "" {
			c.Wallet = cli.KeypairPath
		}
	}
	var err error
	if c.RPC, err = chain.ResolveURL(c.RPC); err != nil {
		return c, err
	}
	if c.WS == "" {
		if c.WS, err = chain.WebsocketURL(c.RPC); err != nil {
			return c, err
		}
	}
	for i, u := range c.Failover {
		if c.Failover[i], err = chain.ResolveURL(u); err != nil {
			return c, err
		}
	}
	if _, err := chain.PairEndpoints(c.Failover, c.FailoverWS); err != nil {
		return c, err
	}
	if c.NodeKey == "" {
		c.NodeKey = filepath.Join(c.DataDir, "node.json")
	}
	if c.Inventory == "" {
		c.Inventory = InventoryNVML
	}
	if _, err := ParseInventory(c.Inventory); err != nil {
		return c, err
	}
	if _, err := c.Network.Options(); err != nil {
		return c, err
	}
	if err := c.Guest.check(); err != nil {
		return c, err
	}
	if len(c.Region) > 16 || len(c.Site) > 16 {
		return c, fmt.Errorf("%w: region and site have at most 16 characters", ErrConfig)
	}
	if c.ReportDeadAfter == 0 {
		c.ReportDeadAfter = DefaultReportDeadAfter
	}
	if _, err := c.Schedule(); err != nil {
		return c, err
	}
	if c.Idle != nil {
		if _, err := c.Idle.Job(); err != nil {
			return c, err
		}
	}
	if c.QuietTime < 0 || c.QuietTime > maxQuiet {
		return c, fmt.Errorf("%w: --quiet-time %s; give 1s to 24h, or 0 for the default of %s", ErrConfig, c.QuietTime, offer.DefaultQuiet)
	}
	return c, c.Simulation.check()
}

// maxQuiet is the longest quiet time.
const maxQuiet = 24 * time.Hour

// Schedule is when the machine takes new leases. Error: ErrConfig with hours.ErrHours.
func (c Config) Schedule() (hours.Schedule, error) {
	s, err := hours.Parse(c.Hours, c.TimeZone)
	if err != nil {
		return s, fmt.Errorf("%w: --hours %q: %w", ErrConfig, c.Hours, err)
	}
	return s, nil
}

// Endpoints returns the RPC nodes in order of preference.
func (c Config) Endpoints() []chain.Endpoint {
	out := []chain.Endpoint{{RPC: c.RPC, WS: c.WS}}
	for i, u := range c.Failover {
		e := chain.Endpoint{RPC: u}
		if i < len(c.FailoverWS) {
			e.WS = c.FailoverWS[i]
		}
		out = append(out, e)
	}
	return out
}

// URLs returns every URL by which the agent reaches the cluster.
func (c Config) URLs() []string {
	var out []string
	for _, e := range c.Endpoints() {
		out = append(out, e.RPC)
		if e.WS != "" {
			out = append(out, e.WS)
		}
	}
	return out
}

// Simulates reports whether anything about the node is simulated.
func (c Config) Simulates() bool {
	return c.Simulation != Simulation{} || strings.HasPrefix(c.Inventory, simulatedPrefix)
}

// InventoryNVML asks the NVIDIA driver.
const InventoryNVML = "nvml"

const simulatedPrefix = "simulated:"

// ParseInventory reads "nvml" or "simulated:MODEL:COUNT". Error: ErrConfig.
func ParseInventory(s string) (host.Source, error) {
	if s == InventoryNVML {
		return host.Source{}, nil
	}
	rest, ok := strings.CutPrefix(s, simulatedPrefix)
	model, count, has := strings.Cut(rest, ":")
	n := 1
	var err error
	if has {
		n, err = strconv.Atoi(count)
	}
	source := host.Source{Simulated: true, Model: host.SimulatedModel(strings.ToLower(model)), Count: n}
	known := source.Model == host.SimulatedA100 || source.Model == host.SimulatedH100
	if !ok || err != nil || !known || n < 1 || n > host.MaxSimulated {
		return host.Source{}, fmt.Errorf("%w: --inventory %q; use nvml, simulated:A100:N or simulated:H100:N with N from 1 to %d", ErrConfig, s, host.MaxSimulated)
	}
	return source, nil
}

// Paths inside the data folder.
func (c Config) File() string         { return filepath.Join(c.DataDir, FileName) }
func (c Config) StorePath() string    { return filepath.Join(c.DataDir, "agent.db") }
func (c Config) TxPath() string       { return filepath.Join(c.DataDir, "transactions.db") }
func (c Config) ProviderPath() string { return filepath.Join(c.DataDir, "provider-transactions.db") }
func (c Config) JobsDir() string      { return filepath.Join(c.DataDir, "jobs") }
func (c Config) ImagesDir() string    { return filepath.Join(c.DataDir, "images") }
func (c Config) ProgramsDir() string  { return filepath.Join(c.DataDir, "programs") }
func (c Config) GPUsDir() string      { return filepath.Join(c.DataDir, "gpus") }
func (c Config) KnownPath() string    { return filepath.Join(c.DataDir, "inventory.json") }
func (c Config) StatusPath() string   { return filepath.Join(c.DataDir, "status.json") }
func (c Config) BidsPath() string     { return filepath.Join(c.DataDir, "bids.json") }
func (c Config) OfferPath() string    { return filepath.Join(c.DataDir, "withdrawn") }
func (c Config) SlowPath() string     { return filepath.Join(c.DataDir, "slow") }
func (c Config) IdleLog() string      { return filepath.Join(c.DataDir, "idle.log") }
func (c Config) RepairedPath() string { return filepath.Join(c.DataDir, "repaired.json") }
func (c Config) BenchPath() string    { return filepath.Join(c.DataDir, "benchmark.json") }
