package toll

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Transactions reads a final transaction. Error: chain.ErrNotFound.
type Transactions func(ctx context.Context, sig solana.Signature) (chain.Landed, error)

// RefusedError is the error of a payment that is not credited; its text may be shown to the caller.
type RefusedError struct {
	Why string
	// Later: the same may be asked again in a moment.
	Later bool
}

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error {
	return &RefusedError{Why: fmt.Sprintf(format, args...)}
}

const (
	// lookupsPerSecond is how many transactions are read on chain for all customers together, lookupsOfOne every so long for
	// one of them: anybody can invent a signature.
	lookupsPerSecond, lookupsBurst    = 5, 20
	lookupsOfOneEvery, lookupsOfOneAt = 5 * time.Second, 5
	// maxRemembered bounds the memory that many customers make the limits use.
	maxRemembered = 4096
)

// Pay credits the payment that a transaction has made, once, and returns the bytes that it has bought. Who brings it does not
// matter: it is for the wallet in its purpose. Errors: *RefusedError, those of the chain and of the file.
func (b *Book) Pay(ctx context.Context, customer solana.PublicKey, number uint64, sig solana.Signature) (bought uint64, err error) {
	defer func() {
		var no *RefusedError
		if errors.As(err, &no) && !no.Later {
			b.counts.refused.Add(1)
		}
	}()
	var have payment
	err = b.db.View(func(tx *bolt.Tx) error { return boltstore.GetJSON(tx, bucketPayments, sig[:], &have) })
	if err == nil {
		return have.answer(customer)
	}
	if !errors.Is(err, boltstore.ErrNotFound) {
		return 0, err
	}
	if !b.mayLookUp(customer) {
		return 0, &RefusedError{Why: "too many payments are brought at once; try again in a moment", Later: true}
	}
	b.counts.lookups.Add(1)
	landed, err := b.o.Transaction(ctx, sig)
	switch {
	case errors.Is(err, chain.ErrNotFound):
		return 0, &RefusedError{Why: fmt.Sprintf("transaction %s is not final, or was never sent; try again in a moment", sig), Later: true}
	case err != nil:
		return 0, fmt.Errorf("read payment: %w", err)
	}
	purpose := records.Payment{Domain: b.o.Domain, Gateway: b.o.Gateway, Customer: customer, Number: number}.Purpose()
	amount, err := paidBy(&landed, purpose, b.o.Mint, market.TokenAddress(b.o.Payee, b.o.Mint))
	if err != nil {
		return 0, err
	}
	return b.credit(customer, sig, payment{Customer: customer, Amount: amount, Price: b.o.Price, Bytes: bytesFor(amount, b.o.Price), At: time.Now().UTC()})
}

// credit writes a payment, unless it is there already.
func (b *Book) credit(customer solana.PublicKey, sig solana.Signature, p payment) (bought uint64, err error) {
	fresh := false
	err = b.db.Update(func(tx *bolt.Tx) error {
		var have payment
		switch err := boltstore.GetJSON(tx, bucketPayments, sig[:], &have); {
		case err == nil:
			bought, err = have.answer(customer)
			return err
		case !errors.Is(err, boltstore.ErrNotFound):
			return err
		}
		var w wallet
		if err := find(tx, bucketWallets, customer[:], &w); err != nil {
			return err
		}
		w.Bought, bought, fresh = add(w.Bought, p.Bytes), p.Bytes, true
		return errors.Join(boltstore.PutJSON(tx, bucketWallets, customer[:], w), boltstore.PutJSON(tx, bucketPayments, sig[:], p))
	})
	if err == nil && fresh {
		b.counts.payments.Add(1)
		b.counts.received.Add(uint64(p.Amount))
	}
	return bought, err
}

func (p *payment) answer(customer solana.PublicKey) (uint64, error) {
	if p.Customer != customer {
		return 0, refuse("this payment was for another wallet and is counted there")
	}
	return p.Bytes, nil
}

// mayLookUp bounds what invented signatures make the gateway ask the chain.
func (b *Book) mayLookUp(customer solana.PublicKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.lookupsOf[customer]
	if one == nil {
		for key, other := range b.lookupsOf {
			if len(b.lookupsOf) >= maxRemembered && other.Tokens() >= lookupsOfOneAt {
				delete(b.lookupsOf, key)
			}
		}
		if len(b.lookupsOf) >= maxRemembered {
			return false
		}
		one = rate.NewLimiter(rate.Every(lookupsOfOneEvery), lookupsOfOneAt)
		b.lookupsOf[customer] = one
	}
	return one.Allow() && b.lookups.Allow()
}

// transferChecked is the token program's instruction: its number, the amount (u64, little endian) and the decimals. Its
// accounts are source, mint, target and authority; those behind them sign where the authority is of several, and mean nothing
// otherwise.
const (
	transferChecked     = 12
	transferCheckedSize = 10
	transferAccounts    = 4
)

// paidBy is what a transaction has moved for a purpose. Each transfer that names it is looked at by itself, and not what the
// account's balance has become: one transaction may pay for several wallets. Error: *RefusedError.
func paidBy(l *chain.Landed, purpose, mint, target solana.PublicKey) (market.USDC, error) {
	if len(l.Err) > 0 {
		return 0, refuse("transaction %s has failed: it has moved nothing", l.Signature)
	}
	var sum uint64
	named := false
	for _, in := range l.Tx.Message.Instructions {
		accounts, ok := resolve(l, in)
		if !ok || len(accounts) <= transferAccounts || l.Keys[in.ProgramIDIndex] != solana.TokenProgramID ||
			len(in.Data) != transferCheckedSize || in.Data[0] != transferChecked {
			continue
		}
		names := false
		for _, key := range accounts[transferAccounts:] {
			names = names || key == purpose
		}
		if !names {
			continue
		}
		named = true
		switch {
		case accounts[1] != mint:
			return 0, refuse("the payment is in another token (mint %s): this gateway takes mint %s", accounts[1], mint)
		case accounts[2] != target:
			return 0, refuse("the payment went to account %s: that of this gateway is %s", accounts[2], target)
		case accounts[0] == target:
			return 0, refuse("the payment comes from the account that it goes to")
		}
		sum = add(sum, binary.LittleEndian.Uint64(in.Data[1:9]))
	}
	switch {
	case !named:
		return 0, refuse("transaction %s has no payment with this number from this wallet for this gateway", l.Signature)
	case sum == 0:
		return 0, refuse("the payment moved nothing")
	}
	return market.USDC(sum), nil
}

// resolve are the accounts of an instruction.
func resolve(l *chain.Landed, in solana.CompiledInstruction) ([]solana.PublicKey, bool) {
	if int(in.ProgramIDIndex) >= len(l.Keys) {
		return nil, false
	}
	out := make([]solana.PublicKey, len(in.Accounts))
	for i, at := range in.Accounts {
		if int(at) >= len(l.Keys) {
			return nil, false
		}
		out[i] = l.Keys[at]
	}
	return out, true
}
