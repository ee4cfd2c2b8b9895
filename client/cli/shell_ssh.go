package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// ssh runs OpenSSH's client, or the one built in where there is none.
func (s *session) ssh() error {
	text, command, err := s.leaseAnd("[-- COMMAND…]")
	if err != nil {
		return err
	}
	c, err := s.container(text)
	if err != nil {
		return err
	}
	path, err := exec.LookPath("ssh")
	if err != nil {
		return s.run(c, s.streams.Terminal && len(command) == 0, strings.Join(command, " "))
	}
	options, err := s.sshOptions(c.Lease().Address)
	if err != nil {
		return err
	}
	var args []string
	for _, o := range options {
		args = append(args, "-o", o.name+"="+o.value)
	}
	args = append(append(args, container.Alias(c.Lease().Address)), command...)
	client := exec.Command(path, args...)
	client.Stdin, client.Stdout, client.Stderr = s.streams.In, s.streams.rawOut, s.streams.rawErr
	err = client.Run() // an interrupt of the terminal reaches it too: it decides
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &failure{Code: exit.ExitCode(), Quiet: true, Reason: fmt.Sprintf("ssh ended with status %d", exit.ExitCode())}
	}
	return err
}

// sshProxy copies between standard input and output and the container's SSH server, and writes down its host key first.
func (s *session) sshProxy() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	conn, host, err := c.Stream(s.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	keys, err := s.sshKeys()
	if err != nil {
		return err
	}
	if err := keys.Learn(c.Lease().Address, host); err != nil {
		return err
	}
	done := make(chan error, 2)
	go func() {
		_, err := tunnel.Copy(conn, s.streams.In)
		done <- err
	}()
	go func() {
		_, err := tunnel.Copy(s.streams.rawOut, conn)
		done <- err
	}()
	select {
	case err = <-done: // the client has gone, or the server
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	if err != nil {
		return network("the connection to the container broke", "the lease may be over: gantry leases", err)
	}
	return nil
}

// option is a line of OpenSSH's configuration.
type option struct{ name, value string }

// sshOptions are those with which OpenSSH's programs reach a container.
func (s *session) sshOptions(lease solana.PublicKey) ([]option, error) {
	key, err := s.identityFile()
	if err != nil {
		return nil, err
	}
	keys, err := s.sshKeys()
	if err != nil {
		return nil, err
	}
	proxy, err := s.proxyCommand(lease)
	if err != nil {
		return nil, err
	}
	return []option{
		{"ProxyCommand", proxy},
		{"User", container.User},
		{"IdentityFile", quoteOption(key)},
		{"IdentitiesOnly", "yes"},
		{"HostKeyAlias", container.Alias(lease)},
		{"UserKnownHostsFile", quoteOption(keys.KnownHosts(lease))},
		{"GlobalKnownHostsFile", "/dev/null"},
		{"StrictHostKeyChecking", "yes"},
		{"CheckHostIP", "no"},
		{"UpdateHostKeys", "no"},
	}, nil
}

// proxyCommand is this very program with the settings of this command. A shell runs it, after OpenSSH has replaced what
// begins with %.
func (s *session) proxyCommand(lease solana.PublicKey) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("this program: %w", err)
	}
	words := []string{self}
	for _, name := range []string{flagURL, flagWS} {
		for _, v := range s.cli.StringSlice(name) {
			words = append(words, "--"+name, v)
		}
	}
	if level := s.cli.String(flagCommitment); level != "" {
		words = append(words, "--"+flagCommitment, level)
	}
	for _, name := range []string{flagKeypair, flagConfig} {
		if words, err = s.appendPath(words, name); err != nil {
			return "", err
		}
	}
	root, err := s.stateRoot() // that of now: the host key is looked up where the proxy writes it
	if err != nil {
		return "", err
	}
	words = append(words, "--"+flagStateDir, root)
	words = append(words, "ssh-proxy")
	if words, err = s.appendPath(words, flagSession); err != nil {
		return "", err
	}
	if customer := s.cli.String(flagCustomer); customer != "" {
		words = append(words, "--"+flagCustomer, customer)
	}
	words = append(words, lease.String())
	for i, w := range words {
		words[i] = strings.ReplaceAll(container.QuoteWord(w), "%", "%%")
	}
	return strings.Join(words, " "), nil
}

func (s *session) appendPath(words []string, flag string) ([]string, error) {
	path := s.cli.String(flag)
	if path == "" {
		return words, nil
	}
	path, err := filepath.Abs(path)
	return append(words, "--"+flag, path), err
}

// quoteOption quotes a path in OpenSSH's configuration.
func quoteOption(path string) string {
	return `"` + strings.ReplaceAll(path, "%", "%%") + `"`
}

// sshConfig prints a block for one lease, or for each that runs.
func (s *session) sshConfig() error {
	var leases []market.Lease
	switch args := s.cli.Args().Slice(); len(args) {
	case 0:
		if _, err := s.market(); err != nil {
			return err
		}
		customer, err := s.customer()
		if err != nil {
			return err
		}
		v, err := s.snapshot(s.mine([]solana.PublicKey{customer}))
		if err != nil {
			return err
		}
		for _, l := range v.LeasesOfCustomer(customer) {
			if l.State() == market.LeaseRunning {
				leases = append(leases, l)
			}
		}
	case 1:
		_, l, err := s.ownLease(s.snapshot, args[0])
		if err != nil {
			return err
		}
		leases = append(leases, l)
	default:
		return usage(fmt.Sprintf("%q is one argument too many", args[1]), "write: gantry ssh-config [LEASE]")
	}
	blocks := make([]hostBlock, len(leases))
	for i, l := range leases {
		options, err := s.sshOptions(l.Address)
		if err != nil {
			return err
		}
		blocks[i] = newHostBlock(container.Alias(l.Address), l.Address.String(), options)
	}
	return s.done(blocks, func(w io.Writer) {
		if len(blocks) == 0 {
			fmt.Fprintln(w, "# no lease runs")
		}
		for _, b := range blocks {
			b.print(w)
		}
	})
}

// hostBlock is a block of OpenSSH's configuration.
type hostBlock struct {
	Host    string            `json:"host"`
	Lease   string            `json:"lease,omitempty"`
	Options map[string]string `json:"options"`
	options []option
}

func newHostBlock(host, lease string, options []option) hostBlock {
	b := hostBlock{Host: host, Lease: lease, Options: map[string]string{}, options: options}
	for _, o := range options {
		b.Options[o.name] = o.value
	}
	return b
}

func (b hostBlock) print(w io.Writer) {
	fmt.Fprintf(w, "Host %s\n", b.Host)
	for _, o := range b.options {
		fmt.Fprintf(w, "    %s %s\n", o.name, o.value)
	}
}
