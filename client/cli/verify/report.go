package verify

import (
	"fmt"
	"strconv"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func (s *session) reportShow() error {
	args, err := s.Args("PERIOD|latest")
	if err != nil {
		return err
	}
	scope := command.Only(market.KindReport, market.KindKeeper)
	if period, err := strconv.ParseUint(args[0], 10, 64); err == nil {
		scope = view.Only(view.Kinds(market.KindKeeper), market.ReportAddress(period))
	}
	v, err := s.Snapshot(scope)
	if err != nil {
		return err
	}
	var r market.Report
	ok := false
	if args[0] == "latest" {
		for _, x := range v.Reports() {
			if x.State() == market.ReportFinal {
				r, ok = x, true
			}
		}
		if !ok {
			return service.Refused("no report is final", "")
		}
	} else {
		period, err := strconv.ParseUint(args[0], 10, 64)
		if err != nil {
			return service.Usage(fmt.Sprintf("%q is not a period", args[0]), "give its number, or latest")
		}
		if r, ok = v.Report(period); !ok {
			return service.Refused(fmt.Sprintf("there is no report of period %d (any more)", period), "closed reports can be found in: gantry audit LEASE")
		}
	}
	out := service.DescribeReport(v, &r)
	return s.Done(out, func(w *terminal.Page) {
		w.Pairs([2]string{"period", fmt.Sprint(out.Period)}, [2]string{"report", out.Address}, [2]string{"status", out.Status},
			[2]string{"final root", out.Root}, [2]string{"finalised", service.When(out.FinalisedAt) + " UTC"}, [2]string{"total weight", out.TotalWeight + " GNT"})
		for _, c := range out.Candidates {
			w.Hang("  root ", fmt.Sprintf("%s  weight %s GNT  by %v", c.Root, c.Weight, c.Voters))
		}
	})
}
