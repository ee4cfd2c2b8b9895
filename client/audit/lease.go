package audit

import (
	"context"
	"errors"
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
}

// OK reports whether nothing is wrong with the step.
func (s Step) OK() bool { return len(s.Problems) == 0 }

// Lease is the history of one life of a lease.
type Lease struct {
	Address  solana.PublicKey
	Order    solana.PublicKey
	Node     solana.PublicKey
	Customer solana.PublicKey
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

// OK reports whether everything adds up.
func (l *Lease) OK() bool {
	for _, s := range l.Steps {
		if !s.OK() {
			return false
		}
	}
	return true
}

// Options of an audit.
type Options struct {
	Source     Source
	Domain     records.Domain
	Commitment chain.Commitment
	Params     market.Params // in force now: for terms that only the closed account had
	Lease      *market.Lease // the account, while it exists
	NodeKey    solana.PublicKey
	// For leases of redundant orders, whose nodes are drawn by the hash of a block:
	Order  *market.Order                                                         // the account, while it exists
	Blocks chain.BlockSource                                                     // final ones; nil leaves the draw out
	Nodes  func(context.Context) ([]market.Node, map[uint16]market.Model, error) // all of them with their models, as they are now
}

// AuditLease rebuilds a lease. Errors: ErrNoHistory, the source's.
func AuditLease(ctx context.Context, o Options, address solana.PublicKey) (*Lease, error) {
	own, err := Read(ctx, o.Source, address, o.Commitment)
	if err != nil {
		return nil, err
	}
	lives, start := 0, 0
	var award *bindings.LeaseAwarded
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
	}
	if award == nil {
		return nil, missingHistory(own, "%s was never a lease", address)
	}
	own = own[start:]
	orders, err := Read(ctx, o.Source, award.Order, o.Commitment)
	if err != nil {
		return nil, err
	}
	// The order's own life that led to this award: from its last creation until the address is used again, if ever.
	first, last := 0, len(orders)
	for i, t := range orders {
		if _, _, ok := find(orders[i:i+1], func(e *bindings.OrderCreated) bool { return e.Order == award.Order }); !ok {
			continue
		}
		if t.Slot > own[0].Slot {
			last = i // the address was used again later
			break
		}
		first = i
	}
	// Votes on a dispute name the dispute, not the lease.
	disputes, err := disputeHistory(ctx, o, own, address)
	if err != nil {
		return nil, err
	}
	roots, err := finalRoots(ctx, o, own, address)
	if err != nil {
		return nil, err
	}
	l := rebuild(o, address, award, lives, merge(orders[first:last], mergeDispute(own, disputes)), roots)
	draw, err := drawnStep(ctx, o, orders[first:last], award.Order)
	if err != nil {
		return nil, err
	}
	l.addDraw(draw)
	return l, nil
}

// rebuild walks through one life of a lease: pure, from its transactions and the final roots of its leaves' periods.
func rebuild(o Options, address solana.PublicKey, award *bindings.LeaseAwarded, lives int, txs []Tx, roots map[uint64]records.Hash) *Lease {
	a := &auditor{
		o: o, roots: roots, award: award,
		lease: &Lease{
			Address: address, Order: award.Order, Node: award.Node, Lives: lives, Open: true,
			Price: market.PricePerHour(award.Price), Txs: txs,
		},
	}
	for _, t := range txs {
		a.lease.Steps = append(a.lease.Steps, unreadable([]Tx{t})...)
		for _, e := range t.Events {
			a.event(t, e)
		}
	}
	a.conclude()
	return a.lease
}

// finalRoots reads the finalised root of every period that a leaf about the lease came from.
func finalRoots(ctx context.Context, o Options, txs []Tx, lease solana.PublicKey) (map[uint64]records.Hash, error) {
	roots := map[uint64]records.Hash{}
	for _, t := range txs {
		for _, p := range leafProofs(t) {
			period := uint64(p.Leaf.Period)
			if _, known := roots[period]; known || p.Leaf.Lease != lease {
				continue
			}
			root, ok, err := FinalRoot(ctx, o, period)
			if err != nil {
				return nil, err
			}
			if ok {
				roots[period] = root
			}
		}
	}
	return roots, nil
}

// FinalRoot finds the root that a period's report became final with, from the event of the deciding vote, so that it is
// found after the report is closed as well.
func FinalRoot(ctx context.Context, o Options, period uint64) (records.Hash, bool, error) {
	txs, err := Read(ctx, o.Source, market.ReportAddress(period), o.Commitment)
	if err != nil {
		return records.Hash{}, false, err
	}
	e, _, ok := find(txs, func(e *bindings.ReportFinalised) bool { return e.Period == period })
	if !ok {
		return records.Hash{}, false, nil
	}
	return e.Root, true, nil
}
