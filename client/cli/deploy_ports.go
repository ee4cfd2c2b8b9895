package cli

import (
	"context"
	"io"
	"sync"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// flagPort names ports of the container that deploy forwards while it stays.
const flagPort = "port"

// forwards are the ports that deploy forwards to this machine.
type forwards struct {
	s      *session
	ports  []string
	detach bool
	end    func() // ends those of a machine; nil as long as there are none
}

// checkPorts reads the ports before money moves.
func (s *session) checkPorts(r *buy.Request) error {
	for _, text := range s.cli.StringSlice(flagPort) {
		if _, _, err := ports(text); err != nil {
			return err
		}
		if r.Image == "" && r.Restore == "" {
			return usage("--port is for containers", "name an --image, or leave --port out")
		}
	}
	return nil
}

// forwardPorts makes deploy forward its ports once the job runs, until stop is called.
func (s *session) forwardPorts() (stop func()) {
	texts := s.cli.StringSlice(flagPort)
	if len(texts) == 0 {
		return func() {}
	}
	s.joined = &buy.Network{} // the machine keeps one connection of a key
	s.forwards = &forwards{s: s, ports: texts, detach: s.cli.Bool("detach")}
	return func() {
		s.forwards.stop()
		s.joined.Close()
	}
}

func (f *forwards) stop() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}

// event begins with the first machine that runs the job, and follows the job to another machine.
func (f *forwards) event(e buy.Event) {
	switch e := e.(type) {
	case buy.Running:
		switch {
		case f.detach:
			for _, text := range f.ports {
				f.s.say(" · reach    port %s: gantry port %s %s", text, e.Lease.Address, text)
			}
		case f.end == nil:
			f.begin(e.Lease)
		}
	case buy.Continued:
		f.stop()
		f.begin(e.Lease)
	}
}

// begin forwards all ports of a machine's container. A port that cannot be forwarded is no reason to end a lease: it is
// said.
func (f *forwards) begin(l market.Lease) {
	ctx, cancel := context.WithCancel(f.s.ctx)
	var wg sync.WaitGroup
	for _, text := range f.ports {
		wg.Go(func() {
			if err := f.s.quiet(ctx).forwardOne(l, text); err != nil && ctx.Err() == nil {
				f.s.say(" · port     %s is not forwarded: %v; try: gantry port %s %s", text, err, l.Address, text)
			}
		})
	}
	f.end = func() {
		cancel()
		wg.Wait()
	}
}

// quiet is a session of its own for a part of the command: it shares client and key, and prints nothing but progress. The
// caller closes it.
func (s *session) quiet(ctx context.Context) *session {
	f := *s
	f.ctx, f.closers, f.mk, f.agreed = ctx, nil, nil, false
	f.out, f.output = io.Discard, io.Discard
	return &f
}

// forwardOne forwards a port of a lease's container until the session ends.
func (s *session) forwardOne(l market.Lease, text string) error {
	defer s.close()
	there, here, err := ports(text)
	if err != nil {
		return err
	}
	v, err := s.snapshot(view.With(view.Kinds(market.KindKeeper)))
	if err != nil {
		return err
	}
	r, err := s.dial(v)
	if err != nil {
		return err
	}
	c, err := container.New(r, l, s.identity)
	if err != nil {
		return err
	}
	f := container.NewForwarder(c, there)
	if _, err := f.Connect(s.ctx); err != nil {
		return err
	}
	return f.Listen(s.ctx, here, "", s.say)
}
