package service

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Statistics are figures of the whole market at one moment, computed from its nodes.
type Statistics struct {
	At     int64             `json:"at" doc:"By the cluster's clock, unix seconds"`
	Total  NodeStatistics    `json:"total"`
	Models []ModelStatistics `json:"models" doc:"By GPU model, those with most GPUs first"`
	Starts Starts            `json:"starts"`
}

// NodeStatistics are figures of several nodes.
type NodeStatistics struct {
	Nodes       int    `json:"nodes" doc:"Registered"`
	Active      int    `json:"activeNodes" doc:"That take orders"`
	GPUs        int    `json:"gpus" doc:"Of active nodes, and leased ones of others"`
	Leased      int    `json:"leasedGpus"`
	Utilisation string `json:"utilisationPercent" doc:"Leased of all GPUs"`
	Uptime      string `json:"medianUptimePercent,omitempty" doc:"Of active nodes, each as reports have it; absent without one"`
}

// ModelStatistics are figures of the nodes of a GPU model.
type ModelStatistics struct {
	Model string `json:"model"`
	NodeStatistics
	Lowest string `json:"lowestAsk,omitempty" doc:"Of active nodes with a free GPU, USDC per GPU-hour; absent without one"`
	Median string `json:"medianAsk,omitempty" doc:"Of active nodes, USDC per GPU-hour; absent without one"`
}

// Statistics describes how much of the market is used, and what it asks.
func (s *Service) Statistics(ctx context.Context) (Statistics, error) {
	r, err := s.ranked(ctx)
	if err != nil {
		return Statistics{}, err
	}
	read := s.readStarts
	if l := s.live.Load(); l != nil {
		read = l.starts.get
	}
	out := r.stats
	out.Starts, err = read(ctx)
	return out, err
}

// SeenStatistics are figures that were read for somebody within a time, without Starts; ok is false where there are none.
// Nothing is read for it: all nodes of a large market are tens of megabytes.
func (s *Service) SeenStatistics(within time.Duration) (out Statistics, ok bool) {
	l := s.live.Load()
	if l == nil {
		return out, false
	}
	r, age, ok := l.ranking.peek()
	if !ok || age > within {
		return out, false
	}
	return r.stats, true
}

// MachineChecks are the checks of a node, as reports have them in all.
type MachineChecks struct {
	Address       solana.PublicKey
	Passed, Total uint64
}

// SeenChecks are the checks of all nodes that were read for somebody within a time, and the cluster's time then; ok is false where there
// are none. Nothing is read for it.
func (s *Service) SeenChecks(within time.Duration) (at int64, out []MachineChecks, ok bool) {
	l := s.live.Load()
	if l == nil {
		return 0, nil, false
	}
	r, age, ok := l.ranking.peek()
	if !ok || age > within {
		return 0, nil, false
	}
	for _, x := range r.nodes {
		out = append(out, MachineChecks{x.node.Address, x.node.ChecksPassed, x.node.ChecksTotal})
	}
	return r.at, out, true
}

// tally counts nodes.
type tally struct {
	out    NodeStatistics
	asks   []uint64 // of active nodes
	free   []uint64 // asks of those that have a free GPU
	uptime []uint16
}

func (t *tally) add(n *market.Node) {
	leased := bits.OnesCount16(n.GpuMask)
	t.out.Nodes++
	t.out.Leased += leased
	if n.State() != market.NodeActive {
		t.out.GPUs += leased
		return
	}
	t.out.Active++
	t.out.GPUs += int(n.Spec.Gpus)
	t.asks = append(t.asks, n.Price)
	if n.ChecksTotal > 0 {
		t.uptime = append(t.uptime, n.UptimeBps)
	}
	if n.FreeGPUs() > 0 {
		t.free = append(t.free, n.Price)
	}
}

func (t *tally) figures() NodeStatistics {
	out := t.out
	out.Utilisation = market.Percent(0)
	if out.GPUs > 0 {
		out.Utilisation = market.Percent(uint16(out.Leased * market.BPS / out.GPUs))
	}
	if m, ok := median(t.uptime); ok {
		out.Uptime = market.Percent(m)
	}
	return out
}

// statistics counts the ranking's nodes.
func (r *ranking) statistics() Statistics {
	var all tally
	models := map[uint16]*tally{}
	for _, x := range r.nodes {
		t := models[x.node.Spec.Model]
		if t == nil {
			t = &tally{}
			models[x.node.Spec.Model] = t
		}
		t.add(x.node)
		all.add(x.node)
	}
	out := Statistics{At: r.at, Total: all.figures(), Models: []ModelStatistics{}}
	for id, t := range models {
		m := r.models[id]
		s := ModelStatistics{Model: m.ModelName(), NodeStatistics: t.figures()}
		if len(t.free) > 0 {
			s.Lowest = market.PricePerHour(slices.Min(t.free)).String()
		}
		if price, ok := median(t.asks); ok {
			s.Median = market.PricePerHour(price).String()
		}
		out.Models = append(out.Models, s)
	}
	slices.SortFunc(out.Models, func(a, b ModelStatistics) int {
		return cmp.Or(cmp.Compare(b.GPUs, a.GPUs), cmp.Compare(a.Model, b.Model))
	})
	return out
}

// median is the lower one where there are two in the middle; ok is false where there is none.
func median[T cmp.Ordered](all []T) (m T, ok bool) {
	if len(all) == 0 {
		return m, false
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], true
}
