package leasebench

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/peers"
)

func startIperf(ctx context.Context) (port string, stop func(), err error) {
	return peers.ServePort(ctx, func(port string) *exec.Cmd { return exec.Command("iperf3", "-s", "-p", port) })
}

// startSSH starts the peer, unless this computer has no client for it.
func (b *measuring) startSSH(ctx context.Context) (stop func(), err error) {
	if _, err := exec.LookPath("ssh"); err != nil {
		return func() {}, nil
	}
	server, err := peers.StartSSH(ctx, b.o.SSHD, filepath.Join(b.n.Dir(), "sshd"), nil)
	if err != nil {
		return nil, err
	}
	b.peer = server.Client()
	return server.Stop, nil
}

// ssh measures a command in the container, by OpenSSH's client and by the one built in, and on this computer by OpenSSH's own server.
func (b *measuring) ssh(ctx context.Context, lease string) error {
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
