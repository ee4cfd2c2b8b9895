package dispute

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Open disputes a lease that the desk's wallet has with the node n, and reserves the deposit that it returns. complaint is
// the text's sha256.
func Open(ctx context.Context, d *operate.Desk, n *market.Node, l *market.Lease, kind market.DisputeKind, complaint [32]byte) (operate.Action, market.USDC, error) {
	deposit, err := MayOpen(ctx, d, n, l)
	if err != nil {
		return operate.Action{}, 0, err
	}
	instruction, err := ix.DisputeOpen(ix.DisputeOpenArgs{Lease: *l, Kind: kind, Complaint: complaint})
	a, err := operate.NewAction("dispute_open", l.Address, "disputed", instruction, err)
	a.Asks = fmt.Sprintf("dispute  lease %s: %s USDC of the credits are reserved as its deposit", l.Address, deposit)
	return a, deposit, err
}

// Vote votes on a dispute for the keeper that the desk's key signs for. now is in unix seconds.
func Vote(d *operate.Desk, k *market.Keeper, on *market.Dispute, uphold bool, now int64) (operate.Action, error) {
	if err := MayVote(on, k, now); err != nil {
		return operate.Action{}, err
	}
	instruction, err := ix.DisputeVote(ix.DisputeVoteArgs{Keeper: k.Wallet, Signer: d.Key, Dispute: on.Address, Uphold: uphold})
	return operate.NewAction("dispute_vote", k.Wallet, "voted", instruction, err)
}
