package audit

import (
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
)

// Run is a redundant order as its transactions tell it: what was ordered, which nodes it was given, in the order of their
// awards, and what most of them have shown.
type Run struct {
	Order    solana.PublicKey
	Args     bindings.OrderArgs
	Nodes    []RunNode
	Resolved *bindings.OutputsResolved // nil before the outputs are compared
	// Unread is why it is not known whether they were compared; nil where it is. It is a chain.ErrUnreadable.
	Unread error

	credits   solana.PublicKey // its customer's
	reopened  bool
	gaps      topic // whether awards, of this order or of earlier ones, may be in what could not be read
	createdIn Tx
	awardedIn Tx // the last award
}

// RunNode is a node of a run.
type RunNode struct{ Node, Provider solana.PublicKey }

// ReadRun reads the last life of a redundant order's address. Errors: ErrNoHistory, chain.ErrUnreadable where its creation
// may be in what could not be read, the source's.
func ReadRun(ctx context.Context, src Source, order solana.PublicKey, at chain.Commitment) (*Run, error) {
	txs, err := Read(ctx, src, order, at)
	if err != nil {
		return nil, err
	}
	r, ok := runOf(txs, order)
	if !ok {
		opaque := slices.DeleteFunc(txs, func(t Tx) bool { return !t.opaque() })
		return nil, missingHistory(opaque, "%s was ever a redundant order", order)
	}
	return &r, nil
}

// Has reports whether a node, or another one of its provider, was in the run.
func (r *Run) Has(node, provider solana.PublicKey) bool {
	for _, n := range r.Nodes {
		if n.Node == node || n.Provider == provider {
			return true
		}
	}
	return false
}

// runOf reads a redundant order out of its transactions; ok is false when it is not redundant, or not in them.
func runOf(txs []Tx, order solana.PublicKey) (r Run, ok bool) {
	for _, t := range txs {
		for _, in := range t.Instructions {
			if args, created := orderCreate(in); created && in.Accounts[bindings.Place_OrderCreate_Order] == order {
				r, ok = Run{gaps: r.gaps, Order: order, Args: *args, credits: in.Accounts[bindings.Place_OrderCreate_Credits], createdIn: t}, args.Redundant == 1
			}
			if n, of, awarded := orderAward(in); awarded && of == order {
				r.Nodes, r.awardedIn = append(r.Nodes, n), t
			}
		}
		if t.unreadCall(order, bindings.Instruction_OutputResolve) {
			r.Unread = Unread([]Tx{t})
		}
		if t.opaque() {
			r.gaps = ofAll
		}
		r.reopened = r.reopened || !t.opaque() && t.unreadCall(order, bindings.Instruction_OrderReopen)
		for _, e := range t.Events {
			switch v := e.Value.(type) {
			case *bindings.OrderReopened:
				if t.opaque() {
					r.gaps = ofAll
				}
				r.reopened = r.reopened || v.Order == order
			case *bindings.OutputsResolved:
				if v.Order == order {
					r.Resolved, r.Unread = v, nil
				}
			}
		}
	}
	return r, ok
}

// earlier are the providers that other redundant orders of the same customer for the same job were given before the last
// award of this one: keepers leave them out, so that a rerun is one on other machines.
func (r *Run) earlier(ctx context.Context, o Options) (map[solana.PublicKey]bool, error) {
	txs, err := Read(ctx, o.Source, r.credits, o.Commitment)
	if err != nil {
		return nil, err
	}
	return r.earlierIn(txs), nil
}

// earlierIn is earlier, from the transactions of the customer's credits.
func (r *Run) earlierIn(txs []Tx) map[solana.PublicKey]bool {
	same := map[solana.PublicKey]bool{}
	out := map[solana.PublicKey]bool{}
	for _, t := range txs {
		if t.Slot > r.awardedIn.Slot {
			break
		}
		if t.opaque() {
			r.gaps = ofAll
		}
		for _, in := range t.Instructions {
			if args, ok := orderCreate(in); ok && in.Accounts[bindings.Place_OrderCreate_Order] != r.Order {
				same[in.Accounts[bindings.Place_OrderCreate_Order]] = args.Redundant == 1 && args.ImageDigest == r.Args.ImageDigest
			}
			if n, of, ok := orderAward(in); ok && same[of] {
				out[n.Provider] = true
			}
		}
	}
	return out
}

func orderCreate(in Instruction) (*bindings.OrderArgs, bool) {
	if !in.is(bindings.Instruction_OrderCreate, bindings.Place_OrderCreate_Order+1) {
		return nil, false
	}
	args, err := bindings.UnmarshalOrderArgs(in.Data[8:])
	return args, err == nil
}

func orderAward(in Instruction) (n RunNode, order solana.PublicKey, ok bool) {
	if !in.is(bindings.Instruction_OrderAward, bindings.Place_OrderAward_Provider+1) {
		return n, order, false
	}
	return RunNode{in.Accounts[bindings.Place_OrderAward_Node], in.Accounts[bindings.Place_OrderAward_Provider]}, in.Accounts[bindings.Place_OrderAward_Order], true
}
