package txm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

// Errors of transactions that are signed elsewhere.
var (
	ErrOtherTransaction = errors.New("what was signed is not the transaction that was built")
	ErrSignature        = errors.New("a signature of the transaction is not valid")
	ErrNotTaken         = errors.New("the transaction did not take effect and never will; sign a new one")
)

// Unsigned is a transaction whose keys this process does not have: a wallet signs it.
type Unsigned struct {
	// Bytes are the transaction with signatures of zeros.
	Bytes []byte
	// Fee is what it costs: signatures and priority.
	Fee chain.Lamports
	// LastValid is the last block height at which it can take effect.
	LastValid uint64

	entry   Entry
	attempt Attempt
	message []byte
	keys    []solana.PublicKey // that sign
}

// Build simulates an intent and builds its transaction, to be signed elsewhere. Nothing is stored or sent. No two
// transactions that a manager builds are equal, not even of equal intents: each takes effect, or none. They have the legacy
// form, which every wallet knows. Errors: those of DryRun, ErrFees.
func (m *Manager) Build(ctx context.Context, in Intent) (*Unsigned, error) {
	payer := in.Payer
	if payer.IsZero() {
		payer = m.o.Payer
	}
	r, err := newEntry(in, payer, time.Now())
	if err != nil {
		return nil, err
	}
	p, err := m.prepare(ctx, r, txform.Legacy)
	if err != nil {
		return nil, err
	}
	p.limit = min(p.limit, maxUnits-1024) + m.built.Add(1)%1024
	tx, err := m.build(r, &p)
	if err != nil {
		return nil, err
	}
	n := int(tx.Message.Header.NumRequiredSignatures)
	tx.Signatures = make([]solana.Signature, n)
	u := &Unsigned{
		entry: r, keys: tx.Message.AccountKeys[:n], LastValid: p.hash.LastValidBlockHeight,
		attempt: Attempt{LastValid: p.hash.LastValidBlockHeight, SinceSlot: p.hash.Slot, Units: p.units, Limit: p.limit, Price: p.price},
		Fee:     txform.Fee(&tx.Message),
	}
	if u.message, err = tx.Message.MarshalBinary(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	if u.Bytes, err = tx.MarshalBinary(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrIntent, r.ID, err)
	}
	return u, nil
}

// signed is the attempt that signed bytes make. Errors: ErrOtherTransaction, ErrSignature.
func (u *Unsigned) signed(raw []byte) (*Attempt, error) {
	n := len(u.keys)
	if len(raw) != len(u.Bytes) || !bytes.Equal(raw[len(raw)-len(u.message):], u.message) || int(raw[0]) != n {
		return nil, ErrOtherTransaction
	}
	for i, key := range u.keys {
		sig := solana.SignatureFromBytes(raw[1+64*i : 1+64*(i+1)])
		if !sig.Verify(key, u.message) {
			return nil, fmt.Errorf("%w: that of %s", ErrSignature, key)
		}
	}
	a := u.attempt
	a.Raw, a.Signature = bytes.Clone(raw), solana.SignatureFromBytes(raw[1:65])
	return &a, nil
}

// SubmitSigned takes a transaction that Build has built and that is signed since: it is sent only if it is the one, byte
// for byte, and its signatures are valid. From there it is Submit, but for the end: a transaction that can never take
// effect is not built again.
//
// Errors: ErrOtherTransaction, ErrSignature, ErrNotTaken, those of Submit.
func (m *Manager) SubmitSigned(ctx context.Context, u *Unsigned, raw []byte) (Result, error) {
	a, err := u.signed(raw)
	if err != nil {
		return Result{}, err
	}
	fresh := u.entry
	fresh.State, fresh.Current, fresh.Attempts = StateSent, a, 1
	f, res, err := m.start(Intent{ID: fresh.ID, Kind: fresh.Kind}, fresh, m.o.Commitment)
	if f != nil {
		res, err = f.wait(ctx, m.o.Commitment)
	}
	if errors.Is(err, ErrSignerMissing) {
		err = fmt.Errorf("%w (transaction %s)", ErrNotTaken, a.Signature)
	}
	return res, err
}
