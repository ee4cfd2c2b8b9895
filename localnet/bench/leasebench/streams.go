package leasebench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gantry-market/gantry/localnet/peers"
)

// copiedMB is the size of the file that is copied.
const copiedMB = 200

// way is one of those that are measured in turns.
type way struct {
	what string
	cmd  func() *exec.Cmd
}

// ports measures iperf3 through forwarded ports, and beside them.
func (b *measuring) ports(ctx context.Context, lease string) (err error) {
	t := Table{Title: "Forwarded TCP, one stream"}
	defer func() { b.result.Tables = append(b.result.Tables, t) }()
	if b.iperf != nil {
		t.Skipped = append(t.Skipped, "iperf3 is not installed")
		return nil
	}
	near, stopNear, err := startIperf(ctx)
	if err != nil {
		return err
	}
	defer stopNear()
	at, stop, err := b.n.Forward(ctx, b.customer, lease, iperfPort)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	_, port, _ := strings.Cut(at, ":")
	inside := []string{"exec", lease, "--", "iperf3", "-c", "127.0.0.1", "-p", iperfPort, "-J", "-t", "3"}
	ways := []way{
		{"iperf3 on loopback", func() *exec.Cmd { return iperf(ctx, "127.0.0.1", near) }},
		{"`gantry port`", func() *exec.Cmd { return iperf(ctx, "127.0.0.1", port) }},
		{"`gantry port`, from the container", func() *exec.Cmd { return iperf(ctx, "127.0.0.1", port, "-R") }},
		{"iperf3 within the container", func() *exec.Cmd { return b.n.Command(ctx, b.customer, inside...) }},
	}
	if b.peer == nil {
		t.Skipped = append(t.Skipped, "`ssh -L`: OpenSSH's server is not there")
	} else {
		own, stopOwn, err := forwarded(ctx, b.peer, near)
		if err != nil {
			return err
		}
		defer stopOwn()
		config, err := b.sshConfig(ctx, lease)
		if err != nil {
			return err
		}
		there, stopThere, err := forwarded(ctx, config, iperfPort)
		if err != nil {
			return err
		}
		defer stopThere()
		for _, w := range []struct{ what, port, more string }{
			{"OpenSSH's `ssh -L` on loopback", own, ""},
			{"OpenSSH's `ssh -L` on loopback, from the server", own, "-R"},
			{"`ssh -L` to the container", there, ""},
			{"`ssh -L` to the container, from it", there, "-R"},
		} {
			ways = append(ways, way{w.what, func() *exec.Cmd { return iperf(ctx, "127.0.0.1", w.port, strings.Fields(w.more)...) }})
		}
	}
	return b.inTurns(&t, ways)
}

// inTurns runs iperf3 in each of the ways, again and again.
func (b *measuring) inTurns(t *Table, ways []way) error {
	for _, w := range ways {
		t.Rows = append(t.Rows, Row{What: w.what, Unit: "Mbit/s"})
	}
	for i := range b.o.Runs {
		b.say("%s, %d of %d", t.Title, i+1, b.o.Runs)
		for k, w := range ways {
			rate, err := mbits(w.cmd())
			if err != nil {
				return fmt.Errorf("%s: %w", w.what, err)
			}
			t.Rows[k].Values = append(t.Rows[k].Values, rate)
		}
	}
	return nil
}

// forwarded has OpenSSH's client forward a port of this computer to one of the server's until stop is called.
func forwarded(ctx context.Context, client []string, to string) (port string, stop func(), err error) {
	return peers.ServePort(ctx, func(port string) *exec.Cmd {
		return exec.Command("ssh", append([]string{"-o", "ExitOnForwardFailure=yes", "-N", "-L", "127.0.0.1:" + port + ":127.0.0.1:" + to}, client...)...)
	})
}

// sshConfig returns the arguments with which OpenSSH's client reaches a container.
func (b *measuring) sshConfig(ctx context.Context, lease string) ([]string, error) {
	out, err := b.n.GantryText(ctx, b.customer, "ssh-config", lease)
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.n.Dir(), "ssh-config")
	if err := os.WriteFile(path, []byte(out.Stdout), 0o600); err != nil {
		return nil, err
	}
	return []string{"-F", path, "-o", "BatchMode=yes", "gantry-" + lease}, nil
}

func iperf(ctx context.Context, host, port string, more ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "iperf3", append([]string{"-c", host, "-p", port, "-J", "-t", "3"}, more...)...)
}

// mbits runs an iperf3 client and returns what the receiver got.
func mbits(cmd *exec.Cmd) (float64, error) {
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("iperf3: %w: %s", err, out)
	}
	var report struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, fmt.Errorf("iperf3: %w: %s", err, out)
	}
	return report.End.Received.Rate / 1e6, nil
}

// copies measures a large file on its way into the container and out of it, and to this computer's own server.
func (b *measuring) copies(ctx context.Context, lease string) error {
	t := Table{Title: fmt.Sprintf("A file of %d MB", copiedMB)}
	defer func() { b.result.Tables = append(b.result.Tables, t) }()
	dir := filepath.Join(b.n.Dir(), "copies")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	content := make([]byte, copiedMB*1_000_000)
	_, _ = rand.Read(content) // never fails
	file, there, back := filepath.Join(dir, "file"), filepath.Join(dir, "there"), filepath.Join(dir, "back")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	var ways []way
	if b.peer == nil {
		t.Skipped = append(t.Skipped, "`cat` over OpenSSH: its server is not there")
	} else {
		config, err := b.sshConfig(ctx, lease)
		if err != nil {
			return err
		}
		ways = append(ways,
			way{"`cat` over OpenSSH on loopback", func() *exec.Cmd { return piped(ctx, file, b.peer, there) }},
			way{"`cat` over OpenSSH into the container", func() *exec.Cmd { return piped(ctx, file, config, "/file") }},
		)
	}
	ways = append(ways,
		way{"`gantry cp` into the container", func() *exec.Cmd { return b.n.Command(ctx, b.customer, "cp", file, lease+":/file") }},
		way{"`gantry cp` out of it", func() *exec.Cmd { return b.n.Command(ctx, b.customer, "cp", lease+":/file", back) }},
	)
	for _, w := range ways {
		t.Rows = append(t.Rows, Row{What: w.what, Unit: "s"})
	}
	for i := range b.o.Runs {
		b.say("copies %d of %d", i+1, b.o.Runs)
		for k, w := range ways {
			took, err := timed(w.cmd())
			if err != nil {
				return fmt.Errorf("%s: %w", w.what, err)
			}
			t.Rows[k].Values = append(t.Rows[k].Values, took)
		}
	}
	return nil
}

// piped writes a file to a path where OpenSSH's client leads.
func piped(ctx context.Context, file string, client []string, to string) *exec.Cmd {
	script := `file=$1 to=$2; shift 2; exec ssh "$@" "cat >'$to'" <"$file"`
	return exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh", file, to}, client...)...)
}
