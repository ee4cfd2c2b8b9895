package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

func TestHowAnImageHasStarted(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	now := began.Add(59 * time.Second)
	exit := func(reason runtime.Reason, code int, after time.Duration) runtime.Status {
		return runtime.Status{Phase: runtime.Exited, StartedAt: began, Exit: &runtime.Exit{Reason: reason, Code: code, FinishedAt: began.Add(after)}}
	}
	of := func(change func(*store.Lease)) store.Lease {
		r := store.Lease{Job: &store.Job{Image: "x@sha256:1"}}
		if change != nil {
			change(&r)
		}
		return r
	}
	refused := func(why market.DeclineReason) store.Lease {
		return of(func(l *store.Lease) { l.Refused, l.Decline = "so", uint8(why) })
	}
	for name, c := range map[string]struct {
		lease store.Lease
		job   runtime.Status
		want  records.StartOutcome // 0: nothing is said
	}{
		"it waits":                  {of(nil), runtime.Status{}, 0},
		"it runs for 59 seconds":    {of(nil), runtime.Status{Phase: runtime.Running, StartedAt: began}, 0},
		"it runs for a minute":      {of(nil), runtime.Status{Phase: runtime.Running, StartedAt: began.Add(-time.Second)}, records.StartRan},
		"status 0":                  {of(nil), exit(runtime.ReasonExited, 0, time.Second), records.StartDone},
		"status 1":                  {of(nil), exit(runtime.ReasonExited, 1, time.Second), records.StartStatus},
		"status 1 after a minute":   {of(nil), exit(runtime.ReasonExited, 1, time.Minute), records.StartRan},
		"its customer has ended it": {of(nil), exit(runtime.ReasonStopped, 0, time.Second), 0},
		"its time was short":        {of(nil), exit(runtime.ReasonWall, 0, time.Second), 0},
		"it was suspended":          {of(nil), exit(runtime.ReasonSuspended, 0, time.Second), 0},
		"too much memory":           {of(nil), exit(runtime.ReasonMemory, 137, time.Second), records.StartMemory},
		"too much disk":             {of(nil), exit(runtime.ReasonDisk, 0, time.Second), records.StartDisk},
		"too many processes":        {of(nil), exit(runtime.ReasonProcesses, 0, time.Second), records.StartProcesses},
		"it cannot be started":      {of(nil), exit(runtime.ReasonStartFailed, 127, 0), records.StartFailed},
		"the runtime never had it": {
			of(func(l *store.Lease) { l.Exit = &store.Exit{Reason: string(runtime.ReasonStartFailed)} }),
			runtime.Status{},
			records.StartFailed,
		},
		"lost":                {of(nil), runtime.Status{Phase: runtime.Lost, StartedAt: began, LostAt: began.Add(time.Second)}, records.StartLost},
		"lost after a minute": {of(nil), runtime.Status{Phase: runtime.Lost, StartedAt: began, LostAt: began.Add(time.Minute)}, records.StartRan},
		"it cannot run here":  {refused(market.DeclinedJob), runtime.Status{}, records.StartRefused},
		"it did not arrive":   {refused(market.DeclinedImage), runtime.Status{}, records.StartNoImage},
		"it was too cheap":    {refused(market.DeclinedPrice), runtime.Status{}, 0},
		"it came too late":    {refused(market.DeclinedLate), runtime.Status{}, 0},
		"a process":           {of(func(l *store.Lease) { l.Job.Image = "" }), exit(runtime.ReasonExited, 0, time.Second), 0},
		"a private image":     {of(func(l *store.Lease) { l.Job.Unrecorded = true }), exit(runtime.ReasonExited, 0, time.Second), 0},
		"no job":              {of(func(l *store.Lease) { l.Job = nil }), exit(runtime.ReasonExited, 0, time.Second), 0},
	} {
		got, known := startOf(c.lease, c.job, now)
		require.Equal(t, c.want != 0, known, name)
		if known {
			require.Equal(t, c.want, got, name)
		}
	}
}
