package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	flagAmount   = "amount"
	flagMaxPrice = "max-price"
	// gatewayPay is the kind of the transaction.
	gatewayPay = "gateway_pay"
	// countTime is how long a gateway may take to see a final transaction.
	countTime = 90 * time.Second
)

// toGateway is a payment under way.
type toGateway struct {
	s      *session
	r      *buy.Remote
	lease  market.Lease
	at     solana.PublicKey
	held   *purchase.HeldPayment
	domain records.Domain
	mk     market.Market
}

// paidJSON is a payment that the gateway has counted.
type paidJSON struct {
	Lease   string `json:"lease"`
	Gateway string `json:"gateway"`
	Amount  string `json:"amount"`
	Bytes   uint64 `json:"bytes"`
	// Earlier: a command that was interrupted had begun it.
	Earlier bool       `json:"earlier,omitempty"`
	Tx      sent       `json:"transaction"`
	Terms   *termsJSON `json:"terms,omitempty"`
}

// gatewayPay pays once, or finishes what an earlier command has begun.
func (s *session) gatewayPay() (err error) {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	amount, err := market.ParseUSDC(s.cli.String(flagAmount))
	if err != nil {
		return err
	}
	if amount == 0 {
		return usage("an amount of 0 moves nothing", "give an amount such as 1 or 0.50")
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	p := &toGateway{s: s, r: c.Remote(), lease: c.Lease()}
	if p.mk, err = s.market(); err != nil {
		return err
	}
	if p.domain, err = s.client.Domain(s.ctx); err != nil {
		return err
	}
	if p.at, err = s.gateway(p.r); err != nil {
		return err
	}
	f, err := s.folder()
	if err != nil {
		return err
	}
	if p.held, err = f.HoldPayment(p.at); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.held.Release()) }()
	rec, err := p.held.Read()
	earlier := err == nil
	if errors.Is(err, purchase.ErrNotFound) {
		rec, err = p.begin(amount)
	} else if err == nil {
		err = p.again(rec)
	}
	if err != nil {
		return err
	}
	out, err := p.finish(rec)
	if err != nil {
		return err
	}
	out.Earlier = earlier
	if earlier && rec.Amount != amount {
		return refused(fmt.Sprintf("an earlier command had begun to pay %s USDC, which is finished now (tx %s); %s USDC are not paid", rec.Amount, out.Tx.Signature, amount), "run the command again to pay them too")
	}
	return s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "paid %s USDC to gateway %s for %s   tx %s\n", rec.Amount, p.at, mebibytes(out.Bytes), out.Tx.Signature)
		if out.Terms != nil {
			out.Terms.print(w)
		}
	})
}

// begin checks what can be checked before money moves, asks, and stores the payment.
func (p *toGateway) begin(amount market.USDC) (rec purchase.Payment, err error) {
	s := p.s
	terms, err := p.check()
	if err != nil {
		return rec, err
	}
	wallet := p.r.Wallet().PublicKey()
	have, err := s.tokenBalance(market.TokenAddress(wallet, p.mk.PaymentMint))
	if err != nil {
		return rec, err
	}
	if have < uint64(amount) {
		return rec, refused(fmt.Sprintf("payment refused: %s USDC asked, the wallet %s holds %s", amount, wallet, market.USDC(have)),
			"what you have as credits is not in the wallet: gantry credits withdraw")
	}
	price := market.USDC(terms.Price)
	err = s.confirm("pay      %s USDC to gateway %s (wallet %s), at %s USDC a GiB; nothing gives it back", amount, p.at, solana.PublicKey(terms.Wallet), price)
	if err != nil {
		return rec, err
	}
	now, err := p.check()
	switch {
	case err != nil:
		return rec, err
	case now.Price != terms.Price || now.Wallet != terms.Wallet:
		return rec, refused(fmt.Sprintf("the gateway asks %s USDC a GiB now, and not %s; nothing was sent", market.USDC(now.Price), price), "run the command again if you agree")
	}
	var number [8]byte
	if _, err := rand.Read(number[:]); err != nil {
		return rec, fmt.Errorf("random number: %w", err)
	}
	rec = purchase.Payment{
		Gateway: p.at, Customer: p.lease.Customer, Mint: p.mk.PaymentMint, Wallet: terms.Wallet, Number: binary.BigEndian.Uint64(number[:]),
		Amount: amount, Price: price, Created: time.Now().UTC(),
	}
	if s.dryRun {
		sender, err := s.sender()
		if err != nil {
			return rec, err
		}
		in, err := p.intent(rec, nil)
		if err != nil {
			return rec, err
		}
		return rec, s.simulate(sender, p.held.Transactions(), in)
	}
	return rec, p.held.Write(rec)
}

// check asks for the terms and refuses those that cannot be met.
func (p *toGateway) check() (*messages.GatewayTerms, error) {
	t, err := p.s.termsOf(p.r, p.lease.Address, p.at)
	if err != nil {
		return nil, err
	}
	switch {
	case t == nil || t.Price == 0:
		return nil, refused(fmt.Sprintf("gateway %s asks nothing", p.at), "there is nothing to pay")
	case t.Domain != p.domain:
		return nil, refused(fmt.Sprintf("gateway %s is on another cluster: it would not see your payment", p.at), "choose another gateway, or another --url")
	case solana.PublicKey(t.Mint) != p.mk.PaymentMint:
		return nil, refused(fmt.Sprintf("gateway %s takes another token (mint %s) than this market (mint %s)", p.at, solana.PublicKey(t.Mint), p.mk.PaymentMint), "choose another gateway")
	}
	if text := p.s.cli.String(flagMaxPrice); text != "" {
		most, err := market.ParseUSDC(text)
		if err != nil {
			return nil, err
		}
		if market.USDC(t.Price) > most {
			return nil, refused(fmt.Sprintf("gateway %s asks %s USDC a GiB, you allow %s", p.at, market.USDC(t.Price), most), "raise --max-price, or choose another gateway")
		}
	}
	account := market.TokenAddress(t.Wallet, t.Mint)
	switch _, err := p.s.client.Account(p.s.ctx, account, p.s.client.Commitment()); {
	case errors.Is(err, chain.ErrAccountNotFound):
		return nil, refused(fmt.Sprintf("the gateway's wallet %s has no account for this token (%s): it cannot be paid", solana.PublicKey(t.Wallet), account), "its operator has to create it")
	case err != nil:
		return nil, err
	}
	return t, nil
}

// again goes on with what an earlier command has begun. Its customer has agreed to it then, at the price of then.
func (p *toGateway) again(rec purchase.Payment) error {
	p.s.say(" · an earlier command began to pay %s USDC to this gateway at %s UTC; it is finished first", rec.Amount, when(rec.Created.Unix()))
	if p.s.dryRun {
		return refused("that payment is not finished", "leave --dry-run out to finish it")
	}
	terms, err := p.s.termsOf(p.r, p.lease.Address, p.at)
	if err != nil {
		return err
	}
	if terms != nil && market.USDC(terms.Price) > rec.Price {
		return p.s.confirm("pay      %s USDC to gateway %s, which asks %s USDC a GiB now, and asked %s then", rec.Amount, p.at, market.USDC(terms.Price), rec.Price)
	}
	p.s.agreed = true
	return nil
}

// intent of a payment. It is the same each time, so that it takes effect once.
func (p *toGateway) intent(rec purchase.Payment, found func(solana.Signature)) (txm.Intent, error) {
	purpose := records.Payment{Domain: p.domain, Gateway: rec.Gateway, Customer: rec.Customer, Number: rec.Number}.Purpose()
	transfer, err := ix.GatewayPayment(ix.GatewayPaymentArgs{From: p.r.Wallet().PublicKey(), To: rec.Wallet, Mint: rec.Mint, Amount: rec.Amount, Purpose: purpose})
	return txm.Intent{
		ID: fmt.Sprintf("%s-%d", gatewayPay, rec.Number), Kind: gatewayPay, Instructions: []solana.Instruction{transfer}, Commitment: chain.Finalized,
		ReadBack: func(ctx context.Context) (bool, error) {
			all, err := p.s.client.History(ctx, purpose, chain.Finalized, 0)
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
func (p *toGateway) finish(rec purchase.Payment) (out paidJSON, err error) {
	s := p.s
	if err := s.agreedTo(gatewayPay); err != nil {
		return out, err
	}
	var found solana.Signature
	in, err := p.intent(rec, func(sig solana.Signature) { found = sig })
	if err != nil {
		return out, err
	}
	sender, err := s.sender()
	if err != nil {
		return out, err
	}
	m, closeBoth, err := sender.Open(s.ctx, p.held.Transactions(), 0)
	if err != nil {
		return out, err
	}
	defer func() { closeBoth(true) }()
	out = paidJSON{Lease: p.lease.Address.String(), Gateway: p.at.String(), Amount: rec.Amount.String()}
	if out.Tx, err = sender.Submit(s.ctx, m, in); err != nil {
		if e, gerr := m.Get(in.ID); gerr == nil && e.State == txm.StateFailed && !e.Failure.Uncertain { // it has moved nothing
			err = errors.Join(err, p.held.Forget())
		}
		return out, err
	}
	if !found.IsZero() && out.Tx.Signature == "" {
		out.Tx.Signature = found.String()
	}
	sig, err := solana.SignatureFromBase58(out.Tx.Signature)
	if err != nil {
		return out, fmt.Errorf("signature of the payment: %w", err)
	}
	if out.Bytes, err = p.bring(rec, sig); err != nil {
		return out, err
	}
	if err := p.held.Forget(); err != nil {
		return out, err
	}
	if terms, err := p.s.termsOf(p.r, p.lease.Address, p.at); err == nil { // what is shown besides
		out.Terms = newTerms(terms)
	}
	return out, nil
}

// bring shows a gateway the transaction, until it sees it too.
func (p *toGateway) bring(rec purchase.Payment, sig solana.Signature) (uint64, error) {
	ctx, cancel := context.WithTimeout(p.s.ctx, countTime)
	defer cancel()
	req := messages.GatewayPayRequest{Version: messages.Version, Customer: rec.Customer, Number: rec.Number, Signature: sig}
	for pause := time.Second; ; pause = min(2*pause, 5*time.Second) {
		answer, err := p2p.Call[messages.GatewayPayRequest, messages.GatewayPayAnswer](ctx, p.r.Net, p.at, gatewayPayProtocol, req)
		switch {
		case err == nil && answer.Refused == "":
			return answer.Bytes, nil
		case err == nil && !answer.Later:
			return 0, refused("the gateway does not count your payment: "+answer.Refused,
				fmt.Sprintf("it is on chain (tx %s); ask who runs the gateway, or give it up by removing %s", sig, p.held.Path()))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			why := answer.Refused
			if err != nil {
				why = err.Error()
			}
			return 0, network(fmt.Sprintf("your payment is on chain (tx %s), and the gateway has not counted it yet: %s", sig, why), "run the same command again: nothing is paid twice", err)
		}
	}
}
