package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Runner runs the container of a job, and returns its exit code. It says when a phase begins. The network is the host's word, nil for none.
type Runner func(ctx context.Context, d messages.DeployRequest, network *control.Network, phase func(string) error, output io.Writer) (code int, err error)

var (
	// ErrNotAJob: the sealed message does not contain a job for this lease and the digest of its order.
	ErrNotAJob = errors.New("the sealed message has no job for this lease")
	// ErrOtherJob: the digest of the job is not that of the order.
	ErrOtherJob = errors.New("the sealed job is not the one that the order names by its digest")
	// ErrHasJob: a guest runs one job.
	ErrHasJob = errors.New("this guest has a job: start another guest for the next one")
	// ErrNoJob: there is no job of which the output could be.
	ErrNoJob = errors.New("this guest has no job yet")
	// ErrUnsupported: the job asks for something that the guest cannot do.
	ErrUnsupported = errors.New("the measured guest cannot run this job yet")
)

// deploy opens a sealed job and starts it. The host reads refusals, so they reveal nothing about the job. Errors of an opened job go to
// the customer, in the sealed output.
func (a *Answerer) deploy(ctx context.Context, q *control.DeployQuestion) (out control.Answer, err error) {
	if a.job != nil { // before anything is opened
		return out, ErrHasJob
	}
	key := a.keyOf(q.Key)
	if key == nil {
		return out, ErrNoKey
	}
	message, back, err := key.Converse(q.Sealed)
	if err != nil {
		return out, err
	}
	d, err := readJob(message, key.Subject())
	if err != nil {
		return out, err
	}
	a.job, a.keys = newOutput(back), nil
	a.running.Go(func() { a.run(ctx, d, q.Network, a.job) })
	digest := control.Opened(q.Key, q.Sealed)
	out.Receipt = &control.Receipt{Digest: digest, Signature: a.key.SignAnswer(q.Key, digest)}
	return out, nil
}

func (a *Answerer) keyOf(id [32]byte) *seal.Key {
	for _, k := range a.keys {
		if k.ID() == id {
			return k
		}
	}
	return nil
}

// readJob decodes a job, which must be the one of the lease's order.
func readJob(message []byte, of seal.Subject) (d messages.DeployRequest, err error) {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, MaxNestedLevels: 16, UTF8: cbor.UTF8RejectInvalid,
	}.DecMode()
	if err != nil {
		return d, fmt.Errorf("decode the job: %w", err)
	}
	if err := mode.Unmarshal(message, &d); err != nil {
		return d, ErrNotAJob // the decoder's error can quote the job
	}
	if d.Version != messages.Version || d.Lease != of.Lease || len(d.Sealed) > 0 || messages.Check(d) != nil {
		return d, ErrNotAJob
	}
	digest, err := d.Job.Digest()
	if err != nil {
		return d, ErrNotAJob
	}
	if digest != of.Job {
		return d, ErrOtherJob
	}
	return d, nil
}

// run runs the job until its end, and writes the last record.
func (a *Answerer) run(ctx context.Context, d messages.DeployRequest, network *control.Network, o *output) {
	code, err := 0, check(d)
	if err == nil {
		code, err = a.runner(ctx, d, network, func(phase string) error { return o.add(ctx, control.Record{Phase: phase}) }, writer{ctx, o})
	}
	end := control.End{Code: code}
	if err != nil {
		end.Failed = shortened(err.Error())
	}
	_ = o.add(ctx, control.Record{End: &end}) // the last record waits for nothing, and has a form that can be written
}

// longestReason is how long the text of a failure may be, which can quote a registry. An answer to the host has a limit, too.
const longestReason = 4 << 10

func shortened(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + " …"
}

// check says what of a job the guest cannot run. Error: ErrUnsupported, *jobspec.Error.
func check(d messages.DeployRequest) error {
	j := d.Job
	for what, asked := range map[string]bool{
		"it names no image": j.Image == "", "it has a volume": j.Volume != nil, "it has a backup": d.Backup != nil,
		"it is one of several machines in a private network": d.Group != nil, "it has SSH keys": len(j.SSHKeys) > 0,
	} {
		if asked {
			return fmt.Errorf("%w: %s", ErrUnsupported, what)
		}
	}
	return jobspec.Check(j)
}
