package rent

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func orderCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "order", Usage: "orders that wait for their award",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "your orders", Flags: command.AsSession(&cli.BoolFlag{Name: "all", Usage: "everybody's"}), Action: action(s, (*session).orders)},
			{Name: "cancel", Usage: "take an order back that has no lease", ArgsUsage: "ORDER", Flags: command.AsSession(), Action: action(s, (*session).orderCancel)},
			{
				Name: "reopen", Usage: "look for other nodes in place of those that did not start; reserves the maximum price for them again", ArgsUsage: "ORDER",
				Flags: command.AsSession(), Action: action(s, (*session).orderReopen),
			},
		},
	}}
}

func describeOrder(v *view.View, o *market.Order) buy.Order {
	return buy.Order{PlacedOrder: service.DescribeOrder(v, o)}
}

func (s *session) orders() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	scope, customer, err := s.Listed(market.KindOrder, market.KindModel)
	if err != nil {
		return err
	}
	v, err := s.Snapshot(scope)
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
		known, err := s.Purchases()
		if err != nil {
			return err
		}
		out = buy.WithPurchases(v, out, known)
	}
	return s.Done(out, func(w *terminal.Page) {
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
		w.Table("@ORDER|STATUS|AWARDED~3|GPUS|>MAX $/GPU-H~5|TIME~4|>RESERVED|AWARD UNTIL (UTC)~2|NAME|ITS COMMAND~1", rows)
	})
}

// ownOrder reads the order that the command names, by its address or the beginning of it.
func (s *session) ownOrder() (o market.Order, v *view.View, err error) {
	args, err := s.Args("ORDER")
	if err != nil {
		return o, nil, err
	}
	customer, err := s.Customer()
	if err != nil {
		return o, nil, err
	}
	address, err := s.Named(args[0], "order", query.OrdersOf(customer))
	if err != nil {
		return o, nil, err
	}
	if v, err = s.Snapshot(view.With(nil, address)); err != nil {
		return o, nil, err
	}
	o, ok := v.Order(address)
	switch {
	case !ok:
		err = service.Refused(fmt.Sprintf("order %s does not exist (any more)", address), "see: gantry order list, gantry leases")
	case o.Customer != customer:
		err = service.Refused(fmt.Sprintf("order %s belongs to %s", address, o.Customer), "pass the customer's keypair with --keypair")
	}
	return o, v, err
}

// orderTx is an order as it was, with the transaction that changed it.
type orderTx struct {
	buy.Order
	Tx service.Sent `json:"transaction"`
}

func (s *session) orderCancel() error {
	o, v, err := s.ownOrder()
	if err != nil {
		return err
	}
	a, tx, err := s.Act(func(d *operate.Desk) (operate.Action, error) { return d.CancelOrder(s.Context, &o) })
	if err != nil {
		return err
	}
	if f, err := s.Folder(); err == nil {
		if err := buy.Forget(f, o.Address); err != nil {
			s.Say(" · %v", err)
		}
	}
	j := describeOrder(v, &o)
	return s.Done(orderTx{j, tx}, func(w *terminal.Page) {
		fmt.Fprintf(w, "%s; %s USDC are free again   tx %s\n", a.Did, j.Reserved, tx.Signature)
	})
}

func (s *session) orderReopen() error {
	o, v, err := s.ownOrder()
	if err != nil {
		return err
	}
	a, tx, err := s.Act(func(d *operate.Desk) (operate.Action, error) { return d.ReopenOrder(&o) })
	if err != nil {
		return err
	}
	var moved service.Moved
	for _, e := range service.EventsOf[bindings.OrderReopened](s.Context, s.Client, s.Client.WaitLevel(), tx, &moved) {
		o.Status, o.Order.Reserved, o.AwardDeadline = uint8(market.OrderOpen), e.Reserved, e.AwardDeadline
	}
	if !moved.Known() { // the account says it too, unless a node was awarded meanwhile
		now, exists, err := query.Find[market.Order](s.Context, s.Client, o.Address, s.Client.WaitLevel())
		if err != nil || !exists || now.State() != market.OrderOpen {
			return moved.Untold(tx.Signature)
		}
		o = now
	}
	j := describeOrder(v, &o)
	return s.Done(orderTx{j, tx}, func(w *terminal.Page) {
		fmt.Fprintf(w, "%s until %s UTC; %s USDC reserved   tx %s\n", a.Did, service.When(o.AwardDeadline), j.Reserved, tx.Signature)
	})
}
