package cli

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// checkCredits compares the reservation with the free credits.
func (d *deployment) checkCredits() error {
	c, _, err := d.s.credits(d.r.args.Customer)
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
	return refused(fmt.Sprintf("order refused: %s USDC needed, %s free%s", d.r.cost, c.Free(), reservedBy(c)),
		fmt.Sprintf("add %s with: gantry credits add %s      or lower --hours / --max-price", missing, missing))
}

// checkNodes looks for nodes that could be awarded now, so that an order without a suitable node is never placed.
func (d *deployment) checkNodes() error {
	now, err := d.s.now()
	if err != nil {
		return err
	}
	if d.mk.Paused&market.PauseOrders != 0 {
		return market.Refusal(market.CodeOrdersPaused)
	}
	order := market.Order{Meta: market.Meta{Address: d.order}}
	order.Status, order.AwardDeadline = uint8(market.OrderOpen), now+1
	order.MaxPrice, order.GpusPerNode, order.Requirement = uint64(d.r.args.MaxPrice), d.r.args.GPUsPerNode, d.r.args.Requirement
	mk := d.mk
	mk.Paused = 0
	fit := 0
	why := map[string]int{}
	cheapest := uint64(0)
	v, err := d.s.snapshot(view.With([]chain.Filter{query.NodesOfModel(d.r.model.Id)}))
	if err != nil {
		return err
	}
	for _, n := range v.Nodes() {
		m, ok := v.Model(n.Spec.Model)
		p, known := v.Provider(n.Provider)
		if !ok || !known || m.Id != d.r.model.Id {
			continue
		}
		suits := market.Awardable
		if d.r.args.Sealed { // the node bids a price of its own
			suits = market.Biddable
		}
		err := suits(&mk, &order, &n, &p, &m, now)
		if err == nil && !volumeFits(d.r.job.Volume, &n, d.r.args.GPUsPerNode) {
			why["too little disk for the volume"]++
			continue
		}
		if err == nil {
			fit++
			continue
		}
		why[unsuitable(err)]++
		if market.Is(err, market.CodePriceTooHigh) && (cheapest == 0 || n.Price < cheapest) {
			cheapest = n.Price
		}
	}
	if fit >= int(d.r.args.Nodes) {
		return nil
	}
	advice := "see: gantry search gpu=" + d.r.model.ModelName()
	switch {
	case cheapest != 0 && len(why) == 1:
		advice = fmt.Sprintf("the lowest ask is %s USDC per GPU-hour: raise --max-price, or wait", market.PricePerHour(cheapest))
	case why["too little disk for the volume"] > 0:
		advice = fmt.Sprintf("make the volume smaller than %d MiB, or order more GPUs of a node: each comes with its share of the disk", d.r.job.Volume.MiB)
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.MinIsolation == uint8(market.Volumes):
		advice = "a volume needs nodes that run containers with encrypted volumes; " + advice + " volumes"
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.MinIsolation > 0:
		advice = "an image needs nodes that run containers; " + advice + " sandbox"
	case why["simulated or other hardware"] > 0 && d.r.args.Requirement.AllowSimulated == 0:
		advice = "on a local network pass --allow-simulated; " + advice
	}
	return refused(fmt.Sprintf("order refused: %s can serve %d×%s now, %d needed%s", plural(fit, "node"), d.r.args.GPUsPerNode,
		d.r.model.ModelName(), d.r.args.Nodes, service.Unfit(why)), advice)
}

// place sends the order, unless an earlier command has. Order, nonce and job are stored before anything is sent: whoever
// goes on with the purchase sends the same order, of which there can be one.
func (d *deployment) place() error {
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
	if d.s.dryRun {
		if err := d.mayPlace(); err != nil {
			return err
		}
		_, err := d.s.send(in.Kind, ixs)
		return err
	}
	m, closeBoth, err := d.s.manager(d.held.Transactions())
	if err != nil {
		return err
	}
	defer closeBoth(true)
	if !d.s.unknown(m, in.ID) {
		if err := d.mayPlace(); err != nil {
			return err
		}
		if err := d.store(purchase.Intended); err != nil {
			return err
		}
	}
	tx, err := d.s.submit(m, in)
	if err != nil {
		if e, gerr := m.Get(in.ID); gerr == nil && e.State == txm.StateFailed && !e.Failure.Uncertain {
			return d.over(false, err)
		}
		return err
	}
	d.out.Tx = tx
	d.s.say(" ✓ escrow   %s USDC reserved        tx %s", d.r.cost, tx.Signature)
	return d.store(purchase.Placed)
}

// dial joins the network once.
func (d *deployment) dial() (err error) {
	if d.remote == nil {
		d.remote, err = d.s.dial(d.v)
	}
	return err
}

// mayPlace checks that the order can be placed and served, and asks.
func (d *deployment) mayPlace() error {
	if err := d.checkCredits(); err != nil {
		return err
	}
	if err := d.checkNodes(); err != nil {
		return err
	}
	if d.dial() == nil { // where no keeper can be asked, none awards the order
		if err := d.remote.understood(d.s.ctx); err != nil {
			return err
		}
	}
	if d.r.noPrice {
		d.s.say(" · price    at most %s USDC per GPU-hour, the reference price of %s", d.r.args.MaxPrice, d.r.model.ModelName())
	}
	if d.r.noTime {
		d.s.say(" · time     %s, since none was given; --hours or --duration choose another, and gantry stop ends it sooner", span(int64(d.r.args.Duration)))
	}
	return d.s.confirm("order    %s × %d×%s for %s at %s USDC per GPU-hour at most: %s USDC of the credits are reserved",
		plural(int(d.r.args.Nodes), "node"), d.r.args.GPUsPerNode, d.r.model.ModelName(), span(int64(d.r.args.Duration)), d.r.args.MaxPrice, d.r.cost)
}

// instructions create the order and, for a sealed one, open its auction.
func (d *deployment) instructions() ([]solana.Instruction, error) {
	create, err := ix.OrderCreate(d.r.args)
	if err != nil || !d.r.args.Sealed {
		return []solana.Instruction{create}, err
	}
	open, err := ix.AuctionOpen(ix.AuctionOpenArgs{
		Customer: d.r.args.Customer, Authority: d.r.args.Authority, Order: d.order, Auction: d.r.auction, Reveal: d.r.reveal,
	})
	return []solana.Instruction{create, open}, err
}
