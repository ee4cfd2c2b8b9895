package vpn

import (
	"context"
	"net/netip"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/messages"
)

var visitProtocol = buy.ToNode(messages.GroupVisit)

// Remote are the machines of a customer's leases, as a membership of the network reaches them.
type Remote struct{ *buy.Remote }

// Visit implements Machines.
func (r Remote) Visit(ctx context.Context, node solana.PublicKey, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error) {
	return buy.Call[messages.GroupVisitRequest, messages.GroupVisitAnswer](ctx, r.Remote, node, visitProtocol, req)
}

// Direct implements Machines.
func (r Remote) Direct(node solana.PublicKey) netip.AddrPort { return r.Net.Direct(node) }
