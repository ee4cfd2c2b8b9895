package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/client/container"
)

// port listens on this machine's loopback interface and connects whoever comes with a port of the container.
func (s *session) port() error {
	args, err := s.args("LEASE", "PORT[:LOCAL]")
	if err != nil {
		return err
	}
	there, here, err := ports(args[1])
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	f := container.NewForwarder(c, there)
	if _, err := f.Connect(s.ctx); err != nil {
		return err
	}
	return f.Listen(s.ctx, here, "; Ctrl-C ends it", s.say)
}

// ports reads PORT[:LOCAL]; without LOCAL it is the same.
func ports(text string) (there uint16, here string, err error) {
	first, here, two := strings.Cut(text, ":")
	if !two {
		here = first
	}
	n, err := strconv.ParseUint(first, 10, 16)
	_, lerr := strconv.ParseUint(here, 10, 16)
	if err != nil || lerr != nil || n == 0 {
		return 0, "", usage(fmt.Sprintf("%q is not a port, or two", text), "write PORT or PORT:LOCAL, such as 8888 or 8888:9000")
	}
	return uint16(n), here, nil
}
