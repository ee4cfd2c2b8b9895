package buy

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// checkCredits compares the reservation with the free credits.
func (d *deal) checkCredits() error {
	c, err := d.b.credits(d.ctx, d.r.args.Customer)
	if err != nil {
		return err
	}
	if k, ok := c.SessionKeyOf(d.r.args.Authority); ok && d.r.cost > market.USDC(k.Cap-min(k.Cap, k.Spent)) {
		return refused(fmt.Sprintf("order refused: %s USDC needed, %s of the session key's %s are left", d.r.cost,
			market.USDC(k.Cap-min(k.Cap, k.Spent)), market.USDC(k.Cap)), "the customer raises it with: gantry session add, or lower --hours / --max-price")
	}
	if d.r.cost <= c.Free() {
		return nil
	}
	missing := d.r.cost - c.Free()
	return refused(fmt.Sprintf("order refused: %s USDC needed, %s free%s", d.r.cost, c.Free(), service.ReservedBy(c)),
		fmt.Sprintf("add %s with: gantry credits add %s      or lower --hours / --max-price", missing, missing))
}

// checkNodes finds nodes that could be awarded now, so that an order without a suitable node is never placed.
func (d *deal) checkNodes() (*fitting, error) {
	now, err := d.b.client.Now(d.ctx)
	if err != nil {
		return nil, err
	}
	if d.mk.Paused&market.PauseOrders != 0 {
		return nil, market.Refusal(market.CodeOrdersPaused)
	}
	v, err := d.b.service.Snapshot(d.ctx, view.With(nodesOf(d.r.models)))
	if err != nil {
		return nil, err
	}
	cheapest := market.PricePerHour(0)
	why, largest := map[string]int{}, share{}
	fit := fitting{models: service.ModelsOf(v, &d.r.args.Requirement), now: now} // as they are now
	d.r.nodes(d.mk, d.order, v, fit.models, now, func(n market.Node, err error) {
		if err == nil {
			fit.nodes = append(fit.nodes, n)
			return
		}
		why[service.Unsuitable(err)]++
		if ask := n.AskFor(d.r.args.Interruptible); market.Is(err, market.CodePriceTooHigh) && (cheapest == 0 || ask < cheapest) {
			cheapest = ask
		}
		if market.Is(err, market.CodeUnsuitableShare) {
			largest.widen(&n, d.r.args.GPUsPerNode)
		}
	})
	if len(fit.nodes) >= int(d.r.args.Nodes) {
		return &fit, nil
	}
	search := "gpu=" + d.r.modelNamed(d.r.args.Requirement.Models[0])
	advice := "see: gantry search " + search
	switch {
	case cheapest != 0 && len(why) == 1:
		advice = fmt.Sprintf("the lowest ask is %s USDC per GPU-hour: raise --max-price, or wait", cheapest)
	case why[service.NoSpot] > 0:
		advice = "see: gantry search spot " + search + "      or order without --spot"
	case why[service.SmallShare] > 0:
		advice = d.r.shareAdvice(largest)
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.MinIsolation == uint8(market.Volumes):
		advice = "a volume needs nodes that run containers with encrypted volumes; " + advice + " volumes"
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.MinIsolation > 0:
		advice = "an image needs nodes that run containers; " + advice + " sandbox"
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.AllowSimulated == 0:
		advice = "on a local network pass --allow-simulated; " + advice
	}
	return nil, noMachine(fmt.Sprintf("order refused: %s can serve %d×%s now, %d needed%s", service.Plural(len(fit.nodes), "node"), d.r.args.GPUsPerNode,
		service.NamesOf(d.r.models), d.r.args.Nodes, service.Unfit(why)), advice)
}

// place sends the order, unless an earlier command has. Order, nonce and job are stored before anything is sent:
// whoever goes on with the purchase sends the same order, of which there can be one.
func (d *deal) place() error {
	if d.p.Stage != purchase.Intended {
		return nil
	}
	ixs, err := d.instructions()
	if err != nil {
		return err
	}
	in := txm.Intent{ID: "order_create-" + d.order.String(), Kind: "order_create", Instructions: ixs, ReadBack: func(context.Context) (bool, error) {
		_, exists, err := d.onChain()
		return exists, err
	}}
	if d.b.o.DryRun {
		return d.simulate(ixs)
	}
	send := d.b.sender()
	m, closeBoth, err := send.Open(d.ctx, d.held.Transactions(), 0)
	if err != nil {
		return err
	}
	defer closeBoth(true)
	if !Unknown(m, in.ID) {
		if err := d.mayPlace(); err != nil {
			return err
		}
	}
	if err := d.claimVolume(); err != nil { // also again: a claim without an order ends
		return err
	}
	if !Unknown(m, in.ID) {
		if err := d.store(purchase.Intended); err != nil {
			return err
		}
	}
	tx, err := send.Submit(d.ctx, m, in)
	if err != nil {
		if e, gerr := m.Get(in.ID); gerr == nil && e.State == txm.StateFailed && !e.Failure.Uncertain {
			return d.over(false, err)
		}
		return err
	}
	d.out.Tx = tx
	d.b.tell(Placed{Order: d.order, Reserved: d.r.cost, Signature: tx.Signature})
	return d.store(purchase.Placed)
}

// simulate checks that the order can be placed, and reports what its transaction would do.
func (d *deal) simulate(ixs []solana.Instruction) error {
	if err := d.mayPlace(); err != nil {
		return err
	}
	in, err := NewIntent("order_create", ixs)
	if err != nil {
		return err
	}
	return d.b.simulate(d.ctx, in)
}

// dial joins the network once.
func (d *deal) dial() (err error) {
	if d.remote == nil {
		if d.remote, err = d.b.dial(d.ctx, d.v); err == nil {
			d.exposed, d.stopExposing = context.WithCancel(d.ctx)
			d.closers = append(d.closers, d.remote.Close, d.endExposing)
		}
	}
	return err
}

// mayPlace checks that the order can be placed and served, and asks.
func (d *deal) mayPlace() error {
	if err := d.checkCredits(); err != nil {
		return err
	}
	fit, err := d.checkNodes()
	if err != nil {
		return err
	}
	if !d.p.After.IsZero() || !d.p.Joins.IsZero() { // the account of the first order may have ended since
		if _, err := registryCredential(d.ctx, d.r.job.Image, d.b.registryOf(&d.p)); err != nil {
			return err
		}
	}
	if d.dial() == nil { // where no keeper can be asked, none awards the order
		if err := d.remote.understood(d.ctx); err != nil {
			return err
		}
		d.out.Image = d.imageRuns(fit)
	}
	if d.r.noPrice {
		d.b.tell(PriceTaken{Price: d.r.args.MaxPrice, Model: d.r.models[0].ModelName()})
	}
	if d.r.noTime {
		d.b.tell(TimeTaken{Seconds: d.r.args.Duration})
	}
	if d.b.o.Confirm == nil || d.b.o.DryRun || !d.p.After.IsZero() { // an order that follows another has its terms
		return nil
	}
	return d.b.o.Confirm(d.ctx, Offer{
		Nodes: d.r.args.Nodes, GPUs: d.r.args.GPUsPerNode, Model: service.NamesOf(d.r.models), Needs: d.r.needs(), Seconds: d.r.args.Duration, MaxPrice: d.r.args.MaxPrice,
		Cost: d.r.cost,
	})
}

// instructions create the order and, for a sealed one, open its auction.
func (d *deal) instructions() ([]solana.Instruction, error) {
	create, err := ix.OrderCreate(d.r.args)
	if err != nil || !d.r.args.Sealed {
		return []solana.Instruction{create}, err
	}
	open, err := ix.AuctionOpen(ix.AuctionOpenArgs{
		Customer: d.r.args.Customer, Authority: d.r.args.Authority, Order: d.order, Auction: d.r.auction, Reveal: d.r.reveal,
	})
	return []solana.Instruction{create, open}, err
}
