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

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/localnet/machine"
	"github.com/gantry-market/gantry/localnet/peers"
)

// A second machine is reached by a link as between two computers.
const (
	linkedName   = "node-2"
	linkedRegion = "eu-west-1"
	linkMbits    = 1000
	linkPort     = "5202" // of the machine's own iperf3, outside of containers
)

// Enter runs this program again with other arguments, in a network namespace of its own, and waits for it.
func Enter(ctx context.Context, args []string) error {
	if os.Geteuid() != 0 {
		return errors.New("containers need root (sudo make bench-lease)")
	}
	return machine.Again(ctx, unix.CLONE_NEWNET, args)
}

// furnish switches the namespace's loopback on, which is off in a new one. It refuses to run in another.
func furnish() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if lo.Attrs().Flags&net.FlagUp != 0 {
		return errors.New("it is in use already; use Enter")
	}
	return netlink.LinkSetUp(lo)
}

// overLink measures forwarded ports between two hosts with a link between them.
func (b *measuring) overLink(ctx context.Context) error {
	return b.rented(ctx, linkedRegion, b.linkedPorts)
}

func (b *measuring) linkedPorts(ctx context.Context, lease string) (err error) {
	t := Table{Title: fmt.Sprintf("Forwarded TCP, one stream, between two hosts with a link of %d Mbit/s", linkMbits)}
	defer func() { b.result.Tables = append(b.result.Tables, t) }()
	if b.iperf != nil {
		t.Skipped = append(t.Skipped, "iperf3 is not installed")
		return nil
	}
	stopPeer, err := b.linkedIperf(ctx)
	if err != nil {
		return err
	}
	defer stopPeer()
	at, stop, err := b.n.Forward(ctx, b.customer, lease, iperfPort)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	_, port, _ := strings.Cut(at, ":")
	return b.inTurns(&t, []way{
		{"iperf3 between the hosts", func() *exec.Cmd { return iperf(ctx, machine.LinkHost, linkPort) }},
		{"`gantry port`", func() *exec.Cmd { return iperf(ctx, "127.0.0.1", port) }},
		{"iperf3 between the hosts, from the machine", func() *exec.Cmd { return iperf(ctx, machine.LinkHost, linkPort, "-R") }},
		{"`gantry port`, from the container", func() *exec.Cmd { return iperf(ctx, "127.0.0.1", port, "-R") }},
	})
}

// linkedIperf starts iperf3's server on the machine itself.
func (b *measuring) linkedIperf(ctx context.Context) (stop func(), err error) {
	pid, err := b.n.Pid(linkedName)
	if err != nil {
		return nil, err
	}
	agent, err := firstChild(pid)
	if err != nil {
		return nil, fmt.Errorf("the agent of %s: %w", linkedName, err)
	}
	cmd := exec.Command("nsenter", "--net=/proc/"+agent+"/ns/net", "iperf3", "-s", "-p", linkPort)
	return peers.Serve(ctx, cmd, machine.LinkHost+":"+linkPort)
}

// firstChild is the process that another one has started first. Those whose parents have ended come later.
func firstChild(pid int) (string, error) {
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return "", err
	}
	first := 0
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			return "", err
		}
		for _, text := range strings.Fields(string(raw)) {
			if n, err := strconv.Atoi(text); err == nil && (first == 0 || n < first) {
				first = n
			}
		}
	}
	if first == 0 {
		return "", fmt.Errorf("process %d has started none", pid)
	}
	return strconv.Itoa(first), nil
}
