package chain

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// Kind says what a Fact is about.
type Kind string

// The kinds of facts.
const (
	Voted        Kind = "voted"
	Moved        Kind = "vote moved"
	Finalised    Kind = "final"
	Applied      Kind = "leaf applied"
	Paid         Kind = "paid"
	Awarded      Kind = "awarded"
	Started      Kind = "started"
	Failed       Kind = "lease failed"
	Ended        Kind = "ended"
	FaultOpened  Kind = "fault opened"
	Slashed      Kind = "slashed"
	KeeperLost   Kind = "keeper expelled"
	Unmodelled   Kind = "not modelled"
	OrderClosed  Kind = "order closed"
	LeaseClosed  Kind = "lease closed"
	ReportClosed Kind = "report closed"
)

// Fact is something that happened on the chain.
type Fact struct {
	Kind    Kind
	Signer  solana.PublicKey // who sent it
	Node    solana.PublicKey
	Lease   solana.PublicKey
	Keeper  solana.PublicKey // wallet
	Period  uint64
	Root    [32]byte
	Flags   uint16
	Seconds uint32 // paid for by now
	Amount  uint64 // µUSDC paid, or stake slashed, base units
}

// Chain holds the accounts. It belongs to one goroutine.
type Chain struct {
	// Now is the chain's clock, unix seconds.
	Now func() int64
	// Changed hears of every change, in order; nil is an account that is gone.
	Changed func(key solana.PublicKey, account any)
	// Happened hears of every fact, in order.
	Happened func(Fact)

	accounts map[solana.PublicKey]any
}

// New returns a chain with a market. Weights of keepers are added by Put.
func New(m *market.Market) *Chain {
	c := &Chain{
		accounts: map[solana.PublicKey]any{}, Now: func() int64 { return 0 },
		Changed: func(solana.PublicKey, any) {}, Happened: func(Fact) {},
	}
	c.accounts[market.MarketAddress()] = m
	return c
}

// Put sets an account, for the state that a simulation begins with.
func (c *Chain) Put(key solana.PublicKey, account any) {
	if k, ok := account.(*market.Keeper); ok && k.State() == market.KeeperActive {
		m := *c.accounts[market.MarketAddress()].(*market.Market)
		m.TotalWeight += k.Weight
		m.KeeperCount++
		c.accounts[market.MarketAddress()] = &m
	}
	c.accounts[key] = account
}

// Each calls f for every account, in the order of their addresses.
func (c *Chain) Each(f func(key solana.PublicKey, account any)) {
	keys := make([]solana.PublicKey, 0, len(c.accounts))
	for k := range c.accounts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	for _, k := range keys {
		f(k, c.accounts[k])
	}
}

// Find returns an account of a type.
func Find[T any](c *Chain, key solana.PublicKey) (*T, bool) {
	a, ok := c.accounts[key].(*T)
	return a, ok
}

// Execute runs a transaction: all of its instructions or none. Errors: *txerr.ProgramError.
func (c *Chain) Execute(signer solana.PublicKey, instructions []solana.Instruction) error {
	t := &tx{c: c, signer: signer, now: c.Now(), changed: map[solana.PublicKey]any{}}
	for i, ix := range instructions {
		if err := t.run(instructions, i, ix); err != nil {
			var code bindings.ErrorCode
			if errors.As(err, &code) {
				return &txerr.ProgramError{InstructionIndex: i, Program: market.ProgramID, Code: uint32(code), HasCode: true, Name: code.Error()}
			}
			return &txerr.ProgramError{InstructionIndex: i, Program: ix.ProgramID(), Name: err.Error()}
		}
	}
	for _, key := range t.order {
		a := t.changed[key]
		if a == nil {
			delete(c.accounts, key)
		} else {
			c.accounts[key] = a
		}
		c.Changed(key, a)
	}
	for _, f := range t.facts {
		c.Happened(f)
	}
	return nil
}

// tx is a transaction under way.
type tx struct {
	c       *Chain
	signer  solana.PublicKey
	now     int64
	changed map[solana.PublicKey]any
	order   []solana.PublicKey // of the first change of each
	facts   []Fact
	flags   uint16 // that the leaf applied last opens a fault for
}

// errGone is the runtime's name for an account that is not there.
var errGone = errors.New("UninitializedAccount")

func get[T any](t *tx, key solana.PublicKey) (*T, error) {
	a, changed := t.changed[key]
	if !changed {
		a = t.c.accounts[key]
	}
	v, ok := a.(*T)
	if !ok {
		return nil, errGone
	}
	return v, nil
}

// edit returns a copy of an account that is written when the transaction succeeds.
func edit[T any](t *tx, key solana.PublicKey) (*T, error) {
	a, err := get[T](t, key)
	if err != nil {
		return nil, err
	}
	if _, ours := t.changed[key]; ours {
		return a, nil
	}
	b := *a
	t.set(key, &b)
	return &b, nil
}

func (t *tx) set(key solana.PublicKey, account any) {
	if _, ok := t.changed[key]; !ok {
		t.order = append(t.order, key)
	}
	t.changed[key] = account
}

func (t *tx) say(f Fact) {
	f.Signer = t.signer
	t.facts = append(t.facts, f)
}

func (t *tx) market() (*market.Market, error) { return get[market.Market](t, market.MarketAddress()) }

// run executes one instruction. Accounts are taken by their places in the IDL.
func (t *tx) run(all []solana.Instruction, i int, ix solana.Instruction) error {
	if ix.ProgramID() != market.ProgramID {
		return nil // token accounts and signature checks: the builders have verified what they put in
	}
	data, err := ix.Data()
	if err != nil || len(data) < 8 {
		return fmt.Errorf("instruction without data: %w", err)
	}
	var keys []solana.PublicKey
	for _, a := range ix.Accounts() {
		keys = append(keys, a.PublicKey)
	}
	body := data[8:]
	switch disc := [8]byte(data[:8]); disc {
	case bindings.Instruction_ReportVote:
		return t.reportVote(keys[0], body)
	case bindings.Instruction_ReportApply:
		_, err := t.applyLeaf(keys[1], keys[2], keys[3], body)
		if err == nil && t.flags != 0 {
			return bindings.ErrorCodeLeafCarriesFault
		}
		return err
	case bindings.Instruction_FaultOpen:
		return t.faultOpen(keys, body)
	case bindings.Instruction_SlashApply:
		return t.slashApply(keys)
	case bindings.Instruction_SlashCompensate:
		return t.slashCompensate(keys[2], keys[3])
	case bindings.Instruction_SlashClose:
		return t.slashClose(keys[5])
	case bindings.Instruction_ReportClose:
		return t.reportClose(keys[2])
	case bindings.Instruction_ProveEquivocation:
		return t.equivocation(all[:i], keys[2])
	case bindings.Instruction_OrderAward:
		return t.orderAward(keys, body)
	case bindings.Instruction_OrderExpire:
		return t.orderExpire(keys[1])
	case bindings.Instruction_LeaseStart:
		return t.leaseStart(keys[0], keys[2], keys[3])
	case bindings.Instruction_LeaseAbort:
		return t.leaseAbort(keys[1], keys[6])
	case bindings.Instruction_LeaseSettleReport:
		return t.leaseSettle(keys[0])
	case bindings.Instruction_LeaseEnd:
		return t.leaseEnd(keys[0], keys[4])
	case bindings.Instruction_LeaseClose:
		return t.leaseClose(keys[0], keys[2], keys[12])
	default:
		t.c.Happened(Fact{Kind: Unmodelled, Signer: t.signer, Root: [32]byte{disc[0], disc[1], disc[2], disc[3]}})
		return errors.New("InvalidInstructionData")
	}
}
