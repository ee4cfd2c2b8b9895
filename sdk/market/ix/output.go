package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// OutputCommit is sent by the node.
func OutputCommit(l market.Lease, commitment [32]byte) (solana.Instruction, error) {
	ix, err := bindings.NewOutputCommitInstruction(commitment, l.NodeKey, l.Order, l.Address)
	return finish(ix, err)
}

// OutputReveal is sent by the node once all others have committed.
func OutputReveal(l market.Lease, output, salt [32]byte) (solana.Instruction, error) {
	ix, err := bindings.NewOutputRevealInstruction(output, salt, l.NodeKey, l.Order, l.Address)
	return finish(ix, err)
}

// OutputResolve compares the outputs of all live leases of an order; anyone may.
func OutputResolve(order solana.PublicKey, leases []solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewOutputResolveInstruction(order)
	accounts := make([]*solana.AccountMeta, len(leases))
	for i, l := range leases {
		accounts[i] = solana.Meta(l).WRITE()
	}
	return finish(ix, err, accounts...)
}

// OutputForfeit has a node pay, of its stake, for an output that it committed to and did not reveal; anyone may.
func OutputForfeit(l market.Lease, stakeMint solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewOutputForfeitInstruction(market.MarketAddress(), l.Address, l.Lease.Node, l.Lease.Provider,
		market.StakeVaultAddress(l.Lease.Provider), stakeMint, solana.TokenProgramID)
	return finish(ix, err)
}
