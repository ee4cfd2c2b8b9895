package signing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

// Transactions are the instructions of the market that a running keeper sends. Those that move a bond, or act for a
// provider or a customer, are not among them: their owners sign them elsewhere.
var Transactions = []string{
	"report_vote", "report_apply", "report_close",
	"order_award", "order_expire", "auction_award", "auction_close",
	"lease_abort", "lease_end", "lease_close", "lease_settle_report", "lease_migrate", "lease_outage",
	"outage_vote", "outage_close",
	"fault_open", "slash_apply", "slash_compensate", "slash_close", "slash_appeal", "payout_claim",
	"guarantee_resolve", "node_set_evidence",
	"dispute_vote", "dispute_resolve", "dispute_uphold", "output_resolve", "output_forfeit",
	"rewards_accrue", "rewards_claim", "rewards_buy_back", "emission_claim",
	"fraud_proof_close", "fraud_proof_commitment", "fraud_proof_leaf",
	"prove_wrong_cell", "prove_equivocation", "prove_better_ask", "prove_omitted_bid",
	"keeper_activate", "keeper_suspend", "keeper_update",
}

// reportVote is the instruction whose period and root are compared with the store.
const reportVote = "report_vote"

// createTokenAccount is the data of the instruction that makes a token account where there is none; it takes the rent
// and moves no tokens.
const createTokenAccount = 1

// transaction refuses every transaction but one of a keeper alone with instructions of Transactions, and a vote that the
// store does not hold.
func (p *Protected) transaction(message []byte) error {
	tx, err := txform.Message(message)
	switch {
	case err != nil:
		return fmt.Errorf("%w: neither a record nor a transaction that a keeper sends: %w", ErrRefused, err)
	case tx.Header.NumRequiredSignatures != 1 || tx.AccountKeys[0] != p.PublicKey():
		return fmt.Errorf("%w: a transaction that this key does not sign alone", ErrRefused)
	case tx.GetVersion() == solana.MessageVersionV0:
		return fmt.Errorf("%w: a transaction of version 0, whose lookup tables may change what it does; a keeper sends none", ErrRefused)
	}
	for _, i := range tx.Instructions {
		if err := p.instruction(tx.AccountKeys[i.ProgramIDIndex], i.Data); err != nil {
			return err
		}
	}
	return nil
}

func (p *Protected) instruction(program solana.PublicKey, data []byte) error {
	switch program {
	case solana.ComputeBudget, market.Ed25519ProgramID:
		return nil
	case solana.SPLAssociatedTokenAccountProgramID:
		if len(data) == 1 && data[0] == createTokenAccount {
			return nil
		}
	case market.ProgramID:
		switch name := bindings.InstructionName(data); {
		case !slices.Contains(Transactions, name):
			return fmt.Errorf("%w: an instruction of the market that a running keeper does not send; sign it with the wallet", ErrRefused)
		case name == reportVote:
			return p.vote(data[8:])
		}
		return nil
	}
	return fmt.Errorf("%w: an instruction of program %s that a keeper does not send", ErrRefused, program)
}

// vote compares a vote with the one that the store holds: which root the keeper is for is stored before it is sent.
func (p *Protected) vote(args []byte) error {
	if len(args) != 8+32 {
		return fmt.Errorf("%w: a vote of %d bytes", ErrRefused, len(args))
	}
	period, root := records.Period(binary.LittleEndian.Uint64(args)), records.Hash(args[8:])
	have, err := p.Voted(period)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: a vote for period %d that is not stored", ErrRefused, period)
	case err != nil:
		return err
	case have != root:
		return fmt.Errorf("%w: a vote for root %x of period %d, the keeper is for %x", ErrRefused, root[:4], period, have[:4])
	}
	return p.Frozen()
}
