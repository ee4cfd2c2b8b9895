package cli

import (
	"context"
	"sync"
)

// flagPort names ports of the container that this command forwards while it stays.
const flagPort = "port"

// checkPorts reads the ports before money moves.
func (s *session) checkPorts() error {
	for _, text := range s.cli.StringSlice(flagPort) {
		if _, _, err := ports(text); err != nil {
			return err
		}
		if s.cli.String("image") == "" && s.cli.String(flagTemplate) == "" && !s.cli.IsSet(flagRestore) {
			return usage("--port is for containers", "name an --image, or leave --port out")
		}
	}
	return nil
}

// forwardPorts forwards the ports of the first machine's container until stop is called. A port that cannot be forwarded is
// no reason to end a lease: it is said.
func (d *deployment) forwardPorts() (stop func()) {
	ctx, cancel := context.WithCancel(d.s.ctx)
	var wg sync.WaitGroup
	for _, text := range d.s.cli.StringSlice(flagPort) {
		there, here, err := ports(text)
		if err != nil {
			continue // request has refused it
		}
		f := &forwarder{c: &container{s: d.s, r: d.remote, lease: d.leases[0]}, port: there}
		wg.Go(func() {
			err := f.await(ctx)
			if err == nil {
				err = f.listen(ctx, here, "")
			}
			if ctx.Err() == nil {
				d.s.say(" · port     %d is not forwarded: %v; try: gantry port %s %d", there, err, f.c.lease.Address, there)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// tellPorts says how the ports are reached where this command does not stay.
func (d *deployment) tellPorts() {
	for _, text := range d.s.cli.StringSlice(flagPort) {
		d.s.say(" · reach    port %s: gantry port %s %s", text, d.leases[0].Address, text)
	}
}
