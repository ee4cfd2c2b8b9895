package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
)

// MaxTransactionVersion is the highest version of transactions that this package reads. A node refuses to show those of
// a version above the one that it is asked for, so every reader asks for the highest.
const MaxTransactionVersion = 1

// MaxTransactionBytes is how many bytes a transaction of a version has at most, signatures included.
func MaxTransactionBytes(v solana.MessageVersion) int {
	if v == solana.MessageVersionV1 {
		return solana.MaxTransactionSizeV1
	}
	return 1232
}

// Landed is a transaction as a block holds it.
type Landed struct {
	Signature solana.Signature
	Slot      uint64
	BlockTime time.Time // zero when the node does not know
	Err       json.RawMessage
	Fee       Lamports
	Units     uint64 // compute units consumed
	Logs      []string
	Tx        *solana.Transaction
	// Keys are all accounts of the transaction in the order of its instructions' indices, those from lookup tables
	// last, and Writable those that it may have changed.
	Keys, Writable []solana.PublicKey
	// Inner are the instructions that programs made, by the place of the instruction that led to them; nil where the node
	// does not show them.
	Inner map[int][]solana.CompiledInstruction
}

type landedJSON struct {
	Slot        uint64    `json:"slot"`
	BlockTime   *int64    `json:"blockTime"`
	Transaction [2]string `json:"transaction"`
	Meta        *struct {
		Err    json.RawMessage `json:"err"`
		Fee    uint64          `json:"fee"`
		Logs   []string        `json:"logMessages"`
		Units  uint64          `json:"computeUnitsConsumed"`
		Loaded struct {
			Writable []solana.PublicKey `json:"writable"`
			Readonly []solana.PublicKey `json:"readonly"`
		} `json:"loadedAddresses"`
		Inner []struct {
			Index        int                          `json:"index"`
			Instructions []solana.CompiledInstruction `json:"instructions"`
		} `json:"innerInstructions"`
	} `json:"meta"`
}

func transactionParam(at Commitment) map[string]any {
	p := accountParam(at)
	p["maxSupportedTransactionVersion"] = MaxTransactionVersion
	return p
}

// Transaction reads a transaction with its result. at must be Confirmed or Finalized, which is all that nodes serve.
// Errors: ErrNotFound, ErrUnreadable.
func (c *Client) Transaction(ctx context.Context, sig solana.Signature, at Commitment) (Landed, error) {
	var out *landedJSON
	if err := c.Raw(ctx, &out, "getTransaction", sig, transactionParam(at)); err != nil {
		if IsCode(err, CodeVersionNotAsked) {
			return Landed{}, fmt.Errorf("transaction %s: %w: %w; update gantry", sig, ErrUnreadable, err)
		}
		return Landed{}, err
	}
	if out == nil || out.Meta == nil {
		return Landed{}, fmt.Errorf("transaction %s: %w", sig, ErrNotFound)
	}
	l, err := out.landed(sig)
	if err != nil {
		return Landed{}, fmt.Errorf("transaction %s: %w: %w", sig, ErrUnreadable, err)
	}
	return l, nil
}

func (out *landedJSON) landed(sig solana.Signature) (Landed, error) {
	tx, err := decodeTransaction(out.Transaction[0])
	if err != nil {
		return Landed{}, err
	}
	if tx.Signatures[0] != sig {
		return Landed{}, fmt.Errorf("the node sent the transaction %s", tx.Signatures[0])
	}
	l := Landed{
		Signature: sig, Slot: out.Slot, Err: notNull(out.Meta.Err), Fee: Lamports(out.Meta.Fee),
		Units: out.Meta.Units, Logs: out.Meta.Logs, Tx: tx,
	}
	if out.BlockTime != nil {
		l.BlockTime = time.Unix(*out.BlockTime, 0).UTC()
	}
	lookups := 0
	for _, t := range tx.Message.AddressTableLookups {
		lookups += len(t.WritableIndexes) + len(t.ReadonlyIndexes)
	}
	loaded := out.Meta.Loaded
	if len(loaded.Writable)+len(loaded.Readonly) != lookups {
		return Landed{}, fmt.Errorf("it takes %d accounts from lookup tables, the node names %d", lookups, len(loaded.Writable)+len(loaded.Readonly))
	}
	l.Keys = append(append(append(l.Keys, tx.Message.AccountKeys...), loaded.Writable...), loaded.Readonly...)
	l.Writable = append(writableKeys(&tx.Message), loaded.Writable...)
	if out.Meta.Inner != nil {
		l.Inner = make(map[int][]solana.CompiledInstruction, len(out.Meta.Inner))
	}
	for _, in := range out.Meta.Inner {
		if in.Index < 0 || in.Index >= len(tx.Message.Instructions) {
			return Landed{}, fmt.Errorf("the node shows inner instructions of instruction %d of %d", in.Index, len(tx.Message.Instructions))
		}
		l.Inner[in.Index] = append(l.Inner[in.Index], in.Instructions...)
	}
	return l, nil
}

// Key is the account at an index of an instruction; zero where there is none, which the runtime refuses.
func (l *Landed) Key(i uint16) solana.PublicKey {
	if int(i) < len(l.Keys) {
		return l.Keys[i]
	}
	return solana.PublicKey{}
}

// writableKeys lists the accounts that a message itself names and may change.
func writableKeys(m *solana.Message) []solana.PublicKey {
	var out []solana.PublicKey
	signed, all := int(m.Header.NumRequiredSignatures), len(m.AccountKeys)
	for i, k := range m.AccountKeys {
		if (i < signed && i < signed-int(m.Header.NumReadonlySignedAccounts)) || (i >= signed && i < all-int(m.Header.NumReadonlyUnsignedAccounts)) {
			out = append(out, k)
		}
	}
	return out
}

// decodeTransaction reads the bytes of a transaction and checks what solana-go leaves to its callers: that there are as
// many signatures as the header says, no byte more than a version may have, and indices that lead somewhere.
func decodeTransaction(b64 string) (*solana.Transaction, error) {
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		return nil, err
	}
	tx, err := solana.TransactionFromBytes(raw)
	if err != nil {
		return nil, err
	}
	if limit := MaxTransactionBytes(tx.Message.GetVersion()); len(raw) > limit {
		return nil, fmt.Errorf("it has %d bytes, at most %d are possible", len(raw), limit)
	}
	if n := int(tx.Message.Header.NumRequiredSignatures); n == 0 || len(tx.Signatures) != n {
		return nil, fmt.Errorf("it has %d signatures, its header says %d", len(tx.Signatures), n)
	}
	if err := tx.Message.Sanitize(); err != nil {
		return nil, err
	}
	return tx, nil
}
