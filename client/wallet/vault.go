package wallet

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txerr"
	"github.com/gantry-market/gantry/sdk/txm"
)

// ForVault is a transaction that an address without a key may send, such as a vault of Squads. Nobody has signed it.
type ForVault struct {
	Vault        string             `json:"vault"`
	Kind         string             `json:"kind"`
	Instructions []VaultInstruction `json:"instructions"`
	Message      Encodings          `json:"message"`     // of the transaction
	Transaction  Encodings          `json:"transaction"` // the message with a place for its signature
	// Units that its simulation took; 0 when it could not be tried, and Untried says why.
	Units   uint64 `json:"computeUnits,omitempty"`
	Untried string `json:"untried,omitempty"`
}

// VaultInstruction is an instruction of it.
type VaultInstruction struct {
	Program  string         `json:"program"`
	Accounts []VaultAccount `json:"accounts"`
	Data     string         `json:"data"` // base58
}

// VaultAccount is an account of an instruction.
type VaultAccount struct {
	Address  string `json:"address"`
	Signer   bool   `json:"signer,omitempty"`
	Writable bool   `json:"writable,omitempty"`
}

// Encodings are the same bytes in two forms.
type Encodings struct {
	Base58 string `json:"base58"`
	Base64 string `json:"base64"`
}

func encodingsOf(raw []byte) Encodings {
	return Encodings{solana.Base58(raw).String(), base64.StdEncoding.EncodeToString(raw)}
}

// VaultOptions are what a transaction for a vault is tried with.
type VaultOptions struct {
	Client     *chain.Client
	Commitment chain.Commitment
	Fees       txm.Fees
	Log        zerolog.Logger
}

// BuildForVault tries instructions as a transaction of the vault, without signatures, and writes them in the forms in which they are
// imported. Errors: those of the chain and of the program, which would refuse it; a service.Failure where others sign too.
func BuildForVault(ctx context.Context, o VaultOptions, vault solana.PublicKey, kind string, ixs []solana.Instruction) (out ForVault, err error) {
	out = ForVault{Vault: vault.String(), Kind: kind}
	if out.Units, out.Untried, err = o.try(ctx, vault, kind, ixs); err != nil {
		return out, err
	}
	hash, err := o.Client.LatestBlockhash(ctx, chain.Finalized)
	if err != nil {
		return out, err
	}
	tx, err := solana.NewTransaction(ixs, hash.Hash, solana.TransactionPayer(vault))
	if err != nil {
		return out, fmt.Errorf("transaction of %s: %w", kind, err)
	}
	if signers := tx.Message.Signers(); len(signers) != 1 {
		return out, service.Refused(fmt.Sprintf("%s is signed by %d keys, a vault signs alone", kind, len(signers)), "")
	}
	tx.Signatures = make([]solana.Signature, 1)
	message, err := tx.Message.MarshalBinary()
	if err != nil {
		return out, fmt.Errorf("message of %s: %w", kind, err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return out, fmt.Errorf("transaction of %s: %w", kind, err)
	}
	out.Message, out.Transaction = encodingsOf(message), encodingsOf(raw)
	for _, in := range ixs {
		data, err := in.Data()
		if err != nil {
			return out, fmt.Errorf("instruction of %s: %w", kind, err)
		}
		of := VaultInstruction{Program: in.ProgramID().String(), Data: solana.Base58(data).String()}
		for _, a := range in.Accounts() {
			of.Accounts = append(of.Accounts, VaultAccount{a.PublicKey.String(), a.IsSigner, a.IsWritable})
		}
		out.Instructions = append(out.Instructions, of)
	}
	return out, nil
}

// try simulates the instructions with the vault as their payer. A vault without SOL cannot be tried: whoever executes the
// proposal pays the fee.
func (o *VaultOptions) try(ctx context.Context, vault solana.PublicKey, kind string, ixs []solana.Instruction) (units uint64, untried string, err error) {
	balance, err := o.Client.Balance(ctx, vault, o.Client.Commitment())
	if err != nil {
		return 0, "", err
	}
	if balance == 0 {
		return 0, "the vault has no SOL on this cluster", nil
	}
	genesis, err := o.Client.Genesis(ctx)
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
	m, err := txm.New(txm.Options{RPC: o.Client, Store: store, Keys: txm.NewKeys(), Payer: vault, Commitment: o.Commitment, Log: o.Log, Fees: o.Fees})
	if err != nil {
		return 0, "", errors.Join(err, store.Close())
	}
	defer func() { m.Close(); err = errors.Join(err, store.Close()) }()
	d, err := m.DryRun(ctx, txm.Intent{ID: kind, Kind: kind, Instructions: ixs})
	var refusal *txerr.ProgramError
	if errors.As(err, &refusal) {
		return 0, "", market.Explain(err)
	}
	return d.Units, "", err
}
