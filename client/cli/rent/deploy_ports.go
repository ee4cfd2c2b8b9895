package rent

import (
	"context"
	"sync"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// flagPort names ports of the container that a gateway makes public, or that deploy forwards while it stays.
	flagPort = "port"
)

// forwards are the ports that deploy forwards to this machine.
type forwards struct {
	s      *session
	ports  []expose.Wanted
	detach bool
	via    string // the gateway that makes them public; as long as it does, they are not forwarded
	end    func() // ends those of a machine; nil as long as there are none
}

// wanted are the ports that the flags name.
func (s *session) wanted() (all []expose.Wanted, err error) {
	for _, text := range s.CLI.StringSlice(flagPort) {
		w, err := expose.ParseWanted(text)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// via is the gateway that makes ports public; empty for none. Outputs that are compared are made without visitors.
func (s *session) via(ports []expose.Wanted) string {
	named := s.CLI.String(flagVia)
	if !s.CLI.IsSet(flagVia) {
		named = s.Gateway
	}
	if named == "" && (s.CLI.IsSet(flagVia) || s.CLI.IsSet("redundancy") || s.CLI.IsSet("rerun")) {
		return ""
	}
	return expose.Via(named, ports)
}

// fillPorts reads the ports before money moves.
func (s *session) fillPorts(r *buy.Request) error {
	ports, err := s.wanted()
	if err != nil {
		return err
	}
	if len(ports) > 0 {
		if r.Image == "" && r.Restore == "" {
			return service.Usage("--port is for containers", "name an --image, or leave --port out")
		}
		r.Public = nil // those of a file
		for _, p := range ports {
			r.Public = append(r.Public, template.Port{Name: p.Name, Port: p.Port})
		}
	}
	if len(r.Public) == 0 {
		if s.CLI.String(flagVia) != "" {
			return service.Usage("--via gives public addresses to ports, and no port is named", "name one, such as --port 8888")
		}
		return nil
	}
	if r.Gateway == "" || len(ports) > 0 || s.CLI.IsSet(flagVia) { // else it is the one that a file names
		r.Gateway = s.via(ports)
	}
	if r.Gateway == "" {
		r.Public = nil
	}
	return nil
}

// sayPorts says who will reach the ports.
func (s *session) sayPorts(r *buy.Request) {
	switch {
	case r.Gateway == expose.Auto:
		for _, p := range r.Public {
			s.Say(" · public   port %d gets an address that anybody reaches, by a gateway that keepers know (--via none: by none)", p.Port)
		}
	case r.Gateway != "":
		for _, p := range r.Public {
			s.Say(" · public   port %d gets an address that anybody reaches, by gateway %s", p.Port, r.Gateway)
		}
	case s.forwards != nil:
		s.Say(" · ports    ports are forwarded to this machine, and have no public address")
	}
}

// forwardPorts makes deploy forward its ports once the job runs, until stop is called.
func (s *session) forwardPorts() (stop func()) {
	ports, err := s.wanted()
	if len(ports) == 0 || err != nil { // fillPorts has said what is wrong
		return func() {}
	}
	s.Network = &buy.Network{} // the machine keeps one connection of a key
	s.forwards = &forwards{s: s, ports: ports, detach: s.CLI.Bool("detach"), via: s.via(ports)}
	return func() {
		s.forwards.stop()
		s.Network.Close()
	}
}

func (f *forwards) stop() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}

// event begins with the first machine that runs the job, and follows the job to another machine. Ports that are public
// are not forwarded.
func (f *forwards) event(e buy.Event) {
	switch e := e.(type) {
	case buy.Running:
		if f.via == "" {
			f.reach(e.Lease)
		}
	case buy.NotExposed:
		f.reach(e.Lease)
	case buy.Exposed:
		f.stop()
	case buy.Continued:
		if f.end != nil || f.via == "" {
			f.stop()
			f.begin(e.Lease)
		}
	}
}

// reach forwards the ports, or says how they can be.
func (f *forwards) reach(l market.Lease) {
	switch {
	case f.detach:
		for _, p := range f.ports {
			text := p.String()
			f.s.Say(" · reach    port %s: gantry port %s %s", text, l.Address, text)
		}
	case f.end == nil:
		f.begin(l)
	}
}

// begin forwards all ports of a machine's container. A port that cannot be forwarded is no reason to end a lease: it is
// said.
func (f *forwards) begin(l market.Lease) {
	ctx, cancel := context.WithCancel(f.s.Context)
	var wg sync.WaitGroup
	for _, p := range f.ports {
		wg.Go(func() {
			if err := (&session{Session: f.s.Part(ctx)}).forwardOne(l, p); err != nil && ctx.Err() == nil {
				f.s.Say(" · port     %s is not forwarded: %v; try: gantry port %s %s", p, err, l.Address, p)
			}
		})
	}
	f.end = func() {
		cancel()
		wg.Wait()
	}
}

// forwardOne forwards a port of a lease's container until the session ends.
func (s *session) forwardOne(l market.Lease, p expose.Wanted) error {
	defer s.Close()
	r, err := s.remote()
	if err != nil {
		return err
	}
	c, err := container.New(r, l, s.identity)
	if err != nil {
		return err
	}
	f := container.NewForwarder(c, p.Port)
	if _, err := f.Connect(s.Context); err != nil {
		return err
	}
	return f.Listen(s.Context, p.Here, "", s.Say)
}
