package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

func orderCommands(s Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "order", Usage: "orders that wait for their award",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "your orders", Flags: asSession(&cli.BoolFlag{Name: "all", Usage: "everybody's"}), Action: action(s, (*session).orders)},
			{Name: "cancel", Usage: "take an order back that has no lease", ArgsUsage: "ORDER", Flags: asSession(), Action: action(s, (*session).orderCancel)},
			{
				Name: "reopen", Usage: "look for other nodes in place of those that did not start; reserves the maximum price for them again", ArgsUsage: "ORDER",
				Flags: asSession(), Action: action(s, (*session).orderReopen),
			},
		},
	}}
}

func describeOrder(v *view.View, o *market.Order) buy.Order {
	return buy.Order{PlacedOrder: service.DescribeOrder(v, o)}
}

func (s *session) orders() error {
	if _, err := s.args(); err != nil {
		return err
	}
	scope, customer, err := s.listed(market.KindOrder, market.KindModel)
	if err != nil {
		return err
	}
	v, err := s.snapshot(scope)
	if err != nil {
		return err
	}
	all := v.Orders()
	if !customer.IsZero() {
		all = v.OrdersOf(customer)
		s.remind(v, customer)
	}
	slices.SortStableFunc(all, func(a, b market.Order) int { return int(b.CreatedAt - a.CreatedAt) })
	out := make([]buy.Order, len(all))
	for i := range all {
		out[i] = describeOrder(v, &all[i])
	}
	if !customer.IsZero() {
		known, err := s.purchases()
		if err != nil {
			return err
		}
		out = buy.WithPurchases(v, out, known)
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no orders")
			return
		}
		rows := make([][]string, len(out))
		for i, o := range out {
			rows[i] = []string{
				o.Address, o.Status, fmt.Sprintf("%d of %d", o.Awarded, o.Nodes), fmt.Sprintf("%d×%s", o.GPUs, o.Model), o.MaxPrice,
				service.Span(int64(o.Seconds)), o.Reserved, service.When(o.Deadline), o.Name, o.Resume,
			}
		}
		table(w, "ORDER|STATUS|AWARDED|GPUS|MAX $/GPU-H|TIME|RESERVED|AWARD DEADLINE (UTC)|NAME|ITS COMMAND", rows)
	})
}

// ownOrder reads the order that the command names, by its address or the beginning of it, and the key that acts for the
// customer.
func (s *session) ownOrder() (o market.Order, v *view.View, key txm.Signer, err error) {
	args, err := s.args("ORDER")
	if err != nil {
		return o, nil, nil, err
	}
	if _, key, err = s.open(); err != nil {
		return o, nil, nil, err
	}
	customer, err := s.customer()
	if err != nil {
		return o, nil, nil, err
	}
	address, err := s.named(args[0], "order", query.OrdersOf(customer))
	if err != nil {
		return o, nil, nil, err
	}
	if v, err = s.snapshot(view.With(nil, address)); err != nil {
		return o, nil, nil, err
	}
	o, ok := v.Order(address)
	switch {
	case !ok:
		err = refused(fmt.Sprintf("order %s does not exist (any more)", address), "see: gantry order list, gantry leases")
	case o.Customer != customer:
		err = refused(fmt.Sprintf("order %s belongs to %s", address, o.Customer), "pass the customer's keypair with --keypair")
	}
	return o, v, key, err
}

// orderTx is an order as it was, with the transaction that changed it.
type orderTx struct {
	buy.Order
	Tx sent `json:"transaction"`
}

func (s *session) orderCancel() error {
	o, v, key, err := s.ownOrder()
	if err != nil {
		return err
	}
	if o.CanCancel() != nil {
		return refused(fmt.Sprintf("order %s is %s and has leases", o.Address, o.State()), "stop its leases instead: gantry leases")
	}
	instruction, err := ix.OrderCancelBy(o, key.PublicKey())
	tx, err := s.sendOne("order_cancel", instruction, err)
	if err != nil {
		return err
	}
	if f, err := s.folder(); err == nil {
		if err := buy.Forget(f, o.Address); err != nil {
			s.say(" · %v", err)
		}
	}
	j := describeOrder(v, &o)
	return s.done(orderTx{j, tx}, func(w io.Writer) {
		fmt.Fprintf(w, "order %s cancelled; %s USDC are free again   tx %s\n", o.Address, j.Reserved, tx.Signature)
	})
}

func (s *session) orderReopen() error {
	o, v, key, err := s.ownOrder()
	if err != nil {
		return err
	}
	if o.State() != market.OrderLapsed {
		return refused(fmt.Sprintf("order %s is %s", o.Address, o.State()), "only an order of which a node did not start can be opened again: gantry order list")
	}
	if err := s.confirm("reopen   order %s: at most %s USDC per GPU-hour are reserved again for each node that did not start", o.Address, market.PricePerHour(o.MaxPrice)); err != nil {
		return err
	}
	instruction, err := ix.OrderReopen(o, key.PublicKey())
	tx, err := s.sendOne("order_reopen", instruction, err)
	if err != nil {
		return err
	}
	var moved service.Moved
	for _, e := range service.EventsOf[bindings.OrderReopened](s.ctx, s.client, s.client.WaitLevel(), tx, &moved) {
		o.Status, o.Order.Reserved, o.AwardDeadline = uint8(market.OrderOpen), e.Reserved, e.AwardDeadline
	}
	if !moved.Known() { // the account says it too, unless a node was awarded meanwhile
		now, exists, err := query.Find[market.Order](s.ctx, s.client, o.Address, s.client.WaitLevel())
		if err != nil || !exists || now.State() != market.OrderOpen {
			return moved.Untold(tx.Signature)
		}
		o = now
	}
	j := describeOrder(v, &o)
	return s.done(orderTx{j, tx}, func(w io.Writer) {
		fmt.Fprintf(w, "order %s is open again until %s UTC; %s USDC reserved   tx %s\n", o.Address, service.When(o.AwardDeadline), j.Reserved, tx.Signature)
	})
}
