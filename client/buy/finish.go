package buy

import (
	"strings"
	"syscall"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// finish is what the purchase has come to. done has how jobs have ended; nil for a purchase that is not attended.
func (d *deal) finish(done map[solana.PublicKey]messages.LeaseStatus) (*Outcome, error) {
	if done != nil {
		d.endExposing() // the job is over
	}
	d.exposing.Wait()
	now, err := d.b.client.Now(d.ctx)
	if err != nil {
		return nil, err
	}
	var failed []string // what of the leases is paid whose jobs failed
	accepted := 0
	var last market.Lease // of one machine: the others have failed, and it continues them
	var output [32]byte
	for _, l := range d.leases {
		if cur, ok := d.v.Lease(l.Address); ok {
			l = cur
		} else {
			l = d.closedLease(l)
		}
		last = l
		j := service.DescribeLease(d.v, &l, now)
		if j.Model == "" { // the view holds a node only as long as one of its leases is the customer's
			j.Model = d.modelOf(&l)
		}
		if st, ok := done[l.Address]; ok && (st.State == messages.LeaseExited || st.State == messages.LeaseBroken) {
			code := st.ExitCode
			j.ExitCode, j.Detail = &code, st.Detail
			if (code != 0 || st.State == messages.LeaseBroken) && !stopped(&l, code) {
				failed = append(failed, j.Billed())
			}
		}
		if d.r.backup != nil && l.CheckpointHash != [32]byte{} {
			d.b.tell(SnapshotKept{Lease: l})
		}
		if market.OutputState(l.Output) == market.OutputAccepted {
			accepted++
			output = l.OutputHash
		}
		d.out.Leases = append(d.out.Leases, j)
	}
	if d.out.Rerun, err = d.compareRuns(output, accepted > 0); err != nil {
		return nil, err
	}
	if done == nil {
		return &d.out, nil // it runs on, and can be attended again
	}
	if err := d.orderAgain(last, done[last.Address]); err != nil {
		return nil, err
	}
	return &d.out, d.over(true, d.jobError(failed, accepted))
}

// stopped reports whether a job ended because its customer has ended the lease: by the signals that a machine sends then.
func stopped(l *market.Lease, code int32) bool {
	return l.Reason() == market.EndedByCustomer && (code == 128+int32(syscall.SIGTERM) || code == 128+int32(syscall.SIGKILL))
}

// jobError is the error of a job that failed. Of a redundant job, a machine that went wrong is outvoted.
func (d *deal) jobError(failed []string, accepted int) error {
	switch {
	case d.p.Short.Broken():
		return &failure{Code: service.CodeJobFailed, Reason: d.p.Short.Says, Advice: "what was not used is free again; order anew with: gantry cluster up"}
	case d.r.args.Redundant && accepted == 0:
		return &failure{Code: service.CodeJobFailed, Reason: "no output was that of most machines", Advice: "nothing is paid, everything is free again; jobs that are not the same to the bit cannot be redundant"}
	case d.r.args.Redundant && d.out.Rerun != nil && d.out.Rerun.Same != nil && !*d.out.Rerun.Same:
		return &failure{Code: service.CodeJobFailed, Reason: "the two runs have different outputs", Advice: "one of them is wrong, or the job is not the same to the bit; a third run may tell: gantry deploy --rerun " + d.order.String()}
	case !d.r.args.Redundant && len(failed) > 0:
		return &failure{Code: service.CodeJobFailed, Reason: "the job failed", Advice: "its output is above; " + strings.Join(failed, "; ")}
	}
	return nil
}
