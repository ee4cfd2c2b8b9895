package cli

import (
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/sdk/market"
)

const flagVault = "as-vault"

// vaultFlag is of commands whose transaction an address may send that has no key, such as a vault of Squads.
func vaultFlag() cli.Flag {
	return &cli.StringFlag{Name: flagVault, Usage: "print the transaction for `ADDRESS` to send, such as a Squads vault, in the forms in which it is imported there; sign and send nothing"}
}

// governor is the address that the command acts for: that of --as-vault, and else the wallet's.
func (s *session) governor() (solana.PublicKey, error) {
	if s.cli.String(flagVault) != "" {
		return s.vault()
	}
	key, err := s.wallet()
	if err != nil {
		return solana.PublicKey{}, err
	}
	return key.PublicKey(), nil
}

func (s *session) vault() (solana.PublicKey, error) {
	vault, err := solana.PublicKeyFromBase58(s.cli.String(flagVault))
	if err != nil || vault.IsZero() {
		return vault, usage(fmt.Sprintf("--%s %q is not an address", flagVault, s.cli.String(flagVault)), "give the address of the vault, not of its multisig account: Squads shows both")
	}
	return vault, nil
}

// govern is begin for what governance sends.
func (s *session) govern(names ...string) ([]string, market.Market, solana.PublicKey, error) {
	args, err := s.args(names...)
	if err != nil {
		return nil, market.Market{}, solana.PublicKey{}, err
	}
	by, err := s.governor()
	if err != nil {
		return nil, market.Market{}, by, err
	}
	mk, err := s.market()
	return args, mk, by, err
}

// printForVault tries the instructions as a transaction of the vault, without signatures, and prints them. It returns
// buy.ErrSimulated.
func (s *session) printForVault(kind string, ixs []solana.Instruction) error {
	vault, err := s.vault()
	if err != nil {
		return err
	}
	out, err := wallet.BuildForVault(s.ctx, wallet.VaultOptions{Client: s.client, Commitment: s.client.WaitLevel(), Fees: s.fees, Log: s.log}, vault, kind, ixs)
	if err != nil {
		return err
	}
	if err := s.done(out, func(w io.Writer) { printVault(w, &out) }); err != nil {
		return err
	}
	return buy.ErrSimulated
}

func printVault(w io.Writer, v *wallet.ForVault) {
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
