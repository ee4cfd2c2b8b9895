package desk

import (
	"encoding/binary"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sponsor"
	"github.com/gantry-market/gantry/sdk/txform"
)

// The rules, as refusals name them.
const (
	RuleForm     = "form"     // a transaction in the legacy form or version 0, without lookup tables
	RulePayer    = "payer"    // the sponsor's key pays, and somebody else signs
	RulePrograms = "programs" // the market's program, tokens, and what goes with them
	RuleKey      = "key"      // the sponsor's key pays the fee and sends one transfer; no other instruction names it
	RuleTransfer = "transfer" // at most one transfer of SOL, from the sponsor to a wallet that signs, and only with an instruction of the market
	RuleFee      = "fee"      // the fee is bounded
	RuleRuns     = "runs"     // the transaction takes effect in a simulation
	RuleCost     = "cost"     // the simulation takes no more from the sponsor than fee and transfer
	RuleRent     = "rent"     // the transfer is no more than the rent of accounts that the market's instructions make
	RuleGain     = "gain"     // the wallet has no more SOL afterwards than before
	RuleLimit    = "limit"    // what the caller may cost a day
	RuleTotal    = "total"    // what all callers may cost a day
)

// maxSigners is how many keys sign a transaction at most.
const maxSigners = 12

// programs are those whose instructions are signed for. Instructions of the system program are transfers.
var programs = []solana.PublicKey{market.ProgramID, solana.TokenProgramID, solana.SPLAssociatedTokenAccountProgramID, solana.ComputeBudget, market.Ed25519ProgramID}

// plan is what a transaction costs the sponsor.
type plan struct {
	tx       *solana.Transaction
	message  []byte
	fee      chain.Lamports
	transfer chain.Lamports
	// wallet is whom the transfer is for, or else the first key that signs beside the sponsor's.
	wallet solana.PublicKey
	// named are the accounts that instructions of the market write.
	named []solana.PublicKey
}

func (p *plan) cost() chain.Lamports { return p.fee + p.transfer }

// read reads a transaction.
func read(raw []byte) (*plan, error) {
	n := 0
	if len(raw) > 0 {
		n = int(raw[0])
	}
	if n == 0 || len(raw) < 1+64*n {
		return nil, sponsor.Refused(RuleForm, "", "these bytes are not a transaction in the legacy form")
	}
	p := &plan{message: raw[1+64*n:]}
	m, err := txform.Message(p.message)
	switch {
	case err != nil:
		return nil, sponsor.Refused(RuleForm, "", "%v", err)
	case int(m.Header.NumRequiredSignatures) != n:
		return nil, sponsor.Refused(RuleForm, "", "the transaction has %d places for signatures, and its message needs %d", n, m.Header.NumRequiredSignatures)
	case m.GetVersion() == solana.MessageVersionV1, len(m.AddressTableLookups) > 0:
		return nil, sponsor.Refused(RuleForm, "", "transactions of version 1 and lookup tables are not signed here")
	}
	p.tx = &solana.Transaction{Message: *m}
	for i := range n {
		p.tx.Signatures = append(p.tx.Signatures, solana.SignatureFromBytes(raw[1+64*i:1+64*(i+1)]))
	}
	return p, nil
}

// check reads a transaction, and says why a key does not sign it. What a simulation shows comes after.
func check(raw []byte, key solana.PublicKey, maxFee chain.Lamports) (*plan, error) {
	p, err := read(raw)
	if err != nil {
		return nil, err
	}
	m := &p.tx.Message
	switch {
	case m.AccountKeys[0] != key:
		return nil, sponsor.Refused(RulePayer, "ask getPayerSigner who pays", "the transaction is paid by %s, and the sponsor is %s", m.AccountKeys[0], key)
	case m.Header.NumRequiredSignatures < 2:
		return nil, sponsor.Refused(RulePayer, "", "nobody signs the transaction but the sponsor")
	}
	p.wallet = m.AccountKeys[1]
	useful := false
	for _, i := range m.Instructions {
		program := m.AccountKeys[i.ProgramIDIndex]
		if program == solana.SystemProgramID {
			if err := p.takeTransfer(i, key); err != nil {
				return nil, err
			}
			continue
		}
		if !slices.Contains(programs, program) {
			return nil, sponsor.Refused(RulePrograms, "pay for this transaction yourself: leave --sponsor out", "the transaction calls the program %s, which the sponsor pays nothing for", program)
		}
		useful = useful || program == market.ProgramID || program == solana.TokenProgramID
		for _, a := range i.Accounts {
			at := m.AccountKeys[a]
			if at == key {
				return nil, sponsor.Refused(RuleKey, "", "the sponsor's key is an account of an instruction of %s", program)
			}
			if program == market.ProgramID && m.IsWritableStatic(at) && !slices.Contains(p.named, at) {
				p.named = append(p.named, at)
			}
		}
	}
	if !useful {
		return nil, sponsor.Refused(RulePrograms, "", "the transaction calls neither the market nor the token program")
	}
	if p.transfer > 0 && !slices.ContainsFunc(m.Instructions, func(i solana.CompiledInstruction) bool { return m.AccountKeys[i.ProgramIDIndex] == market.ProgramID }) {
		return nil, sponsor.Refused(RuleTransfer, "", "the sponsor would send SOL, and the transaction calls the market not once")
	}
	return p, p.takeFee(maxFee)
}

// takeTransfer takes an instruction of the system program.
func (p *plan) takeTransfer(i solana.CompiledInstruction, key solana.PublicKey) error {
	m := &p.tx.Message
	if len(i.Data) != 12 || binary.LittleEndian.Uint32(i.Data) != 2 || len(i.Accounts) != 2 || m.AccountKeys[i.Accounts[0]] != key {
		return sponsor.Refused(RuleTransfer, "send SOL in a transaction that you pay for yourself: leave --sponsor out", "an instruction of the system program is not a transfer from the sponsor")
	}
	to, amount := m.AccountKeys[i.Accounts[1]], chain.Lamports(binary.LittleEndian.Uint64(i.Data[4:]))
	switch {
	case p.transfer > 0:
		return sponsor.Refused(RuleTransfer, "", "the transaction has two transfers of SOL from the sponsor")
	case to == key, i.Accounts[1] >= uint16(m.Header.NumRequiredSignatures):
		return sponsor.Refused(RuleTransfer, "", "the sponsor would send SOL to %s, which does not sign", to)
	case amount == 0 || amount > chain.Lamports(solana.LAMPORTS_PER_SOL):
		return sponsor.Refused(RuleTransfer, "", "the sponsor would send %s", amount)
	}
	p.transfer, p.wallet = amount, to
	return nil
}

// Instructions of the compute-budget program: 1 heap, 2 units, 3 price, 4 bytes of accounts.
const (
	budgetUnits = 2
	budgetPrice = 3
)

// takeFee takes the fee. A price without a bound of units would have the runtime's.
func (p *plan) takeFee(most chain.Lamports) error {
	m := &p.tx.Message
	var has [5]bool
	for _, i := range m.Instructions {
		if m.AccountKeys[i.ProgramIDIndex] != solana.ComputeBudget {
			continue
		}
		size := map[byte]int{1: 5, budgetUnits: 5, budgetPrice: 9, 4: 5}
		if len(i.Data) == 0 || size[i.Data[0]] != len(i.Data) || has[i.Data[0]] {
			return sponsor.Refused(RuleFee, "", "the transaction bounds its compute in a way that is not known here")
		}
		has[i.Data[0]] = true
	}
	if has[budgetPrice] && !has[budgetUnits] {
		return sponsor.Refused(RuleFee, "", "the transaction names a price of compute and no bound of it")
	}
	if p.fee = txform.Fee(m); p.fee > most {
		return sponsor.Refused(RuleFee, "lower --max-fee", "the transaction's fee is %s, and the sponsor pays at most %s", p.fee, most)
	}
	return nil
}
