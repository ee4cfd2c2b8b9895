package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var (
	shellProtocol = buy.ToNode(messages.Shell)
	portsProtocol = buy.ToNode(messages.Ports)
)

const (
	// EnterTime is how long the way into a container may take.
	EnterTime = 30 * time.Second
	// startedAgain is the time between tries to enter a container that has not begun yet.
	startedAgain = 500 * time.Millisecond
	// User is the name with which clients log in; containers have one user for everybody, the image's.
	User = "gantry"
	// Hint is advice about a container that answers and does not do what it is asked.
	Hint = "try again; gantry audit LEASE shows whether the lease still runs, gantry logs LEASE what its job says"
)

// Container is the way into the container of a lease.
type Container struct {
	remote *buy.Remote
	lease  market.Lease
	key    func() (ssh.Signer, error)
	user   string
}

// New is the way into the container of a lease, with the key to log in with. Error: a [service.Failure] where the lease
// has no container now.
func New(r *buy.Remote, l market.Lease, key func() (ssh.Signer, error)) (*Container, error) {
	switch l.State() {
	case market.LeaseAwarded:
		return nil, service.Refused(fmt.Sprintf("lease %s has not started yet", l.Address), "its image may be on its way; try again once it runs: gantry leases")
	case market.LeaseRunning:
		return &Container{remote: r, lease: l, key: key}, nil
	}
	return nil, service.Refused(fmt.Sprintf("lease %s is over", l.Address), "what it has printed may still be there: gantry logs "+l.Address.String())
}

// Remote is the membership of the network that leads to it.
func (c *Container) Remote() *buy.Remote { return c.remote }

// As is the way into the container as one of its users: a name or a number, with :GROUP if need be; empty for that of the container's
// program. Error: a [service.Failure].
func (c *Container) As(user string) (*Container, error) {
	var e *jobspec.Error
	if err := jobspec.CheckUser(user, jobspec.User); errors.As(err, &e) {
		return nil, service.Usage(e.Why, e.Do)
	}
	as := *c
	as.user = user
	return &as, nil
}

// Lease is the container's.
func (c *Container) Lease() market.Lease { return c.lease }

// enter opens a connection into the container. what it is for is named where the machine does not know it. A container
// begins a moment after its lease, which is waited for.
func enter[Req, Resp any](ctx context.Context, c *Container, p p2p.Protocol, req Req, what string, refusal func(Resp) string) (net.Conn, Resp, error) {
	var (
		conn   net.Conn
		answer Resp
		err    error
	)
	ended := wait.Again(ctx, service.StartTime, startedAgain, func() bool {
		conn, answer, err = enterOnce(ctx, c, p, req, what, refusal)
		var why *service.RefusedByNode
		return errors.As(err, &why) && (why.Why == messages.JobMissing || why.Why == messages.ContainerStarts)
	})
	if ended != nil {
		return nil, answer, ended
	}
	return conn, answer, err
}

func enterOnce[Req, Resp any](ctx context.Context, c *Container, p p2p.Protocol, req Req, what string, refusal func(Resp) string) (net.Conn, Resp, error) {
	var none Resp
	ctx, cancel := context.WithTimeout(ctx, EnterTime)
	defer cancel()
	if err := c.remote.Reach(ctx, c.lease.NodeKey); err != nil {
		return nil, none, service.Network(fmt.Sprintf("the machine of lease %s is not reachable", c.lease.Address), "try again; if it stays so, see: gantry leases", err)
	}
	conn, answer, err := p2p.Dial[Req, Resp](ctx, c.remote.Net, c.lease.NodeKey, p, req)
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return nil, none, service.Refused("the machine's agent does not serve "+what, "its provider has to update it")
	case err != nil:
		return nil, none, service.Network(err.Error(), "try again", err)
	}
	if why := refusal(answer); why != "" {
		_ = conn.Close()
		by := &service.RefusedByNode{Why: why}
		return nil, none, &service.Failure{Code: service.CodeRefused, Reason: by.Error(), Advice: "see: gantry leases, gantry logs " + c.lease.Address.String(), Cause: by}
	}
	return conn, answer, nil
}

// Stream opens a connection to the SSH server in the container. Who serves it is known by the node's own key, and names
// the server's host key.
func (c *Container) Stream(ctx context.Context) (net.Conn, ssh.PublicKey, error) {
	req := messages.ShellRequest{Version: messages.Version, Lease: c.lease.Address, User: c.user}
	conn, answer, err := enter(ctx, c, shellProtocol, req, "shells", func(a messages.ShellAnswer) string { return a.Refused })
	if err != nil {
		return nil, nil, err
	}
	if answer.User != c.user {
		_ = conn.Close()
		return nil, nil, service.Refused("the machine's agent does not serve other users than the container's", "its provider has to update it")
	}
	host, err := ssh.ParsePublicKey(answer.HostKey)
	if err != nil {
		_ = conn.Close()
		return nil, nil, service.Network("the machine names a host key that cannot be read: "+err.Error(), Hint, err)
	}
	return conn, host, nil
}

// Learn writes down the host key of the container's SSH server, as its machine says it.
func (c *Container) Learn(ctx context.Context, keys *Keys) error {
	conn, host, err := c.Stream(ctx)
	if err != nil {
		return err
	}
	return errors.Join(conn.Close(), keys.Learn(c.lease.Address, host))
}

// Login is a client of the SSH server in the container, which the caller closes.
func (c *Container) Login(ctx context.Context) (*ssh.Client, error) {
	signer, err := c.key()
	if err != nil {
		return nil, err
	}
	conn, host, err := c.Stream(ctx)
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(EnterTime, func() { _ = conn.Close() })
	defer late.Stop()
	sc, channels, requests, err := ssh.NewClientConn(conn, c.lease.Address.String(), &ssh.ClientConfig{
		User: User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(host),
		HostKeyAlgorithms: []string{host.Type()},
	})
	if err != nil {
		_ = conn.Close()
		if strings.Contains(err.Error(), "unable to authenticate") {
			return nil, service.Refused(fmt.Sprintf("the container refuses this machine's SSH key: the job of lease %s does not name it", c.lease.Address),
				"log in from where it was ordered, or with a key that was named: --identity FILE")
		}
		return nil, service.Network("the SSH server in the container does not answer: "+err.Error(), "the container may be ending; see: gantry leases", err)
	}
	return ssh.NewClient(sc, channels, requests), nil
}

// ExitOf is the failure of a command that ended with an exit status other than 0; nothing is said of it.
func ExitOf(err error) error {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case errors.Is(err, io.EOF): // its status is 0, and it has not read all of its input
		return nil
	case errors.As(err, &exit) && exit.Signal() != "":
		return &service.Failure{Code: 128 + signalNumbers[exit.Signal()], Quiet: true, Reason: "the command was ended by SIG" + exit.Signal()}
	case errors.As(err, &exit):
		return &service.Failure{Code: exit.ExitStatus(), Quiet: true, Reason: fmt.Sprintf("the command ended with status %d", exit.ExitStatus())}
	case errors.As(err, &missing):
		return service.Network("the connection to the container broke", "the lease may be over: gantry leases", err)
	}
	return err
}

// ExitCode is the exit status of a command that Run has run, from its error; exited is false where that is another failure.
func ExitCode(err error) (code int, exited bool) {
	var f *service.Failure
	switch {
	case err == nil:
		return 0, true
	case errors.As(err, &f) && f.Quiet:
		return f.Code, true
	}
	return 0, false
}

var signalNumbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15,
}
