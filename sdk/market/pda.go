package market

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// ProgramID is the market program's address.
var ProgramID = bindings.ProgramID

// Ed25519ProgramID is the precompile that verifies signatures.
var Ed25519ProgramID = solana.MustPublicKeyFromBase58("Ed25519SigVerify111111111111111111111111111")

// Seeds of program-derived addresses, as in program/src/seeds.rs.
var (
	seedMarket       = []byte("market")
	seedFeeVault     = []byte("fee_vault")
	seedRewards      = []byte("rewards")
	seedEmission     = []byte("emission_vault")
	seedPayoutVault  = []byte("payout_vault")
	seedPayout       = []byte("payout")
	seedDispute      = []byte("dispute")
	seedDisputeFault = []byte("dispute_fault")
	seedGpuModel     = []byte("gpu_model")
	seedProvider     = []byte("provider")
	seedNode         = []byte("node")
	seedDevice       = []byte("device")
	seedGPUKey       = []byte("gpu_key")
	seedKeeper       = []byte("keeper")
	seedStakeVault   = []byte("stake_vault")
	seedCredits      = []byte("credits")
	seedCreditsVault = []byte("credits_vault")
	seedOrder        = []byte("order")
	seedLease        = []byte("lease")
	seedAuction      = []byte("auction")
	seedReport       = []byte("report")
	seedFault        = []byte("fault")
	seedFraudProof   = []byte("fraud_proof")

	seedGuaranteeFault = []byte("guarantee_fault")
	seedWorkFault      = []byte("work_fault")
	seedOutage         = []byte("outage")
	seedOutageFault    = []byte("outage_fault")
)

// derive finds a program-derived address. The seeds above are constants of valid length, and that none of 256 bumps
// gives an address off the curve has a chance of 2^-256.
func derive(program solana.PublicKey, seeds ...[]byte) solana.PublicKey {
	key, _, err := solana.FindProgramAddress(seeds, program)
	if err != nil {
		panic(fmt.Sprintf("market: address of %q cannot be derived: %v", seeds[0], err))
	}
	return key
}

// MarketAddress is the one market account.
func MarketAddress() solana.PublicKey { return derive(ProgramID, seedMarket) }

// FeeVaultAddress is the token account in which swept fees wait.
func FeeVaultAddress() solana.PublicKey { return derive(ProgramID, seedFeeVault) }

// RewardsAddress is the account that says how swept fees are shared.
func RewardsAddress() solana.PublicKey { return derive(ProgramID, seedRewards) }

// EmissionVaultAddress is the stake-token account that emission is paid from.
func EmissionVaultAddress() solana.PublicKey { return derive(ProgramID, seedEmission) }

// PayoutVaultAddress is the stake-token account in which parts of slashes wait for their payout.
func PayoutVaultAddress() solana.PublicKey { return derive(ProgramID, seedPayoutVault) }

// PayoutAddress is what waits for a wallet out of the slashes of one source: a fault, a node or a keeper's account.
func PayoutAddress(beneficiary, source solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedPayout, beneficiary[:], source[:])
}

// DisputeAddress is the account of a lease's dispute.
func DisputeAddress(lease solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedDispute, lease[:])
}

// DisputeFaultAddress is the fault of a lease's upheld dispute.
func DisputeFaultAddress(lease solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedDisputeFault, lease[:])
}

// GuaranteeFaultAddress is the fault of a node's broken guarantee that ended at a unix second.
func GuaranteeFaultAddress(node solana.PublicKey, until int64) solana.PublicKey {
	return derive(ProgramID, seedGuaranteeFault, node[:], binary.LittleEndian.AppendUint64(nil, uint64(until)))
}

// WorkFaultAddress is the fault of bad work that a wallet has proven by a commitment that a node has signed in a
// period.
func WorkFaultAddress(node, finder solana.PublicKey, period uint64) solana.PublicKey {
	proof := FraudProofAddress(node, finder)
	return derive(ProgramID, seedWorkFault, proof[:], binary.LittleEndian.AppendUint64(nil, period))
}

// OutageAddress is where keepers' votes about a silent node add up.
func OutageAddress(node solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedOutage, node[:])
}

// OutageFaultAddress is the fault of the outage that ended a lease.
func OutageFaultAddress(lease solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedOutageFault, lease[:])
}

// ModelAddress is the account of a GPU model.
func ModelAddress(id uint16) solana.PublicKey {
	return derive(ProgramID, seedGpuModel, binary.LittleEndian.AppendUint16(nil, id))
}

// ProviderAddress is the account of the provider with this wallet.
func ProviderAddress(wallet solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedProvider, wallet[:])
}

// NodeAddress is the account of a machine; provider is the provider's account, not its wallet.
func NodeAddress(provider, nodeKey solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedNode, provider[:], nodeKey[:])
}

// DeviceAddress is the claim of a device identity, sha256("gantry-device" ‖ UUID).
func DeviceAddress(device [32]byte) solana.PublicKey {
	return derive(ProgramID, seedDevice, device[:])
}

// GPUKeyAddress is the claim of a GPU's own key, by sha256("gantry-device" ‖ hash of the key).
func GPUKeyAddress(key [32]byte) solana.PublicKey {
	return derive(ProgramID, seedGPUKey, key[:])
}

// KeeperAddress is the account of the keeper with this wallet.
func KeeperAddress(wallet solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedKeeper, wallet[:])
}

// StakeVaultAddress holds the stake of a provider account or the bond of a keeper account.
func StakeVaultAddress(account solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedStakeVault, account[:])
}

// CreditsAddress is the account of a customer's money.
func CreditsAddress(customer solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedCredits, customer[:])
}

// CreditsVaultAddress holds the tokens of a credits account.
func CreditsVaultAddress(credits solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedCreditsVault, credits[:])
}

// OrderAddress is the account of a customer's order.
func OrderAddress(customer solana.PublicKey, nonce uint64) solana.PublicKey {
	return derive(ProgramID, seedOrder, customer[:], binary.LittleEndian.AppendUint64(nil, nonce))
}

// AuctionAddress is the account of a sealed order's auction.
func AuctionAddress(order solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedAuction, order[:])
}

// LeaseAddress is the account of a node's part of an order.
func LeaseAddress(order, node solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedLease, order[:], node[:])
}

// MovedLeaseAddress is the account of the lease on a node that goes on with a failed one. It is not made of the order, for the
// lease may come back to a node where it was before.
func MovedLeaseAddress(failed, node solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedLease, failed[:], node[:])
}

// ReportAddress is the account of a period's report.
func ReportAddress(period uint64) solana.PublicKey {
	return derive(ProgramID, seedReport, binary.LittleEndian.AppendUint64(nil, period))
}

// FaultAddress is the account of a fault; the zero lease stands for a fault of the node alone.
func FaultAddress(node, lease solana.PublicKey, period uint64) solana.PublicKey {
	return derive(ProgramID, seedFault, node[:], lease[:], binary.LittleEndian.AppendUint64(nil, period))
}

// FraudProofAddress is the fraud proof of this finder's wallet against a node.
func FraudProofAddress(node, finder solana.PublicKey) solana.PublicKey {
	return derive(ProgramID, seedFraudProof, node[:], finder[:])
}

// ProgramDataAddress is the loader's record of an upgradeable program.
func ProgramDataAddress(program solana.PublicKey) solana.PublicKey {
	return derive(solana.BPFLoaderUpgradeableProgramID, program[:])
}

// TokenAddress is the associated token account of a wallet for a mint of the classic token program.
func TokenAddress(wallet, mint solana.PublicKey) solana.PublicKey {
	return derive(solana.SPLAssociatedTokenAccountProgramID, wallet[:], solana.TokenProgramID[:], mint[:])
}
