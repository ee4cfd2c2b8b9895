package service

import (
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// States of a job.
const (
	JobWaiting = "waiting" // the machine does not run it yet
	JobRunning = "running"
	JobExited  = "exited"  // its command ended
	JobStopped = "stopped" // the lease ended before it
	JobBroken  = "broken"  // it could not be started
)

// Job is what a machine says of a lease's job.
type Job struct {
	Lease string `json:"lease"`
	State string `json:"state" enum:"waiting,running,exited,stopped,broken" doc:"exited: its command ended; stopped: its lease ended first; broken: it could not be started"`
	// ExitCode is there once the job is over.
	ExitCode  *int32 `json:"exitCode,omitempty" doc:"Once it is over: 128 and the signal's number if a signal ended it; of a job in a measured guest what the guest says, and -1 where this server cannot open it"`
	StartedAt int64  `json:"startedAt,omitempty" doc:"Unix seconds"`
	Detail    string `json:"detail,omitempty" doc:"Such as why it could not be started"`
	Output    uint64 `json:"outputBytes"`
	// Image is there once the machine fetches it.
	Image *Image `json:"image,omitempty" doc:"How far the machine has fetched the job's image, as the machine reports it; absent where it says nothing"`
}

// DescribeJob is a machine's answer.
func DescribeJob(l *market.Lease, s messages.LeaseStatus) Job {
	out := Job{Lease: l.Address.String(), State: JobWaiting, StartedAt: s.StartedAt, Detail: printable.Text(s.Detail), Output: s.OutputBytes, Image: describeImage(s.Image)}
	switch s.State {
	case messages.LeaseRunning:
		out.State = JobRunning
	case messages.LeaseExited:
		out.State = JobExited
	case messages.LeaseStopped:
		out.State = JobStopped
	case messages.LeaseBroken:
		out.State = JobBroken
	}
	if out.State != JobWaiting && out.State != JobRunning {
		out.ExitCode = &s.ExitCode
	}
	return out
}
