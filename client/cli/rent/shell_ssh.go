package rent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// windows: the command with which OpenSSH reaches a container is written for a shell of Unix.
const windows = runtime.GOOS == "windows"

// ssh runs OpenSSH's client, or the one built in where there is none, and on Windows.
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
	if err != nil || windows {
		return s.run(c, s.Streams.Terminal && len(command) == 0, strings.Join(command, " "))
	}
	options, err := s.sshOptions(c.Lease().Address)
	if err != nil {
		return err
	}
	var args []string
	for _, o := range options {
		args = append(args, "-o", o.Name+"="+o.Value)
	}
	args = append(append(args, container.Alias(c.Lease().Address)), command...)
	client := exec.Command(path, args...)
	client.Stdin, client.Stdout, client.Stderr = s.Streams.In, s.Streams.RawOut, s.Streams.RawErr
	err = client.Run() // an interrupt of the terminal reaches it too: it decides
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &service.Failure{Code: exit.ExitCode(), Quiet: true, Reason: fmt.Sprintf("ssh ended with status %d", exit.ExitCode())}
	}
	return err
}

// sshProxy copies between standard input and output and the container's SSH server, and writes down its host key first.
func (s *session) sshProxy() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	conn, host, err := c.Stream(s.Context)
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
		_, err := tunnel.Copy(conn, s.Streams.In)
		done <- err
	}()
	go func() {
		_, err := tunnel.Copy(s.Streams.RawOut, conn)
		done <- err
	}()
	select {
	case err = <-done: // the client has gone, or the server
	case <-s.Context.Done():
		return s.Context.Err()
	}
	if err != nil {
		return service.Network("the connection to the container broke", "the lease may be over: gantry leases", err)
	}
	return nil
}

// sshOptions are those with which OpenSSH's programs reach a container.
func (s *session) sshOptions(lease solana.PublicKey) ([]container.Option, error) {
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
	return keys.Options(lease, key, proxy), nil
}

// proxyCommand is this very program with the settings of this command. A shell runs it, after OpenSSH has replaced what
// begins with %.
func (s *session) proxyCommand(lease solana.PublicKey) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("this program: %w", err)
	}
	words := []string{self}
	for _, name := range []string{command.FlagURL, command.FlagWS} {
		for _, v := range s.CLI.StringSlice(name) {
			words = append(words, "--"+name, v)
		}
	}
	if level := s.CLI.String(command.FlagCommitment); level != "" {
		words = append(words, "--"+command.FlagCommitment, level)
	}
	for _, name := range []string{command.FlagKeypair, command.FlagConfig} {
		if words, err = s.appendPath(words, name); err != nil {
			return "", err
		}
	}
	root, err := s.StateRoot() // that of now: the host key is looked up where the proxy writes it
	if err != nil {
		return "", err
	}
	words = append(words, "--"+command.FlagStateDir, root)
	words = append(words, "ssh-proxy")
	if words, err = s.appendPath(words, command.FlagSession); err != nil {
		return "", err
	}
	if customer := s.CLI.String(command.FlagCustomer); customer != "" {
		words = append(words, "--"+command.FlagCustomer, customer)
	}
	words = append(words, lease.String())
	for i, w := range words {
		words[i] = strings.ReplaceAll(container.QuoteWord(w), "%", "%%")
	}
	return strings.Join(words, " "), nil
}

func (s *session) appendPath(words []string, flag string) ([]string, error) {
	path := s.CLI.String(flag)
	if path == "" {
		return words, nil
	}
	path, err := filepath.Abs(path)
	return append(words, "--"+flag, path), err
}

// sshConfig prints a block for one lease, or for each that runs.
func (s *session) sshConfig() error {
	if windows {
		return service.Refused("OpenSSH of Windows cannot use this configuration", "use gantry ssh, gantry exec, gantry cp and gantry port, which need no other program")
	}
	var leases []market.Lease
	switch args := s.CLI.Args().Slice(); len(args) {
	case 0:
		if _, err := s.Market(); err != nil {
			return err
		}
		customer, err := s.Customer()
		if err != nil {
			return err
		}
		v, err := s.Snapshot(s.Mine([]solana.PublicKey{customer}))
		if err != nil {
			return err
		}
		for _, l := range v.LeasesOfCustomer(customer) {
			if l.State() == market.LeaseRunning {
				leases = append(leases, l)
			}
		}
	case 1:
		_, l, err := s.OwnLease(s.Snapshot, args[0])
		if err != nil {
			return err
		}
		leases = append(leases, l)
	default:
		return service.Usage(fmt.Sprintf("%q is one argument too many", args[1]), "write: gantry ssh-config [LEASE]")
	}
	blocks := make([]container.HostBlock, len(leases))
	for i, l := range leases {
		options, err := s.sshOptions(l.Address)
		if err != nil {
			return err
		}
		blocks[i] = container.NewHostBlock(container.Alias(l.Address), l.Address.String(), options)
	}
	return s.Done(blocks, func(w *terminal.Page) {
		if len(blocks) == 0 {
			fmt.Fprintln(w, "# no lease runs")
		}
		for _, b := range blocks {
			b.Print(w.Raw())
		}
	})
}
