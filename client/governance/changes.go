package governance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/realm"
)

// ReadChanges reads what a proposal is to execute: files that a command with --as-vault and --json has printed, or an instruction in
// base64 as Realms takes it. Whatever signs must be the treasury, or nobody could ever execute it.
func (h *Holders) ReadChanges(files []string) (all []solana.Instruction, err error) {
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--change: %s cannot be read", file), "check the path")
		}
		changes, err := parseChanges(raw)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--change: %s: %v", file, err), "print it with: gantry market … --as-vault TREASURY --json")
		}
		all = append(all, changes...)
	}
	if len(all) == 0 {
		return nil, service.Usage("a proposal without a change decides nothing", "give --change FILE")
	}
	for _, ix := range all {
		for _, a := range ix.Accounts() {
			if a.IsSigner && a.PublicKey != h.Realm.Treasury && a.PublicKey != h.Realm.Governance {
				return nil, service.Usage(fmt.Sprintf("%s must sign this change, and a proposal is signed by the treasury %s alone", a.PublicKey, h.Realm.Treasury),
					fmt.Sprintf("print the change with --as-vault %s", h.Realm.Treasury))
			}
		}
	}
	return all, nil
}

func parseChanges(raw []byte) ([]solana.Instruction, error) {
	if bytes, err := base64.StdEncoding.DecodeString(string(trimmed(raw))); err == nil && len(bytes) > 0 {
		ix, err := realm.Decode(bytes)
		return []solana.Instruction{ix}, err
	}
	var v wallet.ForVault
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("neither JSON nor base64: %w", err)
	}
	var all []solana.Instruction
	for _, printed := range v.Instructions {
		ix, err := instructionOf(&printed)
		if err != nil {
			return nil, err
		}
		all = append(all, ix)
	}
	return all, nil
}

func instructionOf(v *wallet.VaultInstruction) (solana.Instruction, error) {
	program, err := solana.PublicKeyFromBase58(v.Program)
	if err != nil {
		return nil, fmt.Errorf("program %q is not an address", v.Program)
	}
	var data solana.Base58
	if err := data.UnmarshalJSON([]byte(`"` + v.Data + `"`)); err != nil {
		return nil, fmt.Errorf("data of an instruction: %w", err)
	}
	var accounts solana.AccountMetaSlice
	for _, a := range v.Accounts {
		key, err := solana.PublicKeyFromBase58(a.Address)
		if err != nil {
			return nil, fmt.Errorf("account %q is not an address", a.Address)
		}
		accounts = append(accounts, solana.NewAccountMeta(key, a.Writable, a.Signer))
	}
	return solana.NewInstruction(program, accounts, data), nil
}

func trimmed(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == ' ') {
		b = b[:len(b)-1]
	}
	return b
}

// ChangeName is what an instruction does, as far as it is the market's.
func ChangeName(ix solana.Instruction) string {
	data, err := ix.Data()
	if err == nil && ix.ProgramID() == market.ProgramID {
		if name := bindings.InstructionName(data); name != "" {
			return name
		}
	}
	return "an instruction of program " + ix.ProgramID().String()
}
