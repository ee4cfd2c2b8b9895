package buy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// States of a cluster.
const (
	ClusterBuying   = "buying"   // its machines are not all awarded, or do not have the job yet
	ClusterStarting = "starting" // machines start
	ClusterRunning  = "running"  // all members run
	ClusterPartial  = "partial"  // some members run, others are over
	ClusterEnded    = "ended"    // no member runs
	ClusterFailed   = "failed"   // nothing was bought
)

// statusClosed is the status of a member whose lease is not on chain any more.
const statusClosed = "closed"

// ErrNoCluster: no purchase of this folder is a cluster of that name or order.
var ErrNoCluster = errors.New("no such cluster")

// Cluster is an order over several machines whose containers have a private network.
type Cluster struct {
	Order   string          `json:"order" doc:"Address of the order"`
	Name    string          `json:"name,omitempty" doc:"That it was bought with; by it, or by its order, it is found again"`
	State   string          `json:"state" enum:"buying,starting,running,partial,ended,failed" doc:"buying until all machines have their job; partial: some members run, others are over; failed: nothing was bought"`
	Type    string          `json:"type,omitempty" enum:"shell,ray,torch" doc:"What the machines run together; absent when the purchase is over"`
	Members []ClusterMember `json:"members" doc:"By place; none until all machines are awarded"`
	// Cost is that of all leases of the order, also of those that failed and whose place another has.
	Cost     string `json:"costAtMost,omitempty" doc:"USDC so far, of all its leases; absent where one is closed: its audit says what it has cost"`
	Cap      string `json:"costCap" doc:"USDC: the most that it can cost in the time that was ordered"`
	MaxPrice string `json:"maxPricePerGpuHour" doc:"The most USDC per GPU-hour that the order pays"`
	Seconds  uint32 `json:"seconds" doc:"That were ordered"`
	Created  int64  `json:"createdAt" doc:"Unix seconds"`
	// Endpoint is the first of the order's public ports.
	Endpoint *string `json:"endpoint" doc:"https address that a gateway has given to the first public port of node-0; null where there is none"`
	Failed   string  `json:"failed,omitempty" doc:"Why nothing was bought"`
	MinNodes uint8   `json:"minNodes,omitempty" doc:"How many machines have to run; absent for any number"`
	EndsAt   int64   `json:"endsAt,omitempty" doc:"Unix seconds: too few machines run, and the others are ended then, unless enough run again"`
	Reason   string  `json:"reason,omitempty" enum:"group-incomplete" doc:"group-incomplete: too few machines ran, and the others were ended"`
	Says     string  `json:"says,omitempty" doc:"The same in words"`
	// Services are those of the type, on the first machine.
	Services []ClusterService `json:"services,omitempty" doc:"Where the programs of the type meet, on node-0"`
	// Left are leases that could not be ended yet, and why.
	Left []string `json:"left,omitempty" doc:"What could not be ended yet, and why: ask again"`
}

// BegunCluster is one whose purchase has just begun.
func BegunCluster(name string) Cluster {
	return Cluster{Name: name, State: ClusterBuying, Members: []ClusterMember{}}
}

// ClusterMember is a place in a cluster, and the lease that has it now.
type ClusterMember struct {
	Place   int    `json:"place"`
	Host    string `json:"host" doc:"Its name in the private network"`
	Address string `json:"address" doc:"Its address there"`
	Lease   string `json:"lease" doc:"Its output, ports and use are at /v1/leases/{lease}"`
	Node    string `json:"node" doc:"The machine's account; empty where the lease is closed"`
	Status  string `json:"status" doc:"Of the lease; closed: it is not on chain any more"`
	Cost    string `json:"costAtMost,omitempty" doc:"USDC so far; absent where the lease is closed"`
}

// Running reports whether a container can be entered.
func (m *ClusterMember) Running() bool { return m.Status == market.LeaseRunning.String() }

// PickCluster finds a cluster among purchases by its name, its order's address, or the beginning of that. leases are those of
// its customer that are on chain. Error: Failure where the purchase is not a cluster.
func PickCluster(all []purchase.Purchase, leases []service.Lease, text string) (Cluster, error) {
	family, err := pickCluster(all, text)
	if err != nil {
		return Cluster{}, err
	}
	return clusterOf(family, leases), nil
}

// pickCluster finds the purchases of a cluster; see purchase.Cluster.
func pickCluster(all []purchase.Purchase, text string) ([]purchase.Purchase, error) {
	order, err := PickPurchase(all, text)
	if err != nil {
		f := classify(err)
		return nil, &failure{Code: f.Code, Reason: f.Reason, Advice: f.Advice, Cause: ErrNoCluster}
	}
	i := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Order == order })
	switch {
	case i < 0:
		return nil, &failure{Code: service.CodeRefused, Reason: fmt.Sprintf("order %s was not placed from this computer", order), Cause: ErrNoCluster}
	case !isCluster(&all[i]) && all[i].Joins.IsZero():
		return nil, &failure{
			Code: service.CodeRefused, Reason: fmt.Sprintf("order %s is not a cluster: it has no private network", order),
			Advice: "order containers on several machines: gantry cluster up --nodes 2 --image …", Cause: ErrNoCluster,
		}
	}
	return purchase.Cluster(all, order), nil
}

// isCluster reports whether machines of a purchase have a private network of their own, or will have one. The job of a purchase that is over
// is forgotten: then it is the network that was recorded.
func isCluster(p *purchase.Purchase) bool {
	if p.Args.Nodes < 2 || p.Args.Redundant || !p.Joins.IsZero() {
		return false
	}
	if p.Job == nil {
		return len(p.Group) > 0 || !p.Bought
	}
	return p.Job.Image != ""
}

// clusterOf is a cluster of purchases.
func clusterOf(family []purchase.Purchase, leases []service.Lease) Cluster {
	p := &family[0]
	c := Cluster{
		Order: p.Order.String(), Name: p.Name, Members: []ClusterMember{}, MaxPrice: p.Args.MaxPrice.String(), Seconds: p.Args.Duration, Created: p.Created.Unix(),
		Cost: costOf(family, leases),
	}
	var most market.USDC
	for i := range family { // they were checked when the orders were placed
		part, _ := market.OrderCost(family[i].Args.MaxPrice, family[i].Args.GPUsPerNode, family[i].Args.Duration, family[i].Args.Nodes)
		most += part
	}
	c.Cap = most.String()
	for i, m := range purchase.Members(family) {
		member := ClusterMember{
			Place: i, Host: mesh.Name(i), Address: mesh.Address(i).String(),
			Lease: solana.PublicKey(m.Lease).String(), Status: statusClosed,
		}
		if at := slices.IndexFunc(leases, func(l service.Lease) bool { return l.Address == member.Lease }); at >= 0 {
			member.Node, member.Status, member.Cost = leases[at].Node, leases[at].Status, leases[at].Cost
		} else {
			c.Cost = ""
		}
		c.Members = append(c.Members, member)
	}
	last := &family[len(family)-1]
	if c.State = stateOf(p, c.Members); c.State == ClusterRunning && len(last.Group) == 0 {
		c.State = ClusterStarting // machines that are added are not awarded yet
	}
	if c.State == ClusterFailed {
		c.Failed = cmp.Or(p.Outcome, "nothing was bought")
	}
	c.MinNodes = p.MinNodes
	switch {
	case p.Short.Broken():
		c.Reason, c.Says = service.WhyIncomplete, p.Short.Says
	case p.TooFew():
		c.EndsAt = p.Short.Until
		c.Says = fmt.Sprintf("too few machines run, and the group needs %d: the others are ended at %s UTC, unless enough run again", p.MinNodes, service.When(c.EndsAt))
	}
	made := clusterTypeOf(p.Job)
	if c.Type = made.Type; len(c.Members) > 0 {
		c.Services = made.services(c.Members[0])
	}
	return c
}

// stateOf is the state of a cluster with members.
func stateOf(p *purchase.Purchase, members []ClusterMember) string {
	var starting, running int
	for i := range members {
		switch {
		case members[i].Running():
			running++
		case members[i].Status == market.LeaseAwarded.String():
			starting++
		}
	}
	live := starting + running
	switch {
	case p.CameToNothing():
		return ClusterFailed
	case len(members) == 0 && p.Stage == purchase.Over, len(members) > 0 && live == 0:
		return ClusterEnded
	case len(members) == 0:
		return ClusterBuying
	case live < len(members):
		return ClusterPartial
	case starting > 0 || p.Stage != purchase.Handed && p.Stage != purchase.Over:
		return ClusterStarting
	}
	return ClusterRunning
}

// costOf is what the leases of a cluster's orders have cost at most, USDC.
func costOf(family []purchase.Purchase, leases []service.Lease) string {
	var sum market.USDC
	for i := range leases {
		if !slices.ContainsFunc(family, func(p purchase.Purchase) bool { return p.Order.String() == leases[i].Order }) {
			continue
		}
		cost, err := market.ParseUSDC(leases[i].Cost)
		if err != nil { // of a lease that owes more than an amount holds, which none does
			return ""
		}
		sum += cost
	}
	return sum.Exact()
}

// Clusters are those that were bought from this folder, the latest first, also those that are over.
func (b *Buyer) Clusters(ctx context.Context) ([]Cluster, error) {
	all := b.purchases()
	first := slices.DeleteFunc(slices.Clone(all), func(p purchase.Purchase) bool { return !isCluster(&p) || p.Args.Customer != b.customer })
	out := []Cluster{}
	if len(first) == 0 {
		return out, nil
	}
	leases, err := b.service.Leases(ctx, b.customer)
	if err != nil {
		return nil, err
	}
	for i := range first {
		c, err := b.described(ctx, purchase.Cluster(all, first[i].Order), leases)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Cluster is the one of a name or order. Error: ErrNoCluster.
func (b *Buyer) Cluster(ctx context.Context, text string) (Cluster, error) {
	family, err := pickCluster(b.purchases(), text)
	if err != nil {
		return Cluster{}, err
	}
	leases, err := b.service.Leases(ctx, b.customer)
	if err != nil {
		return Cluster{}, err
	}
	return b.described(ctx, family, leases)
}

// described is a cluster with the address that a gateway has given to it.
func (b *Buyer) described(ctx context.Context, family []purchase.Purchase, leases []service.Lease) (Cluster, error) {
	p, c := &family[0], clusterOf(family, leases)
	if len(p.Public) == 0 || len(c.Members) == 0 || !c.Members[0].Running() {
		return c, nil
	}
	f, err := b.folderOf(ctx, b.customer) // where the grants of the customer's leases are
	if err != nil {
		return c, err
	}
	names, err := f.Published(p.Order, b.service.Clock.Latest(ctx))
	if err != nil {
		return c, err
	}
	if url, ok := names[p.Public[0].Port]; ok {
		c.Endpoint = &url
	}
	return c, nil
}

// CheckCluster refuses a request that would not become a cluster.
func CheckCluster(r *Request) error {
	switch {
	case r.Nodes < 2:
		return usage("a cluster has several machines", "say how many: --nodes 2")
	case r.Image == "" && r.Restore == "":
		return usage("the machines of a cluster run containers", "name the image: --image pytorch/pytorch:latest")
	case r.Guest:
		return usage("the machines of a cluster have a private network, and a measured guest has none", "leave --guest out")
	case r.Redundancy != 0 || r.Rerun != "":
		return usage("machines whose outputs are compared have no private network", "leave --redundancy and --rerun out")
	}
	return nil
}

// hostOf is the name of the member that a lease of the purchase is.
func hostOf(p *purchase.Purchase, lease solana.PublicKey) string {
	i := slices.IndexFunc(p.Group, func(m messages.GroupMember) bool { return m.Lease == lease })
	if i < 0 {
		return "a machine"
	}
	return mesh.Name(p.First + i)
}
