package daemon

import (
	"context"
	"net/netip"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/group"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// groupProtocol is between machines whose leases are members of one group. Others are strangers.
var groupProtocol = p2p.Protocol{ID: messages.GroupHello, MaxRequest: 4 << 10, MaxResponse: 4 << 10, Rate: 20, Burst: 200, Concurrent: 128}

// visitProtocol lets customers into the private networks of their leases.
var visitProtocol = customerProtocol(messages.GroupVisit)

// groupNet is what groups need of the node.
type groupNet struct{ a *Agent }

// Hello implements [group.Net].
func (n groupNet) Hello(ctx context.Context, node solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error) {
	var keepers []solana.PublicKey
	for _, k := range n.a.keepers() {
		keepers = append(keepers, k.Key)
	}
	if err := n.a.p2p.Find(ctx, node, keepers); err != nil {
		return messages.GroupHelloAnswer{}, err
	}
	return p2p.Call[messages.GroupHelloRequest, messages.GroupHelloAnswer](ctx, n.a.p2p, node, groupProtocol, req)
}

// Direct implements [group.Net].
func (n groupNet) Direct(node solana.PublicKey) netip.AddrPort {
	if n.a.simulation().Relayed {
		return netip.AddrPort{}
	}
	return n.a.p2p.Direct(node)
}

// serveGroups connects leases to the private networks of their orders.
func (a *Agent) serveGroups(ctx context.Context, g *errgroup.Group) {
	if a.port.Number() == 0 { // the node does not speak QUIC, as on local networks
		at := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		if a.local {
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
		}
		g.Go(func() error { return a.port.Serve(ctx, at) })
	}
	g.Go(func() error { return a.groups.Run(ctx) })
}

func (a *Agent) newGroups(open func(leaseID string) (int, error)) *group.Manager {
	return group.New(group.Options{
		Port: &a.port, Net: groupNet{a}, Members: a.leases.Members, Open: open, Visits: a.leases.Visits, Log: a.log.With().Str("part", "group").Logger(),
	})
}

// meeting is how far those are that start together with a lease. Leases are there before their groups.
func (a *Agent) meeting(of solana.PublicKey) lease.Meeting { return a.groups.Meeting(of) }

// registerGroups answers the machines of other members, and customers that enter the network of their leases.
func (a *Agent) registerGroups(h *handlers, g *guests) {
	p := groupProtocol
	p.May = a.groups.Knows
	p2p.Handle(a.p2p, p, func(_ context.Context, from solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error) {
		return a.groups.Hello(from, req)
	})
	visits := visitProtocol
	visits.May, visits.First = g.leases, g.leases
	p2p.Handle(a.p2p, visits, func(ctx context.Context, from solana.PublicKey, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error) {
		why, err := h.refusal(h.leases.Network(ctx, from, req.Lease))
		if err != nil || why != "" {
			return messages.GroupVisitAnswer{Version: messages.Version, Refused: why}, err
		}
		return a.groups.Visit(from, req)
	})
}
