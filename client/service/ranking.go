package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
)

// ranking is the market's nodes at one moment, the best first, as awards would have them.
type ranking struct {
	view   *view.View // the nodes and models
	at     int64      // by the cluster's clock, unix seconds
	nodes  []rankedNode
	models map[uint16]market.Model
	stats  Statistics
}

type rankedNode struct {
	node   *market.Node
	scored bool // false for a price that no score of 64 bits fits: no order asks for it
	score  uint64
	rep    uint16
	tie    [32]byte
}

// ranked reads all nodes, or gives what was read a short time ago.
func (s *Service) ranked(ctx context.Context) (*ranking, error) {
	if l := s.live.Load(); l != nil {
		return l.ranking.get(ctx)
	}
	return s.readRanking(ctx)
}

func (s *Service) readRanking(ctx context.Context) (*ranking, error) {
	v, now, err := s.SnapshotNow(ctx, view.Only(view.Kinds(market.KindNode, market.KindModel)))
	if err != nil {
		return nil, err
	}
	return rank(v, now), nil
}

// rank orders the nodes of a view as market.Candidate.Compare does for an order that is not placed yet.
func rank(v *view.View, now int64) *ranking {
	r := &ranking{view: v, at: now, models: map[uint16]market.Model{}}
	for _, m := range v.Models() {
		r.models[m.Id] = m
	}
	v.Read(func(a *view.Accounts) {
		r.nodes = make([]rankedNode, 0, len(a.Nodes))
		for _, n := range a.Nodes {
			if _, known := r.models[n.Spec.Model]; !known {
				continue
			}
			x := rankedNode{node: n, rep: n.Reputation(now)}
			var err error
			x.score, err = market.Score(n.Ask(), x.rep, n.GuaranteeAt(now))
			x.scored = err == nil
			var seed [64]byte // of no order
			copy(seed[32:], n.Address[:])
			x.tie = sha256.Sum256(seed[:])
			r.nodes = append(r.nodes, x)
		}
	})
	slices.SortFunc(r.nodes, func(a, b rankedNode) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(b.rep, a.rep), bytes.Compare(a.tie[:], b.tie[:]))
	})
	r.stats = r.statistics()
	return r
}

// search describes the best nodes that match, and counts the others.
func (r *ranking) search(q *Terms, now int64, most int) Found {
	found := Found{Offers: []Offer{}, Unfit: map[string]int{}, At: r.at}
	asked := map[uint16]bool{}
	for id := range r.models {
		m := r.models[id]
		asked[id] = q.ofModel(&m)
	}
	of := *q
	of.GPU = "" // compared once a model, not once a node
	for i := range r.nodes {
		x := &r.nodes[i]
		if !asked[x.node.Spec.Model] {
			found.Unfit[otherModel]++
			continue
		}
		m := r.models[x.node.Spec.Model]
		switch reason := of.matches(x.node, &m, now); {
		case reason != "":
			found.Unfit[reason]++
		case !x.scored:
			found.Unfit["too dear"]++
		default:
			if found.Fit++; found.Fit <= most {
				found.Offers = append(found.Offers, DescribeNode(x.node, &m, now))
			}
		}
	}
	return found
}
