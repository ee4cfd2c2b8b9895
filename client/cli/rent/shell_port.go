package rent

import (
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/expose"
)

// port listens on this machine's loopback interface and connects whoever comes with a port of the container.
func (s *session) port() error {
	args, err := s.Args("LEASE", "PORT[:LOCAL]")
	if err != nil {
		return err
	}
	there, here, err := expose.ParseForward(args[1])
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	f := container.NewForwarder(c, there)
	if _, err := f.Connect(s.Context); err != nil {
		return err
	}
	return f.Listen(s.Context, here, "; Ctrl-C ends it", s.Say)
}
