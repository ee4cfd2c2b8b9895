package verify

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/measure"
)

// flagBeside is of a measurement while the lease's job has the GPUs.
const flagBeside = "beside-job"

func measureCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "verify", Usage: "measure the GPUs of a lease that you have", ArgsUsage: "LEASE",
		Description: "The machine computes for you, as it does for keepers each period, and your command checks samples of the results\n" +
			"and the time. Nothing changes on chain: what a bad machine means for your lease is yours to decide (gantry stop). Without a job\n" +
			"that has the GPUs this takes nothing from you but time.",
		Flags: command.AsSession(&cli.BoolFlag{
			Name:  flagBeside,
			Usage: "measure although the lease's job has the GPUs, for a few seconds and with little memory. The job is slower during that time. The figures are lower, and say nothing about the memory's size",
		}),
		Action: action(s, (*session).verify),
	}}
}

func (s *session) verify() error {
	args, mk, _, err := s.Begin("LEASE")
	if err != nil {
		return err
	}
	v, l, err := s.OwnLease(s.Live, args[0], query.Kind(market.KindKeeper), query.Kind(market.KindModel))
	if err != nil {
		return err
	}
	if l.State() != market.LeaseAwarded && l.State() != market.LeaseRunning {
		return service.Refused(fmt.Sprintf("lease %s is over", l.Address), "see: gantry leases")
	}
	r, err := s.Dial(v)
	if err != nil {
		return err
	}
	m, err := buy.MeasurementOf(v, mk, l)
	if err != nil {
		return err
	}
	m.Lease.Beside = s.CLI.Bool(flagBeside)
	stop := s.Waiting("the machine to compute", "Ctrl-C ends the measurement")
	m.Run(s.Context, r, nil)
	stop()
	if s.Context.Err() != nil {
		return service.Interrupted("interrupted before anything was known of the machine", "the lease continues")
	}
	if err := s.Done(m.Describe(), func(w *terminal.Page) { printMeasured(w, m) }); err != nil {
		return err
	}
	return m.Judge()
}

// printMeasured writes the figures for people.
func printMeasured(w *terminal.Page, m *buy.Measurement) {
	for i, f := range m.Result.GPUs {
		fmt.Fprintf(w, "GPU %d   %s\n", m.Lease.GPUs[i].GPU, terminal.Figures(f))
	}
	if m.Simulated {
		fmt.Fprintln(w, "the GPUs are simulated: these are figures of processors")
	}
	if m.Promise == (measure.Promise{}) && len(m.Result.GPUs) > 0 {
		fmt.Fprintln(w, "the node's record has no figure to hold this against")
	}
}
