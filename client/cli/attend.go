package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// attend follows the leases: it prints their output, signs receipts, and waits for the end and the last payment of
// leases that end with their job.
func (d *deployment) attend() error {
	done := map[solana.PublicKey]messages.LeaseStatus{}
	g, ctx := errgroup.WithContext(d.s.ctx)
	for _, l := range d.leases {
		g.Go(func() error {
			st, l, err := d.attendMoves(ctx, l)
			d.jobs.Lock()
			done[l.Address] = st
			d.jobs.Unlock()
			return err
		})
	}
	err := g.Wait()
	if d.s.ctx.Err() != nil {
		l := d.leases[len(d.leases)-1].Address
		return interrupted(fmt.Sprintf("detached: lease %s runs on and is paid for", l),
			fmt.Sprintf("attend it again: gantry resume %s      its output: gantry logs -f %s      stop it with: gantry stop %s", d.order, l, l))
	}
	if err != nil {
		return d.withLeases(err)
	}
	return d.finish(done)
}

func (d *deployment) attendOne(ctx context.Context, l market.Lease) (messages.LeaseStatus, error) {
	signing, stopSigning := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { d.s.keepSigning(signing, d.remote, l.Address, d.p.Receipts) })
	halt := sync.OnceFunc(func() { stopSigning(); wg.Wait() })
	defer halt()

	out := d.s.output
	if d.r.args.Nodes > 1 {
		out = &prefixed{w: out, prefix: "[" + short(l.Node) + "] "}
	}
	inspected := d.inspecting(ctx, l, halt)
	err := d.followUntilFailed(ctx, l, out)
	if p, ok := out.(*prefixed); ok {
		p.flush()
	}
	if bad := inspected(); bad != nil {
		return messages.LeaseStatus{}, bad
	}
	if err != nil {
		var refusal *service.RefusedByNode
		if !errors.As(err, &refusal) {
			return messages.LeaseStatus{}, err
		}
		d.s.say(" · output   %v", err)
	}
	if !d.r.args.NoMigration && d.failed(l.Address) {
		return messages.LeaseStatus{}, nil // the machine is gone, and its job with it
	}
	st := d.lastStatus(ctx, l)
	if !d.r.args.RunToCompletion {
		if cur, ok := d.v.Lease(l.Address); ok && cur.State() == market.LeaseRunning {
			d.s.say(" · exited   with code %d; the lease runs until %s UTC: stop it with gantry stop %s", st.ExitCode, when(cur.FundedUntil), l.Address)
		}
		return st, nil
	}
	stop := d.s.waiting("the lease to end with its job", "Ctrl-C detaches; the machine ends the lease")
	err = d.v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok := v.Lease(l.Address)
		return !ok || cur.State() == market.LeaseEnded || cur.CanMigrate()
	})
	stop()
	if err != nil {
		return st, err
	}
	halt()
	d.s.lastReceipt(d.remote, l.Address)
	if d.r.args.Redundant {
		err = d.awaitOutputs(ctx, l)
	}
	return st, err
}

// lastStatus asks the machine how the job ended, for a short time.
func (d *deployment) lastStatus(ctx context.Context, l market.Lease) messages.LeaseStatus {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		st, err := d.remote.status(ctx, l)
		if err == nil && st.State != messages.LeaseRunning && st.State != messages.LeaseWaiting {
			return st
		}
		t := time.NewTimer(200 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return st
		case <-t.C:
		}
	}
}

// prefixed marks every line with where it comes from. Lines of several machines do not mix.
type prefixed struct {
	w      io.Writer
	prefix string
	rest   []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := append([]byte(p.prefix), p.rest[:i+1]...)
		p.rest = p.rest[i+1:]
		if _, err := p.w.Write(line); err != nil {
			return len(b), err
		}
	}
}

// flush writes a last line without a line break.
func (p *prefixed) flush() {
	if len(p.rest) > 0 {
		_, _ = p.w.Write([]byte(p.prefix + string(p.rest) + "\n"))
		p.rest = nil
	}
}
