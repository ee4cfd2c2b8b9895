package expose

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	// PaymentKind is the kind of the transaction that pays a gateway.
	PaymentKind = "gateway_pay"
	// countTime is how long a gateway may take to see a final transaction.
	countTime = 90 * time.Second
)

// Sender sends transactions of the customer; client/buy has one.
type Sender interface {
	// Open opens a transaction manager on a store of its own, and returns what closes both.
	Open(ctx context.Context, path string, retain time.Duration) (m *txm.Manager, closeBoth func(keep bool), err error)
	// Submit carries an intent to its end.
	Submit(ctx context.Context, m *txm.Manager, in txm.Intent) (service.Sent, error)
}

// Payment is what a customer pays a gateway in advance.
type Payment struct {
	Amount market.USDC
	// MaxPrice is the most for a GiB; nil for any.
	MaxPrice *market.USDC
	// Folder is the wallet's, and keeps a payment that is under way. Sender sends for the wallet.
	Folder *purchase.Folder
	Sender Sender
	// Confirm agrees to what is asked, or is the error that ends the call before anything is sent. Nil agrees.
	Confirm func(ctx context.Context, a Ask) error
	// Continues is told of a payment that an earlier call has begun and that is finished first. It may be nil.
	Continues func(earlier purchase.Payment)
	// Simulate finds what the transaction would do; path is for its store. Nil for a payment that is made: with it,
	// nothing is sent or stored, and what it returns is what Pay returns.
	Simulate func(ctx context.Context, path string, in txm.Intent) error
}

// Check refuses a payment that moves nothing.
func (p *Payment) Check() error {
	if p.Amount == 0 {
		return service.Usage("an amount of 0 moves nothing", "give an amount such as 1 or 0.50")
	}
	return nil
}

// Ask is what somebody agrees to before money moves.
type Ask struct {
	Gateway, Wallet solana.PublicKey
	Amount          market.USDC
	// Price of a GiB now.
	Price market.USDC
	// Then is the price to which the customer has agreed when an earlier call began this payment; nil for a new one.
	Then *market.USDC
}

// Paid is a payment that the gateway has counted.
type Paid struct {
	Lease   string `json:"lease"`
	Gateway string `json:"gateway"`
	Amount  string `json:"amount"`
	Bytes   uint64 `json:"bytes"`
	// Earlier: a command that was interrupted had begun it.
	Earlier bool         `json:"earlier,omitempty"`
	Tx      service.Sent `json:"transaction"`
	Terms   *Terms       `json:"terms,omitempty"`
}

// paying is a payment under way.
type paying struct {
	Payment

	g      *Gateway
	lease  market.Lease
	held   *purchase.HeldPayment
	domain records.Domain
	mint   solana.PublicKey
}

// Pay pays the gateway once, or finishes what an earlier call has begun. Where that was another amount, it returns what
// was finished together with an error.
func (g *Gateway) Pay(ctx context.Context, l market.Lease, want Payment) (out *Paid, err error) {
	if err := want.Check(); err != nil {
		return nil, err
	}
	p := &paying{Payment: want, g: g, lease: l}
	mk, err := g.e.o.Service.Load(ctx)
	if err != nil {
		return nil, err
	}
	p.mint = mk.PaymentMint
	if p.domain, err = g.e.o.Client.Domain(ctx); err != nil {
		return nil, err
	}
	if p.held, err = p.Folder.HoldPayment(g.key); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.held.Release()) }()
	rec, err := p.held.Read()
	earlier := err == nil
	if errors.Is(err, purchase.ErrNotFound) {
		rec, err = p.begin(ctx)
	} else if err == nil {
		err = p.again(ctx, rec)
	}
	if err != nil {
		return nil, err
	}
	if out, err = p.finish(ctx, rec); err != nil {
		return nil, err
	}
	out.Earlier = earlier
	if earlier && rec.Amount != p.Amount {
		return out, service.Refused(fmt.Sprintf("an earlier command had begun to pay %s USDC, which is finished now (tx %s); %s USDC are not paid", rec.Amount, out.Tx.Signature, p.Amount), "run the command again to pay them too")
	}
	return out, nil
}

// wallet pays.
func (p *paying) wallet() solana.PublicKey { return p.g.e.o.Key.PublicKey() }

func (p *paying) confirm(ctx context.Context, a Ask) error {
	if p.Confirm == nil {
		return nil
	}
	return p.Confirm(ctx, a)
}

// begin checks what can be checked before money moves, asks, and stores the payment.
func (p *paying) begin(ctx context.Context) (rec purchase.Payment, err error) {
	terms, err := p.check(ctx)
	if err != nil {
		return rec, err
	}
	have, err := p.g.e.o.Service.TokenBalance(ctx, market.TokenAddress(p.wallet(), p.mint))
	if err != nil {
		return rec, err
	}
	if have < uint64(p.Amount) {
		return rec, service.Refused(fmt.Sprintf("payment refused: %s USDC asked, the wallet %s holds %s", p.Amount, p.wallet(), market.USDC(have)),
			"what you have as credits is not in the wallet: gantry credits withdraw")
	}
	price := market.USDC(terms.Price)
	if err := p.confirm(ctx, Ask{Gateway: p.g.key, Wallet: terms.Wallet, Amount: p.Amount, Price: price}); err != nil {
		return rec, err
	}
	now, err := p.check(ctx)
	switch {
	case err != nil:
		return rec, err
	case now.Price != terms.Price || now.Wallet != terms.Wallet:
		return rec, service.Refused(fmt.Sprintf("the gateway asks %s USDC a GiB now, and not %s; nothing was sent", market.USDC(now.Price), price), "run the command again if you agree")
	}
	var number [8]byte
	if _, err := rand.Read(number[:]); err != nil {
		return rec, fmt.Errorf("random number: %w", err)
	}
	rec = purchase.Payment{
		Gateway: p.g.key, Customer: p.lease.Customer, Mint: p.mint, Wallet: terms.Wallet, Number: binary.BigEndian.Uint64(number[:]),
		Amount: p.Amount, Price: price, Created: time.Now().UTC(),
	}
	if p.Simulate != nil {
		in, err := p.intent(rec, nil)
		if err != nil {
			return rec, err
		}
		return rec, p.Simulate(ctx, p.held.Transactions(), in)
	}
	return rec, p.held.Write(rec)
}

// check asks for the terms and refuses those that cannot be met.
func (p *paying) check(ctx context.Context) (*messages.GatewayTerms, error) {
	t, err := p.g.terms(ctx, p.lease.Address)
	if err != nil {
		return nil, err
	}
	gateway := p.g.key
	switch {
	case t == nil || t.Price == 0:
		return nil, service.Refused(fmt.Sprintf("gateway %s asks nothing", gateway), "there is nothing to pay")
	case t.Domain != p.domain:
		return nil, service.Refused(fmt.Sprintf("gateway %s is on another cluster: it would not see your payment", gateway), "choose another gateway, or another --url")
	case solana.PublicKey(t.Mint) != p.mint:
		return nil, service.Refused(fmt.Sprintf("gateway %s takes another token (mint %s) than this market (mint %s)", gateway, solana.PublicKey(t.Mint), p.mint), "choose another gateway")
	case p.MaxPrice != nil && market.USDC(t.Price) > *p.MaxPrice:
		return nil, service.Refused(fmt.Sprintf("gateway %s asks %s USDC a GiB, you allow %s", gateway, market.USDC(t.Price), *p.MaxPrice), "raise --max-price, or choose another gateway")
	}
	account := market.TokenAddress(t.Wallet, t.Mint)
	switch _, err := p.g.e.o.Client.Account(ctx, account, p.g.e.o.Client.Commitment()); {
	case errors.Is(err, chain.ErrAccountNotFound):
		return nil, service.Refused(fmt.Sprintf("the gateway's wallet %s has no account for this token (%s): it cannot be paid", solana.PublicKey(t.Wallet), account), "its operator has to create it")
	case err != nil:
		return nil, err
	}
	return t, nil
}

// again goes on with what an earlier call has begun. Its customer has agreed to it then, at the price of then.
func (p *paying) again(ctx context.Context, rec purchase.Payment) error {
	if p.Continues != nil {
		p.Continues(rec)
	}
	if p.Simulate != nil {
		return service.Refused("that payment is not finished", "leave --dry-run out to finish it")
	}
	terms, err := p.g.terms(ctx, p.lease.Address)
	if err != nil || terms == nil || market.USDC(terms.Price) <= rec.Price {
		return err
	}
	return p.confirm(ctx, Ask{Gateway: p.g.key, Wallet: rec.Wallet, Amount: rec.Amount, Price: market.USDC(terms.Price), Then: &rec.Price})
}

// intent of a payment. It is the same each time, so that it takes effect once.
func (p *paying) intent(rec purchase.Payment, found func(solana.Signature)) (txm.Intent, error) {
	purpose := records.Payment{Domain: p.domain, Gateway: rec.Gateway, Customer: rec.Customer, Number: rec.Number}.Purpose()
	transfer, err := ix.GatewayPayment(ix.GatewayPaymentArgs{From: p.wallet(), To: rec.Wallet, Mint: rec.Mint, Amount: rec.Amount, Purpose: purpose})
	return txm.Intent{
		ID: fmt.Sprintf("%s-%d", PaymentKind, rec.Number), Kind: PaymentKind, Instructions: []solana.Instruction{transfer}, Commitment: chain.Finalized,
		ReadBack: func(ctx context.Context) (bool, error) {
			all, err := p.g.e.o.Client.History(ctx, purpose, chain.Finalized, 0)
			for i := len(all) - 1; i >= 0; i-- { // others can name the address once they have seen it: the first is ours
				if all[i].Err == nil {
					found(all[i].Signature)
					return true, nil
				}
			}
			return false, err
		},
	}, err
}

// finish sends a payment that is stored, unless it was sent, and brings it to the gateway.
func (p *paying) finish(ctx context.Context, rec purchase.Payment) (*Paid, error) {
	var found solana.Signature
	in, err := p.intent(rec, func(sig solana.Signature) { found = sig })
	if err != nil {
		return nil, err
	}
	m, closeBoth, err := p.Sender.Open(ctx, p.held.Transactions(), 0)
	if err != nil {
		return nil, err
	}
	defer func() { closeBoth(true) }()
	out := &Paid{Lease: p.lease.Address.String(), Gateway: p.g.key.String(), Amount: rec.Amount.String()}
	if out.Tx, err = p.Sender.Submit(ctx, m, in); err != nil {
		if e, gerr := m.Get(in.ID); gerr == nil && e.State == txm.StateFailed && !e.Failure.Uncertain { // it has moved nothing
			err = errors.Join(err, p.held.Forget())
		}
		return nil, err
	}
	if !found.IsZero() && out.Tx.Signature == "" {
		out.Tx.Signature = found.String()
	}
	sig, err := solana.SignatureFromBase58(out.Tx.Signature)
	if err != nil {
		return nil, fmt.Errorf("signature of the payment: %w", err)
	}
	if out.Bytes, err = p.bring(ctx, rec, sig); err != nil {
		return nil, err
	}
	if err := p.held.Forget(); err != nil {
		return nil, err
	}
	if terms, err := p.g.Terms(ctx, p.lease.Address); err == nil { // what is shown besides
		out.Terms = terms
	}
	return out, nil
}

// bring shows a gateway the transaction, until it sees it too.
func (p *paying) bring(ctx context.Context, rec purchase.Payment, sig solana.Signature) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	req := messages.GatewayPayRequest{Version: messages.Version, Customer: rec.Customer, Number: rec.Number, Signature: sig}
	for pause := time.Second; ; pause = min(2*pause, 5*time.Second) {
		answer, err := p2p.Call[messages.GatewayPayRequest, messages.GatewayPayAnswer](ctx, p.g.e.o.Net, p.g.key, payProtocol, req)
		switch {
		case err == nil && answer.Refused == "":
			return answer.Bytes, nil
		case err == nil && !answer.Later:
			return 0, service.Refused("the gateway does not count your payment: "+answer.Refused,
				fmt.Sprintf("it is on chain (tx %s); ask who runs the gateway, or give it up by removing %s", sig, p.held.Path()))
		}
		if wait.For(ctx, pause) != nil {
			why := answer.Refused
			if err != nil {
				why = err.Error()
			}
			return 0, service.Network(fmt.Sprintf("your payment is on chain (tx %s), and the gateway has not counted it yet: %s", sig, why), "run the same command again: nothing is paid twice", err)
		}
	}
}
