package buy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// checkGuest checks what is for measured guests. Error: a [service.Failure].
func (r *Request) checkGuest() error {
	if !r.Guest {
		return nil
	}
	d, asked, err := r.document()
	switch {
	case err != nil:
		return err
	case !asked:
		return usage("--guest seals the job to a machine that has proved itself, and nothing says what it must prove", "add --attest with a policy that names the guest's image; see docs/operate/guest.md")
	case len(d.Policy.Roots.TPM) == 0:
		return usage("--guest: the policy trusts no maker of TPMs, and guests show a TPM", "name a maker in it; see docs/operate/guest.md")
	case !d.Policy.Images():
		return usage("--guest: the policy names no image of a guest, so that any would pass", "put the part of build/guest/guest.json into it; see docs/operate/guest.md")
	case r.Image == "":
		return usage("--guest runs containers", "name an --image")
	}
	for what, asked := range map[string]bool{
		"--volume": r.Volume != "", "--backup": r.Backup != "", "--restore": r.Restore != "", "an SSH key": len(r.SSHKeys) > 0, "--port": len(r.Public) > 0,
		"--nodes": r.Nodes > 1, "--redundancy": r.Redundancy != 0 || r.Rerun != "",
	} {
		if asked {
			return usage("a measured guest has no volume, shell, port or private network, and its output is compared with no other: "+what+" cannot be had in it", "leave it or --guest out")
		}
	}
	return nil
}

// keepOutputKey stores what opens the output of a lease's guest; nil for an order without guests.
func (d *deal) keepOutputKey(l market.Lease) func(*seal.Reader) error {
	if !d.p.Guest {
		return nil
	}
	return func(r *seal.Reader) error { return d.b.folder.AddOutputKey(d.order, l.Address, r.Keep()) }
}

// inGuest reports whether an earlier call has brought the job to the guest of a lease. That has proved itself then, and proves nothing any
// more. Whatever the machine says now, only that guest can have sealed what opens with the stored keys.
func (d *deal) inGuest(ctx context.Context, l market.Lease) (bool, error) {
	if !d.p.Guest || l.State() != market.LeaseRunning {
		return false, nil
	}
	keys, err := d.b.folder.OutputKeys(d.order, l.Address)
	if err != nil || len(keys) == 0 {
		return false, err
	}
	st, err := d.remote.Status(ctx, l)
	if err != nil {
		return false, network(fmt.Sprintf("the machine of lease %s cannot be asked whether its guest has the job: %v", l.Address, err), "try again: gantry resume "+d.order.String(), err)
	}
	return st.State != messages.LeaseWaiting, nil
}

// outputKeys are those of the output of a lease; none for a lease without a measured guest.
func (r *Remote) outputKeys(lease solana.PublicKey) ([][]byte, error) {
	if r.Folder == nil {
		return nil, nil
	}
	return r.Folder.OutputKeys(solana.PublicKey{}, lease)
}

// JobStatus is Status with the word of the measured guest that runs the job in place of the machine's on its end, where the keys of its
// output are in the folder. The machine cannot read that word, and cannot make another one.
func (r *Remote) JobStatus(ctx context.Context, l market.Lease) (messages.LeaseStatus, error) {
	said, err := r.Status(ctx, l)
	if err != nil || said.State == messages.LeaseWaiting || said.State == messages.LeaseRunning {
		return said, err
	}
	keys, err := r.outputKeys(l.Address)
	if err != nil || len(keys) == 0 {
		return said, err
	}
	if !r.Ends.knows(l.Address, said.OutputBytes) { // the end is the last record of the output, and opens behind the others alone
		if err := r.readEnd(ctx, l, said.OutputBytes); err != nil {
			return said, err
		}
	}
	return r.Ends.ended(l.Address, said), nil
}

// endTime is how long the output is read for its end when somebody asks how a job stands.
const endTime = 10 * time.Second

// readEnd reads the output of a guest for its end. Output that ends without it, or that is not the guest's, is read once.
func (r *Remote) readEnd(ctx context.Context, l market.Lease, bytes uint64) error {
	limited, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	_, _, err := r.Logs().Read(limited, l, 0, false, func(service.Output) error { return nil })
	var untrue *service.Failure
	var refusal *service.RefusedByNode
	switch {
	case err == nil:
		r.Ends.noteSilence(l.Address, bytes, "")
	case limited.Err() != nil && ctx.Err() == nil:
		return network(fmt.Sprintf("the guest's word on the end of the job of lease %s is behind %d bytes of output, which could not be read in %s", l.Address, bytes, endTime),
			"read the output first: gantry logs "+l.Address.String(), err)
	case errors.As(err, &untrue):
		r.Ends.noteSilence(l.Address, bytes, untrue.Reason)
	case !errors.As(err, &refusal):
		return err
	}
	return nil
}

// GuestEnds are how jobs in measured guests have ended, as these say. The zero value knows none. It is safe for concurrent use.
type GuestEnds struct {
	mu     sync.Mutex
	of     map[solana.PublicKey]control.End
	silent map[solana.PublicKey]silence
}

// silence is output that was read and has no end: how long it was, and what is wrong with it.
type silence struct {
	bytes uint64
	why   string
}

// knows reports whether output that is so long need not be read.
func (g *GuestEnds) knows(lease solana.PublicKey, bytes uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.of[lease]
	s, silent := g.silent[lease]
	return known || silent && s.bytes == bytes
}

func (g *GuestEnds) noteSilence(lease solana.PublicKey, bytes uint64, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.silent == nil {
		g.silent = map[solana.PublicKey]silence{}
	}
	g.silent[lease] = silence{bytes, why}
}

func (g *GuestEnds) note(lease solana.PublicKey, end control.End) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[solana.PublicKey]control.End{}
	}
	g.of[lease] = end
}

// ended puts what the guest has sealed in place of what the machine says of a job's end.
func (g *GuestEnds) ended(lease solana.PublicKey, said messages.LeaseStatus) messages.LeaseStatus {
	g.mu.Lock()
	end, known := g.of[lease]
	why := g.silent[lease].why
	g.mu.Unlock()
	switch {
	case !known && (said.State == messages.LeaseExited || said.State == messages.LeaseBroken):
		if said.ExitCode <= 0 {
			said.State, said.ExitCode = messages.LeaseBroken, exitUnknown
		}
		if why != "" {
			why = " (" + why + ")"
		}
		said.Detail = "the guest's word on the end of the job did not come" + why + "; the machine says: " + printable.Text(said.Detail)
	case known && end.Failed != "":
		said.State, said.ExitCode, said.Detail = messages.LeaseBroken, exitNotRun, "the guest could not run the job: "+printable.Text(end.Failed)
	case known:
		said.State, said.ExitCode, said.Detail = messages.LeaseExited, int32(end.Code), fmt.Sprintf("the job ended with status %d, as its guest says", end.Code)
	}
	return said
}

// Exit codes of jobs whose own is not known, or that did not run.
const exitUnknown, exitNotRun = 137, 127
