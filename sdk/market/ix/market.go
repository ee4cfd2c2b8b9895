package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// MarketInitArgs create the market. Authority must be the program's upgrade authority.
type MarketInitArgs struct {
	Authority   solana.PublicKey
	Guardian    solana.PublicKey
	PaymentMint solana.PublicKey // 6 decimals
	StakeMint   solana.PublicKey // 9 decimals
	Treasury    solana.PublicKey // token account of the payment mint
	Domain      records.Domain
	Params      market.Params
}

// MarketInit creates the one market.
func MarketInit(a MarketInitArgs) (solana.Instruction, error) {
	ix, err := bindings.NewMarketInitInstruction(a.Params, a.Domain, a.Guardian, a.Authority, market.MarketAddress(),
		a.PaymentMint, a.StakeMint, a.Treasury, market.FeeVaultAddress(), market.RewardsAddress(), market.EmissionVaultAddress(), market.PayoutVaultAddress(),
		market.ProgramDataAddress(market.ProgramID),
		solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err)
}

// MarketProposeParamsArgs propose parameters; they wait for the timelock.
type MarketProposeParamsArgs struct {
	Authority solana.PublicKey
	Params    market.Params
}

// MarketProposeParams replaces a pending proposal, if there is one.
func MarketProposeParams(a MarketProposeParamsArgs) (solana.Instruction, error) {
	ix, err := bindings.NewMarketProposeParamsInstruction(a.Params, a.Authority, market.MarketAddress())
	return finish(ix, err)
}

// MarketApplyParams puts proposed parameters into force; anyone may.
func MarketApplyParams() (solana.Instruction, error) {
	ix, err := bindings.NewMarketApplyParamsInstruction(market.MarketAddress())
	return finish(ix, err)
}

// MarketPauseArgs stop or reopen new orders and awards: bits PauseOrders and PauseAwards.
type MarketPauseArgs struct {
	By     solana.PublicKey // guardian or authority
	Paused uint8
}

// MarketPause sets what is paused.
func MarketPause(a MarketPauseArgs) (solana.Instruction, error) {
	ix, err := bindings.NewMarketPauseInstruction(a.Paused, a.By, market.MarketAddress())
	return finish(ix, err)
}

// MarketProposeRolesArgs propose the next authority, a guardian and a treasury, which is a token account of the payment mint.
// They wait for the timelock. What does not change is proposed as it is.
type MarketProposeRolesArgs struct {
	Authority, Next, Guardian, Treasury solana.PublicKey
}

// MarketProposeRoles replaces a pending proposal, if there is one.
func MarketProposeRoles(a MarketProposeRolesArgs) (solana.Instruction, error) {
	ix, err := bindings.NewMarketProposeRolesInstruction(a.Next, a.Guardian, a.Authority, market.MarketAddress(), a.Treasury)
	return finish(ix, err)
}

// MarketApplyRoles puts proposed roles in place: by the next authority where it is another one, else by anyone.
func MarketApplyRoles(by solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewMarketApplyRolesInstruction(by, market.MarketAddress())
	return finish(ix, err)
}

// GpuModelProposeArgs propose a GPU model, or other terms for one.
type GpuModelProposeArgs struct {
	Authority      solana.PublicKey
	ID             uint16 // not 0
	Name           string // at most 32 bytes
	VRAMMiB        uint32
	TFLOPSx10      uint32     // dense FP16
	MinStake       market.GNT // per GPU
	ReferencePrice market.PricePerHour
	// MinOperations and MinBandwidth are what a GPU of the class reaches: 10⁹ int8 operations and 10⁶ bytes of memory a
	// second; 0 while that is not calibrated.
	MinOperations, MinBandwidth uint32
	MinTier                     uint8
	Profile                     bindings.MeasureProfile // what its GPUs are measured by
}

// GpuModelPropose replaces a pending proposal for the model, if there is one.
func GpuModelPropose(a GpuModelProposeArgs) (solana.Instruction, error) {
	args := bindings.GpuModelArgs{
		Id: a.ID, Name: market.Text32(a.Name), VramMib: a.VRAMMiB, TflopsX10: a.TFLOPSx10, MinStake: uint64(a.MinStake),
		ReferencePrice: uint64(a.ReferencePrice), MinOperations: a.MinOperations, MinBandwidth: a.MinBandwidth, MinTier: a.MinTier, Profile: a.Profile,
	}
	ix, err := bindings.NewGpuModelProposeInstruction(args, a.Authority, market.MarketAddress(), market.ModelAddress(a.ID), solana.SystemProgramID)
	return finish(ix, err)
}

// GpuModelApply puts a proposed model into force; anyone may.
func GpuModelApply(id uint16) (solana.Instruction, error) {
	ix, err := bindings.NewGpuModelApplyInstruction(market.ModelAddress(id))
	return finish(ix, err)
}
