package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func resumeCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "continue an order whose command died, or list those that can be", ArgsUsage: "[ORDER]",
		Description: "Waits for the award, brings the job to the machines, shows its output and signs receipts, as the command that died\n" +
			"would have. ORDER may be the beginning of an address, or the --name of the purchase.",
		Flags:  asSession(),
		Action: action(s, (*session).resume),
	}
}

// resumableJSON is a purchase that can be continued, as printed.
type resumableJSON struct {
	Order   string `json:"order"`
	Name    string `json:"name,omitempty"`
	Created int64  `json:"createdAt"`
	Stage   string `json:"stage"`
	State   string `json:"state"`
	Busy    bool   `json:"attended,omitempty"` // another command works on it
}

func (s *session) resume() error {
	if s.cli.Args().Len() == 0 {
		return s.resumable()
	}
	args, err := s.args("ORDER")
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	order, err := s.pickPurchase(b.Folder(), args[0])
	if err != nil {
		return err
	}
	return s.bought(b.Resume(s.ctx, order))
}

// pickPurchase finds a purchase by its name, its order's address, or the beginning of that.
func (s *session) pickPurchase(f *purchase.Folder, text string) (solana.PublicKey, error) {
	all, err := f.All()
	if err != nil {
		s.say(" · %v", err)
	}
	for _, p := range all { // the latest attempt first
		if p.Name != "" && p.Name == text {
			return p.Order, nil
		}
	}
	return pick(text, "order", addresses(all, func(p purchase.Purchase) solana.PublicKey { return p.Order }))
}

// resumable lists what can be continued.
func (s *session) resumable() error {
	if _, _, err := s.open(); err != nil {
		return err
	}
	if err := s.leftovers(); err != nil {
		return err
	}
	v, err := s.snapshot(s.mine(nil))
	if err != nil {
		return err
	}
	f, err := s.folder()
	if err != nil {
		return err
	}
	all, err := f.All()
	if err != nil {
		s.say(" · %v", err)
	}
	out := []resumableJSON{}
	for _, p := range all {
		if p.Stage == purchase.Over {
			continue
		}
		r := resumableJSON{Order: p.Order.String(), Name: p.Name, Created: p.Created.Unix(), Stage: string(p.Stage), State: buy.Standing(v, &p)}
		held, err := f.Hold(p.Order)
		if r.Busy = errors.Is(err, purchase.ErrHeld); !r.Busy {
			if err != nil {
				return err
			}
			if err := held.Release(); err != nil {
				return err
			}
		}
		out = append(out, r)
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "nothing to resume")
			return
		}
		rows := make([][]string, len(out))
		for i, r := range out {
			next := "gantry resume " + r.Order
			if r.Busy {
				next = "attended by another command"
			}
			rows[i] = []string{r.Order, r.Name, service.When(r.Created), r.State, next}
		}
		table(w, "ORDER|NAME|BEGUN (UTC)|STATE|CONTINUE WITH", rows)
	})
}

// remind says which leases of the customer have no job, and which orders wait.
func (s *session) remind(v *view.View, customer solana.PublicKey) {
	f, err := s.folder()
	if err != nil {
		s.say(" · %v", err)
		return
	}
	all, err := s.purchases()
	if err != nil {
		s.say(" · %v", err)
	}
	for _, u := range buy.UnattendedIn(f, all, v, customer) {
		s.event(u)
	}
}

// withPurchases adds what this machine has stored to a list of orders, and those that are not on chain.
func (s *session) withPurchases(v *view.View, orders []orderJSON) ([]orderJSON, error) {
	all, err := s.purchases()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, o := range orders {
		at[o.Address] = i
	}
	for _, p := range all {
		i, listed := at[p.Order.String()]
		switch {
		case p.Stage == purchase.Over:
			continue
		case listed:
			orders[i].Name, orders[i].Resume = p.Name, buy.Standing(v, &p)
		case p.Stage == purchase.Intended:
			orders = append(orders, orderJSON{Name: p.Name, Resume: buy.Standing(v, &p), PlacedOrder: service.PlacedOrder{
				Address: p.Order.String(), Customer: p.Args.Customer.String(), Status: "not sent", Model: "any", Nodes: p.Args.Nodes, GPUs: p.Args.GPUsPerNode,
				MaxPrice: p.Args.MaxPrice.String(), Seconds: p.Args.Duration, Reserved: market.USDC(0).String(), CreatedAt: p.Created.Unix(),
			}})
		}
	}
	return orders, nil
}

// purchases reads all records of the wallet; those that cannot be read are said and left out.
func (s *session) purchases() ([]purchase.Purchase, error) {
	f, err := s.folder()
	if err != nil {
		return nil, err
	}
	all, err := f.All()
	if err != nil {
		s.say(" · %v", err)
	}
	return all, nil
}

// forget ends the record of an order that was taken back, unless another command has it.
func (s *session) forget(order solana.PublicKey) {
	f, err := s.folder()
	if err != nil {
		return
	}
	held, err := f.Hold(order)
	if err != nil {
		return // that command sees the end of the order
	}
	defer held.Release()
	p, err := held.Read()
	if err != nil {
		return
	}
	p.End(ExitRefused, "the order was cancelled", nil)
	if err := held.Write(p); err != nil {
		s.say(" · %v", err)
	}
}
