package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// A machine leaves interruptible leases after their notice when its owner wants it back, and no others.
func TestAnInterruptibleLeaseGetsNotice(t *testing.T) {
	started := time.Unix(10_000, 0)
	base := func() Facts {
		f := Facts{Now: started.Add(time.Hour), Exists: true, Job: JobActive, Entry: store.Lease{State: store.Running, FundedUntil: started.Add(9 * time.Hour)}}
		f.Account.Status, f.Account.Interruptible, f.Account.NoticeSecs = uint8(market.LeaseRunning), 1, 120
		f.Account.StartedAt, f.Account.FundedUntil = started.Unix(), started.Add(9*time.Hour).Unix()
		return f
	}
	noticed := func(f *Facts, ago time.Duration) { f.Account.NoticeAt = f.Now.Add(-ago).Unix() }
	for name, c := range map[string]struct {
		change func(*Facts)
		want   Action
		until  time.Duration // after Now; only for Wait
	}{
		"nobody wants the machine":             {func(*Facts) {}, Wait, 8*time.Hour + clockMargin},
		"its owner does":                       {func(f *Facts) { f.Wanted = "outside of its hours" }, GiveNotice, 0},
		"another kind of lease":                {func(f *Facts) { f.Wanted, f.Account.Interruptible = "used", 0 }, Wait, 8*time.Hour + clockMargin},
		"the notice runs":                      {func(f *Facts) { f.Wanted = "used"; noticed(f, 119*time.Second) }, Wait, 2 * time.Second},
		"the notice is over":                   {func(f *Facts) { noticed(f, 121*time.Second) }, EndNoticed, 0},
		"the clock may be ahead":               {func(f *Facts) { noticed(f, 120*time.Second) }, Wait, time.Second},
		"noticed at once: it runs ten minutes": {func(f *Facts) { f.Now = started.Add(10 * time.Minute); noticed(f, 10*time.Minute) }, Wait, time.Second},
		"noticed at once: then it ends":        {func(f *Facts) { f.Now = started.Add(10*time.Minute + time.Second); noticed(f, 10*time.Minute) }, EndNoticed, 0},
		"a notice of another kind of lease is its owner's": {func(f *Facts) {
			f.Account.Interruptible = 0
			noticed(f, time.Hour)
		}, Wait, 8*time.Hour + clockMargin},
	} {
		f := base()
		c.change(&f)
		d := Decide(f)
		require.Equal(t, c.want, d.Action, name)
		if c.want == Wait {
			require.Equal(t, c.until, d.Until.Sub(f.Now), name)
		}
	}
}
