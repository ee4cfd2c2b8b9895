package wallet

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
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

// take adds the instructions of an action.
func (p *plan) take(a operate.Action, err error) error {
	if err != nil {
		return err
	}
	if p.kind == "" {
		p.kind = a.Kind
	}
	p.instructions = append(p.instructions, a.Instructions...)
	return nil
}

// desk builds the wallet's actions.
func (b *Builder) desk(ctx context.Context) (*operate.Desk, error) {
	mk, err := b.o.Service.Load(ctx)
	return &operate.Desk{Client: b.o.Client, Service: b.o.Service, Market: mk, Key: b.o.Customer}, err
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
		err = b.withdraw(ctx, p, r.Withdraw, c)
	case r.Revoke:
		err = b.revoke(ctx, p, c)
	case r.Rate != nil:
		err = b.rate(ctx, p, *r.Rate)
	case r.Dispute != nil:
		err = b.dispute(ctx, p, *r.Dispute)
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
	d, err := b.desk(ctx)
	if err != nil {
		return err
	}
	if err := p.take(d.Deposit(ctx, amount)); err != nil {
		return err
	}
	p.usdc = amount
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
	return nil
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
	p.say("Lets the server's session key %s reserve at most %s USDC of the credits in all, until %s UTC. It orders, extends and ends leases and signs receipts; it cannot withdraw.",
		b.o.Session, most, until.UTC().Format(time.DateTime))
	if k, named := c.SessionKeyOf(b.o.Session); named && k.Spent > 0 {
		p.say("Of this cap the key has used %s USDC already.", market.USDC(k.Spent))
	}
	var fund chain.Lamports
	if a.Fund != "" {
		if fund, err = chain.ParseSOL(a.Fund); err != nil {
			return service.Usage(fmt.Sprintf("%q is not an amount of SOL", a.Fund), "give one such as 0.05")
		}
	}
	if fund > 0 {
		p.sol += fund
		p.say("Sends %s to the session key, which pays fees and the rent of orders with it. The rent comes back to that key.", fund)
	}
	d, err := b.desk(ctx)
	if err != nil {
		return err
	}
	return p.take(d.SetSessionKey(ctx, operate.SessionKey{Key: b.o.Session, Cap: most, Expiry: until.Unix(), Fund: fund}))
}

func (b *Builder) withdraw(ctx context.Context, p *plan, text string, c market.Credits) error {
	amount := c.Free()
	if text != "all" {
		var err error
		if amount, err = market.ParseUSDC(text); err != nil {
			return err
		}
	}
	d, err := b.desk(ctx)
	if err != nil {
		return err
	}
	p.say("Moves %s USDC from the credits into the wallet.", amount)
	return p.take(d.Withdraw(ctx, amount, false))
}

func (b *Builder) revoke(ctx context.Context, p *plan, c market.Credits) error {
	if _, named := c.SessionKeyOf(b.o.Session); !named {
		return service.Refused("the server's session key has no powers of this wallet", "")
	}
	p.say("Takes the powers of the server's session key %s back. Its leases run on; the server can neither order nor stop until it is authorised again.", b.o.Session)
	d, err := b.desk(ctx)
	if err != nil {
		return err
	}
	return p.take(d.RemoveSessionKey(ctx, b.o.Session))
}
