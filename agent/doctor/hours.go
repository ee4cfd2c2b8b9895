package doctor

import (
	"context"
	"os"
	"time"

	"github.com/gantry-market/gantry/agent/offer"
)

// checkHours says whether the machine's hours let it take leases now. Nothing is wrong outside of them, unless nobody is there to
// bring the node back.
func checkHours(_ context.Context, m *Machine) Finding {
	schedule, err := m.Config.Schedule()
	if err != nil {
		return bad(`sudo gantry-agent setup --hours "weekdays 19:00-08:00; weekends"`, "%v", err)
	}
	_, noSystemd := os.Stat(m.path("/run/systemd/system")) // then nobody says whether the agent runs
	if noSystemd == nil && offer.Mark(m.Config.OfferPath()).Set() && !m.running() {
		return poor("sudo systemctl start gantry-agent", "the agent took the node out of the market, and does not run to bring it back")
	}
	use := ""
	if m.Config.PauseWhenUsed {
		use = ", while nothing but leases uses the GPUs"
	}
	now := time.Now()
	change, changes := schedule.Change(now)
	switch {
	case !changes:
		return good("new leases at all times%s", use)
	case schedule.Open(now):
		return good("new leases now, until %s%s (%s)", change.Format("Mon 15:04 MST"), use, schedule)
	}
	return good("no new leases before %s (%s)", change.Format("Mon 15:04 MST"), schedule)
}
