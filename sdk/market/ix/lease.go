package ix

import (
	"fmt"
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// LeaseStartArgs say that the container is reachable. The node's key signs.
type LeaseStartArgs struct {
	Lease          market.Lease
	ConnectionHash [32]byte
}

// LeaseStart makes time begin to count.
func LeaseStart(a LeaseStartArgs) (solana.Instruction, error) {
	ix, err := bindings.NewLeaseStartInstruction(a.ConnectionHash, a.Lease.NodeKey, market.MarketAddress(), a.Lease.Order, a.Lease.Address)
	return finish(ix, err)
}

// LeaseAbortArgs end a lease that did not start in time.
type LeaseAbortArgs struct {
	Lease          market.Lease
	OrderRentPayer solana.PublicKey // Order.RentPayer; zero takes the customer, who pays it unless a session key placed the order
}

// LeaseAbort gives everything back to the customer; anyone may.
func LeaseAbort(a LeaseAbortArgs) (solana.Instruction, error) {
	l := a.Lease
	ix, err := bindings.NewLeaseAbortInstruction(market.MarketAddress(), l.Order, or(a.OrderRentPayer, l.Customer),
		market.CreditsAddress(l.Customer), l.Node, l.Provider, l.Address, l.RentPayer)
	return finish(ix, err)
}

// LeaseDeclineArgs say why the node does not serve a lease that it was awarded. The node's key signs.
type LeaseDeclineArgs struct {
	Lease          market.Lease
	OrderRentPayer solana.PublicKey // as in LeaseAbortArgs
	Reason         market.DeclineReason
	Job            [32]byte // digest that the order names
}

// LeaseDecline frees the node's GPUs and sends the order to another node.
func LeaseDecline(a LeaseDeclineArgs) (solana.Instruction, error) {
	l := a.Lease
	credits := market.CreditsAddress(l.Customer)
	ix, err := bindings.NewLeaseDeclineInstruction(uint8(a.Reason), a.Job, l.NodeKey, market.MarketAddress(), l.Order, or(a.OrderRentPayer, l.Customer),
		credits, market.CreditsVaultAddress(credits), market.FeeVaultAddress(), market.RewardsAddress(), l.Node, l.Provider, l.Address, l.RentPayer,
		solana.TokenProgramID)
	return finish(ix, err)
}

// LeaseExtendArgs pay for more time at the lease's own price.
type LeaseExtendArgs struct {
	Lease     market.Lease
	Authority solana.PublicKey // a session key of the customer; zero is the customer
	Seconds   uint32
}

// LeaseExtend is the customer's.
func LeaseExtend(a LeaseExtendArgs) (solana.Instruction, error) {
	ix, err := bindings.NewLeaseExtendInstruction(a.Seconds, or(a.Authority, a.Lease.Customer), market.CreditsAddress(a.Lease.Customer), a.Lease.Address)
	return finish(ix, err)
}

// LeaseEndArgs end a lease.
type LeaseEndArgs struct {
	Authority solana.PublicKey // customer; provider's wallet or node key; anyone once it has failed or ran out
	Lease     market.Lease
	Immediate bool // provider: leave without notice, at a cost
}

// LeaseEnd ends the lease, or gives the provider's notice.
func LeaseEnd(a LeaseEndArgs) (solana.Instruction, error) {
	l := a.Lease
	ix, err := bindings.NewLeaseEndInstruction(flag(a.Immediate), a.Authority, l.Provider, l.Node, market.CreditsAddress(l.Customer), l.Address)
	return finish(ix, err)
}

// LeaseCheckpoint records the sha256 of a checkpoint, from which another node goes on should the lease fail. The node's
// key signs.
func LeaseCheckpoint(l market.Lease, hash [32]byte) (solana.Instruction, error) {
	ix, err := bindings.NewLeaseCheckpointInstruction(hash, l.NodeKey, l.Address)
	return finish(ix, err)
}

// LeaseMigrateArgs move the remaining time of a failed lease to another node.
type LeaseMigrateArgs struct {
	Keeper solana.PublicKey // wallet
	Signer solana.PublicKey // of the keeper; zero takes its wallet
	Failed market.Lease
	Node   market.Node
	// MaxScore is the score that the keeper saw: should the node have got worse since, the move is refused.
	MaxScore uint64
}

// LeaseMigrate ends the failed lease and creates the new one at MovedLeaseAddress(failed, node).
func LeaseMigrate(a LeaseMigrateArgs) (solana.Instruction, error) {
	f, n := a.Failed, a.Node
	other := f.Provider
	if other == n.Provider {
		other = solana.PublicKey{}
	}
	ix, err := bindings.NewLeaseMigrateInstruction(a.MaxScore, or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), market.MarketAddress(), f.Order,
		market.CreditsAddress(f.Customer), f.Address, f.Node, optional(other), n.Address, n.Provider, market.ModelAddress(n.Spec.Model),
		market.MovedLeaseAddress(f.Address, n.Address), solana.SystemProgramID)
	return finish(ix, err)
}

// LeaseRateArgs rate a lease that is over, 1 to 5.
type LeaseRateArgs struct {
	Lease market.Lease
	Stars uint8
}

// LeaseRate is the customer's.
func LeaseRate(a LeaseRateArgs) (solana.Instruction, error) {
	ix, err := bindings.NewLeaseRateInstruction(a.Stars, a.Lease.Customer, a.Lease.Node, a.Lease.Address)
	return finish(ix, err)
}

// LeaseCloseArgs close a settled lease.
type LeaseCloseArgs struct {
	Authority      solana.PublicKey // anyone; the customer need not wait for the end of the time to rate
	Lease          market.Lease
	OrderRentPayer solana.PublicKey // Order.RentPayer; zero takes the customer, who pays it unless a session key placed the order
	KeeperGone     bool             // the awarding keeper's account does not exist any more
	Emission       bool             // Params.EmissionBps is not zero
}

// LeaseClose sweeps the fee and gives the rest back.
func LeaseClose(a LeaseCloseArgs) (solana.Instruction, error) {
	l := a.Lease
	credits := market.CreditsAddress(l.Customer)
	keeper, gone, provider := market.KeeperAddress(l.Keeper), market.ProgramID, market.ProgramID
	if a.KeeperGone {
		keeper, gone = market.ProgramID, keeper
	}
	if a.Emission {
		provider = l.Provider
	}
	ix, err := bindings.NewLeaseCloseInstruction(a.Authority, market.MarketAddress(), l.Order, or(a.OrderRentPayer, l.Customer),
		credits, market.CreditsVaultAddress(credits), market.FeeVaultAddress(), market.RewardsAddress(), keeper, gone, provider, l.Node, l.Address,
		l.RentPayer, solana.TokenProgramID)
	return finish(ix, err)
}

// LeaseSettleReportArgs pay for the seconds that reports have verified. Payout is Provider.Payout.
type LeaseSettleReportArgs struct {
	Lease  market.Lease
	Payout solana.PublicKey
}

// LeaseSettleReport may be sent by anyone.
func LeaseSettleReport(a LeaseSettleReportArgs) (solana.Instruction, error) {
	credits := market.CreditsAddress(a.Lease.Customer)
	ix, err := bindings.NewLeaseSettleReportInstruction(a.Lease.Address, credits, market.CreditsVaultAddress(credits),
		a.Lease.Provider, a.Lease.Node, a.Payout, solana.TokenProgramID)
	return finish(ix, err)
}

// LeaseSettleReceiptArgs pay for the seconds that node and customer both signed for.
type LeaseSettleReceiptArgs struct {
	Lease             market.Lease
	Payout            solana.PublicKey // Provider.Payout
	Receipt           records.Receipt
	NodeSignature     solana.Signature
	CustomerKey       solana.PublicKey // a session key that signed for the customer; zero is the customer
	CustomerSignature solana.Signature
}

// LeaseSettleReceipt returns three instructions that belong together in this order: the checks of the node's and of the
// customer's signature, and the settlement. Errors: ErrInstruction, records.ErrSignature.
func LeaseSettleReceipt(a LeaseSettleReceiptArgs) ([]solana.Instruction, error) {
	l, r := a.Lease, a.Receipt
	if want := market.LeaseReceipt(l, r.Sequence, r.Cumulative); r != want || r.Cumulative > math.MaxUint32 {
		return nil, fmt.Errorf("%w: the receipt is not of this lease", ErrInstruction)
	}
	if err := r.Verify(l.NodeKey, a.NodeSignature); err != nil {
		return nil, fmt.Errorf("%w: node's signature: %w", ErrInstruction, err)
	}
	if err := r.Verify(or(a.CustomerKey, l.Customer), a.CustomerSignature); err != nil {
		return nil, fmt.Errorf("%w: customer's signature: %w", ErrInstruction, err)
	}
	message := r.Encode()
	byNode, err := VerifySignature(l.NodeKey, a.NodeSignature, message[:])
	if err != nil {
		return nil, err
	}
	byCustomer, err := VerifySignature(or(a.CustomerKey, l.Customer), a.CustomerSignature, message[:])
	if err != nil {
		return nil, err
	}
	credits := market.CreditsAddress(l.Customer)
	ix, err := bindings.NewLeaseSettleReceiptInstruction(r.Sequence, uint32(r.Cumulative), l.Address, credits,
		market.CreditsVaultAddress(credits), l.Provider, l.Node, a.Payout, solana.TokenProgramID, solana.SysVarInstructionsPubkey)
	if ix, err = finish(ix, err); err != nil {
		return nil, err
	}
	return []solana.Instruction{byNode, byCustomer, ix}, nil
}
