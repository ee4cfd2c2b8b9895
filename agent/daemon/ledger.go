package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/query"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/txm"
)

// ledger is the chain as leases and receipts need it: read from the view, written through the transaction manager.
type ledger struct {
	view    *view.View
	client  *chain.Client
	txm     *txm.Manager
	node    solana.PublicKey
	nodeKey solana.PublicKey
}

var (
	_ lease.Ledger   = (*ledger)(nil)
	_ receipt.Ledger = (*ledger)(nil)
)

// Leases implements lease.Ledger.
func (l *ledger) Leases() []lease.OnChain { return l.view.LeasesOfNode(l.node) }

// Lease implements lease.Ledger. A lease of another node is none of ours.
func (l *ledger) Lease(address solana.PublicKey) (lease.OnChain, bool) {
	found, ok := l.view.Lease(address)
	return found, ok && found.Node == l.node
}

// Changed implements lease.Ledger.
func (l *ledger) Changed() <-chan struct{} { return l.view.Changed() }

// Order implements lease.Ledger.
func (l *ledger) Order(ctx context.Context, of lease.OnChain) (lease.Order, error) {
	o, ok := l.view.Order(of.Order)
	if !ok {
		var err error
		if o, err = query.Fetch[market.Order](ctx, l.client, of.Order, l.client.Commitment()); err != nil {
			return lease.Order{}, fmt.Errorf("order %s: %w", of.Order, err)
		}
	}
	out := lease.Order{
		Complete:  o.State() == market.OrderAwarded || o.State() == market.OrderLapsed,
		AwardedAt: time.Unix(o.AwardedAt, 0), Digest: o.ImageDigest, Duration: market.Seconds(o.DurationSecs),
	}
	if p, ok := l.view.Params(); ok && o.Redundant == 1 {
		by := time.Unix(o.OutputsBy(&p, &of), 0)
		out.Outputs = lease.Outputs{
			Committed: o.Order.Outputs, Wanted: o.NodesWanted, By: by, Shown: by.Add(market.Seconds(of.SettleSecs)),
		}
	}
	if of.Continues == 1 { // it goes on where a failed lease stopped, with the rest of its time and a start deadline of its own
		out.Complete, out.AwardedAt, out.Duration = true, time.Unix(of.AwardedAt, 0), market.Seconds(of.DurationSecs)
	}
	return out, nil
}

// ActsFor implements lease.Ledger and receipt.Ledger.
func (l *ledger) ActsFor(key, customer solana.PublicKey) bool {
	if key == customer {
		return true
	}
	c, ok := l.view.CreditsOf(customer)
	return ok && c.ActsFor(key, time.Now())
}

// StartDeadline implements lease.Ledger.
func (l *ledger) StartDeadline() time.Duration {
	p, _ := l.view.Params()
	return market.Seconds(p.StartDeadlineSecs)
}

// Start implements lease.Ledger.
func (l *ledger) Start(ctx context.Context, of lease.OnChain, connection [32]byte) error {
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: of, ConnectionHash: connection})
	if err != nil {
		return err
	}
	return l.send(ctx, "lease_start", fmt.Sprintf("%s/%d", of.Address, of.AwardedAt), instruction)
}

// End implements lease.Ledger.
func (l *ledger) End(ctx context.Context, of lease.OnChain) error {
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: l.nodeKey, Lease: of})
	if err != nil {
		return err
	}
	return l.send(ctx, "lease_end", fmt.Sprintf("%s/%d", of.Address, of.StartedAt), instruction)
}

// CommitOutput implements lease.Ledger.
func (l *ledger) CommitOutput(ctx context.Context, of lease.OnChain, commitment [32]byte) error {
	instruction, err := ix.OutputCommit(of, commitment)
	if err != nil {
		return err
	}
	return l.send(ctx, "output_commit", fmt.Sprintf("%s/%d", of.Address, of.StartedAt), instruction)
}

// RevealOutput implements lease.Ledger.
func (l *ledger) RevealOutput(ctx context.Context, of lease.OnChain, output, salt [32]byte) error {
	instruction, err := ix.OutputReveal(of, output, salt)
	if err != nil {
		return err
	}
	return l.send(ctx, "output_reveal", fmt.Sprintf("%s/%d", of.Address, of.StartedAt), instruction)
}

// SettleReceipt implements receipt.Ledger.
func (l *ledger) SettleReceipt(ctx context.Context, of lease.OnChain, r receipt.Signed) error {
	provider, ok := l.view.Provider(of.Provider)
	if !ok {
		return fmt.Errorf("provider %s is not known yet", of.Provider)
	}
	ixs, err := ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{
		Lease: of, Payout: provider.Payout, Receipt: market.LeaseReceipt(of, r.Sequence, uint64(r.Seconds)),
		NodeSignature: r.NodeSignature, CustomerKey: r.CustomerKey, CustomerSignature: r.CustomerSignature,
	})
	if err != nil {
		return err
	}
	return l.send(ctx, "lease_settle_receipt", fmt.Sprintf("%s/%d/%d/%s", of.Address, of.StartedAt, r.Sequence, provider.Payout), ixs...)
}

// send submits an intent under an id that stands for its one effect. What somebody else has done before is done.
func (l *ledger) send(ctx context.Context, kind, id string, ixs ...solana.Instruction) error {
	_, err := l.txm.Submit(ctx, txm.Intent{ID: kind + "/" + id, Kind: kind, Instructions: ixs, Repeatable: true})
	if errors.Is(err, txm.ErrNoFunds) {
		return fmt.Errorf("%s: the machine's key %s has no SOL for fees; send it some: %w", kind, l.nodeKey, err)
	}
	if err != nil && market.AlreadyDone(err) {
		return nil
	}
	return market.Explain(err)
}
