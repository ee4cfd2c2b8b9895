package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Node is what the last transactions of a machine say of it.
type Node struct {
	// Periods are those whose final report was applied to it, the newest first.
	Periods []NodePeriod
	// Payments are what settlements have paid its provider, the newest first.
	Payments []Payment
	// Awards counts the leases that it was awarded.
	Awards int
	// Since is the time of the oldest transaction that was read; zero when that is not known.
	Since time.Time
	// More says that there may be older transactions; Unreadable counts those that could not be read.
	More       bool
	Unreadable int
}

// NodePeriod is what the final report of a period says of a machine. The program has checked its proof.
type NodePeriod struct {
	// Leaf is the last that was applied, with the flags of all of the period.
	Leaf      records.Leaf
	Time      time.Time
	Signature solana.Signature
}

// Payment is what a settlement has paid a provider for a lease.
type Payment struct {
	Lease     solana.PublicKey
	Amount    market.USDC // fee taken off
	Source    market.SettleSource
	Time      time.Time
	Signature solana.Signature
}

// ReadNode reads the last transactions of a machine, so many at most, 0 for all. Errors: the source's.
func ReadNode(ctx context.Context, o Options, node solana.PublicKey, most int) (*Node, error) {
	txs, more, err := ReadLast(ctx, o.Source, node, o.Commitment, most)
	if err != nil {
		return nil, err
	}
	n := nodeOf(txs, node)
	n.More = more
	return n, nil
}

// nodeOf reads a machine out of its transactions.
func nodeOf(txs []Tx, node solana.PublicKey) *Node {
	n := &Node{}
	periods := map[records.Period]NodePeriod{}
	for i, t := range txs {
		if i == 0 {
			n.Since = t.Time
		}
		if t.Unreadable != "" {
			n.Unreadable++ // its leaves count all the same: they are in its instructions
		}
		for _, p := range leafProofs(t) {
			if p.Leaf.Node == node {
				p.Leaf.Flags |= periods[p.Leaf.Period].Leaf.Flags
				periods[p.Leaf.Period] = NodePeriod{Leaf: p.Leaf, Time: t.Time, Signature: t.Signature}
			}
		}
		for _, e := range t.Events {
			switch v := e.Value.(type) {
			case *bindings.LeaseAwarded:
				if v.Node == node {
					n.Awards++
				}
			case *bindings.LeaseMigrated:
				if v.Node == node {
					n.Awards++
				}
			case *bindings.LeaseSettled:
				if v.ProviderAmount > 0 && settledAt(t, v.Lease, node) {
					n.Payments = append(n.Payments, Payment{
						Lease: v.Lease, Amount: market.USDC(v.ProviderAmount), Source: market.SettleSource(v.Source), Time: t.Time, Signature: t.Signature,
					})
				}
			}
		}
	}
	n.Periods = slices.SortedFunc(maps.Values(periods), func(a, b NodePeriod) int { return cmp.Compare(b.Leaf.Period, a.Leaf.Period) })
	slices.Reverse(n.Payments)
	return n
}

// settledAt reports whether a transaction settles a lease of a node: it may settle those of other nodes beside it.
func settledAt(t Tx, lease, node solana.PublicKey) bool {
	return slices.ContainsFunc(t.Instructions, func(in Instruction) bool {
		names := func(kind [8]byte, leaseAt, nodeAt int) bool {
			return in.is(kind, max(leaseAt, nodeAt)+1) && in.Accounts[leaseAt] == lease && in.Accounts[nodeAt] == node
		}
		return names(bindings.Instruction_LeaseSettleReceipt, bindings.Place_LeaseSettleReceipt_Lease, bindings.Place_LeaseSettleReceipt_Node) ||
			names(bindings.Instruction_LeaseSettleReport, bindings.Place_LeaseSettleReport_Lease, bindings.Place_LeaseSettleReport_Node)
	})
}
