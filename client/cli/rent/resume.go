package rent

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func resumeCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "continue an order whose command died, or list those that can be", ArgsUsage: "[ORDER]",
		Description: "Waits for the award, brings the job to the machines, shows its output and signs receipts, as the command that died\n" +
			"would have. ORDER may be the beginning of an address, or the --name of the purchase.",
		Flags:  command.AsSession(),
		Action: action(s, (*session).resume),
	}
}

func (s *session) resume() error {
	if s.CLI.Args().Len() == 0 {
		return s.resumable()
	}
	args, err := s.Args("ORDER")
	if err != nil {
		return err
	}
	s.ShowSteps()
	b, err := s.buyer()
	if err != nil {
		return err
	}
	all, err := s.Purchases()
	if err != nil {
		return err
	}
	order, err := buy.PickPurchase(all, args[0])
	if err != nil {
		return err
	}
	out, err := b.Resume(s.Context, order)
	s.EndSteps(err)
	return s.bought(out, err)
}

// resumable lists what can be continued.
func (s *session) resumable() error {
	if _, _, err := s.Open(); err != nil {
		return err
	}
	if err := s.Leftovers(); err != nil {
		return err
	}
	v, err := s.Snapshot(s.Mine(nil))
	if err != nil {
		return err
	}
	f, err := s.Folder()
	if err != nil {
		return err
	}
	all, err := s.Purchases()
	if err != nil {
		return err
	}
	out, err := buy.Resumables(f, all, v)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out) == 0 {
			fmt.Fprintln(w, "nothing to resume")
			return
		}
		rows := make([][]string, len(out))
		for i, r := range out {
			if r.Busy {
				r.State += "; another command attends it"
			}
			rows[i] = []string{r.Order, r.Name, service.When(r.Created), r.State}
		}
		w.Table("@ORDER|NAME|BEGUN (UTC)~1|STATE", rows)
	})
}

// remind says which leases of the customer have no job, and which orders wait.
func (s *session) remind(v *view.View, customer solana.PublicKey) {
	f, err := s.Folder()
	if err != nil {
		s.Say(" · %v", err)
		return
	}
	all, err := s.Purchases()
	if err != nil {
		s.Say(" · %v", err)
	}
	for _, u := range buy.UnattendedIn(f, all, v, customer) {
		s.event(u)
	}
}
