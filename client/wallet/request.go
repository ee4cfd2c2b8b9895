package wallet

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Request is what the wallet wants to do. Deposit and Authorise may come together, as one transaction; anything else is
// one of its own.
type Request struct {
	Deposit   string     `json:"deposit,omitempty" maxLength:"24" doc:"USDC from the wallet into its credits"`
	Authorise *Authorise `json:"authorise,omitempty" doc:"Lets the server's session key reserve credits"`
	Withdraw  string     `json:"withdraw,omitempty" maxLength:"24" doc:"USDC from the credits into the wallet, or all"`
	Revoke    bool       `json:"revoke,omitempty" doc:"Takes the session key's powers back"`
	Rate      *Rate      `json:"rate,omitempty"`
	Dispute   *Dispute   `json:"dispute,omitempty"`
}

// Authorise names the session key.
type Authorise struct {
	Cap     string `json:"cap" maxLength:"24" doc:"The most USDC that it may reserve in all"`
	Seconds int64  `json:"seconds" minimum:"60" maximum:"31536000" doc:"For how long"`
	Fund    string `json:"fund,omitempty" maxLength:"24" doc:"SOL that it gets of the wallet for fees and rent"`
}

// plan is what a request comes to.
type plan struct {
	kind         string
	instructions []solana.Instruction
	effects      []string
	usdc         market.USDC
	sol          chain.Lamports // rent and transfers, without the fee
}

func (p *plan) add(i solana.Instruction, err error) error {
	if err == nil {
		p.instructions = append(p.instructions, i)
	}
	return err
}

func (p *plan) say(format string, args ...any) {
	p.effects = append(p.effects, fmt.Sprintf(format, args...))
}

// plan builds the instructions of a request, and says what they do.
func (b *Builder) plan(ctx context.Context, r Request) (*plan, error) {
	asked := 0
	for _, is := range []bool{r.Deposit != "" || r.Authorise != nil, r.Withdraw != "", r.Revoke, r.Rate != nil, r.Dispute != nil} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return nil, service.Usage(fmt.Sprintf("the request asks for %d things, and a transaction does one", asked), "deposit and authorise may come together, anything else comes alone")
	}
	c, exists, err := query.Find[market.Credits](ctx, b.o.Client, market.CreditsAddress(b.o.Customer), b.o.Client.Commitment())
	if err != nil {
		return nil, err
	}
	p := &plan{}
	switch {
	case r.Withdraw != "":
		err = b.withdraw(ctx, p, r.Withdraw, c, exists)
	case r.Revoke:
		err = b.revoke(p, c)
	case r.Rate != nil:
		err = b.rate(ctx, p, *r.Rate)
	case r.Dispute != nil:
		err = b.dispute(ctx, p, *r.Dispute, c)
	default:
		if r.Deposit != "" {
			err = b.deposit(ctx, p, r.Deposit, exists)
		}
		if err == nil && r.Authorise != nil {
			err = b.authorise(ctx, p, *r.Authorise, c, exists || r.Deposit != "")
		}
	}
	return p, err
}

func (b *Builder) deposit(ctx context.Context, p *plan, text string, exists bool) error {
	amount, err := market.ParseUSDC(text)
	if err != nil {
		return err
	}
	return b.depositOf(ctx, p, amount, exists)
}

func (b *Builder) depositOf(ctx context.Context, p *plan, amount market.USDC, exists bool) error {
	if amount == 0 {
		return service.Usage("a deposit of 0 moves nothing", "give an amount such as 25 or 12.50")
	}
	mk, err := b.o.Service.Load(ctx)
	if err != nil {
		return err
	}
	have, err := b.o.Service.TokenBalance(ctx, market.TokenAddress(b.o.Customer, mk.PaymentMint))
	if err != nil {
		return err
	}
	if market.USDC(have) < amount {
		return service.Refused(fmt.Sprintf("deposit refused: %s USDC asked, the wallet %s holds %s", amount, b.o.Customer, market.USDC(have)),
			fmt.Sprintf("send %s USDC (mint %s) to it first", amount-market.USDC(have), mk.PaymentMint))
	}
	p.kind, p.usdc = "credits_deposit", amount
	p.say("Moves %s USDC from the wallet into its credits. Only orders reserve them; what is free can be withdrawn at any time.", amount)
	if !exists {
		account, err := bindings.Credits{}.Marshal()
		if err != nil {
			return fmt.Errorf("size of the credits account: %w", err)
		}
		rent, err := b.rent(ctx, discriminatorBytes+uint64(len(account)), tokenBytes)
		if err != nil {
			return err
		}
		p.sol += rent
		p.say("Opens the credits account of the wallet. Its rent of %s comes back when it is closed.", rent)
	}
	return p.add(ix.CreditsDeposit(ix.CreditsArgs{Customer: b.o.Customer, PaymentMint: mk.PaymentMint, Amount: amount}))
}

const (
	discriminatorBytes = 8   // before the fields of an account of the program
	tokenBytes         = 165 // a token account of SPL
)

// rent is that of accounts of these sizes.
func (b *Builder) rent(ctx context.Context, sizes ...uint64) (chain.Lamports, error) {
	var sum chain.Lamports
	for _, n := range sizes {
		rent, err := b.o.Client.MinimumRent(ctx, n, b.o.Client.Commitment())
		if err != nil {
			return 0, err
		}
		sum += rent
	}
	return sum, nil
}

func (b *Builder) authorise(ctx context.Context, p *plan, a Authorise, c market.Credits, credits bool) error {
	most, err := market.ParseUSDC(a.Cap)
	if err != nil || most == 0 {
		return service.Usage(fmt.Sprintf("the cap %q is not an amount of USDC", a.Cap), "give one such as 25")
	}
	if !credits {
		return service.Refused("this wallet has no credits, and only those can be reserved", "deposit some in the same transaction")
	}
	now, err := b.o.Client.Now(ctx)
	if err != nil {
		return err
	}
	until := time.Unix(now+int64(a.Seconds), 0)
	if p.kind == "" {
		p.kind = "credits_set_session_key"
	}
	p.say("Lets the server's session key %s reserve at most %s USDC of the credits in all, until %s UTC. It orders, extends and ends leases and signs receipts; it cannot withdraw.",
		b.o.Session, most, until.UTC().Format(time.DateTime))
	if k, named := c.SessionKeyOf(b.o.Session); named && k.Spent > 0 {
		p.say("Of this cap the key has used %s USDC already.", market.USDC(k.Spent))
	}
	if err := p.add(ix.CreditsSetSessionKey(ix.SessionKeyArgs{Customer: b.o.Customer, Key: b.o.Session, Cap: most, Expiry: until.Unix()})); err != nil || a.Fund == "" {
		return err
	}
	fund, err := chain.ParseSOL(a.Fund)
	if err != nil {
		return service.Usage(fmt.Sprintf("%q is not an amount of SOL", a.Fund), "give one such as 0.05")
	}
	if fund == 0 {
		return nil
	}
	p.sol += fund
	p.say("Sends %s to the session key, which pays fees and the rent of orders with it. The rent comes back to that key.", fund)
	return p.add(system.NewTransferInstruction(uint64(fund), b.o.Customer, b.o.Session).Build(), nil)
}

func (b *Builder) withdraw(ctx context.Context, p *plan, text string, c market.Credits, exists bool) error {
	amount := c.Free()
	if text != "all" {
		var err error
		if amount, err = market.ParseUSDC(text); err != nil {
			return err
		}
	}
	switch {
	case !exists:
		return service.Refused("withdrawal refused: this wallet has no credits", "deposit some first")
	case amount == 0:
		return service.Usage("a withdrawal of 0 moves nothing", "free credits: "+c.Free().String()+" USDC")
	case amount > c.Free():
		return service.Refused(fmt.Sprintf("withdrawal refused: %s USDC asked, %s free", amount, c.Free()), "leases and orders hold the rest: withdraw what is free")
	}
	mk, err := b.o.Service.Load(ctx)
	if err != nil {
		return err
	}
	p.kind = "credits_withdraw"
	p.say("Moves %s USDC from the credits into the wallet.", amount)
	p.instructions = append(p.instructions, ix.CreateTokenAccount(b.o.Customer, b.o.Customer, mk.PaymentMint))
	return p.add(ix.CreditsWithdraw(ix.CreditsArgs{Customer: b.o.Customer, PaymentMint: mk.PaymentMint, Amount: amount}))
}

func (b *Builder) revoke(p *plan, c market.Credits) error {
	if _, named := c.SessionKeyOf(b.o.Session); !named {
		return service.Refused("the server's session key has no powers of this wallet", "")
	}
	p.kind = "credits_set_session_key"
	p.say("Takes the powers of the server's session key %s back. Its leases run on; the server can neither order nor stop until it is authorised again.", b.o.Session)
	return p.add(ix.CreditsSetSessionKey(ix.SessionKeyArgs{Customer: b.o.Customer, Key: b.o.Session}))
}
