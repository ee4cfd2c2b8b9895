package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	// silentAfter is how long a GPU must not answer, which the driver does not call lost, before it is reported: a reset may help.
	silentAfter = 10 * time.Minute
	// fabricEvery is the time between two looks at NVSwitches.
	fabricEvery = time.Minute
	// silentLooks is how many looks in a row must find that a GPU does not answer before the node leaves the market.
	silentLooks = 2
	// gpuLookEvery is the most time between two looks at the GPUs.
	gpuLookEvery = 10 * time.Second
)

// deathLooks is how often the agent must have found a GPU lost, at the least, before it reports it.
const deathLooks = 4

// deathWatch reports on chain that a GPU has died, once the driver has called it lost for long enough: before a keeper
// asks for it, which costs far more.
type deathWatch struct {
	after time.Duration
	// what is said of such GPUs in the log.
	what string
	// lost are the GPUs that are lost or do not answer; an error says nothing about them.
	lost func(context.Context) ([]string, error)
	// node is the node as it is on chain.
	node   func() (market.Node, bool)
	report func(context.Context, market.Node) error
	log    zerolog.Logger

	missing []string  // of the last looks
	since   time.Time // of the first look that found them so
	looks   int
}

// look takes one look at the GPUs.
func (w *deathWatch) look(ctx context.Context, now time.Time) {
	node, ok := w.node()
	if !ok || node.State() == market.NodeRetired || node.State() == market.NodeSuspended {
		w.missing, w.looks = nil, 0
		return
	}
	lost, err := w.lost(ctx)
	switch {
	case err != nil: // the driver is being loaded, or hangs: neither is a lost GPU
		w.log.Debug().Err(err).Msg("the driver does not answer")
		w.missing, w.looks = nil, 0
		return
	case len(lost) == 0:
		if len(w.missing) > 0 {
			w.log.Warn().Strs("gpus", w.missing).Msg("a lost GPU is back")
		}
		w.missing, w.looks = nil, 0
		return
	case !slices.Equal(lost, w.missing):
		w.log.Warn().Strs("gpus", lost).Dur("reported_after", w.after).Msg(w.what)
		w.missing, w.since, w.looks = lost, now, 0
	}
	if w.looks++; w.looks < deathLooks || now.Sub(w.since) < w.after {
		return
	}
	if err := w.report(ctx, node); err != nil && ctx.Err() == nil {
		w.log.Error().Err(err).Strs("gpus", lost).Msg("a GPU has died and the report of it was not sent; do it by hand: gantry-agent report-dead --yes")
		return
	}
	w.log.Error().Strs("gpus", lost).Msg("a GPU has died and was reported: the node takes no work for 30 days")
}

// followGPUs watches the GPUs until ctx ends.
func (a *Agent) followGPUs(ctx context.Context) error {
	if a.cfg.ReportDeadAfter < 0 {
		a.log.Info().Msg("a GPU that dies is not reported automatically; its checks will fail")
	}
	var lost, silent []string
	var failed error
	var fabric time.Time
	watch := func(after time.Duration, what string, gpus *[]string) *deathWatch {
		return &deathWatch{
			after: after, what: what, lost: func(context.Context) ([]string, error) { return *gpus, failed }, report: a.reportDead, log: a.log,
			node: func() (market.Node, bool) { return a.view.Node(a.node) },
		}
	}
	watches := []*deathWatch{
		watch(a.cfg.ReportDeadAfter, "the driver calls a GPU lost; until it answers, keepers get no answer about the hardware", &lost),
		watch(max(a.cfg.ReportDeadAfter, silentAfter), "a GPU does not answer; the node takes no new work until it does", &silent),
	}
	every := gpuLookEvery
	if a.cfg.ReportDeadAfter >= 0 {
		every = max(min(gpuLookEvery, a.cfg.ReportDeadAfter/(deathLooks+1)), 100*time.Millisecond)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-tick.C:
			lost, silent, failed = a.lookGPUs(ctx)
			if now.Sub(fabric) >= fabricEvery {
				fabric = now
				a.lookFabric(ctx)
			}
			for _, w := range watches {
				if a.cfg.ReportDeadAfter >= 0 {
					w.look(ctx, now)
				}
			}
		}
	}
}

// lookFabric notes whether the GPUs' NVSwitches are set up.
func (a *Agent) lookFabric(ctx context.Context) {
	why := ""
	if err := a.machine.CheckFabric(ctx); errors.Is(err, host.ErrFabric) {
		why = err.Error()
	} else if err != nil { // of the driver: nothing is known
		return
	}
	if before := a.fabric.Swap(&why); (before == nil || *before != why) && why != "" {
		a.log.Error().Str("why", why).Msg("the node takes no new work; what to do: gantry-agent doctor")
	}
}

// lookGPUs notes which GPUs do not answer, and what the driver needs for the others. It returns the UUIDs of those that are lost, and of
// those that the driver still lists and has nothing but errors for.
func (a *Agent) lookGPUs(ctx context.Context) (lost, silent []string, err error) {
	gone, err := a.machine.Gone(ctx)
	if err != nil {
		return nil, nil, err
	}
	why, first := map[int]string{}, ""
	for _, g := range gone {
		why[g.Index] = g.Reason()
		if g.Silent && first == "" {
			first = fmt.Sprintf("GPU %d does not answer: %s", g.Index, g.Reason())
		}
		switch {
		case !g.Silent:
			lost = append(lost, g.UUID)
		case g.Why != host.NeedsReset: // a reset mends it: dead it is not
			silent = append(silent, g.UUID)
		}
	}
	if a.silentLooks++; first == "" {
		a.silentLooks = 0
	}
	if a.silentLooks < silentLooks { // a transaction takes the node out, and one brings it back
		first = ""
	}
	a.silent.Store(&first)
	a.faults.Away(why)
	needs, err := a.machine.Needs(ctx)
	if err != nil {
		a.log.Debug().Err(err).Msg("the driver does not say what it needs for the GPUs")
	}
	for gpu, action := range needs {
		a.faults.Needs(gpu, action)
	}
	return lost, silent, nil
}

var errNoMarket = errors.New("the market is not known yet")

// reportDead sends node_report_dead, once for each death.
func (a *Agent) reportDead(ctx context.Context, node market.Node) error {
	mk, ok := a.view.Market()
	if !ok {
		return errNoMarket
	}
	claims, err := query.Select[market.Device](ctx, a.client, query.DevicesOf(node.Address), chain.Confirmed)
	if err != nil {
		return err
	}
	instruction, err := ix.NodeReportDead(ix.NodeReportDeadArgs{
		Authority: a.key.PublicKey(), Node: node, StakeMint: mk.StakeMint, Devices: claims,
	})
	if err != nil {
		return err
	}
	_, err = a.txm.Submit(ctx, txm.Intent{
		ID: fmt.Sprintf("node_report_dead/%s/%d", node.Address, node.DiedAt), Kind: "node_report_dead",
		Instructions: []solana.Instruction{instruction}, Repeatable: true,
	})
	return market.Explain(err)
}
