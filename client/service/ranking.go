package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ranking is the market's nodes at one moment, the best first, as awards would have them.
type ranking struct {
	view   *view.View // the nodes and models
	at     int64      // by the cluster's clock, unix seconds
	nodes  []rankedNode
	models map[uint16]*market.Model
	stats  Statistics
	// typical are the medians of what was measured, by model, where enough machines of enough owners were.
	typical map[uint16]*Typical

	// spot ranks the nodes that take interruptible work, at their spot prices.
	spot func() *ranking

	mu    sync.Mutex
	found map[string]Found        // answers to searches, by their terms: they change with the ranking only
	by    map[SortBy][]rankedNode // nodes in other orders
}

// maxFound is how many answers to searches a ranking keeps.
const maxFound = 64

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
	if l := s.live.Load(); l != nil {
		if v := l.whole.current(); v != nil {
			now, err := s.now(ctx)
			if err != nil {
				return nil, err
			}
			return rank(v, now), nil
		}
	}
	v, now, err := s.SnapshotNow(ctx, view.Only(view.Kinds(market.KindNode, market.KindModel)))
	if err != nil {
		return nil, err
	}
	return rank(v, now), nil
}

// rank orders the nodes of a view as market.Candidate.Compare does for an order that is not placed yet.
func rank(v *view.View, now int64) *ranking {
	r := &ranking{view: v, at: now, models: map[uint16]*market.Model{}, found: map[string]Found{}}
	r.spot = sync.OnceValue(r.interruptible)
	for _, m := range v.Models() {
		r.models[m.Id] = &m
	}
	v.Read(func(a *view.Accounts) {
		r.nodes = make([]rankedNode, 0, len(a.Nodes))
		for _, n := range a.Nodes {
			if _, known := r.models[n.Spec.Model]; known {
				r.nodes = append(r.nodes, rankedAt(n, now))
			}
		}
	})
	r.sort()
	r.stats, r.typical = r.statistics(), r.medians()
	return r
}

// rankedAt is a node with what it is compared by.
func rankedAt(n *market.Node, now int64) rankedNode {
	x := rankedNode{node: n, rep: n.Reputation(now)}
	var err error
	x.score, err = n.Score(now, now)
	x.scored = err == nil
	var seed [64]byte // of no order
	copy(seed[32:], n.Address[:])
	x.tie = sha256.Sum256(seed[:])
	return x
}

func (r *ranking) sort() {
	slices.SortFunc(r.nodes, func(a, b rankedNode) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(b.rep, a.rep), bytes.Compare(a.tie[:], b.tie[:]))
	})
}

// interruptible is the ranking as interruptible orders see it.
func (r *ranking) interruptible() *ranking {
	out := &ranking{view: r.view, at: r.at, models: r.models, typical: r.typical}
	for _, x := range r.nodes {
		if spot, ok := x.node.AsSpot(); ok {
			out.nodes = append(out.nodes, rankedAt(spot, r.at))
		}
	}
	out.sort()
	return out
}

// typicalNodes and typicalOwners are how many machines, of how many owners, a median needs to say what is typical.
const (
	typicalNodes  = 5
	typicalOwners = 3
)

// medians are those of what was measured of each model's real GPUs.
func (r *ranking) medians() map[uint16]*Typical {
	figures := map[uint16][]uint32{}
	owners := map[uint16]map[solana.PublicKey]bool{}
	for _, x := range r.nodes {
		if x.node.Operations == 0 || x.node.Spec.Simulated == 1 {
			continue
		}
		id := x.node.Spec.Model
		figures[id] = append(figures[id], x.node.Operations)
		if owners[id] == nil {
			owners[id] = map[solana.PublicKey]bool{}
		}
		owners[id][x.node.Provider] = true
	}
	out := map[uint16]*Typical{}
	for id, all := range figures {
		if m, ok := median(all); ok && len(all) >= typicalNodes && len(owners[id]) >= typicalOwners {
			out[id] = &Typical{TOPS: market.TOPS(m), Of: "market"}
		}
	}
	return out
}

// answer is search for terms as they are written. The answer is shared, and not to be changed.
func (r *ranking) answer(text string, q *Terms, by SortBy, most int) Found {
	key := strconv.Itoa(most) + " " + string(by) + " " + text
	r.mu.Lock()
	found, known := r.found[key]
	r.mu.Unlock()
	if known {
		return found
	}
	found = r.search(q, by, most)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.found) < maxFound {
		r.found[key] = found
	}
	return found
}

// search describes the best nodes that match, as they were at the ranking's time, and counts the others.
func (r *ranking) search(q *Terms, by SortBy, most int) Found {
	if q.Spot {
		r = r.spot()
	}
	found := Found{Offers: []Offer{}, Unfit: map[string]int{}, At: r.at}
	asked := map[uint16]bool{}
	for id, m := range r.models {
		asked[id] = q.ofModel(m)
	}
	of := *q
	of.GPU = "" // compared once a model, not once a node
	nodes := r.sorted(by)
	for i := range nodes {
		x := &nodes[i]
		if !asked[x.node.Spec.Model] {
			found.Unfit[otherModel]++
			continue
		}
		m := r.models[x.node.Spec.Model]
		switch reason := of.matches(x.node, m, r.at); {
		case reason != "":
			found.Unfit[reason]++
		case !x.scored:
			found.Unfit["too dear"]++
		default:
			if found.Fit++; found.Fit <= most {
				o := DescribeNode(x.node, m, r.at)
				if o.Typical == nil {
					o.Typical = r.typical[x.node.Spec.Model]
				}
				found.Offers = append(found.Offers, o)
			}
		}
	}
	return found
}
