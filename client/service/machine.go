package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/todo"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ErrNoNode: there is no machine at this address.
var ErrNoNode = errors.New("no such node")

// Machine is a node as its owner looks at it.
type Machine struct {
	Offer
	Wallet  string         `json:"wallet" doc:"Of its owner"`
	Class   ClassTerms     `json:"class"`
	Own     string         `json:"stake" doc:"The node's own stake, GNT"`
	Held    string         `json:"stakeHeldByFaults"`
	Missing string         `json:"missingStake" doc:"Without it the node is awarded nothing"`
	Earned  Earned         `json:"earned" doc:"Of leases that are not closed"`
	Leases  []MachineLease `json:"leases" doc:"That are not closed, the newest first"`
	Open    []Fault        `json:"faults" doc:"That are open"`
	ToDo    []todo.ToDo    `json:"toDo" doc:"What keeps it from earning, and what to do about it"`
}

// ClassTerms are what a GPU of the node's model is to reach, by the terms that the node has accepted.
type ClassTerms struct {
	Calibrated bool   `json:"calibrated" doc:"Whether anything is asked for: false until the class is measured on hardware"`
	TOPS       string `json:"tops,omitempty" doc:"10¹² int8 operations a second"`
	Bandwidth  string `json:"gigabytesPerSecond,omitempty"`
	Needed     string `json:"sharePercent,omitempty" doc:"What the mean of the last measured periods must be of it for orders"`
}

// MachineLease is a lease that a node serves or has served.
type MachineLease struct {
	Address string `json:"address"`
	Status  string `json:"status"`
	GPUs    uint8  `json:"gpus"`
	Price   string `json:"pricePerGpuHour"`
	Awarded int64  `json:"awardedAt"`
	Started int64  `json:"startedAt,omitempty"`
	Ended   int64  `json:"endedAt,omitempty"`
	Used    uint32 `json:"usedSeconds"`
	Rating  uint8  `json:"rating,omitempty"`
	Earned  Earned `json:"earned"`
}

// machineOf describes a node of a view that has its provider's leases and faults.
func machineOf(v *view.View, n *market.Node, p *market.Provider, now int64) (Machine, earned) {
	model, _ := v.Model(n.Spec.Model)
	out := Machine{
		Offer: DescribeNode(n, &model, now), Wallet: p.Wallet.String(), Class: classOf(n), Own: market.GNT(n.Stake).String(), Held: market.GNT(n.ReservedStake).String(),
		Missing: n.MissingStake().String(), Leases: []MachineLease{}, Open: []Fault{},
	}
	var sum earned
	leases := v.LeasesOfNode(n.Address)
	slices.SortStableFunc(leases, func(a, b market.Lease) int { return cmp.Compare(b.AwardedAt, a.AwardedAt) })
	for i := range leases {
		l := &leases[i]
		e := earnedOf(l, now)
		sum.add(e)
		out.Leases = append(out.Leases, MachineLease{
			Address: l.Address.String(), Status: l.State().String(), GPUs: l.Gpus, Price: market.PricePerHour(l.Price).String(), Awarded: l.AwardedAt,
			Started: l.StartedAt, Ended: l.EndedAt, Used: l.BillableSecs(now), Rating: l.Rating, Earned: e.text(),
		})
	}
	out.Earned = sum.text()
	faults := v.FaultsOf(n.Address)
	for i := range faults {
		out.Open = append(out.Open, DescribeFault(&faults[i]))
	}
	out.ToDo = todo.Of(n, p, faults, leases, now)
	return out, sum
}

func classOf(n *market.Node) ClassTerms {
	out := ClassTerms{Calibrated: n.Calibrated()}
	if out.Calibrated {
		out.TOPS, out.Bandwidth, out.Needed = market.TOPS(n.MinOperations), market.GBs(n.MinBandwidth), market.Percent(market.FiguresBPS)
	}
	return out
}

// Machine describes a node, anybody's. Errors: ErrNoNode, and those of the cluster.
func (s *Service) Machine(ctx context.Context, address solana.PublicKey) (Machine, error) {
	v, now, err := s.SnapshotNow(ctx, view.With([]chain.Filter{query.LeasesAt(address), query.FaultsAt(address)}, address))
	if err != nil {
		return Machine{}, err
	}
	n, ok := v.Node(address)
	p, known := v.Provider(n.Node.Provider)
	if !ok || !known {
		return Machine{}, noNode(address)
	}
	m, _ := machineOf(v, &n, &p, now)
	return m, nil
}

func noNode(address solana.PublicKey) error {
	return &Failure{
		Code: CodeUsage, Reason: fmt.Sprintf("there is no node %s, or it is closed", address), Advice: "copy the address from the offers, or from gantry node list",
		Cause: ErrNoNode,
	}
}
