package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/metrics"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// readingTime bounds the readings of GPUs for one who asks for figures.
	readingTime = 5 * time.Second
	// notAskedFor is after which time without a keeper's question the agent is not ready: the market does not reach it.
	notAskedFor = 15 * time.Minute
)

// openFigures listens for programs of this machine that read figures, health and readiness.
func (a *Agent) openFigures() (err error) {
	if a.cfg.Metrics == "" {
		return nil
	}
	a.figures, err = figures.New(figures.Options{
		Addr: a.cfg.Metrics, WebConfig: a.cfg.WebConfig, Registry: metrics.NewRegistry(a.figuresNow), Healthy: a.healthy, Ready: a.ready,
	})
	if err != nil {
		return err
	}
	return a.figures.WriteAddr(filepath.Join(a.cfg.DataDir, "http.addr"))
}

// figuresNow reads the agent's state; false until it serves its node.
func (a *Agent) figuresNow() (metrics.State, bool) {
	if !a.assembled.Load() {
		return metrics.State{}, false
	}
	s := metrics.State{
		Offer:  a.offer.State(),
		Leases: map[string]int{}, Asked: a.lastAsked(), Questions: a.challenges.Counts(), Measured: a.measure.Counts(), Lines: a.line.Counts(), InFlight: a.txm.InFlight(),
		Faults: len(a.faults.All(faults.Broken)), ClockOff: -a.clock.Ahead(), Slot: a.view.Slot(),
	}
	s.Idle = a.idleState()
	if a.notices != nil {
		s.Notices = a.notices.Counts()
	}
	s.Connected, s.Keepers = a.connected()
	if n, ok := a.view.Node(a.node); ok {
		s.Status, s.PendingFaults = n.State().String(), int(n.PendingFaults)
		if shares := n.ClassShares(); n.Calibrated() && len(shares) > 0 {
			share := float64(shares[0]) / market.BPS
			s.Share, s.SlowPeriods = &share, int(n.SlowPeriods)
		}
	}
	var disk unix.Statfs_t
	if unix.Statfs(a.cfg.DataDir, &disk) == nil {
		s.DiskFree = disk.Bavail * uint64(max(disk.Bsize, 0))
	}
	if use, ok, err := a.images(); err == nil && ok {
		s.ImageBytes = uint64(max(use.Bytes, 0))
	}
	if entries, err := a.store.Leases(); err == nil {
		for _, e := range entries {
			s.Leases[string(e.State)]++
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), readingTime)
	defer cancel()
	if readings, err := a.machine.Readings(ctx); err == nil {
		for i, r := range readings {
			s.GPUs = append(s.GPUs, metrics.GPU{Device: a.machine.Inventory.GPUs[i], Reading: r})
		}
	}
	return s, true
}

// lastAsked is when a keeper last asked, or when the node woke, if that is later: keepers do not ask a hibernated node.
func (a *Agent) lastAsked() time.Time { return time.Unix(0, max(a.asked.Load(), a.awake.Load())) }

// healthy lists what only a person can repair.
func (a *Agent) healthy() (wrong []string) {
	if !a.assembled.Load() {
		return nil
	}
	for _, f := range a.faults.All(faults.Broken) {
		wrong = append(wrong, f.String())
	}
	if why := a.fabric.Load(); why != nil && *why != "" {
		wrong = append(wrong, *why)
	}
	if n, ok := a.view.Node(a.node); ok && n.State() == market.NodeSuspended {
		wrong = append(wrong, "the node is suspended on chain: its provider's stake is below what it needs, or it was slashed")
	}
	return wrong
}

// ready lists what keeps this node from earning.
func (a *Agent) ready() []string {
	if !a.assembled.Load() {
		return []string{"the agent does not serve yet: it has not read the chain, or the machine is not registered (gantry-agent register)"}
	}
	wrong := a.healthy()
	state := a.offer.State()
	withdrawn := state.Withdrawn // as its owner wants it, and keepers do not ask then
	if state.Reason == offer.Slow {
		wrong = append(wrong, state.Text)
	}
	if connected, all := a.connected(); all > 0 && connected == 0 {
		wrong = append(wrong, fmt.Sprintf("connected to none of %d keepers", all))
	}
	if silent := time.Since(a.lastAsked()); silent > notAskedFor && !withdrawn {
		wrong = append(wrong, fmt.Sprintf("no keeper has asked for %s", silent.Round(time.Second)))
	}
	switch n, ok := a.view.Node(a.node); {
	case !ok:
		wrong = append(wrong, "the node is not on chain any more")
	case n.State() != market.NodeActive && n.State() != market.NodeSuspended && !withdrawn:
		wrong = append(wrong, fmt.Sprintf("the node is %s", n.State()))
	}
	return wrong
}
