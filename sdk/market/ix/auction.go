package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// AuctionOpenArgs open the auction of a sealed order, in one transaction with the order's creation.
type AuctionOpenArgs struct {
	Customer  solana.PublicKey
	Authority solana.PublicKey // a session key of the customer, which pays the rent; zero is the customer
	Order     solana.PublicKey
	Auction   uint32 // seconds in which commitments count, 5 to 86,400
	Reveal    uint32 // seconds after that in which reveals count, 5 to 3,600
}

// AuctionOpen creates the auction at AuctionAddress(order).
func AuctionOpen(a AuctionOpenArgs) (solana.Instruction, error) {
	ix, err := bindings.NewAuctionOpenInstruction(a.Auction, a.Reveal, or(a.Authority, a.Customer), market.MarketAddress(),
		market.CreditsAddress(a.Customer), a.Order, market.AuctionAddress(a.Order), solana.SystemProgramID)
	return finish(ix, err)
}

// AuctionAwardArgs give a sealed order, or one node's part of it, to the node of a winning bid.
type AuctionAwardArgs struct {
	Keeper   solana.PublicKey // wallet
	Signer   solana.PublicKey // of the keeper; zero takes its wallet
	Order    market.Order
	Winner   market.SealedBid
	Loser    *market.SealedBid // the best losing bid; nil when every bid won, and in further awards of the keeper of the first one
	BidsRoot [32]byte          // the Merkle root of every commitment and reveal that the keeper saw
}

// checkBid makes the runtime check the signature of the node over its bid commitment.
func checkBid(s market.SealedBid, o market.Order) (solana.Instruction, error) {
	if s.Bid != market.OrderBid(s.Bid.Domain, o, s.Node.Address, market.PricePerHour(s.Bid.Price), s.Bid.Salt) {
		return nil, fmt.Errorf("%w: the bid is not of this node and order", ErrInstruction)
	}
	if err := s.Bid.Verify(s.Node.NodeKey, s.Signature); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInstruction, err)
	}
	message := records.CommitmentMessage(s.Bid.Commitment())
	return VerifySignature(s.Node.NodeKey, s.Signature, message[:])
}

// AuctionAward returns the instructions that belong together in this order: the check of the loser's signature, where
// there is one, that of the winner's, and the award, which creates the lease at LeaseAddress(order, node).
// Errors: ErrInstruction, records.ErrSignature.
func AuctionAward(a AuctionAwardArgs) ([]solana.Instruction, error) {
	var out []solana.Instruction
	var losing bindings.Reveal
	var loser, model solana.PublicKey
	w := a.Winner
	if l := a.Loser; l != nil {
		check, err := checkBid(*l, a.Order)
		if err != nil {
			return nil, err
		}
		out = append(out, check)
		losing = bindings.Reveal{Price: l.Bid.Price, Salt: l.Bid.Salt}
		loser = l.Node.Address
		if l.Node.Spec.Model != w.Node.Spec.Model {
			model = market.ModelAddress(l.Node.Spec.Model)
		}
	}
	check, err := checkBid(w, a.Order)
	if err != nil {
		return nil, err
	}
	ix, err := bindings.NewAuctionAwardInstruction(bindings.Reveal{Price: w.Bid.Price, Salt: w.Bid.Salt}, losing, a.BidsRoot,
		or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), market.MarketAddress(), a.Order.Address, market.AuctionAddress(a.Order.Address),
		market.CreditsAddress(a.Order.Customer), w.Node.Address, w.Node.Provider, market.ModelAddress(w.Node.Spec.Model),
		optional(loser), optional(model), market.LeaseAddress(a.Order.Address, w.Node.Address), solana.SysVarInstructionsPubkey,
		solana.SystemProgramID)
	award, err := finish(ix, err)
	if err != nil {
		return nil, err
	}
	return append(out, check, award), nil
}

// AuctionClose gives the rent of an auction back that can be neither awarded nor challenged any more; anyone may.
func AuctionClose(a market.Auction) (solana.Instruction, error) {
	ix, err := bindings.NewAuctionCloseInstruction(a.Order, a.Address, a.RentPayer)
	return finish(ix, err)
}
