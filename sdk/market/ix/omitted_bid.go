package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ProveOmittedBid returns the instructions that belong together in this order: the checks of the node's and the
// keeper's signatures, and the proof; anyone may send them until the challenge window closes. The finder's share waits
// in its payout. Errors: ErrInstruction, records.ErrSignature.
func ProveOmittedBid(b market.OmittedBid, finder solana.PublicKey, now int64) ([]solana.Instruction, error) {
	if _, ok := b.Score(now); !ok {
		return nil, fmt.Errorf("%w: the bid of node %s proves nothing against this award", ErrInstruction, b.Omitted.Node.Address)
	}
	bid, err := checkBid(b.Omitted, b.Order)
	if err != nil {
		return nil, err
	}
	ack := records.Ack{Stage: records.AckReveal, Commitment: b.Omitted.Bid.Commitment(), ReceivedAt: b.ReceivedAt}
	by := or(b.Signer, b.Lease.Keeper)
	if err := ack.Verify(by, b.Ack); err != nil {
		return nil, fmt.Errorf("%w: keeper's acknowledgement: %w", ErrInstruction, err)
	}
	message, err := ack.Encode()
	if err != nil {
		return nil, err
	}
	ackSig, err := VerifySignature(by, b.Ack, message[:])
	if err != nil {
		return nil, err
	}
	keeper := market.KeeperAddress(b.Lease.Keeper)
	var bar solana.PublicKey
	if b.Bar != nil {
		bar = b.Bar.Address
	}
	node := b.Omitted.Node
	ix, err := bindings.NewProveOmittedBidInstruction(bindings.Reveal{Price: b.Omitted.Bid.Price, Salt: b.Omitted.Bid.Salt},
		b.ReceivedAt, finder, market.MarketAddress(), b.Order.Address, b.Auction.Address, b.Lease.Address, node.Address, node.Provider,
		market.ModelAddress(node.Spec.Model), optional(bar), keeper, market.StakeVaultAddress(keeper), market.RewardsAddress(),
		market.PayoutVaultAddress(), b.Market.StakeMint, market.PayoutAddress(finder, keeper), solana.TokenProgramID, solana.SystemProgramID,
		solana.SysVarInstructionsPubkey)
	proof, err := finish(ix, err)
	if err != nil {
		return nil, err
	}
	return []solana.Instruction{bid, ackSig, proof}, nil
}
