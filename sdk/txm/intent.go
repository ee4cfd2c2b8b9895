package txm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Signer signs with one key. solana.PrivateKey is a Signer. One that asks a person answers ErrStale to be asked anew
// with a newer blockhash, and a *TxError where the person refuses.
type Signer interface {
	PublicKey() solana.PublicKey
	Sign(message []byte) (solana.Signature, error)
}

// Keyring finds the signer of a public key.
type Keyring interface {
	Signer(key solana.PublicKey) (Signer, bool)
}

// Keys is a fixed Keyring.
type Keys map[solana.PublicKey]Signer

// NewKeys builds a Keyring from signers.
func NewKeys(signers ...Signer) Keys {
	k := Keys{}
	for _, s := range signers {
		k[s.PublicKey()] = s
	}
	return k
}

// Signer implements Keyring.
func (k Keys) Signer(key solana.PublicKey) (Signer, bool) {
	s, ok := k[key]
	return s, ok
}

// ReadBack looks at the chain and reports whether the intent's effect is there already, also if another sender caused
// it.
type ReadBack func(ctx context.Context) (done bool, err error)

// Intent is something to be done on chain exactly once.
type Intent struct {
	ID           string // idempotency key, unique per effect for the store's retention time
	Kind         string // label for logs and the compute-unit table, e.g. the instruction's name
	Instructions []solana.Instruction
	Payer        solana.PublicKey // fee payer; zero takes the manager's
	// ExtraSigners sign in addition to the keyring, e.g. for a new account. They are not stored: after a restart a
	// transaction that was signed is still followed, but it cannot be rebuilt without them.
	ExtraSigners []Signer
	// ReadBack is asked before a rebuild and after a restart. Optional: without it the proof that earlier transactions
	// are dead decides alone.
	ReadBack ReadBack
	// Repeatable says that the program refuses a second one, or that it changes nothing. When no node can tell any more
	// whether an earlier transaction took effect, such an intent is built again; any other fails with ErrUncertain.
	Repeatable bool
	// MinContextSlot refuses simulation on a node that has not reached this slot, so that a failover never judges by an
	// older state. Optional.
	MinContextSlot uint64
	// Commitment that Submit waits for; empty takes the manager's.
	Commitment chain.Commitment
}

// Result is the outcome of an intent.
type Result struct {
	ID        string
	Kind      string
	State     State
	Signature solana.Signature // zero if State is StateObserved
	Slot      uint64           // of the transaction's block
	Attempts  int              // transactions signed
	Units     uint64           // compute units by simulation
	UnitLimit uint32
	UnitPrice chain.MicroLamports
}

// State is a step of an intent's life.
type State string

// The states.
const (
	StateQueued    State = "queued"    // stored, nothing signed
	StateSent      State = "sent"      // signed and stored, perhaps sent
	StateProcessed State = "processed" // in a block that may be dropped
	StateConfirmed State = "confirmed" // in a block voted by a supermajority
	StateFinalised State = "finalised" // in a block that is final
	StateExpired   State = "expired"   // the last transaction can never land; to be rebuilt
	StateFailed    State = "failed"    // refused; no effect
	StateObserved  State = "observed"  // the effect was found on chain
)

// Terminal reports whether nothing more will happen.
func (s State) Terminal() bool {
	return s == StateFinalised || s == StateFailed || s == StateObserved
}

// reaches reports whether the state satisfies a wait for the commitment.
func (s State) reaches(want chain.Commitment) bool {
	switch s {
	case StateProcessed:
		return chain.Processed.Reaches(want)
	case StateConfirmed:
		return chain.Confirmed.Reaches(want)
	case StateFinalised, StateObserved:
		return true
	}
	return false
}

func stateOf(c chain.Commitment) State {
	switch c {
	case chain.Finalized:
		return StateFinalised
	case chain.Confirmed:
		return StateConfirmed
	}
	return StateProcessed
}

// AccountMeta is a stored account reference.
type AccountMeta struct {
	Key      solana.PublicKey `json:"k"`
	Signer   bool             `json:"s,omitempty"`
	Writable bool             `json:"w,omitempty"`
}

// Instruction is a stored instruction. It implements solana.Instruction.
type Instruction struct {
	Program solana.PublicKey `json:"p"`
	Metas   []AccountMeta    `json:"a"`
	Payload []byte           `json:"d"`
}

// ProgramID implements solana.Instruction.
func (i Instruction) ProgramID() solana.PublicKey { return i.Program }

// Data implements solana.Instruction.
func (i Instruction) Data() ([]byte, error) { return i.Payload, nil }

// Accounts implements solana.Instruction.
func (i Instruction) Accounts() []*solana.AccountMeta {
	out := make([]*solana.AccountMeta, len(i.Metas))
	for n, m := range i.Metas {
		out[n] = &solana.AccountMeta{PublicKey: m.Key, IsSigner: m.Signer, IsWritable: m.Writable}
	}
	return out
}

// Attempt is a signed transaction.
type Attempt struct {
	Raw       []byte              `json:"raw"`
	Signature solana.Signature    `json:"sig"`
	LastValid uint64              `json:"lastValid"` // block height
	SinceSlot uint64              `json:"since"`     // slot of the blockhash
	Units     uint64              `json:"units"`
	Limit     uint32              `json:"limit"`
	Price     chain.MicroLamports `json:"price"`
}

// Failure is a stored refusal.
type Failure struct {
	Program   *txerr.ProgramError `json:"program,omitempty"`
	Tx        *TxError            `json:"tx,omitempty"`
	Uncertain bool                `json:"uncertain,omitempty"`
}

func (f *Failure) err() error {
	switch {
	case f.Program != nil:
		return f.Program
	case f.Tx != nil:
		return f.Tx
	}
	return ErrUncertain
}

// Entry is an intent as stored.
type Entry struct {
	ID           string           `json:"id"`
	Kind         string           `json:"kind,omitempty"`
	State        State            `json:"state"`
	Payer        solana.PublicKey `json:"payer"`
	Instructions []Instruction    `json:"ix"`
	Digest       [32]byte         `json:"digest"`
	Attempts     int              `json:"n"`
	Boost        uint             `json:"boost,omitempty"` // doublings of the compute limit
	Bids         uint             `json:"bids,omitempty"`  // transactions that died without having landed
	Current      *Attempt         `json:"cur,omitempty"`
	Slot         uint64           `json:"slot,omitempty"`
	MinSlot      uint64           `json:"min,omitempty"`
	Repeatable   bool             `json:"repeatable,omitempty"`
	Failure      *Failure         `json:"failure,omitempty"`
	Created      time.Time        `json:"created"`
	Updated      time.Time        `json:"updated"`
}

func newEntry(in Intent, payer solana.PublicKey, now time.Time) (Entry, error) {
	r := Entry{
		ID: in.ID, Kind: in.Kind, State: StateQueued, Payer: payer,
		MinSlot: in.MinContextSlot, Repeatable: in.Repeatable, Created: now, Updated: now,
	}
	if in.ID == "" || len(in.ID) > 512 {
		return r, fmt.Errorf("%w: the id must have 1 to 512 bytes", ErrIntent)
	}
	if len(in.Instructions) == 0 {
		return r, fmt.Errorf("%w: %s has no instructions", ErrIntent, in.ID)
	}
	if payer.IsZero() {
		return r, fmt.Errorf("%w: %s has no fee payer", ErrIntent, in.ID)
	}
	for n, ix := range in.Instructions {
		if ix == nil {
			return r, fmt.Errorf("%w: %s instruction %d is nil", ErrIntent, in.ID, n)
		}
		data, err := ix.Data()
		if err != nil {
			return r, fmt.Errorf("%w: %s instruction %d: %w", ErrIntent, in.ID, n, err)
		}
		s := Instruction{Program: ix.ProgramID(), Payload: data}
		for _, m := range ix.Accounts() {
			s.Metas = append(s.Metas, AccountMeta{Key: m.PublicKey, Signer: m.IsSigner, Writable: m.IsWritable})
		}
		r.Instructions = append(r.Instructions, s)
	}
	body, err := json.Marshal(struct {
		P solana.PublicKey
		I []Instruction
	}{payer, r.Instructions})
	if err != nil {
		return r, fmt.Errorf("intent %s: %w", in.ID, err)
	}
	r.Digest = sha256.Sum256(body)
	return r, nil
}

// result summarises the entry.
func (r *Entry) result() Result {
	res := Result{ID: r.ID, Kind: r.Kind, State: r.State, Slot: r.Slot, Attempts: r.Attempts}
	if r.Current != nil {
		res.Units, res.UnitLimit, res.UnitPrice = r.Current.Units, r.Current.Limit, r.Current.Price
		if r.State != StateObserved {
			res.Signature = r.Current.Signature
		}
	}
	return res
}
