package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// NodeRegisterArgs register a machine. Wallet and NodeKey both sign.
type NodeRegisterArgs struct {
	Wallet, NodeKey solana.PublicKey
	Spec            market.NodeSpec
	Price           market.PricePerHour
	Devices         [][32]byte // one identity for each of Spec.Gpus, in any order
}

// NodeRegister creates the node's account and one claim for each device. Error: ErrInstruction.
func NodeRegister(a NodeRegisterArgs) (solana.Instruction, error) {
	if len(a.Devices) != int(a.Spec.Gpus) || len(a.Devices) > market.MaxGPUs {
		return nil, fmt.Errorf("%w: %d device identities for %d GPUs (at most %d)", ErrInstruction, len(a.Devices), a.Spec.Gpus, market.MaxGPUs)
	}
	ascending := market.SortDevices(a.Devices)
	if len(ascending) != len(a.Devices) {
		return nil, fmt.Errorf("%w: a device identity comes twice", ErrInstruction)
	}
	var devices [market.MaxGPUs][32]uint8
	claims := make([]*solana.AccountMeta, len(ascending))
	for i, d := range ascending {
		devices[i] = d
		claims[i] = solana.NewAccountMeta(market.DeviceAddress(d), true, false)
	}
	provider := market.ProviderAddress(a.Wallet)
	ix, err := bindings.NewNodeRegisterInstruction(a.Spec, uint64(a.Price), devices, a.Wallet, a.NodeKey, market.MarketAddress(),
		provider, market.ModelAddress(a.Spec.Model), market.NodeAddress(provider, a.NodeKey), solana.SystemProgramID)
	return finish(ix, err, claims...)
}

// NodeUpdateArgs set the ask, the status (active, hibernated or draining), the isolation and the CUDA of a node. Isolation and
// CUDA of an active node stay.
type NodeUpdateArgs struct {
	Authority solana.PublicKey // the provider's wallet or the node's key
	Node      market.Node
	Price     market.PricePerHour
	Status    market.NodeStatus
	Isolation *market.Isolation // nil stays
	CUDA      *market.CUDA      // nil stays
	SpotBPS   *uint16           // of the price, what interruptible work costs; 0 for no such work, nil stays
}

// NodeUpdate writes ask, spot ask, status, isolation and CUDA.
func NodeUpdate(a NodeUpdateArgs) (solana.Instruction, error) {
	isolation, cuda := a.Node.Spec.Isolation, a.Node.Spec.Cuda
	if a.Isolation != nil {
		isolation = uint8(*a.Isolation)
	}
	if a.CUDA != nil {
		cuda = uint16(*a.CUDA)
	}
	spot := a.Node.SpotBps
	if a.SpotBPS != nil {
		spot = *a.SpotBPS
	}
	ix, err := bindings.NewNodeUpdateInstruction(uint64(a.Price), uint8(a.Status), isolation, cuda, spot, a.Authority, a.Node.Provider, a.Node.Address)
	return finish(ix, err)
}

// NodeAcceptTermsArgs accept the work terms that are in force for a node's model.
type NodeAcceptTermsArgs struct {
	Authority solana.PublicKey // the provider's wallet or the node's key
	Node      market.Node
}

// NodeAcceptTerms has the node measured by the terms of today; until then it gets no new awards.
func NodeAcceptTerms(a NodeAcceptTermsArgs) (solana.Instruction, error) {
	ix, err := bindings.NewNodeAcceptTermsInstruction(a.Authority, a.Node.Provider, a.Node.Address, market.ModelAddress(a.Node.Spec.Model))
	return finish(ix, err)
}

// NodeGuaranteeArgs guarantee a node's uptime. Until is a unix second.
type NodeGuaranteeArgs struct {
	Wallet       solana.PublicKey
	Node         market.Node
	Until        int64
	GuaranteeBPS uint16
}

// NodeGuarantee makes an uptime guarantee, or extends a running one.
func NodeGuarantee(a NodeGuaranteeArgs) (solana.Instruction, error) {
	ix, err := bindings.NewNodeGuaranteeInstruction(a.Until, a.GuaranteeBPS, a.Wallet, market.MarketAddress(), a.Node.Provider, a.Node.Address)
	return finish(ix, err)
}

// GuaranteeResolveArgs resolve a guarantee that is over. Payer signs, and pays the rent of the fault, if there is one,
// until it closes; anyone may.
type GuaranteeResolveArgs struct {
	Payer solana.PublicKey
	Node  market.Node
	// Leases are those of the node that were awarded before the guarantee's end, are not closed and not counted yet: what they
	// have paid counts in a guarantee that was not kept. Where there are more than fit, further instructions bring the others.
	Leases []solana.PublicKey
}

// GuaranteeResolve ends a guarantee. When it was not kept, that is a fault, which can be applied at once.
func GuaranteeResolve(a GuaranteeResolveArgs) (solana.Instruction, error) {
	ix, err := bindings.NewGuaranteeResolveInstruction(a.Payer, market.MarketAddress(), a.Node.Address, a.Node.Provider,
		market.GuaranteeFaultAddress(a.Node.Address, a.Node.GuaranteedUntil), solana.SystemProgramID)
	leases := make([]*solana.AccountMeta, len(a.Leases))
	for i, lease := range a.Leases {
		leases[i] = solana.NewAccountMeta(lease, true, false)
	}
	return finish(ix, err, leases...)
}

// NodeReportDeadArgs report that a GPU of a machine has died.
type NodeReportDeadArgs struct {
	Authority solana.PublicKey // the provider's wallet or the node's key
	Node      market.Node
	StakeMint solana.PublicKey
	Devices   []market.Device // all claims that it holds: View.DevicesOf
}

// NodeReportDead suspends the node for 30 days and takes a small part of its stake.
func NodeReportDead(a NodeReportDeadArgs) (solana.Instruction, error) {
	claims := make([]*solana.AccountMeta, len(a.Devices))
	for i, d := range a.Devices {
		claims[i] = solana.NewAccountMeta(d.Address, true, false)
	}
	ix, err := bindings.NewNodeReportDeadInstruction(a.Authority, market.MarketAddress(), a.Node.Provider,
		market.StakeVaultAddress(a.Node.Provider), a.StakeMint, a.Node.Address, solana.TokenProgramID)
	return finish(ix, err, claims...)
}

// NodeRetireArgs take a machine out of the market for good.
type NodeRetireArgs struct {
	Wallet solana.PublicKey
	Node   market.Node
}

// NodeRetire returns the instructions that mark the node; it is closed later. A machine that was convicted is mended first: that
// ends the cause of its faults.
func NodeRetire(a NodeRetireArgs) ([]solana.Instruction, error) {
	ix, err := bindings.NewNodeRetireInstruction(a.Wallet, market.MarketAddress(), a.Node.Provider, a.Node.Address)
	retire, err := finish(ix, err)
	if err != nil || a.Node.Convicted == 0 {
		return []solana.Instruction{retire}, err
	}
	mend, err := NodeUpdate(NodeUpdateArgs{Authority: a.Wallet, Node: a.Node, Price: a.Node.Ask(), Status: market.NodeDraining})
	return []solana.Instruction{mend, retire}, err
}

// NodeCloseArgs close a retired machine.
type NodeCloseArgs struct {
	Wallet  solana.PublicKey
	Node    market.Node
	Devices []market.Device // all claims that it holds: View.DevicesOf
}

// NodeClose closes the node and its device claims.
func NodeClose(a NodeCloseArgs) (solana.Instruction, error) {
	var claims, payers []*solana.AccountMeta
	paid := map[solana.PublicKey]bool{a.Wallet: true}
	for _, d := range a.Devices {
		claims = append(claims, solana.NewAccountMeta(d.Address, true, false))
		if !paid[d.RentPayer] {
			paid[d.RentPayer] = true
			payers = append(payers, solana.NewAccountMeta(d.RentPayer, true, false))
		}
	}
	ix, err := bindings.NewNodeCloseInstruction(a.Wallet, a.Node.Provider, a.Node.Address)
	return finish(ix, err, append(claims, payers...)...)
}

// NodeSetKeysArgs claim the keys of a node's GPUs, on which tier 3 rests.
type NodeSetKeysArgs struct {
	Payer solana.PublicKey // pays the rent of claims that no node has
	Node  market.Node
	Keys  [][32]byte // those that the node's evidence hash names, in any order
}

// NodeSetKeys claims keys. Error: ErrInstruction.
func NodeSetKeys(a NodeSetKeysArgs) (solana.Instruction, error) {
	if !market.NamesKeys(a.Node.EvidenceHash, a.Keys) || len(a.Keys) > market.MaxGPUs {
		return nil, fmt.Errorf("%w: the evidence of node %s names other keys", ErrInstruction, a.Node.Address)
	}
	var keys [market.MaxGPUs][32]uint8
	var claims []*solana.AccountMeta
	for i, k := range market.SortDevices(a.Keys) {
		keys[i] = k
		claims = append(claims, solana.NewAccountMeta(market.GPUKeyAddress(k), true, false))
	}
	ix, err := bindings.NewNodeSetEvidenceInstruction(keys, a.Payer, a.Node.Address, solana.SystemProgramID)
	return finish(ix, err, claims...)
}

// NodeSetEvidenceArgs bring a node's device claims up to its evidence.
type NodeSetEvidenceArgs struct {
	Payer   solana.PublicKey // pays the rent of claims that no node has, and gets it back when the node closes
	Node    market.Node
	Devices [][32]byte         // all that the node registered, in any order
	Losers  []solana.PublicKey // other nodes that hold some of them, each once
}

// NodeSetEvidence raises the node's device claims to its evidence tier, and takes those that others hold by less.
// Error: ErrInstruction.
func NodeSetEvidence(a NodeSetEvidenceArgs) (solana.Instruction, error) {
	if market.DeviceRoot(a.Devices) != a.Node.DeviceRoot || len(a.Devices) != int(a.Node.Spec.Gpus) || len(a.Devices) > market.MaxGPUs {
		return nil, fmt.Errorf("%w: the %d devices are not those that node %s registered", ErrInstruction, len(a.Devices), a.Node.Address)
	}
	var devices [market.MaxGPUs][32]uint8
	var remaining []*solana.AccountMeta
	for i, d := range market.SortDevices(a.Devices) {
		devices[i] = d
		remaining = append(remaining, solana.NewAccountMeta(market.DeviceAddress(d), true, false))
	}
	for _, loser := range a.Losers {
		remaining = append(remaining, solana.NewAccountMeta(loser, true, false))
	}
	ix, err := bindings.NewNodeSetEvidenceInstruction(devices, a.Payer, a.Node.Address, solana.SystemProgramID)
	return finish(ix, err, remaining...)
}
