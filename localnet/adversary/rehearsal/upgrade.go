package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// upgradeKeepers gives the next build to all keepers but the last, one after the other.
func (r *rehearsal) upgradeKeepers(ctx context.Context) error {
	for i, k := range r.net.Keys.Keepers[:keepers-1] {
		if err := r.net.Stop(ctx, k.Name); err != nil {
			return err
		}
		if err := r.net.StartKeeper(ctx, i); err != nil {
			return err
		}
		if err := r.runs(k.Name, "gantry-keeper"); err != nil {
			return err
		}
		if err := r.votes(ctx, i); err != nil {
			return err
		}
	}
	return r.trade(ctx)
}

// runs checks that a process runs the next build.
func (r *rehearsal) runs(name, program string) error {
	pid, err := r.net.Pid(name)
	if err != nil {
		return err
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return err
	}
	want, err := filepath.EvalSymlinks(filepath.Join(r.o.Next, program))
	if err != nil {
		return err
	}
	if path != want {
		return fmt.Errorf("%s runs %s, not %s", name, path, want)
	}
	return nil
}

// votes waits until a keeper has voted for the final root of a period that began after now.
func (r *rehearsal) votes(ctx context.Context, index int) error {
	from := r.period() + 1
	wallet := r.net.Keys.Keepers[index]
	return r.until(ctx, wallet.Name+" votes for a later report", func(v *view.View) bool {
		k, ok := v.Keeper(market.KeeperAddress(wallet.Address()))
		if !ok {
			return false
		}
		for _, report := range v.Reports() {
			if report.Period >= from && report.State() == market.ReportFinal && report.Voted(k.Index) {
				return true
			}
		}
		return false
	})
}

func (r *rehearsal) period() uint64 {
	return uint64(time.Now().Unix()) / uint64(r.net.Params().PeriodSecs)
}

// upgradeMachines gives the next build to every machine, one after the other, the one with the long lease among them.
func (r *rehearsal) upgradeMachines(ctx context.Context) error {
	for _, m := range r.net.Nodes {
		if err := r.net.Stop(ctx, m.Name); err != nil {
			return err
		}
		from := r.period() + 1
		if err := r.net.StartAgent(ctx, m); err != nil {
			return err
		}
		if err := r.runs(m.Name, "gantry-agent"); err != nil {
			return err
		}
		err := r.until(ctx, m.Name+" is reported on after its upgrade", func(v *view.View) bool {
			node, ok := v.Node(m.Address)
			return ok && node.LastReportPeriod >= from
		})
		if err != nil {
			return err
		}
	}
	if err := r.lives(ctx); err != nil {
		return err
	}
	return r.trade(ctx)
}
