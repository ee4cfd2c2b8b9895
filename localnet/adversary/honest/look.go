package honest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/localnet/bench/soak"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	lookEvery       = 500 * time.Millisecond
	sampleEvery     = 5 * time.Second
	invariantsEvery = 20 * time.Second
)

// seen is what was seen while the run went on.
type seen struct {
	mu sync.Mutex
	// figures are the periods of each node for which the chain has figures of its GPUs.
	figures map[solana.PublicKey]map[uint64]bool
	// taken are the periods of each node in which it had a lease at some time.
	taken map[solana.PublicKey]map[int64]bool
	// suspended are the nodes that were so at some time.
	suspended map[solana.PublicKey]bool
	// faults are those of each node, by their address.
	faults map[solana.PublicKey]map[solana.PublicKey]string
	// samples are the last metrics of each keeper and machine.
	samples map[string]soak.Sample
}

func newSeen() *seen {
	return &seen{
		figures: map[solana.PublicKey]map[uint64]bool{}, taken: map[solana.PublicKey]map[int64]bool{}, suspended: map[solana.PublicKey]bool{},
		faults: map[solana.PublicKey]map[solana.PublicKey]string{}, samples: map[string]soak.Sample{},
	}
}

// look notes what the chain shows in a period.
func (s *seen) look(v *view.View, period int64) {
	nodes, faults := v.Nodes(), v.Faults()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range nodes {
		n := &nodes[i]
		if s.figures[n.Address] == nil {
			s.figures[n.Address], s.taken[n.Address] = map[uint64]bool{}, map[int64]bool{}
		}
		if n.GpuMask != 0 {
			s.taken[n.Address][period] = true
		}
		if n.FiguresAt != 0 {
			s.figures[n.Address][n.MeasuredPeriod] = true
		}
		if n.State() == market.NodeSuspended {
			s.suspended[n.Address] = true
		}
	}
	for _, f := range faults {
		s.fault(f.Node, f.Address, f.Period, f.Flags)
	}
}

// fault notes a fault. Callers hold mu.
func (s *seen) fault(node, address solana.PublicKey, period uint64, flags uint16) {
	if s.faults[node] == nil {
		s.faults[node] = map[solana.PublicKey]string{}
	}
	if s.faults[node][address] == "" {
		s.faults[node][address] = fmt.Sprintf("%s in period %d (%s)", records.Flags(flags), period, address)
	}
}

// sample reads the metrics of all members. One that does not answer now keeps what it said before.
func (s *seen) sample(ctx context.Context, n *network.Network, names []string) error {
	for _, name := range names {
		url, err := n.Metrics(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		got, err := soak.Scrape(ctx, url)
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.samples[name] = got
		s.mu.Unlock()
	}
	return nil
}

// logLine is a line of a daemon's log.
type logLine struct {
	Level, Message, Node, Error, Why string
}

// readLog calls f for each line of a log file.
func readLog(path string, f func(logLine)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l logLine
		if json.Unmarshal(lines.Bytes(), &l) == nil {
			f(l)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("log %s: %w", path, err)
	}
	return nil
}
