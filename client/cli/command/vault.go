package command

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/client/wallet"
)

// FlagVault names an address that sends what the command would.
const FlagVault = "as-vault"

// VaultFlag is of commands whose transaction an address may send that has no key, such as a vault of Squads.
func VaultFlag() cli.Flag {
	return &cli.StringFlag{Name: FlagVault, Usage: "print the transaction for `ADDRESS` to send, such as a Squads vault, in the forms in which it is imported there; sign and send nothing"}
}

// Vault is the address of --as-vault.
func (s *Session) Vault() (solana.PublicKey, error) {
	vault, err := solana.PublicKeyFromBase58(s.CLI.String(FlagVault))
	if err != nil || vault.IsZero() {
		return vault, service.Usage(fmt.Sprintf("--%s %q is not an address", FlagVault, s.CLI.String(FlagVault)), "give the address of the vault, not of its multisig account: Squads shows both")
	}
	return vault, nil
}

// printForVault tries the instructions as a transaction of the vault, without signatures, and prints them. It returns
// buy.ErrSimulated.
func (s *Session) printForVault(kind string, ixs []solana.Instruction) error {
	vault, err := s.Vault()
	if err != nil {
		return err
	}
	out, err := wallet.BuildForVault(s.Context, wallet.VaultOptions{Client: s.Client, Commitment: s.Client.WaitLevel(), Fees: s.Fees, Log: s.Log}, vault, kind, ixs)
	if err != nil {
		return err
	}
	if err := s.Done(out, func(w *terminal.Page) { printVault(w, &out) }); err != nil {
		return err
	}
	return buy.ErrSimulated
}

func printVault(w *terminal.Page, v *wallet.ForVault) {
	tried := fmt.Sprintf("tried as the vault: it would succeed, %d compute units", v.Units)
	if v.Untried != "" {
		tried = "not tried: " + v.Untried
	}
	fmt.Fprintf(w, "%s for vault %s; nothing was signed or sent\n%s\n", v.Kind, v.Vault, tried)
	fmt.Fprintf(w, "\nto import in Squads (message, base58):\n%s\n\nthe same as a transaction without a signature (base64):\n%s\n", v.Message.Base58, v.Transaction.Base64)
	fmt.Fprintf(w, "\ncompare there before anybody approves it:\n")
	for i, ix := range v.Instructions {
		fmt.Fprintf(w, "instruction %d of program %s, data %s\n", i+1, ix.Program, ix.Data)
		for _, a := range ix.Accounts {
			what := ""
			if a.Writable {
				what += " writable"
			}
			if a.Signer {
				what += " signer"
			}
			fmt.Fprintf(w, "  %s%s\n", a.Address, what)
		}
	}
}
