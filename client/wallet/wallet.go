// Package wallet prepares transactions for a customer's wallet that this process does not hold, such as a browser's or
// a device's. It builds each transaction from a request and describes it in words and figures. The wallet signs it. The
// package sends it only if it is the transaction that was built, byte for byte.
package wallet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	// keep is how long a transaction is known here after it was built. It cannot take effect later than about a minute
	// after that.
	keep = 10 * time.Minute
	// most is how many transactions are known at once; the oldest goes first.
	most = 64
)

// Options of a Builder; all are required.
type Options struct {
	Client  *chain.Client
	Service *service.Service
	// Manager sends. It pays with the customer's key, and has none.
	Manager *txm.Manager
	// Customer is the wallet, and Session the key that it may authorise.
	Customer, Session solana.PublicKey
	Now               func() time.Time
}

// Builder builds transactions for one wallet. It is safe for concurrent use.
type Builder struct {
	o Options

	mu    sync.Mutex
	built map[string]*built
}

type built struct {
	at   time.Time
	kind string
	tx   *txm.Unsigned
}

// New is a builder that has built nothing.
func New(o Options) *Builder { return &Builder{o: o, built: map[string]*built{}} }

// Transaction is a transaction that waits for the wallet's signature.
type Transaction struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Bytes are the transaction without its signature.
	Bytes []byte `json:"transaction"`
	// Chain is how wallets name the cluster.
	Chain string `json:"chain"`
	// Effects say what it does, one sentence each.
	Effects []string `json:"effects"`
	// USDC and SOL are what leaves the wallet, rent and fee included.
	USDC string `json:"usdc"`
	SOL  string `json:"sol"`
	Fee  string `json:"fee"`
}

// Build builds the transaction of a request. Errors: service.Failure, those of the chain and of the program, which has
// tried it out.
func (b *Builder) Build(ctx context.Context, r Request) (Transaction, error) {
	p, err := b.plan(ctx, r)
	if err != nil {
		return Transaction{}, err
	}
	t, u, err := b.build(ctx, p)
	if err != nil {
		return Transaction{}, err
	}
	b.remember(t.ID, &built{at: b.o.Now(), kind: p.kind, tx: u})
	return t, nil
}

// build builds the transaction of a plan.
func (b *Builder) build(ctx context.Context, p *plan) (Transaction, *txm.Unsigned, error) {
	chainName, err := b.Chain(ctx)
	if err != nil {
		return Transaction{}, nil, err
	}
	var raw [8]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return Transaction{}, nil, fmt.Errorf("random number: %w", err)
	}
	id := p.kind + "-" + hex.EncodeToString(raw[:])
	u, err := b.o.Manager.Build(ctx, txm.Intent{ID: id, Kind: p.kind, Instructions: p.instructions, Payer: b.o.Customer})
	if err != nil {
		return Transaction{}, nil, market.Explain(err)
	}
	return Transaction{
		ID: id, Kind: p.kind, Bytes: u.Bytes, Chain: chainName, Effects: p.effects, USDC: p.usdc.String(), SOL: (p.sol + u.Fee).String(), Fee: u.Fee.String(),
	}, u, nil
}

// remember keeps a transaction, and forgets those that are too old or too many.
func (b *Builder) remember(id string, x *built) {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest, now := "", b.o.Now()
	for id, x := range b.built {
		if now.Sub(x.at) > keep {
			delete(b.built, id)
		} else if oldest == "" || x.at.Before(b.built[oldest].at) {
			oldest = id
		}
	}
	if len(b.built) >= most {
		delete(b.built, oldest)
	}
	b.built[id] = x
}

// Submit sends a transaction that the wallet has signed, and waits for it. Handing it in again sends nothing twice.
// Errors: service.Failure, those of the program.
func (b *Builder) Submit(ctx context.Context, id string, signed []byte) (service.Sent, error) {
	b.mu.Lock()
	x, known := b.built[id]
	b.mu.Unlock()
	if !known {
		return service.Sent{}, service.Refused("the transaction is not known: it was built more than 10 minutes ago, or by a server that has ended",
			"look at the wallet's credits first, then begin again")
	}
	res, err := b.o.Manager.SubmitSigned(ctx, x.tx, signed)
	switch {
	case errors.Is(err, txm.ErrOtherTransaction):
		return service.Sent{}, service.Refused("the wallet has signed another transaction than the one that was shown; nothing was sent",
			"some wallets add instructions of their own: switch that off for this page, or use another wallet")
	case errors.Is(err, txm.ErrSignature):
		return service.Sent{}, service.Refused("the signature is not one of the wallet "+b.o.Customer.String()+"; nothing was sent", "sign with that wallet")
	case errors.Is(err, txm.ErrNotTaken):
		return service.Sent{}, service.Refused("the transaction came too late and never takes effect", "begin again, and sign within a minute")
	case err != nil:
		return service.Sent{}, market.Explain(err)
	}
	out := service.Sent{Kind: x.kind, Signature: res.Signature.String(), Slot: res.Slot, Units: res.Units}
	if e, err := b.o.Client.Explorer(ctx); err == nil {
		out.Explorer = e.Tx(res.Signature)
	}
	return out, nil
}

// Chain is how wallets name the cluster.
func (b *Builder) Chain(ctx context.Context) (string, error) {
	genesis, err := b.o.Client.Genesis(ctx)
	if err != nil {
		return "", err
	}
	return chain.ClusterOf(genesis).WalletStandard(), nil
}

// Funds are what the wallet itself holds.
type Funds struct {
	Wallet  string `json:"wallet"`
	Mint    string `json:"mint"`
	USDC    string `json:"usdc"`
	SOL     string `json:"sol"`
	Session string `json:"sessionSol"` // what the session key pays fees and rent with
}

// Funds reads what the wallet holds.
func (b *Builder) Funds(ctx context.Context) (Funds, error) {
	mk, err := b.o.Service.Load(ctx)
	if err != nil {
		return Funds{}, err
	}
	usdc, err := b.o.Service.TokenBalance(ctx, market.TokenAddress(b.o.Customer, mk.PaymentMint))
	if err != nil {
		return Funds{}, err
	}
	sol, err := b.o.Client.Balance(ctx, b.o.Customer, b.o.Client.Commitment())
	if err != nil {
		return Funds{}, err
	}
	session, err := b.o.Client.Balance(ctx, b.o.Session, b.o.Client.Commitment())
	if err != nil {
		return Funds{}, err
	}
	return Funds{Wallet: b.o.Customer.String(), Mint: mk.PaymentMint.String(), USDC: market.USDC(usdc).String(), SOL: sol.String(), Session: session.String()}, nil
}
