package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/sdk/market"
)

// openOffer makes what takes the node out of the market outside of its hours and while its owner uses it.
func (a *Agent) openOffer() error {
	schedule, err := a.cfg.Schedule()
	if err != nil {
		return err
	}
	o := offer.Options{
		Hours: schedule, Quiet: a.cfg.QuietTime, Silent: a.silentGPU, Fault: a.fault, Mark: offer.Mark(a.cfg.OfferPath()),
		Node: func() (market.Node, bool) { return a.view.Node(a.node) },
		Set: func(ctx context.Context, node market.Node, status market.NodeStatus) error {
			return a.updateNode(ctx, node, node.Ask(), status)
		},
		Now: a.clock.Now, Log: a.log.With().Str("part", "offer").Logger(),
	}
	if !a.cfg.StayWhenSlow {
		o.Slow = offer.SlowFile(a.cfg.SlowPath())
		o.SlowLimit = func() uint8 {
			p, ok := a.view.Params()
			if !ok {
				return 0
			}
			return market.SlowPeriods(&p)
		}
	}
	if a.cfg.PauseWhenUsed {
		o.Use = a.usedBy
	}
	a.offer, err = offer.New(o)
	return err
}

// fault is what keeps the node from bidding until it is repaired; empty for nothing.
func (a *Agent) fault() string {
	if broken := a.faults.All(faults.Broken); len(broken) > 0 {
		return broken[0].String() + "; " + broken[0].Next()
	}
	if why := a.fabric.Load(); why != nil {
		return *why
	}
	return ""
}

// silentGPU says which GPU the driver still lists and does not answer; empty for none.
func (a *Agent) silentGPU() string {
	if why := a.silent.Load(); why != nil {
		return *why
	}
	return ""
}

// usedBy says who uses a GPU that has no lease.
func (a *Agent) usedBy(ctx context.Context) (string, error) {
	leased, err := a.leased()
	if err != nil {
		return "", err
	}
	return a.machine.UsedBy(ctx, ^leased|a.interruptible(), ours)
}

// wanted says why the owner wants the machine back; empty while the owner does not.
func (a *Agent) wanted() string {
	if s := a.offer.State(); s.Reason == offer.Hours || s.Reason == offer.Used {
		return s.Text
	}
	return ""
}

// interruptible is the mask of the GPUs whose leases may end at a short notice: there the owner's use counts.
func (a *Agent) interruptible() (mask uint64) {
	for _, l := range a.view.LeasesOfNode(a.node) {
		if l.State() == market.LeaseRunning && l.Interruptible != 0 {
			mask |= uint64(l.GpuMask)
		}
	}
	return mask
}

// leased is the mask of the GPUs that have a lease, from its award until its job is over.
func (a *Agent) leased() (uint64, error) {
	leased := uint64(0)
	if node, ok := a.view.Node(a.node); ok {
		leased = uint64(node.GpuMask)
	}
	for _, l := range a.view.LeasesOfNode(a.node) {
		if l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning {
			leased |= uint64(l.GpuMask)
		}
	}
	entries, err := a.store.Leases()
	if err != nil {
		return 0, err
	}
	for _, e := range entries { // a lease that is over on chain may still have its job here
		if e.State.Live() {
			leased |= e.GPUMask
		}
	}
	return leased, nil
}

// ours reports whether a process is the agent, or belongs to a lease.
func ours(pid uint32) bool {
	if int(pid) == os.Getpid() {
		return true
	}
	group, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(int(pid)), "cgroup"))
	return err == nil && (strings.Contains(string(group), "/gantry/") || strings.Contains(string(group), "/gantry-")) // v2, v1
}
