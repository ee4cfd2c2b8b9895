package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	// flagPort names ports of the container that a gateway makes public, or that deploy forwards while it stays.
	flagPort = "port"
	// envGateway is the gateway of those who name none with --via.
	envGateway = "GANTRY_GATEWAY"
)

// forwards are the ports that deploy forwards to this machine.
type forwards struct {
	s      *session
	ports  []string
	detach bool
	via    string // the gateway that makes them public; as long as it does, they are not forwarded
	end    func() // ends those of a machine; nil as long as there are none
}

// deployPort is a port of deploy: PORT, PORT:LOCAL or PORT:NAME. Digits are a port of this machine, for a forward; other
// words are the beginning of the name at a gateway. Each has the port's number where the other is given.
func deployPort(text string) (there uint16, here, name string, err error) {
	number, word, _ := strings.Cut(text, ":")
	if strings.Trim(word, "0123456789") == "" { // none, or a number
		there, here, err = ports(text)
		return there, here, strconv.Itoa(int(there)), err
	}
	p, err := expose.ParsePort(text, false)
	return p.Port, number, p.Name, err
}

// fillPorts reads the ports before money moves.
func (s *session) fillPorts(r *buy.Request) error {
	texts, via := s.cli.StringSlice(flagPort), s.cli.String(flagVia)
	if len(texts) == 0 {
		if via != "" && via != os.Getenv(envGateway) {
			return usage("--via gives public addresses to ports, and no port is named", "name one, such as --port 8888")
		}
		return nil
	}
	if r.Image == "" && r.Restore == "" {
		return usage("--port is for containers", "name an --image, or leave --port out")
	}
	for _, text := range texts {
		there, _, name, err := deployPort(text)
		if err != nil {
			return err
		}
		if via != "" {
			r.Public = append(r.Public, template.Port{Name: name, Port: there})
		}
	}
	r.Gateway = via
	return nil
}

// sayPorts says who will reach the ports.
func (s *session) sayPorts(r *buy.Request) {
	switch {
	case r.Gateway != "":
		for _, p := range r.Public {
			s.say(" · public   port %d gets an address that anybody reaches, by gateway %s", p.Port, r.Gateway)
		}
	case s.forwards != nil:
		s.say(" · ports    no gateway is named (--via, or %s): ports are forwarded to this machine, and have no public address", envGateway)
	}
}

// forwardPorts makes deploy forward its ports once the job runs, until stop is called.
func (s *session) forwardPorts() (stop func()) {
	texts := s.cli.StringSlice(flagPort)
	if len(texts) == 0 {
		return func() {}
	}
	s.joined = &buy.Network{} // the machine keeps one connection of a key
	s.forwards = &forwards{s: s, ports: texts, detach: s.cli.Bool("detach"), via: s.cli.String(flagVia)}
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
		for _, text := range f.ports {
			there, here, _, err := deployPort(text)
			if err == nil {
				text = strings.TrimSuffix(fmt.Sprintf("%d:%s", there, here), fmt.Sprintf(":%d", there))
			}
			f.s.say(" · reach    port %s: gantry port %s %s", text, l.Address, text)
		}
	case f.end == nil:
		f.begin(l)
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
	there, here, _, err := deployPort(text)
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
