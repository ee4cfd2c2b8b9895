package ix

import (
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// OrderCreateArgs ask for compute and set the money for it aside.
type OrderCreateArgs struct {
	Customer        solana.PublicKey
	Authority       solana.PublicKey // a session key of the customer, which pays the rent; zero is the customer
	Nonce           uint64           // used once by this customer: part of the order's address
	MaxPrice        market.PricePerHour
	Duration        uint32 // seconds
	Nodes           uint8
	GPUsPerNode     uint8
	RunToCompletion bool     // the lease ends with its job
	Sealed          bool     // nodes bid in an auction: AuctionOpen belongs into the same transaction
	Redundant       bool     // all nodes run the same job, and only what most of them show is paid; needs RunToCompletion and NoMigration
	Interruptible   bool     // the lease takes the node's spot price and may end at a short notice; not with RunToCompletion, Sealed or Redundant
	NoMigration     bool     // a failed lease must not move to another node
	JobDigest       [32]byte // messages.JobSpec.Digest
	Requirement     market.Requirement
}

// OrderCreate creates an order; its address is OrderAddress(Customer, Nonce).
func OrderCreate(a OrderCreateArgs) (solana.Instruction, error) {
	args := bindings.OrderArgs{
		Nonce: a.Nonce, MaxPrice: uint64(a.MaxPrice), DurationSecs: a.Duration, Nodes: a.Nodes, GpusPerNode: a.GPUsPerNode,
		RunToCompletion: flag(a.RunToCompletion), NoMigration: flag(a.NoMigration), Mode: flag(a.Sealed), Redundant: flag(a.Redundant), Interruptible: flag(a.Interruptible),
		ImageDigest: a.JobDigest, Requirement: a.Requirement,
	}
	ix, err := bindings.NewOrderCreateInstruction(args, or(a.Authority, a.Customer), market.MarketAddress(), market.CreditsAddress(a.Customer),
		market.OrderAddress(a.Customer, a.Nonce), solana.SystemProgramID)
	return finish(ix, err)
}

// OrderCancel takes an order back that has no lease. The customer signs.
func OrderCancel(o market.Order) (solana.Instruction, error) { return OrderCancelBy(o, o.Customer) }

// OrderCancelBy is OrderCancel, signed by the customer or one of its session keys.
func OrderCancelBy(o market.Order, authority solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewOrderCancelInstruction(authority, market.CreditsAddress(o.Customer), o.Address, o.RentPayer)
	return finish(ix, err)
}

// OrderExpire releases the money of an order whose time to be awarded is over; anyone may.
func OrderExpire(o market.Order) (solana.Instruction, error) {
	ix, err := bindings.NewOrderExpireInstruction(market.CreditsAddress(o.Customer), o.Address, o.RentPayer)
	return finish(ix, err)
}

// OrderReopen opens a lapsed order again, at its maximum price for each node that it misses. The customer or one of its
// session keys signs; the zero authority is the customer.
func OrderReopen(o market.Order, authority solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewOrderReopenInstruction(or(authority, o.Customer), market.MarketAddress(), market.CreditsAddress(o.Customer), o.Address)
	return finish(ix, err)
}

// OrderAwardArgs give an order, or one node's part of it, to a node.
type OrderAwardArgs struct {
	Keeper solana.PublicKey // wallet
	Signer solana.PublicKey // of the keeper; zero takes its wallet
	Order  market.Order
	Node   market.Node
	// MaxScore is the score that the keeper chose the node by: should the node have got worse since, the award is
	// refused, instead of being one that a better ask can contest. 0 accepts any.
	MaxScore uint64
}

// OrderAward creates the lease at LeaseAddress(order, node).
func OrderAward(a OrderAwardArgs) (solana.Instruction, error) {
	limit := a.MaxScore
	if limit == 0 {
		limit = math.MaxUint64
	}
	ix, err := bindings.NewOrderAwardInstruction(limit, or(a.Signer, a.Keeper), market.KeeperAddress(a.Keeper), market.MarketAddress(), a.Order.Address,
		market.CreditsAddress(a.Order.Customer), a.Node.Address, a.Node.Provider, market.ModelAddress(a.Node.Spec.Model),
		market.LeaseAddress(a.Order.Address, a.Node.Address), solana.SystemProgramID)
	return finish(ix, err)
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
