package cli

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txerr"
	"github.com/gantry-market/gantry/sdk/txm"
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

// forVault is a transaction that is not signed, as --as-vault prints it.
type forVault struct {
	Vault        string             `json:"vault"`
	Kind         string             `json:"kind"`
	Instructions []vaultInstruction `json:"instructions"`
	Message      encodings          `json:"message"`     // of the transaction
	Transaction  encodings          `json:"transaction"` // the message with a place for its signature
	// Units that its simulation took; 0 when it could not be tried, and Untried says why.
	Units   uint64 `json:"computeUnits,omitempty"`
	Untried string `json:"untried,omitempty"`
}

type vaultInstruction struct {
	Program  string         `json:"program"`
	Accounts []vaultAccount `json:"accounts"`
	Data     string         `json:"data"` // base58
}

type vaultAccount struct {
	Address  string `json:"address"`
	Signer   bool   `json:"signer,omitempty"`
	Writable bool   `json:"writable,omitempty"`
}

type encodings struct {
	Base58 string `json:"base58"`
	Base64 string `json:"base64"`
}

func encodingsOf(raw []byte) encodings {
	return encodings{solana.Base58(raw).String(), base64.StdEncoding.EncodeToString(raw)}
}

// printForVault tries the instructions as a transaction of the vault, without signatures, and prints them. It returns
// buy.ErrSimulated.
func (s *session) printForVault(kind string, ixs []solana.Instruction) error {
	vault, err := s.vault()
	if err != nil {
		return err
	}
	out := forVault{Vault: vault.String(), Kind: kind}
	if out.Units, out.Untried, err = s.tryAsVault(vault, kind, ixs); err != nil {
		return err
	}
	hash, err := s.client.LatestBlockhash(s.ctx, chain.Finalized)
	if err != nil {
		return err
	}
	tx, err := solana.NewTransaction(ixs, hash.Hash, solana.TransactionPayer(vault))
	if err != nil {
		return fmt.Errorf("transaction of %s: %w", kind, err)
	}
	if signers := tx.Message.Signers(); len(signers) != 1 {
		return refused(fmt.Sprintf("%s is signed by %d keys, a vault signs alone", kind, len(signers)), "")
	}
	tx.Signatures = make([]solana.Signature, 1)
	message, err := tx.Message.MarshalBinary()
	if err != nil {
		return fmt.Errorf("message of %s: %w", kind, err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("transaction of %s: %w", kind, err)
	}
	out.Message, out.Transaction = encodingsOf(message), encodingsOf(raw)
	for _, ix := range ixs {
		data, err := ix.Data()
		if err != nil {
			return fmt.Errorf("instruction of %s: %w", kind, err)
		}
		of := vaultInstruction{Program: ix.ProgramID().String(), Data: solana.Base58(data).String()}
		for _, a := range ix.Accounts() {
			of.Accounts = append(of.Accounts, vaultAccount{a.PublicKey.String(), a.IsSigner, a.IsWritable})
		}
		out.Instructions = append(out.Instructions, of)
	}
	if err := s.done(out, func(w io.Writer) { printVault(w, &out) }); err != nil {
		return err
	}
	return buy.ErrSimulated
}

func printVault(w io.Writer, v *forVault) {
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

// tryAsVault simulates the instructions with the vault as their payer. A vault without SOL cannot be tried: whoever executes the
// proposal pays the fee.
func (s *session) tryAsVault(vault solana.PublicKey, kind string, ixs []solana.Instruction) (units uint64, untried string, err error) {
	balance, err := s.client.Balance(s.ctx, vault, s.client.Commitment())
	if err != nil {
		return 0, "", err
	}
	if balance == 0 {
		return 0, "the vault has no SOL on this cluster", nil
	}
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return 0, "", err
	}
	dir, err := os.MkdirTemp("", "gantry-vault-*")
	if err != nil {
		return 0, "", fmt.Errorf("temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	store, err := txm.OpenStore(filepath.Join(dir, "t.db"), genesis)
	if err != nil {
		return 0, "", err
	}
	m, err := txm.New(txm.Options{RPC: s.client, Store: store, Keys: txm.NewKeys(), Payer: vault, Commitment: s.waitLevel(), Log: s.log, Fees: s.fees})
	if err != nil {
		return 0, "", errors.Join(err, store.Close())
	}
	defer func() { m.Close(); err = errors.Join(err, store.Close()) }()
	d, err := m.DryRun(s.ctx, txm.Intent{ID: kind, Kind: kind, Instructions: ixs})
	var refusal *txerr.ProgramError
	if errors.As(err, &refusal) {
		return 0, "", market.Explain(err)
	}
	return d.Units, "", err
}
