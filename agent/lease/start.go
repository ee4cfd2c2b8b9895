package lease

import (
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// ranAfter is how long a container runs until its image is said to run here, whatever becomes of it later.
const ranAfter = time.Minute

// noteStart has the start of the lease's image kept, once it is known. A failure to keep it stops no lease.
func (w *worker) noteStart(r store.Lease, job runtime.Status) {
	if w.noted || w.m.o.Started == nil {
		return
	}
	outcome, known := startOf(r, job, w.m.o.Machine())
	if !known {
		return
	}
	w.noted = true
	if err := w.m.o.Started(w.address, r.Job.Image, outcome); err != nil {
		w.log.Warn().Err(err).Msg("how the image started is not recorded")
	}
}

// startOf is how the image of a lease has started, by this machine's date; known is false while that is open, and where it says
// nothing of the image or is nobody's business.
func startOf(r store.Lease, job runtime.Status, now time.Time) (o records.StartOutcome, known bool) {
	if r.Job == nil || r.Job.Image == "" || r.Job.Unrecorded {
		return 0, false
	}
	if r.Refused != "" {
		o, known = map[market.DeclineReason]records.StartOutcome{
			market.DeclinedJob: records.StartRefused, market.DeclinedImage: records.StartNoImage,
		}[market.DeclineReason(r.Decline)]
		return o, known
	}
	switch {
	case job.Phase == runtime.Running:
		return records.StartRan, now.Sub(job.StartedAt) >= ranAfter
	case job.Phase == runtime.Lost:
		if job.LostAt.Sub(job.StartedAt) >= ranAfter {
			return records.StartRan, true
		}
		return records.StartLost, true
	case job.Exit != nil:
		return startAtExit(job.Exit, job.Exit.FinishedAt.Sub(job.StartedAt))
	case r.Exit != nil && runtime.Reason(r.Exit.Reason) == runtime.ReasonStartFailed: // the runtime never had it
		return records.StartFailed, true
	}
	return 0, false
}

// startAtExit is the start of a container that has ended after some time. One that its customer has stopped early says nothing.
func startAtExit(e *runtime.Exit, after time.Duration) (o records.StartOutcome, known bool) {
	switch {
	case e.Reason == runtime.ReasonStartFailed:
		return records.StartFailed, true
	case after >= ranAfter:
		return records.StartRan, true
	case e.Reason == runtime.ReasonExited && e.Code == 0 && e.Signal == "":
		return records.StartDone, true
	case e.Reason == runtime.ReasonExited:
		return records.StartStatus, true
	}
	o, known = map[runtime.Reason]records.StartOutcome{
		runtime.ReasonMemory: records.StartMemory, runtime.ReasonDisk: records.StartDisk, runtime.ReasonProcesses: records.StartProcesses,
	}[e.Reason]
	return o, known
}
