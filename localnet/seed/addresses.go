package seed

import (
	"github.com/gagliardetto/solana-go"

	bindings "github.com/gantry-market/gantry/idl/market"
)

// upgradeableLoader owns upgradeable programs and their data accounts.
var upgradeableLoader = solana.MustPublicKeyFromBase58("BPFLoaderUpgradeab1e11111111111111111111111")

// derive finds the address of a program account; a bump exists for every seed in practice.
func derive(program solana.PublicKey, seeds ...[]byte) solana.PublicKey {
	address, _, err := solana.FindProgramAddress(seeds, program)
	if err != nil {
		return solana.PublicKey{}
	}
	return address
}

// Market is the address of the market.
func Market() solana.PublicKey { return derive(bindings.ProgramID, []byte("market")) }

// FeeVault is the token account in which swept fees wait.
func FeeVault() solana.PublicKey { return derive(bindings.ProgramID, []byte("fee_vault")) }

// ModelAddress is the address of a GPU model.
func ModelAddress(id uint16) solana.PublicKey {
	return derive(bindings.ProgramID, []byte("gpu_model"), []byte{byte(id), byte(id >> 8)})
}

// programData is the loader's record of the program: it names the upgrade authority.
func programData() solana.PublicKey { return derive(upgradeableLoader, bindings.ProgramID[:]) }
