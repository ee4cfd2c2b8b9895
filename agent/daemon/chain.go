package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

// nodeChain is the chain as leases and receipts need it: it reads from the view and writes through the transaction
// manager.
type nodeChain struct {
	view    *view.View
	client  *chain.Client
	txm     *txm.Manager
	node    solana.PublicKey
	nodeKey solana.PublicKey
	now     func() time.Time
}

var (
	_ lease.Chain   = (*nodeChain)(nil)
	_ receipt.Chain = (*nodeChain)(nil)
)

// Leases implements lease.Chain.
func (c *nodeChain) Leases() []market.Lease { return c.view.LeasesOfNode(c.node) }

// Lease implements lease.Chain. It hides the leases of other nodes.
func (c *nodeChain) Lease(address solana.PublicKey) (market.Lease, bool) {
	found, ok := c.view.Lease(address)
	return found, ok && found.Node == c.node
}

// Look implements lease.Chain. An endpoint that is behind what the view shows is no help, and the view loses no lease
// by one answer.
func (c *nodeChain) Look(ctx context.Context, address solana.PublicKey) error {
	_, _, err := c.look(ctx, address, c.view.Slot())
	return err
}

// look reads a lease into the view; nil where two answers say that it is gone.
func (c *nodeChain) look(ctx context.Context, address solana.PublicKey, since uint64) (*chain.Account, uint64, error) {
	found, err := c.client.Gone(ctx, []solana.PublicKey{address}, market.ProgramID, c.client.Commitment(), since, "")
	if err != nil {
		return nil, 0, err
	}
	a := found.Accounts[0]
	e := watch.Event{Pubkey: address, Slot: found.Slot, Deleted: true}
	if a != nil {
		e = watch.Event{Pubkey: address, Owner: a.Owner, Lamports: a.Lamports, Data: a.Data, Slot: a.Slot}
	}
	return a, found.Slot, c.view.Apply(e)
}

// Gone implements lease.Chain. It asks what is confirmed first: that may show the lease, where a list did not.
func (c *nodeChain) Gone(ctx context.Context, address solana.PublicKey, awardedAt int64, since uint64) (lease.Presence, uint64, error) {
	seen := max(since, c.view.Slot())
	a, slot, err := c.look(ctx, address, seen)
	if err != nil {
		return lease.There, 0, err
	}
	if another, err := c.another(a, awardedAt); err != nil || !another {
		return lease.There, 0, err
	}
	if since == 0 {
		since = slot
	}
	found, err := c.client.Gone(ctx, []solana.PublicKey{address}, market.ProgramID, chain.Finalized, since, "")
	switch {
	case chain.IsCode(err, chain.CodeSlotNotReached):
		return lease.Leaving, since, nil
	case err != nil:
		return lease.There, 0, err
	}
	another, err := c.another(found.Accounts[0], awardedAt)
	switch {
	case err != nil:
		return lease.There, 0, err
	case !another:
		return lease.Leaving, since, nil
	}
	return lease.Gone, found.Slot, nil
}

// another reports whether an account is none, or a later lease than the one that was awarded at a time. An account that
// cannot be read says nothing.
func (c *nodeChain) another(a *chain.Account, awardedAt int64) (bool, error) {
	if a == nil {
		return true, nil
	}
	l, err := leaseIn(a)
	return err == nil && l.AwardedAt > awardedAt, err
}

func leaseIn(a *chain.Account) (market.Lease, error) {
	d, err := market.Decode(query.MetaOf(*a), a.Data)
	if err != nil {
		return market.Lease{}, fmt.Errorf("lease %s: %w", a.Key, err)
	}
	l, ok := d.Value.(*market.Lease)
	if !ok {
		return market.Lease{}, fmt.Errorf("lease %s: %w", a.Key, market.ErrUnknownAccount)
	}
	return *l, nil
}

// Final implements lease.Chain.
func (c *nodeChain) Final(ctx context.Context, address solana.PublicKey, since uint64) (market.Lease, error) {
	found, err := c.client.FindTwice(ctx, []solana.PublicKey{address}, chain.Finalized, since)
	if err != nil {
		return market.Lease{}, err
	}
	a := found.Accounts[0]
	if a == nil || a.Owner != market.ProgramID {
		return market.Lease{}, fmt.Errorf("lease %s: %w", address, chain.ErrAccountNotFound)
	}
	l, err := leaseIn(a)
	if err == nil && l.Node != c.node {
		err = fmt.Errorf("lease %s is of node %s: %w", address, l.Node, chain.ErrAccountNotFound)
	}
	return l, err
}

// Source implements lease.Chain.
func (c *nodeChain) Source() string {
	var names []string
	for _, e := range c.client.Endpoints() {
		names = append(names, e.Name())
	}
	return strings.Join(names, ", ")
}

// Changed implements lease.Chain.
func (c *nodeChain) Changed() <-chan struct{} { return c.view.Changed() }

// order reads a lease's order.
func (c *nodeChain) order(ctx context.Context, of market.Lease) (market.Order, error) {
	if o, ok := c.view.Order(of.Order); ok {
		return o, nil
	}
	o, err := query.Fetch[market.Order](ctx, c.client, of.Order, c.client.Commitment())
	if err != nil {
		return o, fmt.Errorf("order %s: %w", of.Order, err)
	}
	return o, nil
}

// Order implements lease.Chain.
func (c *nodeChain) Order(ctx context.Context, of market.Lease) (lease.Order, error) {
	o, err := c.order(ctx, of)
	if err != nil {
		return lease.Order{}, err
	}
	out := lease.Order{
		Complete:  o.State() == market.OrderAwarded || o.State() == market.OrderLapsed,
		AwardedAt: time.Unix(o.AwardedAt, 0), StartDeadline: market.Seconds(o.StartSecs), Digest: o.ImageDigest, Duration: market.Seconds(o.DurationSecs),
	}
	if o.Redundant == 1 {
		out.Outputs = lease.Outputs{
			Committed: o.Order.Outputs, Wanted: o.NodesAwarded, CommitBy: time.Unix(o.OutputsBy, 0), RevealBy: time.Unix(o.RevealBy, 0),
		}
	}
	if of.Continues == 1 { // it continues a failed lease, with the rest of its time and a start deadline of its own
		out.Complete, out.AwardedAt, out.Duration = true, time.Unix(of.AwardedAt, 0), market.Seconds(of.DurationSecs)
	}
	return out, nil
}

// ActsFor implements lease.Chain and receipt.Chain.
func (c *nodeChain) ActsFor(key, customer solana.PublicKey) bool {
	if key == customer {
		return true
	}
	credits, ok := c.view.CreditsOf(customer)
	return ok && credits.ActsFor(key, c.now())
}

// Start implements lease.Chain.
func (c *nodeChain) Start(ctx context.Context, of market.Lease, connection [32]byte) error {
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: of, ConnectionHash: connection})
	if err != nil {
		return err
	}
	return c.send(ctx, "lease_start", fmt.Sprintf("%s/%d", of.Address, of.AwardedAt), instruction)
}

// Decline implements lease.Chain.
func (c *nodeChain) Decline(ctx context.Context, of market.Lease, why market.DeclineReason) error {
	o, err := c.order(ctx, of)
	if err != nil {
		return err
	}
	instruction, err := ix.LeaseDecline(ix.LeaseDeclineArgs{Lease: of, OrderRentPayer: o.RentPayer, Reason: why, Job: o.ImageDigest})
	if err != nil {
		return err
	}
	return c.send(ctx, "lease_decline", fmt.Sprintf("%s/%d", of.Address, of.AwardedAt), instruction)
}

// Ask implements lease.Chain.
func (c *nodeChain) Ask(interruptible bool) market.PricePerHour {
	n, _ := c.view.Node(c.node)
	return n.AskFor(interruptible)
}

// End implements lease.Chain.
func (c *nodeChain) End(ctx context.Context, of market.Lease, immediate bool) error {
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: c.nodeKey, Lease: of, Immediate: immediate})
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s/%d", of.Address, of.StartedAt)
	switch {
	case immediate:
		id += "/immediate"
	case of.NoticeAt != 0:
		id += "/noticed"
	}
	return c.send(ctx, "lease_end", id, instruction)
}

// CommitOutput implements lease.Chain.
func (c *nodeChain) CommitOutput(ctx context.Context, of market.Lease, commitment [32]byte) error {
	instruction, err := ix.OutputCommit(of, commitment)
	if err != nil {
		return err
	}
	return c.send(ctx, "output_commit", fmt.Sprintf("%s/%d", of.Address, of.StartedAt), instruction)
}

// RevealOutput implements lease.Chain.
func (c *nodeChain) RevealOutput(ctx context.Context, of market.Lease, output, salt [32]byte) error {
	instruction, err := ix.OutputReveal(of, output, salt)
	if err != nil {
		return err
	}
	return c.send(ctx, "output_reveal", fmt.Sprintf("%s/%d", of.Address, of.StartedAt), instruction)
}

// Checkpoint implements lease.Chain.
func (c *nodeChain) Checkpoint(ctx context.Context, of market.Lease, hash [32]byte) error {
	instruction, err := ix.LeaseCheckpoint(of, hash)
	if err != nil {
		return err
	}
	return c.send(ctx, "lease_checkpoint", fmt.Sprintf("%s/%d/%x", of.Address, of.StartedAt, hash), instruction)
}

// SettleReceipt implements receipt.Chain.
func (c *nodeChain) SettleReceipt(ctx context.Context, of market.Lease, r receipt.Signed) error {
	provider, ok := c.view.Provider(of.Provider)
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
	return c.send(ctx, "lease_settle_receipt", fmt.Sprintf("%s/%d/%d/%s", of.Address, of.StartedAt, r.Sequence, provider.Payout), ixs...)
}

// send submits an intent under an id that stands for its one effect. An effect that is there already is no error.
func (c *nodeChain) send(ctx context.Context, kind, id string, ixs ...solana.Instruction) error {
	_, err := c.txm.Submit(ctx, txm.Intent{ID: kind + "/" + id, Kind: kind, Instructions: ixs, Repeatable: true})
	if errors.Is(err, txm.ErrNoFunds) {
		return fmt.Errorf("%s: the machine's key %s has no SOL for fees; send it some: %w", kind, c.nodeKey, err)
	}
	if err != nil && market.AlreadyDone(err) {
		return nil
	}
	return market.Explain(err)
}
