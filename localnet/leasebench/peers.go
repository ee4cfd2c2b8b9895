package leasebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyTime bounds the wait for a peer.
const readyTime = time.Minute

func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// serve starts a server that ends with this process or when stop is called, and waits until its address, host:port, answers.
func serve(ctx context.Context, cmd *exec.Cmd, addr string) (stop func(), err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		c, err := net.Dial("tcp4", addr)
		if err == nil {
			return stop, c.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ended:
			return nil, fmt.Errorf("%s has ended: %s", cmd.Path, said.String())
		case <-ctx.Done():
			stop()
			return nil, errors.Join(ctx.Err(), errors.New(said.String()))
		}
	}
}

func startIperf(ctx context.Context) (port string, stop func(), err error) {
	if port, err = freePort(); err != nil {
		return "", nil, err
	}
	stop, err = serve(ctx, exec.Command("iperf3", "-s", "-p", port), "127.0.0.1:"+port)
	return port, stop, err
}

// sshServer starts OpenSSH's server in mounts of its own, where it finds the folder and the user that it wants, and returns the
// arguments with which its client reaches it.
func sshServer(ctx context.Context, program, dir string) (client []string, stop func(), err error) {
	fail := func(err error) ([]string, func(), error) { return nil, nil, fmt.Errorf("OpenSSH's server: %w", err) }
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return fail(err)
	}
	port, err := freePort()
	if err != nil {
		return fail(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)).CombinedOutput(); err != nil {
			return fail(fmt.Errorf("%w: %s", err, out))
		}
	}
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return fail(err)
	}
	config := "Port " + port + "\nListenAddress 127.0.0.1\nHostKey " + strconv.Quote(at("host")) + "\nAuthorizedKeysFile " + strconv.Quote(at("user.pub")) +
		"\nStrictModes no\nPermitRootLogin prohibit-password\nPidFile none\n"
	for name, text := range map[string]string{"config": config, "passwd": strings.TrimRight(string(users), "\n") + "\nsshd:x:65533:65534::/run/sshd:/bin/false\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			return fail(err)
		}
	}
	cmd := exec.Command("sh", "-ec", `mount --make-rprivate /; mount -t tmpfs tmpfs /run; mkdir -m 755 /run/sshd; mount --bind "$2" /etc/passwd; exec "$1" -D -e -f "$3"`,
		"sh", program, at("passwd"), at("config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if stop, err = serve(ctx, cmd, "127.0.0.1:"+port); err != nil {
		return fail(err)
	}
	return []string{
		"-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + at("known"), "-o", "IdentitiesOnly=yes",
		"-i", at("user"), "-p", port, "root@127.0.0.1",
	}, stop, nil
}

// startSSH starts the peer, unless this computer has no client for it.
func (b *bench) startSSH(ctx context.Context) (stop func(), err error) {
	if _, err := exec.LookPath("ssh"); err != nil {
		return func() {}, nil
	}
	b.peer, stop, err = sshServer(ctx, b.o.SSHD, filepath.Join(b.n.Dir(), "sshd"))
	return stop, err
}

// ssh measures a command in the container, by OpenSSH's client and by the one built in, and on this computer by OpenSSH's own server.
func (b *bench) ssh(ctx context.Context, lease string) error {
	t := Table{Title: "A command over SSH"}
	peer := Row{What: "OpenSSH on loopback", Unit: "s"}
	rows := []Row{{What: "`gantry ssh`", Unit: "s"}, {What: "`gantry exec`", Unit: "s"}}
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skipped = append(t.Skipped, "OpenSSH's client is not installed, and `gantry ssh` uses its own")
	} else if b.peer == nil {
		t.Skipped = append(t.Skipped, "OpenSSH's server is not there")
	}
	for i := range 2 * b.o.Runs {
		b.say("SSH %d of %d", i+1, 2*b.o.Runs)
		if b.peer != nil {
			took, err := timed(exec.CommandContext(ctx, "ssh", append(b.peer[:len(b.peer):len(b.peer)], "true")...))
			if err != nil {
				return err
			}
			peer.Values = append(peer.Values, took)
		}
		for k, how := range []string{"ssh", "exec"} {
			took, err := timed(b.n.Command(ctx, b.customer, how, lease, "--", "true"))
			if err != nil {
				return err
			}
			rows[k].Values = append(rows[k].Values, took)
		}
	}
	if b.peer != nil {
		t.Rows = append(t.Rows, peer)
	}
	t.Rows = append(t.Rows, rows...)
	b.result.Tables = append(b.result.Tables, t)
	return nil
}
