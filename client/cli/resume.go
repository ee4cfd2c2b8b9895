package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func resumeCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "go on with an order whose command died, or list those that can be", ArgsUsage: "[ORDER]",
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
	args, mk, _, err := s.begin("ORDER")
	if err != nil {
		return err
	}
	f, err := s.folder()
	if err != nil {
		return err
	}
	order, err := s.pickPurchase(f, args[0])
	if err != nil {
		return err
	}
	held, err := f.Hold(order)
	if errors.Is(err, purchase.ErrHeld) {
		return refused(fmt.Sprintf("another gantry command works on order %s right now", order), "wait for it, or end it first")
	}
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = held.Release() })
	p, err := held.Read()
	if errors.Is(err, purchase.ErrNotFound) {
		return refused(fmt.Sprintf("this machine has no record of order %s, and so not its job", order),
			fmt.Sprintf("go on where it was begun, or limit the loss: gantry order cancel %s, gantry leases, gantry stop LEASE", order))
	}
	if err != nil {
		return err
	}
	v, err := s.live(s.mine(nil, view.Kinds(market.KindKeeper, market.KindModel)...))
	if err != nil {
		return err
	}
	d := s.deploymentOf(v, mk, p, held)
	if p.Stage == purchase.Over {
		return d.repeat()
	}
	d.attached = true
	return d.carryOn()
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
		r := resumableJSON{Order: p.Order.String(), Name: p.Name, Created: p.Created.Unix(), Stage: string(p.Stage), State: standing(v, &p)}
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
			rows[i] = []string{r.Order, r.Name, when(r.Created), r.State, next}
		}
		table(w, "ORDER|NAME|BEGUN (UTC)|STATE|GO ON WITH", rows)
	})
}

// standing says in a few words where a purchase is, by the chain and by what is stored.
func standing(v *view.View, p *purchase.Purchase) string {
	leases := v.LeasesOfOrder(p.Order)
	var running, waiting int
	for _, l := range leases {
		switch l.State() {
		case market.LeaseAwarded:
			waiting++
		case market.LeaseRunning:
			running++
		}
	}
	o, exists := v.Order(p.Order)
	switch {
	case !exists && p.Stage == purchase.Intended:
		return "stored, not on chain"
	case !exists:
		return "over on chain"
	case p.Stage != purchase.Handed && running > 0:
		return plural(running, "lease") + " billed, job not handed over"
	case p.Stage != purchase.Handed && waiting > 0:
		return plural(waiting, "lease") + " awarded, job not handed over"
	case running+waiting > 0:
		return plural(running+waiting, "lease") + " with its job"
	}
	return o.State().String()
}

// remind says which leases of the customer have no job, because the command that would have brought it died: they are
// billed from their start on, with or without a job.
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
	for _, p := range all {
		if p.Args.Customer != customer || (p.Stage != purchase.Intended && p.Stage != purchase.Placed) {
			continue
		}
		held, err := f.Hold(p.Order)
		if err != nil {
			continue // a command works on it
		}
		_ = held.Release()
		o, exists := v.Order(p.Order)
		for _, l := range v.LeasesOfOrder(p.Order) {
			switch l.State() {
			case market.LeaseRunning:
				s.say(" ! lease    %s runs without its job since %s UTC and is billed: bring the job with gantry resume %s, or end it with gantry stop %s",
					l.Address, when(l.StartedAt), p.Order, l.Address)
			case market.LeaseAwarded:
				s.say(" ! lease    %s waits for its job and is billed as soon as its machine starts it: bring the job with gantry resume %s", l.Address, p.Order)
			}
		}
		if exists && o.CanCancel() == nil {
			s.say(" ! order    %s is %s and nobody attends it: go on with gantry resume %s, or take it back with gantry order cancel %s", p.Order, o.State(), p.Order, p.Order)
		}
	}
}

// withoutJob says what happens to a lease to which no command brings its job, and what limits the loss.
func (d *deployment) withoutJob() string {
	return fmt.Sprintf("a machine starts its lease within half of the start deadline, with or without the job, and it is billed from then on: "+
		"bring the job with gantry resume %s, or end it with gantry stop LEASE; see: gantry leases", d.order)
}

// toAttend are the leases that a command stays with: those that are not over, or all when none is left.
func (d *deployment) toAttend(all []market.Lease) []market.Lease {
	if d.fresh {
		return all
	}
	var live []market.Lease
	for _, l := range all {
		if l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning {
			live = append(live, l)
		}
	}
	if len(live) == 0 {
		return all
	}
	return live
}

// expected is how many leases of an awarded order the view must show before the command goes on.
func (d *deployment) expected(o *market.Order) int {
	if d.fresh {
		return int(d.r.args.Nodes)
	}
	return 1
}

// overMeanwhile ends a purchase whose order is gone from the chain: its history says whether anything was bought.
func (d *deployment) overMeanwhile() error {
	history, err := audit.Read(d.s.ctx, d.s.client, d.order, d.s.waitLevel())
	if err != nil {
		return network(fmt.Sprintf("order %s is over, and its history cannot be read", d.order), "try again", err)
	}
	leases := map[solana.PublicKey]bool{}
	placed := false
	for _, tx := range history {
		for _, e := range tx.Events {
			switch v := e.Value.(type) {
			case *bindings.OrderCreated:
				placed = placed || v.Order == d.order
			case *bindings.LeaseAwarded:
				if v.Order == d.order {
					leases[v.Lease] = true
				}
			case *bindings.LeaseAborted:
				delete(leases, v.Lease)
			}
		}
	}
	switch {
	case !placed:
		return network(fmt.Sprintf("order %s is neither on chain nor in the history that this node keeps", d.order), "try another --url, such as an archive node", nil)
	case len(leases) == 0:
		d.p.Bought = false // a machine took the job and never started
		return d.over(false, refused(fmt.Sprintf("order %s is over, and no machine has served it", d.order), "its money is free again; order anew with: gantry deploy"))
	}
	for lease := range leases {
		d.s.say(" · over     lease %s was served and is closed: gantry audit %s", lease, lease)
	}
	return d.over(true, d.printResult())
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
			orders[i].Name, orders[i].Resume = p.Name, standing(v, &p)
		case p.Stage == purchase.Intended:
			orders = append(orders, orderJSON{Name: p.Name, Resume: standing(v, &p), PlacedOrder: service.PlacedOrder{
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
