package rent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/terminal"
)

const (
	flagVia     = "via"
	flagTLSPort = "tls-port"
	flagSSH     = "ssh"
	flagFor     = "for"

	flagAmount   = "amount"
	flagMaxPrice = "max-price"
)

func gatewayCommands(s command.Streams) []*cli.Command {
	via := func() cli.Flag {
		return &cli.StringFlag{Name: flagVia, Value: expose.Auto, Usage: "`GATEWAY`: its key, its address with its identity (/dns/gw.example.org/tcp/4102/p2p/12D3…), or auto: the one that serves the lease's order, or the cheapest and nearest that keepers know"}
	}
	return []*cli.Command{{
		Name: "gateway", Usage: "let a gateway give a lease a public address",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "gateways that take new leases, the cheapest first, and of those the nearest",
				Description: "Keepers name the gateways that are connected with them, and each says what it asks.",
				Action:      action(s, (*session).gatewayList),
			},
			{
				Name: "open", Usage: "grant a gateway ports of a lease's container, or its SSH server", ArgsUsage: "LEASE",
				Description: "Anybody may run a gateway. It reaches what you grant it and nothing else, until you take it back or the lease ends.\n" +
					"What passes it is encrypted to the container with --tls-port and --ssh; with --port TLS ends at the gateway.\n" +
					"Opening again replaces what was granted before.",
				Flags: command.AsSession(via(),
					&cli.StringSliceFlag{Name: "port", Usage: "`PORT[:NAME]` at which the container speaks HTTP; repeat for more"},
					&cli.StringSliceFlag{Name: flagTLSPort, Usage: "`PORT[:NAME]` at which the container speaks TLS itself; repeat for more"},
					&cli.BoolFlag{Name: flagSSH, Usage: "the SSH server, for your own key"},
					&cli.StringSliceFlag{Name: flagSSHKey, Usage: "public key `FILE` that may pass as well; repeat for more"},
					&cli.DurationFlag{Name: flagFor, Usage: "`TIME` after which the grant ends (default: with the lease)"},
					&cli.StringFlag{Name: flagIdentity, Aliases: []string{"i"}, Usage: "private key `FILE` to log in with (default: the key that gantry has made)"},
				),
				Action: action(s, (*session).gatewayOpen),
			},
			{
				Name: "show", Usage: "what a gateway asks for relaying, and what is left of what was paid", ArgsUsage: "LEASE",
				Flags:  command.AsSession(via()),
				Action: action(s, (*session).gatewayShow),
			},
			{
				Name: "pay", Usage: "pay a gateway in advance for what it relays", ArgsUsage: "LEASE",
				Description: "The amount goes from your wallet to the gateway's, which lets it be used up by all your leases there. Nothing on chain makes\n" +
					"the gateway relay, or gives a rest back: pay little at a time. A command that was interrupted is finished by the next one.",
				Flags: []cli.Flag{
					via(),
					&cli.StringFlag{Name: flagAmount, Required: true, Usage: "`USDC` that you pay"},
					&cli.StringFlag{Name: flagMaxPrice, Usage: "the most `USDC` for a GiB"},
				},
				Action: action(s, (*session).gatewayPay),
			},
			{
				Name: "close", Usage: "take back what was granted to gateways", ArgsUsage: "LEASE",
				Description: "The lease's machine refuses every grant of the lease that was made so far, of all gateways. If the lease moves, the command\n" +
					"that brings its job to the next machine says so there, if it runs with the same --state-dir.",
				Flags:  command.AsSession(&cli.StringFlag{Name: flagVia, Usage: "tell this `GATEWAY` too, so that its names end at once"}),
				Action: action(s, (*session).gatewayClose),
			},
		},
	}}
}

// toGateways is the container of the lease that a command names, and what opens it to gateways.
func (s *session) toGateways(lease string) (*expose.Exposer, *container.Container, error) {
	c, err := s.container(lease)
	if err != nil {
		return nil, nil, err
	}
	key, err := s.KeyFile()
	if err != nil {
		return nil, nil, err
	}
	root, err := s.StateRoot()
	if err != nil {
		return nil, nil, err
	}
	return expose.New(expose.Options{Client: s.Client, Service: s.Service, Key: key, Root: root, Net: c.Remote().Net, Remote: c.Remote()}), c, nil
}

// toGateway is toGateways for a command with --via, with that gateway.
func (s *session) toGateway(lease string) (*expose.Gateway, *container.Container, error) {
	e, c, err := s.toGateways(lease)
	if err != nil {
		return nil, nil, err
	}
	g, err := e.ConnectFor(s.Context, s.CLI.String(flagVia), c.Lease())
	return g, c, err
}

// gatewayList finds gateways.
func (s *session) gatewayList() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	found, err := expose.New(expose.Options{Client: s.Client, Service: s.Service, Net: r.Net, Remote: r}).Find(s.Context)
	if err != nil {
		return err
	}
	return s.Done(found, func(w *terminal.Page) {
		if len(found) == 0 {
			fmt.Fprintln(w, &expose.NoGatewayError{})
			return
		}
		var rows [][]string
		for _, f := range found {
			rows = append(rows, []string{f.Gateway, f.Domain, f.Price, terminal.Mebibytes(f.Free), terminal.YesNo(f.SSH), fmt.Sprintf("%.0f ms", f.Millis)})
		}
		w.Table("GATEWAY|DOMAIN|>$/GIB|>FREE~1|SSH~2|>ROUND TRIP~3", rows)
		w.Hint("open a lease to one: gantry gateway open LEASE --via GATEWAY --port PORT")
	})
}

// gatewayOpen brings a gateway what the flags grant.
func (s *session) gatewayOpen() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	want, err := s.grantedByFlags()
	if err != nil {
		return err
	}
	g, c, err := s.toGateway(args[0])
	if err != nil {
		return err
	}
	opened, err := g.Open(s.Context, c.Lease(), want)
	if err != nil {
		return err
	}
	out := struct {
		*expose.Opened
		SSH []container.HostBlock `json:"ssh,omitempty"` // blocks for ~/.ssh/config, of which the last is the lease
	}{Opened: opened}
	if opened.Jump != nil {
		if out.SSH, err = s.jumpBlocks(c, g.Key(), opened.Jump); err != nil {
			return err
		}
	}
	return s.Done(out, func(w *terminal.Page) {
		printURLs(w, out.URLs)
		if out.Stays {
			fmt.Fprintln(w, "if the machine fails and the lease moves to another, the addresses lead there")
		}
		for _, b := range out.SSH {
			b.Print(w.Raw())
		}
		printTerms(w, g.Key(), out.Terms)
	})
}

func printURLs(w *terminal.Page, urls map[uint16]string) {
	for _, port := range slices.Sorted(maps.Keys(urls)) {
		printURL(w, port, urls[port])
	}
}

func printURL(w *terminal.Page, port uint16, url string) { fmt.Fprintf(w, "port %-6d %s\n", port, url) }

// grantedByFlags is what the flags grant.
func (s *session) grantedByFlags() (r expose.Request, err error) {
	for _, flag := range []string{flagPort, flagTLSPort} {
		for _, text := range s.CLI.StringSlice(flag) {
			p, err := expose.ParsePort(text, flag == flagTLSPort)
			if err != nil {
				return r, err
			}
			r.Ports = append(r.Ports, p)
		}
	}
	if s.CLI.Bool(flagSSH) || len(s.CLI.StringSlice(flagSSHKey)) > 0 {
		if r.SSHKeys, err = s.jobKeys(); err != nil {
			return r, err
		}
	}
	r.For = s.CLI.Duration(flagFor)
	return r, r.Check()
}

// jumpBlocks are the blocks of OpenSSH's configuration by which a lease is reached through a gateway. Both host keys are
// known from streams that only their owners can have: the gateway's, and the machine's own.
func (s *session) jumpBlocks(c *container.Container, gateway solana.PublicKey, j *expose.Jump) ([]container.HostBlock, error) {
	keys, err := s.sshKeys()
	if err != nil {
		return nil, err
	}
	lease := c.Lease().Address
	if err := c.Learn(s.Context, keys); err != nil {
		return nil, err
	}
	if err := keys.Learn(gateway, j.HostKey); err != nil {
		return nil, err
	}
	inner, err := s.sshOptions(lease)
	if err != nil {
		return nil, err
	}
	jump, err := s.sshOptions(gateway)
	if err != nil {
		return nil, err
	}
	return container.JumpBlocks(lease, gateway, j.Host, j.Port, j.Container, inner, jump), nil
}

// gatewayClose has the machine refuse what was granted, and tells the gateway.
func (s *session) gatewayClose() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	e, c, err := s.toGateways(args[0])
	if err != nil {
		return err
	}
	if err := e.TakeBack(s.Context, c.Lease()); err != nil {
		return err
	}
	if via := s.CLI.String(flagVia); via != "" {
		g, err := e.Connect(s.Context, via)
		if err != nil {
			return err
		}
		if err := g.Forget(s.Context, c.Lease().Address); err != nil {
			s.Say(" ! gateway  %s was not told (%v); the machine still refuses it", g.Key(), err)
		}
	}
	return s.Done(map[string]string{"lease": c.Lease().Address.String()}, func(w *terminal.Page) {
		fmt.Fprintf(w, "the machine of lease %s lets no gateway in any more\n", c.Lease().Address)
	})
}
