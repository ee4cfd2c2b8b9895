package rent

import (
	"fmt"

	"github.com/urfave/cli/v2"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	flagIdentity = "identity"
	flagSSHKey   = "ssh-key"
)

func shellCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{
		{
			Name: "ssh", Usage: "a shell in a lease's container, or one command in it", ArgsUsage: "LEASE [-- COMMAND…]",
			Description: "Uses OpenSSH's client where it is installed. Only leases of an image have a container. The shell is that of the\n" +
				"image's user. What runs in it ends when the connection breaks, unless it was started with nohup, setsid or tmux.",
			Flags: command.AsSession(identityFlag()), Action: action(s, (*session).ssh),
		},
		{
			Name: "ssh-proxy", Hidden: true, Usage: "connect standard input and output with the SSH server of a container; for ProxyCommand", ArgsUsage: "LEASE",
			Flags: command.AsSession(), Action: action(s, (*session).sshProxy),
		},
		{
			Name: "ssh-config", Usage: "the lines for ~/.ssh/config with which ssh, scp, rsync and editors reach a container", ArgsUsage: "[LEASE]",
			Flags: command.AsSession(identityFlag()), Action: action(s, (*session).sshConfig),
		},
		{
			Name: "exec", Usage: "run a command in a lease's container as it is, without a shell", ArgsUsage: "LEASE -- COMMAND…",
			Description: "Ends with the command's exit status, 128 and the signal's number if a signal ended it. Programs that become root,\n" +
				"such as sudo, do not: use --user root.",
			Flags: command.AsSession(identityFlag(), &cli.BoolFlag{Name: "tty", Aliases: []string{"t"}, Usage: "give it a terminal"},
				userFlag()),
			Action: action(s, (*session).exec),
		},
		{
			Name: "cp", Usage: "copy files and folders into a lease's container or out of it", ArgsUsage: "SOURCE LEASE:TARGET | LEASE:SOURCE TARGET",
			Flags: command.AsSession(identityFlag()), Action: action(s, (*session).copy),
		},
		{
			Name: "port", Usage: "reach a port of a lease's container at a port of this machine", ArgsUsage: "LEASE PORT[:LOCAL]",
			Flags: command.AsSession(), Action: action(s, (*session).port),
		},
	}
}

func identityFlag() cli.Flag {
	return &cli.StringFlag{Name: flagIdentity, Aliases: []string{"i"}, Usage: "private key `FILE` to log in with (default: the key that gantry has made)"}
}

func userFlag() cli.Flag {
	return &cli.StringFlag{Name: flagUser, Aliases: []string{"u"}, Usage: "`NAME[:GROUP]` or numbers of the container's, such as root (default: the user of its program)"}
}

// container is the way into the container of a lease of the customer.
func (s *session) container(text string) (*container.Container, error) {
	v, l, err := s.OwnLease(s.Snapshot, text, query.Kind(market.KindKeeper))
	if err != nil {
		return nil, err
	}
	r, err := s.Dial(v)
	if err != nil {
		return nil, err
	}
	return container.New(r, l, s.identity)
}

// remote reaches members of the network that keepers know.
func (s *session) remote() (*buy.Remote, error) {
	v, err := s.Snapshot(view.With(view.Kinds(market.KindKeeper)))
	if err != nil {
		return nil, err
	}
	return s.Dial(v)
}

// login is a client of the SSH server in the container, until the command ends.
func (s *session) login(c *container.Container) (*ssh.Client, error) {
	client, err := c.Login(s.Context)
	if err == nil {
		s.OnClose(func() { _ = client.Close() })
	}
	return client, err
}

// leaseAnd splits the arguments of a command into the lease and what follows it.
func (s *session) leaseAnd(what string) (lease string, rest []string, err error) {
	args := s.CLI.Args().Slice()
	if len(args) == 0 {
		return "", nil, service.Usage("LEASE is missing", fmt.Sprintf("write: %s LEASE %s", s.CLI.Command.HelpName, what))
	}
	rest = args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return args[0], rest, nil
}
