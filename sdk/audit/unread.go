package audit

import (
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// unreadStep is the step of a transaction that could not be read.
func unreadStep(t Tx) Step {
	return Step{Name: "unread", Time: t.Time, Signature: t.Signature, Text: "what this transaction did is not known", Unknown: t.Unreadable}
}

// unreadSteps are those of all transactions that could not be read, each once.
func unreadSteps(histories ...[]Tx) []Step {
	var out []Step
	for _, t := range merge(histories...) {
		if t.Unreadable != "" {
			out = append(out, unreadStep(t))
		}
	}
	return out
}

// Unread is the error of transactions that could not be read, nil where all of them were. What follows from an event that
// is not among theirs is then not known. It is a chain.ErrUnreadable.
func Unread(txs []Tx) error {
	n, first := 0, Tx{}
	for _, t := range txs {
		if t.Unreadable != "" {
			if n == 0 {
				first = t
			}
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of the transactions, the first: %s", chain.ErrUnreadable, n, first.Unreadable)
}

// missingHistory is the error of an address without the history that was asked for: ErrNoHistory, or chain.ErrUnreadable
// where it may be in what could not be read.
func missingHistory(txs []Tx, format string, args ...any) error {
	if err := Unread(txs); err != nil {
		return fmt.Errorf("it is not known whether "+format+": %w", append(args, err)...)
	}
	return fmt.Errorf(format+": %w", append(args, ErrNoHistory)...)
}

// opaque reports whether it is not even known which instructions of the market a transaction has that could not be read.
func (t *Tx) opaque() bool { return t.Unreadable != "" && (t.Hidden || len(t.Instructions) == 0) }

// calls are the market's instructions of a transaction.
func (t *Tx) calls() []Instruction {
	return slices.DeleteFunc(slices.Clone(t.Instructions), func(in Instruction) bool { return in.Program != market.ProgramID || len(in.Data) < 8 })
}

// unreadCall reports whether a transaction that could not be read has one of these instructions, naming the account; or
// may have one.
func (t *Tx) unreadCall(account solana.PublicKey, kinds ...[8]byte) bool {
	if t.Unreadable == "" {
		return false
	}
	return t.opaque() || slices.ContainsFunc(t.calls(), func(in Instruction) bool {
		return slices.Contains(kinds, [8]byte(in.Data[:8])) && slices.Contains(in.Accounts, account)
	})
}

// unreadAward is the award of a lease by a transaction whose events could not be read: its instruction names order and
// node, and no terms.
func unreadAward(t Tx, lease solana.PublicKey) (*bindings.LeaseAwarded, bool) {
	if t.Unreadable == "" {
		return nil, false
	}
	if a, ok := awardOf(t, lease); ok {
		return &bindings.LeaseAwarded{Lease: lease, Order: a.Order, Node: a.Node}, true
	}
	return nil, false
}

// ofLease says what of a lease is not known when an instruction that names it, or its dispute, could not be read. Leaves
// and receipts are in the instructions themselves.
var ofLease = map[[8]byte]topic{
	bindings.Instruction_OrderAward:         ofAward,
	bindings.Instruction_AuctionAward:       ofAward | ofAuction,
	bindings.Instruction_LeaseMigrate:       ofOrder | ofAward | ofEnd,
	bindings.Instruction_LeaseStart:         ofStart,
	bindings.Instruction_LeaseAbort:         ofEnd,
	bindings.Instruction_LeaseDecline:       ofEnd,
	bindings.Instruction_LeaseExtend:        ofFunds,
	bindings.Instruction_LeaseSettleReceipt: ofPaid,
	bindings.Instruction_LeaseSettleReport:  ofPaid,
	bindings.Instruction_LeaseEnd:           ofEnd,
	bindings.Instruction_LeaseClose:         ofEnd,
	bindings.Instruction_LeaseCheckpoint:    0,
	bindings.Instruction_LeaseRate:          0,
	bindings.Instruction_LeaseOutage:        0,
	bindings.Instruction_ReportApply:        0,
	bindings.Instruction_FaultOpen:          0,
	bindings.Instruction_SlashApply:         0,
	bindings.Instruction_SlashCompensate:    0,
	bindings.Instruction_SlashAppeal:        0,
	bindings.Instruction_DisputeOpen:        ofDispute,
	bindings.Instruction_DisputeVote:        ofDispute,
	bindings.Instruction_DisputeResolve:     ofDispute,
	bindings.Instruction_DisputeUphold:      ofDispute,
	bindings.Instruction_OutputCommit:       ofOutput,
	bindings.Instruction_OutputReveal:       ofOutput,
	bindings.Instruction_OutputForfeit:      ofOutput,
	bindings.Instruction_OutputResolve:      ofOutput,
	bindings.Instruction_ProveBetterAsk:     ofPrice,
	bindings.Instruction_ProveOmittedBid:    ofPrice,
}

// ofItsOrder says the same of instructions that name its order alone. Those that are in neither list are of other leases.
var ofItsOrder = map[[8]byte]topic{
	bindings.Instruction_OrderCreate:   ofOrder,
	bindings.Instruction_AuctionOpen:   0,
	bindings.Instruction_AuctionAward:  ofAuction,
	bindings.Instruction_OutputResolve: ofOutput,
}

// gapsOf says what of the lease is not known when an instruction could not be read; concerns is false for one that has
// nothing to do with it.
func (a *auditor) gapsOf(in Instruction) (gaps topic, concerns bool) {
	kind := [8]byte(in.Data[:8])
	switch dispute := market.DisputeAddress(a.lease.Address); {
	case slices.Contains(in.Accounts, a.lease.Address) || slices.Contains(in.Accounts, dispute):
		gaps, known := ofLease[kind]
		if !known {
			return ofAll, true
		}
		return gaps, true
	case slices.Contains(in.Accounts, a.lease.Order):
		gaps, concerns = ofItsOrder[kind]
	}
	return gaps, concerns
}

// unread notes what is not known from a transaction on whose events could not be read, and takes what its instructions
// say without them: leaves, receipts, and that the lease is closed.
func (a *auditor) unread(t Tx) {
	gaps, concerned := topic(0), t.opaque()
	if concerned {
		gaps = ofAll
	}
	for _, in := range t.calls() {
		of, concerns := a.gapsOf(in)
		gaps, concerned = gaps|of, concerned || concerns
		switch kind := [8]byte(in.Data[:8]); kind {
		case bindings.Instruction_LeaseClose, bindings.Instruction_LeaseAbort, bindings.Instruction_LeaseDecline:
			a.lease.Open = a.lease.Open && !slices.Contains(in.Accounts, a.lease.Address)
		case bindings.Instruction_LeaseSettleReceipt:
			if r, err := receiptOf(t, a.lease.Address, a.o.NodeKey, a.lease.Customer); err == nil {
				a.receipt = max(a.receipt, r.Cumulative)
			}
		}
	}
	if !concerned {
		return
	}
	for _, p := range leafProofs(t) {
		if p.Leaf.Lease == a.lease.Address {
			a.verify(uint64(p.Leaf.Period), p.Leaf.VerifiedSeconds)
		}
	}
	a.gaps |= gaps
	a.lease.Steps = append(a.lease.Steps, unreadStep(t))
}

// tooLittle says why something is missing that must have happened.
const tooLittle = "the node keeps too little history: an archive node remembers everything"

// gap notes that the node's history lacks something that must have happened.
func (a *auditor) gap(of topic, format string, args ...any) {
	a.gaps |= of
	why := fmt.Sprintf(format, args...)
	a.lease.Steps = append(a.lease.Steps, Step{Name: "unread", Text: why, Unknown: tooLittle})
}

// beginning notes what is missing at the start of the history.
func (a *auditor) beginning(txs []Tx) {
	has := func(event func(Tx) bool, account solana.PublicKey, kinds ...[8]byte) bool {
		return slices.ContainsFunc(txs, func(t Tx) bool { return t.unreadCall(account, kinds...) || event(t) })
	}
	created := func(t Tx) bool {
		_, _, ok := find([]Tx{t}, func(e *bindings.OrderCreated) bool { return e.Order == a.lease.Order })
		return ok
	}
	if !has(created, a.lease.Order, bindings.Instruction_OrderCreate) {
		a.gap(ofAll, "the order's creation is not in the history that the node keeps")
		return
	}
	started := func(t Tx) bool {
		_, _, ok := find([]Tx{t}, func(e *bindings.LeaseStarted) bool { return e.Lease == a.lease.Address })
		return ok
	}
	served := func(t Tx) bool {
		_, _, settled := find([]Tx{t}, func(e *bindings.LeaseSettled) bool { return e.Lease == a.lease.Address })
		_, _, ended := find([]Tx{t}, func(e *bindings.LeaseEnded) bool { return e.Lease == a.lease.Address })
		_, _, closed := find([]Tx{t}, func(e *bindings.LeaseClosed) bool { return e.Lease == a.lease.Address })
		return settled || ended || closed
	}
	if slices.ContainsFunc(txs, served) && !has(started, a.lease.Address, bindings.Instruction_LeaseStart) {
		a.gap(ofStart, "the lease's start is not in the history that the node keeps")
	}
}

// end notes what the account shows and the history does not.
func (a *auditor) end() {
	switch account := a.o.Lease; {
	case account == nil && a.o.Gone && a.lease.Open:
		a.lease.Open = false
		a.gap(ofAll, "the lease's account is gone, and what closed it is not in the history that the node keeps")
	case account != nil && account.PaidSecs > a.lease.PaidSecs:
		a.gap(ofPaid, "the lease's account says that %d s are paid, and the history that the node keeps shows %d s", account.PaidSecs, a.lease.PaidSecs)
	}
}
