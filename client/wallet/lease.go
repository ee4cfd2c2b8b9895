package wallet

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Rate rates a lease.
type Rate struct {
	Lease string `json:"lease" maxLength:"44"`
	Stars uint8  `json:"stars" minimum:"1" maximum:"5"`
}

// Dispute disputes a lease.
type Dispute struct {
	Lease string `json:"lease" maxLength:"44"`
	Kind  string `json:"kind" enum:"not-delivered,bad-output"`
	Text  string `json:"text" minLength:"1" maxLength:"65536" doc:"What is wrong; its sha256 goes on chain, and keepers are to be given the text"`
}

func (b *Builder) rate(ctx context.Context, p *plan, r Rate) error {
	l, err := b.lease(ctx, r.Lease)
	if err != nil {
		return err
	}
	p.say("Rates the lease %s with %d of 5. A lease is rated once, and the rating counts for the node's reputation.", l.Address, r.Stars)
	d, err := b.desk(ctx)
	if err != nil {
		return err
	}
	return p.take(d.Rate(&l, r.Stars))
}

// lease is one of the customer.
func (b *Builder) lease(ctx context.Context, text string) (market.Lease, error) {
	key, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return market.Lease{}, service.Usage(text+" is not the address of a lease", "copy it from the list of leases")
	}
	l, exists, err := query.Find[market.Lease](ctx, b.o.Client, key, b.o.Client.Commitment())
	if err == nil && (!exists || l.Customer != b.o.Customer) {
		err = service.Refused(fmt.Sprintf("the wallet has no lease %s, or it is closed", key), "look at the list of leases")
	}
	return l, err
}

// dispute opens the dispute of a lease.
func (b *Builder) dispute(ctx context.Context, p *plan, r Dispute) error {
	kind, err := market.ParseDisputeKind(r.Kind)
	if err != nil {
		return service.Usage(err.Error(), "give not-delivered or bad-output")
	}
	if len(r.Text) > messages.MaxComplaint {
		return service.Usage(fmt.Sprintf("the text has more than %d KiB", messages.MaxComplaint>>10), "say it in less, and name longer material by its sha256")
	}
	l, err := b.lease(ctx, r.Lease)
	if err != nil {
		return err
	}
	n, err := query.Fetch[market.Node](ctx, b.o.Client, l.Node, b.o.Client.Commitment())
	if err != nil {
		return err
	}
	d, err := b.desk(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(r.Text))
	a, deposit, err := dispute.Open(ctx, d, &n, &l, kind, hash)
	if err != nil {
		return err
	}
	p.say("Disputes the lease %s (%s), which can be done once. The keepers vote on it.", l.Address, kind)
	p.say("Reserves a deposit of %s USDC of the credits until the dispute is closed, %s after it is opened at the latest. It is lost if the keepers reject the dispute, and a quarter of it if they do not decide.",
		deposit, market.Seconds(d.Market.Params.AppealSecs))
	p.say("An upheld dispute slashes the node's stake, from which you are compensated. What the lease was paid is not paid back.")
	p.say("Names your text by its sha256 %x. The text itself goes to the keepers, who pass it on to the provider and to each other.", hash)
	return p.take(a, nil)
}
