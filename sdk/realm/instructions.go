package realm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/txform"
)

// ErrRefused is the error of an instruction that the program would not take, or that its sender should not sign.
var ErrRefused = errors.New("refused")

// Rules are how votes are decided. Times are seconds.
type Rules struct {
	YesPercent, VetoPercent  uint8 // of what circulates, and of the council
	ToPropose                uint64
	HoldUp, Voting, CoolOff  uint32
	ProposalsWithoutADeposit uint8
}

// Vote is what a holder, or a member of the council, says.
type Vote byte

// What can be said. Members of the council alone veto.
const (
	Yes  Vote = 0
	No   Vote = 1
	Veto Vote = 3
)

const (
	tagCreateRealm      = 0
	tagDeposit          = 1
	tagWithdraw         = 2
	tagCreateGovernance = 4
	tagCreateProposal   = 6
	tagInsert           = 9
	tagCancel           = 11
	tagSignOff          = 12
	tagCastVote         = 13
	tagFinalize         = 14
	tagRelinquish       = 15
	tagExecute          = 16
	tagSetAuthority     = 21
	tagCreateTreasury   = 25
	disabled            = 2 // a threshold that nobody reaches; a vote that never ends early
)

func (r Realm) call(tag byte, args []byte, accounts ...*solana.AccountMeta) solana.Instruction {
	return solana.NewInstruction(r.Program, accounts, append([]byte{tag}, args...))
}

func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// Found creates the realm, its governance and its treasury, and binds it: from then on votes alone change it. Votes are weighed against
// circulating base units of the stake token. The founder must sign and pays all rent. name is the realm's, which its address comes from.
func (r Realm) Found(founder solana.PublicKey, name string, governed solana.PublicKey, circulating uint64, rules Rules) []solana.Instruction {
	args := text(nil, name)
	council := !r.Council.IsZero()
	args = append(args, flag(council))
	args = binary.LittleEndian.AppendUint64(args, ^uint64(0)) // nobody creates further governances
	args = binary.LittleEndian.AppendUint64(append(args, 1), circulating)
	args = append(args, 0, 0, 0, 0, 0, 1) // deposits come and go; those of the council are memberships
	create := []*solana.AccountMeta{
		w(r.Address), ro(founder), ro(r.Community), w(r.Holding(r.Community)), sw(founder), ro(solana.SystemProgramID), ro(solana.TokenProgramID), ro(solana.SysVarRentPubkey),
	}
	if council {
		create = append(create, ro(r.Council), w(r.Holding(r.Council)), ro(solana.TokenProgramID))
	}
	return []solana.Instruction{
		r.call(tagCreateRealm, args, append(create, w(r.Config))...),
		r.call(tagCreateGovernance, rules.bytes(council), ro(r.Address), w(r.Governance), ro(governed), ro(r.Record(r.Community, founder)), sw(founder), ro(solana.SystemProgramID), s(founder), ro(r.Config)),
		r.call(tagCreateTreasury, nil, ro(r.Governance), w(r.Treasury), sw(founder), ro(solana.SystemProgramID)),
		r.call(tagSetAuthority, []byte{1}, w(r.Address), s(founder), ro(r.Governance)),
	}
}

func (u Rules) bytes(council bool) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{0, u.YesPercent}, u.ToPropose)
	b = binary.LittleEndian.AppendUint32(b, u.HoldUp)
	b = binary.LittleEndian.AppendUint32(b, u.Voting)
	b = append(b, disabled, disabled) // no vote ends early; the council does not vote
	if council {
		b = append(b, 0, u.VetoPercent)
	} else {
		b = append(b, disabled)
	}
	b = binary.LittleEndian.AppendUint64(b, ^uint64(0)) // nor does it propose
	b = append(b, disabled, disabled)
	return append(binary.LittleEndian.AppendUint32(b, u.CoolOff), u.ProposalsWithoutADeposit)
}

// Deposit brings tokens of a mint into the realm, so that their owner can vote.
func (r Realm) Deposit(mint, owner, from solana.PublicKey, amount uint64) solana.Instruction {
	return r.call(tagDeposit, binary.LittleEndian.AppendUint64(nil, amount), ro(r.Address), w(r.Holding(mint)), w(from), s(owner), s(owner), w(r.Record(mint, owner)),
		sw(owner), ro(solana.SystemProgramID), ro(solana.TokenProgramID), ro(r.Config))
}

// Withdraw brings all tokens of an owner back. It is refused while one of its votes or proposals is open.
func (r Realm) Withdraw(owner, to solana.PublicKey) solana.Instruction {
	return r.call(tagWithdraw, nil, ro(r.Address), w(r.Holding(r.Community)), w(to), s(owner), w(r.Record(r.Community, owner)), ro(solana.TokenProgramID), ro(r.Config))
}

// Draft creates a proposal. Nobody can vote on it before it is signed off.
func (r Realm) Draft(owner, seed solana.PublicKey, name, link string) solana.Instruction {
	args := append(text(text(nil, name), link), 0) // one choice
	args = append(text(binary.LittleEndian.AppendUint32(args, 1), "Approve"), 1)
	proposal := r.Proposal(seed)
	return r.call(tagCreateProposal, append(args, seed[:]...), ro(r.Address), w(proposal), w(r.Governance), w(r.Record(r.Community, owner)), ro(r.Community), s(owner), sw(owner),
		ro(solana.SystemProgramID), ro(r.Config), w(r.deposit(proposal, owner)))
}

// Insert adds a transaction to a draft, which can be executed holdUp seconds after the vote.
func (r Realm) Insert(proposal, owner solana.PublicKey, index uint16, holdUp uint32, ixs ...solana.Instruction) (solana.Instruction, error) {
	args := binary.LittleEndian.AppendUint16([]byte{0}, index)
	args = binary.LittleEndian.AppendUint32(args, holdUp)
	args = binary.LittleEndian.AppendUint32(args, uint32(len(ixs)))
	for _, ix := range ixs {
		b, err := Encode(ix)
		if err != nil {
			return nil, err
		}
		args = append(args, b...)
	}
	return r.call(tagInsert, args, ro(r.Governance), w(proposal), ro(r.Record(r.Community, owner)), s(owner), w(r.Transaction(proposal, index)), sw(owner),
		ro(solana.SystemProgramID), ro(solana.SysVarRentPubkey)), nil
}

// Inserts add changes to a draft, one transaction each. One that no transaction of the form holds is found before the draft is there, which
// would keep its author's tokens. Error: ErrRefused.
func (r Realm) Inserts(form txform.Form, proposal, owner solana.PublicKey, holdUp uint32, changes []solana.Instruction) (out []solana.Instruction, err error) {
	for i, change := range changes {
		insert, err := r.Insert(proposal, owner, uint16(i), holdUp, change)
		if err != nil {
			return nil, err
		}
		if !form.Holds(owner, insert) {
			return nil, fmt.Errorf("%w: change %d is too long for a transaction of this cluster", ErrRefused, i+1)
		}
		out = append(out, insert)
	}
	return out, nil
}

// Encode is an instruction as a proposal holds it. In base64 it is what Realms takes as a custom instruction.
func Encode(ix solana.Instruction) ([]byte, error) {
	data, err := ix.Data()
	if err != nil {
		return nil, fmt.Errorf("instruction of a proposal: %w", err)
	}
	program := ix.ProgramID()
	b := binary.LittleEndian.AppendUint32(append([]byte{}, program[:]...), uint32(len(ix.Accounts())))
	for _, a := range ix.Accounts() {
		b = append(append(b, a.PublicKey[:]...), flag(a.IsSigner), flag(a.IsWritable))
	}
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...), nil
}

// SignOff opens the vote on a draft.
func (r Realm) SignOff(proposal, owner solana.PublicKey) solana.Instruction {
	return r.call(tagSignOff, nil, ro(r.Address), ro(r.Governance), w(proposal), s(owner), ro(r.Record(r.Community, owner)))
}

// Cancel ends a proposal that is a draft, or that is voted on. Its author signs, and can take the deposit back then. Error: ErrRefused.
func (r Realm) Cancel(p *Proposal, author solana.PublicKey) (solana.Instruction, error) {
	switch {
	case p.State != Draft && p.State != SigningOff && p.State != Voting:
		return nil, fmt.Errorf("%w: nobody cancels a proposal that is %s", ErrRefused, p.State)
	case p.Author != r.Record(r.Community, author):
		return nil, fmt.Errorf("%w: proposal %s is of another wallet, and its author alone cancels it", ErrRefused, p.Address)
	}
	return r.call(tagCancel, nil, ro(r.Address), w(r.Governance), w(p.Address), w(p.Author), s(author)), nil
}

// Cast votes with all deposited tokens of the voter, or vetoes as a member of the council.
func (r Realm) Cast(p *Proposal, voter solana.PublicKey, vote Vote) solana.Instruction {
	mint, args := r.Community, []byte{byte(vote)}
	switch vote {
	case Veto:
		mint = r.Council
	case Yes:
		args = append(args, 1, 0, 0, 0, 0, 100)
	}
	record := r.Record(mint, voter)
	return r.call(tagCastVote, args, ro(r.Address), w(r.Governance), w(p.Address), w(p.Author), w(record), s(voter), w(r.Ballot(p.Address, record)), ro(mint), sw(voter),
		ro(solana.SystemProgramID), ro(r.Config))
}

// Finalize counts the votes when their time is over; anyone may.
func (r Realm) Finalize(p *Proposal) solana.Instruction {
	return r.call(tagFinalize, nil, ro(r.Address), w(r.Governance), w(p.Address), w(p.Author), ro(r.Community), ro(r.Config))
}

// Relinquish takes a vote back, or, when it is decided, frees the voter's tokens.
func (r Realm) Relinquish(proposal, voter solana.PublicKey) solana.Instruction {
	record := r.Record(r.Community, voter)
	return r.call(tagRelinquish, nil, ro(r.Address), ro(r.Governance), w(proposal), w(record), w(r.Ballot(proposal, record)), ro(r.Community), s(voter), w(voter))
}

// Execute runs a transaction of a proposal that has passed; anyone may. Governance and treasury sign by the program. One that wants another
// signature is refused: whoever sent it with that wallet would let it do there what it wants. Error: ErrRefused.
func (r Realm) Execute(t *Transaction) (solana.Instruction, error) {
	accounts := []*solana.AccountMeta{ro(r.Governance), w(t.Proposal), w(r.Transaction(t.Proposal, t.Index))}
	for _, ix := range t.Instructions {
		accounts = append(accounts, ro(ix.ProgramID()))
		for _, a := range ix.Accounts() {
			if a.IsSigner && a.PublicKey != r.Treasury && a.PublicKey != r.Governance {
				return nil, fmt.Errorf("%w: change %d wants the signature of %s too, and could do with that wallet what it wants", ErrRefused, t.Index+1, a.PublicKey)
			}
			accounts = append(accounts, solana.NewAccountMeta(a.PublicKey, a.IsWritable, false))
		}
	}
	return r.call(tagExecute, nil, accounts...), nil
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func w(k solana.PublicKey) *solana.AccountMeta  { return solana.NewAccountMeta(k, true, false) }
func ro(k solana.PublicKey) *solana.AccountMeta { return solana.NewAccountMeta(k, false, false) }
func s(k solana.PublicKey) *solana.AccountMeta  { return solana.NewAccountMeta(k, false, true) }
func sw(k solana.PublicKey) *solana.AccountMeta { return solana.NewAccountMeta(k, true, true) }
