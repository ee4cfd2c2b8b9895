package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var (
	shellProtocol = buy.ToNode(messages.Shell)
	portsProtocol = since(3, buy.ToNode(messages.Ports))
)

const (
	flagIdentity = "identity"
	flagSSHKey   = "ssh-key"
	// enterTime is how long the way into a container may take.
	enterTime = 30 * time.Second
	// sshUser is the name with which clients log in; containers have one user for everybody, the image's.
	sshUser = "gantry"
	// sessionHint is advice about a container that answers and does not do what it is asked.
	sessionHint = "try again; gantry audit LEASE shows whether the lease still runs, gantry logs LEASE what its job says"
)

func shellCommands(s Streams) []*cli.Command {
	identity := func() cli.Flag {
		return &cli.StringFlag{Name: flagIdentity, Aliases: []string{"i"}, Usage: "private key `FILE` to log in with (default: the key that gantry has made)"}
	}
	return []*cli.Command{
		{
			Name: "ssh", Usage: "a shell in a lease's container, or one command in it", ArgsUsage: "LEASE [-- COMMAND…]",
			Description: "Uses OpenSSH's client where it is installed. Only leases of an image have a container. The shell is that of the\n" +
				"image's user. What runs in it ends when the connection breaks, unless it was started with nohup, setsid or tmux.",
			Flags: asSession(identity()), Action: action(s, (*session).ssh),
		},
		{
			Name: "ssh-proxy", Hidden: true, Usage: "connect standard input and output with the SSH server of a container; for ProxyCommand", ArgsUsage: "LEASE",
			Flags: asSession(), Action: action(s, (*session).sshProxy),
		},
		{
			Name: "ssh-config", Usage: "what to put into ~/.ssh/config, so that ssh, scp, rsync and editors reach a container", ArgsUsage: "[LEASE]",
			Flags: asSession(identity()), Action: action(s, (*session).sshConfig),
		},
		{
			Name: "exec", Usage: "run a command in a lease's container as it is, without a shell", ArgsUsage: "LEASE -- COMMAND…",
			Description: "Ends with the command's exit status, 128 and the signal's number if a signal ended it.",
			Flags:       asSession(identity(), &cli.BoolFlag{Name: "tty", Aliases: []string{"t"}, Usage: "give it a terminal"}),
			Action:      action(s, (*session).exec),
		},
		{
			Name: "cp", Usage: "copy files and folders into a lease's container or out of it", ArgsUsage: "SOURCE LEASE:TARGET | LEASE:SOURCE TARGET",
			Flags: asSession(identity()), Action: action(s, (*session).copy),
		},
		{
			Name: "port", Usage: "reach a port of a lease's container at a port of this machine", ArgsUsage: "LEASE PORT[:LOCAL]",
			Flags: asSession(), Action: action(s, (*session).port),
		},
	}
}

// container is the way into the container of a lease.
type container struct {
	s     *session
	r     *buy.Remote
	lease market.Lease
}

// container finds a lease of the customer that may have a container.
func (s *session) container(text string) (*container, error) {
	v, l, err := s.ownLease(s.snapshot, text, query.Kind(market.KindKeeper))
	if err != nil {
		return nil, err
	}
	switch l.State() {
	case market.LeaseAwarded:
		return nil, refused(fmt.Sprintf("lease %s has not started yet", l.Address), "its image may be on its way; try again once it runs: gantry leases")
	case market.LeaseRunning:
	default:
		return nil, refused(fmt.Sprintf("lease %s is over, and its container with it", l.Address), "what it has printed may still be there: gantry logs "+l.Address.String())
	}
	r, err := s.dial(v)
	return &container{s: s, r: r, lease: l}, err
}

// enter opens a connection into the container. what it is for is named where the machine does not know it.
func enter[Req, Resp any](c *container, p p2p.Protocol, req Req, what string, refusal func(Resp) string) (net.Conn, Resp, error) {
	var none Resp
	ctx, cancel := context.WithTimeout(c.s.ctx, enterTime)
	defer cancel()
	if err := c.r.Reach(ctx, c.lease.NodeKey); err != nil {
		return nil, none, network(fmt.Sprintf("the machine of lease %s is not reachable", c.lease.Address), "try again; if it stays so, see: gantry leases", err)
	}
	conn, answer, err := p2p.Dial[Req, Resp](ctx, c.r.Net, c.lease.NodeKey, p, req)
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return nil, none, refused("the machine's agent does not serve "+what, "its provider has to update it")
	case err != nil:
		return nil, none, network(err.Error(), "try again", err)
	}
	if why := refusal(answer); why != "" {
		_ = conn.Close()
		return nil, none, refused((&service.RefusedByNode{Why: why}).Error(), "see: gantry leases, gantry logs "+c.lease.Address.String())
	}
	return conn, answer, nil
}

// stream opens a connection to the SSH server in the container. Who serves it is known by the node's own key, and names
// the server's host key.
func (c *container) stream() (net.Conn, ssh.PublicKey, error) {
	req := messages.LeaseRequest{Version: messages.Version, Lease: c.lease.Address}
	conn, answer, err := enter(c, shellProtocol, req, "shells", func(a messages.ShellAnswer) string { return a.Refused })
	if err != nil {
		return nil, nil, err
	}
	host, err := ssh.ParsePublicKey(answer.HostKey)
	if err != nil {
		_ = conn.Close()
		return nil, nil, network("the machine names a host key that cannot be read: "+err.Error(), sessionHint, err)
	}
	return conn, host, nil
}

// login is a client of the SSH server in the container.
func (c *container) login() (*ssh.Client, error) {
	signer, err := c.s.identity()
	if err != nil {
		return nil, err
	}
	conn, host, err := c.stream()
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(enterTime, func() { _ = conn.Close() })
	defer late.Stop()
	sc, channels, requests, err := ssh.NewClientConn(conn, c.lease.Address.String(), &ssh.ClientConfig{
		User: sshUser, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(host),
		HostKeyAlgorithms: []string{host.Type()},
	})
	if err != nil {
		_ = conn.Close()
		if strings.Contains(err.Error(), "unable to authenticate") {
			return nil, refused(fmt.Sprintf("the container refuses this machine's SSH key: the job of lease %s does not name it", c.lease.Address),
				"log in from where it was ordered, or with a key that was named: --identity FILE")
		}
		return nil, network("the SSH server in the container does not answer: "+err.Error(), "the container may be ending; see: gantry leases", err)
	}
	client := ssh.NewClient(sc, channels, requests)
	c.s.closers = append(c.s.closers, func() { _ = client.Close() })
	return client, nil
}

// leaseAnd splits the arguments of a command into the lease and what follows it.
func (s *session) leaseAnd(what string) (lease string, rest []string, err error) {
	args := s.cli.Args().Slice()
	if len(args) == 0 {
		return "", nil, usage("LEASE is missing", fmt.Sprintf("write: %s LEASE %s", s.cli.Command.HelpName, what))
	}
	rest = args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return args[0], rest, nil
}

// remoteExit is the failure of a command that ended with an exit status other than 0; nothing is said of it.
func remoteExit(err error) error {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case errors.As(err, &exit) && exit.Signal() != "":
		return &failure{Code: 128 + signalNumbers[exit.Signal()], Quiet: true, Reason: "the command was ended by SIG" + exit.Signal()}
	case errors.As(err, &exit):
		return &failure{Code: exit.ExitStatus(), Quiet: true, Reason: fmt.Sprintf("the command ended with status %d", exit.ExitStatus())}
	case errors.As(err, &missing):
		return network("the connection to the container broke", "the lease may be over: gantry leases", err)
	}
	return err
}

var signalNumbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15,
}
