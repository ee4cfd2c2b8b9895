package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
)

// OmittedBidAccounts creates the token accounts that the shares of a proof go to, where they are not there. They go
// before the proof: both do not fit one transaction.
func OmittedBidAccounts(b market.OmittedBid, finder solana.PublicKey, score uint64) []solana.Instruction {
	mint := b.Market.StakeMint
	out := []solana.Instruction{CreateTokenAccount(finder, finder, mint)}
	if b.Harmed(score) {
		out = append(out, CreateTokenAccount(finder, b.Lease.Customer, mint))
	}
	return out
}

// ProveOmittedBid returns the instructions that belong together in this order: the checks of the node's and the
// keeper's signatures, and the proof; anyone may send them until the challenge window closes. The finder's associated
// stake-token account must exist, and the customer's, if it was harmed. Errors: ErrInstruction, records.ErrSignature.
func ProveOmittedBid(b market.OmittedBid, finder solana.PublicKey, now int64) ([]solana.Instruction, error) {
	score, ok := b.Score(now)
	if !ok {
		return nil, fmt.Errorf("%w: the bid of node %s proves nothing against this award", ErrInstruction, b.Omitted.Node.Address)
	}
	bid, err := checkBid(b.Omitted, b.Order)
	if err != nil {
		return nil, err
	}
	ack := records.Ack{Stage: records.AckReveal, Commitment: b.Omitted.Bid.Commitment(), ReceivedAt: b.ReceivedAt}
	if err := ack.Verify(b.Lease.Keeper, b.Ack); err != nil {
		return nil, fmt.Errorf("%w: keeper's acknowledgement: %w", ErrInstruction, err)
	}
	message, err := ack.Encode()
	if err != nil {
		return nil, err
	}
	ackSig, err := VerifySignature(b.Lease.Keeper, b.Ack, message[:])
	if err != nil {
		return nil, err
	}
	mint, keeper := b.Market.StakeMint, market.KeeperAddress(b.Lease.Keeper)
	var customer, bar solana.PublicKey
	if b.Harmed(score) {
		customer = market.TokenAddress(b.Lease.Customer, mint)
	}
	if b.Bar != nil {
		bar = b.Bar.Address
	}
	node := b.Omitted.Node
	ix, err := bindings.NewProveOmittedBidInstruction(bindings.Reveal{Price: b.Omitted.Bid.Price, Salt: b.Omitted.Bid.Salt},
		b.ReceivedAt, finder, market.MarketAddress(), b.Order.Address, b.Auction.Address, b.Lease.Address, node.Address, node.Provider,
		market.ModelAddress(node.Spec.Model), optional(bar), keeper, market.StakeVaultAddress(keeper), mint, optional(customer),
		market.TokenAddress(finder, mint), solana.SysVarInstructionsPubkey, solana.TokenProgramID)
	proof, err := finish(ix, err, bindings.Instruction_ProveOmittedBid)
	if err != nil {
		return nil, err
	}
	return []solana.Instruction{bid, ackSig, proof}, nil
}
