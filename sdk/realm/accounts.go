package realm

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// State is where a proposal stands.
type State byte

// The states of a proposal.
const (
	Draft State = iota
	SigningOff
	Voting
	Succeeded
	Executing
	Completed
	Cancelled
	Defeated
	ExecutingWithErrors
	Vetoed
)

var states = [...]string{"draft", "being signed off", "voting", "passed", "executing", "done", "cancelled", "refused", "executing, with errors", "vetoed"}

func (s State) String() string {
	if int(s) < len(states) {
		return states[s]
	}
	return fmt.Sprintf("state %d", byte(s))
}

// Kinds of accounts, by their first byte.
const (
	KindTransaction = 13
	KindProposal    = 14
	KindRealm       = 16
	KindRecord      = 17
	KindGovernance  = 18
)

// Offsets of what accounts are looked for by.
const (
	OffsetGovernance = 1      // in a proposal
	OffsetProposal   = 1      // in a transaction
	OffsetGoverned   = 1 + 32 // in a governance
)

// Proposal is a proposal of holders. Author is the record of its author's deposit. Times are unix seconds, 0 for what has not happened.
type Proposal struct {
	Address, Governance, Mint, Author solana.PublicKey
	State                             State
	Yes, No, Veto                     uint64
	Transactions, Executed            uint16
	VotingAt, DecidedAt               int64
	Name, Link                        string
}

// DecodeProposal reads a proposal with one choice.
func DecodeProposal(address solana.PublicKey, data []byte) (*Proposal, error) {
	d := decoder{b: data}
	p := &Proposal{Address: address}
	d.kind(KindProposal)
	p.Governance, p.Mint = d.key(), d.key()
	p.State, p.Author = State(d.byte()), d.key()
	d.skip(2) // signatories
	if d.byte() != 0 || d.u32() != 1 {
		return nil, fmt.Errorf("proposal %s offers several choices: %w", address, ErrAccount)
	}
	_ = d.text()
	p.Yes = d.u64()
	d.skip(1)
	p.Executed, p.Transactions = d.u16(), d.u16()
	d.skip(2)
	p.No = d.maybe(8)
	d.skip(1)
	d.maybe(8) // nobody abstains
	d.maybe(8)
	d.skip(8) // when it was drafted
	d.maybe(8)
	p.VotingAt = int64(d.maybe(8))
	d.maybe(8) // a slot
	p.DecidedAt = int64(d.maybe(8))
	d.maybe(8)
	d.maybe(8)
	d.skip(1)
	d.maybe(8)
	d.maybe(4)
	if d.byte() == 1 && d.byte() != disabled { // a threshold, and its share
		d.skip(1)
	}
	d.skip(64)
	p.Name, p.Link, p.Veto = d.text(), d.text(), d.u64()
	return p, d.end("proposal", address)
}

// Transaction is what a proposal executes at once. ExecutedAt is 0 until then.
type Transaction struct {
	Proposal     solana.PublicKey
	Index        uint16
	HoldUp       uint32
	Instructions []solana.Instruction
	ExecutedAt   int64
}

// DecodeTransaction reads a transaction of a proposal.
func DecodeTransaction(address solana.PublicKey, data []byte) (*Transaction, error) {
	d := decoder{b: data}
	t := &Transaction{}
	d.kind(KindTransaction)
	t.Proposal = d.key()
	d.skip(1)
	t.Index, t.HoldUp = d.u16(), d.u32()
	for n := d.count(40); n > 0; n-- {
		t.Instructions = append(t.Instructions, d.instruction())
	}
	t.ExecutedAt = int64(d.maybe(8))
	return t, d.end("transaction", address)
}

// Decode reads an instruction as [Encode] writes it.
func Decode(data []byte) (solana.Instruction, error) {
	d := decoder{b: data}
	ix := d.instruction()
	if d.short || len(d.b) > 0 {
		return nil, fmt.Errorf("an instruction of a proposal has another length: %w", ErrAccount)
	}
	return ix, nil
}

// Voter is the record of a deposit. Votes and Proposals are those that keep it from leaving.
type Voter struct {
	Mint, Owner    solana.PublicKey
	Deposit, Votes uint64
	Proposals      uint8
}

// DecodeVoter reads the record of a deposit.
func DecodeVoter(address solana.PublicKey, data []byte) (*Voter, error) {
	d := decoder{b: data}
	d.kind(KindRecord)
	d.skip(32)
	v := &Voter{Mint: d.key(), Owner: d.key(), Deposit: d.u64(), Votes: d.u64(), Proposals: d.byte()}
	return v, d.end("record", address)
}

// DecodeGovernance reads by which rules a governance decides, and which realm it is of.
func DecodeGovernance(address solana.PublicKey, data []byte) (realm, governed solana.PublicKey, u Rules, err error) {
	d := decoder{b: data}
	d.kind(KindGovernance)
	realm, governed = d.key(), d.key()
	d.skip(4)
	u.YesPercent, u.ToPropose = d.threshold(), d.u64()
	u.HoldUp, u.Voting = d.u32(), d.u32()
	tips := d.byte()
	d.threshold()
	u.VetoPercent = d.threshold()
	d.skip(9)
	d.threshold()
	u.CoolOff, u.ProposalsWithoutADeposit = d.u32(), d.byte()
	if err = d.end("governance", address); err == nil && tips != disabled {
		err = fmt.Errorf("governance %s ends votes early, so that borrowed tokens can pass anything: %w", address, ErrAccount)
	}
	return realm, governed, u, err
}

// DecodeRealm reads whose holders vote, the council's mint, and the base units that votes are weighed against: an amount, where absolute, and
// else a share of the supply of 10,000,000,000.
func DecodeRealm(address solana.PublicKey, data []byte) (community, council solana.PublicKey, weight uint64, absolute bool, err error) {
	d := decoder{b: data}
	d.kind(KindRealm)
	community = d.key()
	d.skip(8 + 8)
	absolute, weight = d.byte() == 1, d.u64()
	if d.byte() == 1 {
		council = d.key()
	}
	return community, council, weight, absolute, d.end("realm", address)
}

// decoder reads little-endian bytes. Once it has too few it reads zeros and is short.
type decoder struct {
	b     []byte
	short bool
}

func (d *decoder) take(n int) []byte {
	if n < 0 || len(d.b) < n {
		d.short, d.b = true, nil
		return make([]byte, min(max(n, 0), 64))
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) skip(n int)            { d.take(n) }
func (d *decoder) byte() byte            { return d.take(1)[0] }
func (d *decoder) u16() uint16           { return binary.LittleEndian.Uint16(d.take(2)) }
func (d *decoder) u32() uint32           { return binary.LittleEndian.Uint32(d.take(4)) }
func (d *decoder) u64() uint64           { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *decoder) key() solana.PublicKey { return solana.PublicKeyFromBytes(d.take(32)) }
func (d *decoder) text() string          { return string(d.take(d.count(1))) }

func (d *decoder) kind(want byte) {
	if d.byte() != want {
		d.short, d.b = true, nil
	}
}

// count is a number of things of which each has at least so many bytes.
func (d *decoder) count(size int) int {
	n := d.u32()
	if uint64(n)*uint64(size) > uint64(len(d.b)) {
		d.short, d.b = true, nil
		return 0
	}
	return int(n)
}

// maybe is a number that may be absent, of 4 or 8 bytes; 0 then.
func (d *decoder) maybe(size int) uint64 {
	switch {
	case d.byte() == 0:
		return 0
	case size == 4:
		return uint64(d.u32())
	}
	return d.u64()
}

func (d *decoder) threshold() uint8 {
	if d.byte() == 0 {
		return d.byte()
	}
	return 0
}

func (d *decoder) instruction() solana.Instruction {
	program := d.key()
	var accounts solana.AccountMetaSlice
	for n := d.count(34); n > 0; n-- {
		key, signs := d.key(), d.byte() == 1
		accounts = append(accounts, solana.NewAccountMeta(key, d.byte() == 1, signs))
	}
	return solana.NewInstruction(program, accounts, append([]byte{}, d.take(d.count(1))...))
}

func (d *decoder) end(what string, address solana.PublicKey) error {
	if d.short {
		return fmt.Errorf("%s is not a %s: %w", address, what, ErrAccount)
	}
	return nil
}
