package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ErrNoHistory is the error of an address that no transaction of the market's names as a lease (or as a fault).
var ErrNoHistory = errors.New("the chain has no such history")

// Step is one thing that happened, with what was checked about it.
type Step struct {
	Name      string
	Time      time.Time
	Text      string
	Signature solana.Signature // zero for a conclusion over several transactions
	Problems  []string         // what does not add up
	Unknown   string           // why it is not known whether all of it adds up
	Money     *Money           // of the lease after the step; nil where it holds none
}

// Money is where the money of a lease is after a step.
type Money struct {
	Reserved market.USDC // held by the lease, for its provider or to come back
	Paid     market.USDC // for the time, the fee included
	Returned market.USDC // of what was reserved, to the customer's credits
}

// OK reports whether the step is known to be right.
func (s Step) OK() bool { return s.Outcome() == Right }

// Lease is the history of one life of a lease.
type Lease struct {
	Address  solana.PublicKey
	Order    solana.PublicKey
	Node     solana.PublicKey
	Customer solana.PublicKey
	Owner    solana.PublicKey // the provider's account; zero where the award's transaction is not known
	Keeper   solana.PublicKey // wallet of the keeper that awarded it; zero where its event could not be read
	Steps    []Step
	Txs      []Tx
	Lives    int // how often the address was a lease; this is the last one
	Open     bool

	Price    market.PricePerHour
	GPUs     uint8
	FeeBPS   uint16
	PaidSecs uint32
	Paid     market.USDC // fee included
	Fee      market.USDC
	Provider market.USDC
	Refunded market.USDC // of the award's reservation and extensions, what came back
	Leaves   int         // leaves about the lease whose proofs lead to final roots
}

// Outcome is what the audit comes to.
func (l *Lease) Outcome() Outcome { return outcomeOf(l.Steps) }

// OK reports whether everything is known to add up.
func (l *Lease) OK() bool { return l.Outcome() == Right }

// Options of an audit.
type Options struct {
	Source     Source
	Domain     records.Domain
	Commitment chain.Commitment
	Params     market.Params // in force now: for terms that only the closed account had
	Lease      *market.Lease // the account, while it exists
	Gone       bool          // the account was looked for and does not exist
	NodeKey    solana.PublicKey
	// For leases of redundant orders, whose nodes are drawn by the hash of a block:
	Order  *market.Order                                                         // the account, while it exists
	Blocks chain.BlockSource                                                     // final ones; nil leaves the draw out
	Nodes  func(context.Context) ([]market.Node, map[uint16]market.Model, error) // all of them with their models, as they are now
}

// AuditLease rebuilds a lease. Errors: ErrNoHistory, chain.ErrUnreadable where its award cannot be found among
// transactions that could not be read, the source's.
func AuditLease(ctx context.Context, o Options, address solana.PublicKey) (*Lease, error) {
	own, err := Read(ctx, o.Source, address, o.Commitment)
	if err != nil {
		return nil, err
	}
	award, start, lives := lastAward(own, address)
	switch {
	case award == nil && o.Lease != nil: // the node has forgotten it
		award = &bindings.LeaseAwarded{Lease: address, Order: o.Lease.Order, Node: o.Lease.Node, Keeper: o.Lease.Keeper, Price: o.Lease.Price}
	case award == nil:
		return nil, missingHistory(own, "%s was ever a lease", address)
	case award.Price == 0 && o.Lease != nil:
		award.Price, award.Keeper = o.Lease.Price, o.Lease.Keeper
	}
	own = own[start:]
	orders, err := orderHistory(ctx, o, award.Order, own)
	if err != nil {
		return nil, err
	}
	// Votes on a dispute name the dispute, not the lease.
	disputes, err := disputeHistory(ctx, o, own, address)
	if err != nil {
		return nil, err
	}
	roots, unread, err := finalRoots(ctx, o, own, address)
	if err != nil {
		return nil, err
	}
	a := newAuditor(o, address, award, lives)
	a.roots, a.reports = roots, unread
	l := a.walk(merge(orders, mergeDispute(own, disputes)))
	draw, err := drawnStep(ctx, o, orders, award.Order)
	if err != nil {
		return nil, err
	}
	l.addDraw(draw)
	return l, nil
}

// lastAward is the last award of a lease, its place, and how many there are; nil for none.
func lastAward(own []Tx, address solana.PublicKey) (award *bindings.LeaseAwarded, start, lives int) {
	for i := range own {
		if e, _, ok := find(own[i:i+1], func(e *bindings.LeaseAwarded) bool { return e.Lease == address }); ok {
			award, start = e, i
			lives++
		}
		if e, _, ok := find(own[i:i+1], func(e *bindings.LeaseMigrated) bool { return e.To == address }); ok {
			award, start = &bindings.LeaseAwarded{
				Lease: e.To, Order: e.Order, Node: e.Node, Keeper: e.Keeper, Price: e.Price, GpuMask: e.GpuMask, Reserved: e.Reserved,
			}, i
			lives++
		}
		if e, ok := unreadAward(own[i], address); ok {
			award, start = e, i
			lives++
		}
	}
	return award, start, lives
}

// orderHistory is the order's own life that led to an award, the first of a lease's transactions: from its last creation
// until the address is used again, if ever.
func orderHistory(ctx context.Context, o Options, order solana.PublicKey, own []Tx) ([]Tx, error) {
	txs, err := Read(ctx, o.Source, order, o.Commitment)
	if err != nil {
		return nil, err
	}
	first, last := 0, len(txs)
	for i, t := range txs {
		_, _, created := find(txs[i:i+1], func(e *bindings.OrderCreated) bool { return e.Order == order })
		if !created && (t.opaque() || !t.unreadCall(order, bindings.Instruction_OrderCreate)) {
			continue
		}
		if len(own) > 0 && t.Slot > own[0].Slot {
			last = i // the address was used again later
			break
		}
		first = i
	}
	return txs[first:last], nil
}

func newAuditor(o Options, address solana.PublicKey, award *bindings.LeaseAwarded, lives int) *auditor {
	return &auditor{
		o: o, award: award,
		lease: &Lease{
			Address: address, Order: award.Order, Node: award.Node, Keeper: award.Keeper, Lives: lives, Open: true, Price: market.PricePerHour(award.Price),
		},
	}
}

// rebuild walks through one life of a lease: pure, from its transactions and the final roots of its leaves' periods.
func rebuild(o Options, address solana.PublicKey, award *bindings.LeaseAwarded, lives int, txs []Tx, roots map[uint64]records.Hash) *Lease {
	a := newAuditor(o, address, award, lives)
	a.roots = roots
	return a.walk(txs)
}

// walk goes through the transactions of one life of the lease.
func (a *auditor) walk(txs []Tx) *Lease {
	a.lease.Txs = txs
	a.lease.Owner = a.owner(txs)
	a.beginning(txs)
	for _, t := range txs {
		if t.Unreadable != "" {
			a.unread(t)
		}
		for _, e := range t.Events {
			a.event(t, e)
		}
	}
	for _, r := range a.reports {
		a.lease.Steps = append(a.lease.Steps, r.steps...)
	}
	a.conclude()
	return a.lease
}

// owner is the provider's account of the lease's machine.
func (a *auditor) owner(txs []Tx) solana.PublicKey {
	for i := len(txs) - 1; i >= 0; i-- {
		if b, ok := awardOf(txs[i], a.lease.Address); ok {
			return b.Provider
		}
	}
	if a.o.Lease != nil {
		return a.o.Lease.Provider
	}
	return solana.PublicKey{}
}

// unreadReport is a report whose history could not be read whole: whether it became final is not known.
type unreadReport struct{ steps []Step }

// finalRoots reads the finalised root of every period that a leaf about the lease came from, and the reports of which the
// root is not known.
func finalRoots(ctx context.Context, o Options, txs []Tx, lease solana.PublicKey) (map[uint64]records.Hash, map[uint64]unreadReport, error) {
	roots, unread := map[uint64]records.Hash{}, map[uint64]unreadReport{}
	for _, t := range txs {
		for _, p := range leafProofs(t) {
			period := uint64(p.Leaf.Period)
			_, known := roots[period]
			_, tried := unread[period]
			if known || tried || p.Leaf.Lease != lease {
				continue
			}
			root, final, missing, err := finalRoot(ctx, o, period)
			switch {
			case err != nil:
				return nil, nil, err
			case final:
				roots[period] = root
			case len(missing) > 0:
				unread[period] = unreadReport{missing}
			}
		}
	}
	return roots, unread, nil
}

// finalRoot finds the root that a period's report became final with, from the event of the deciding vote, so that it is
// found after the report is closed as well. The program takes leaves of final reports alone: where that vote is not found,
// unread says what of the report's history is missing.
func finalRoot(ctx context.Context, o Options, period uint64) (root records.Hash, final bool, unread []Step, err error) {
	txs, err := Read(ctx, o.Source, market.ReportAddress(period), o.Commitment)
	if err != nil {
		return root, false, nil, err
	}
	e, _, ok := find(txs, func(e *bindings.ReportFinalised) bool { return e.Period == period })
	if ok {
		return e.Root, true, nil, nil
	}
	for _, t := range txs {
		// A vote without an event repeats another one, or its log was cut by a node that does not say so.
		voted := slices.ContainsFunc(t.calls(), func(in Instruction) bool { return in.is(bindings.Instruction_ReportVote, 0) })
		if t.Unreadable == "" && voted && len(t.Events) == 0 {
			t.Unreadable = "the node shows no event of this vote"
		}
		if t.Unreadable != "" {
			unread = append(unread, unreadStep(t))
		}
	}
	if len(unread) == 0 {
		unread = []Step{{
			Name: "unread", Text: fmt.Sprintf("the vote that made the report of period %d final is not in the history that the node keeps", period),
			Unknown: tooLittle,
		}}
	}
	return root, false, unread, nil
}
