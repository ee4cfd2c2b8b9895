// Package leasebench measures what leases as containers take, with peers beside them in the same run.
package leasebench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/images"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// Options configure a run.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory.
	Dir string
	// Runs is how often each thing is measured; SSH twice as often.
	Runs int
	// SSHD is OpenSSH's server; without one its peer is skipped.
	SSHD string
	// Out gets what is being measured.
	Out io.Writer
	Log zerolog.Logger
}

const (
	machineName = "node-1"
	region      = "us-west-2"
	iperfPort   = "5201"
	// imageMB is the size of the image that is pulled.
	imageMB = 200
)

// tools are the programs of the image.
var tools = []string{"sh", "cat", "echo", "sleep", "true"}

type measuring struct {
	o        Options
	n        *network.Network
	customer seed.Wallet
	result   *Result
	image    string // by tag, and digested by digest
	digested string
	iperf    error    // why there is no iperf3
	peer     []string // arguments with which OpenSSH's client and its friends reach their own server; none without one
}

// Run measures everything. It needs root, a network namespace of its own (Enter), and what the containers of the demo need.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	if (config.Config{}).FindRunsc() == "" {
		return nil, errors.New("runsc, gVisor's runtime, is missing: scripts/toolchain.sh sandbox")
	}
	if err := furnish(); err != nil {
		return nil, fmt.Errorf("network of its own: %w", err)
	}
	if err := network.TryNamespaces(ctx); err != nil {
		return nil, err
	}
	b := &measuring{o: o, result: &Result{Started: time.Now(), Engine: string(o.Engine)}}
	b.n, err = network.Start(ctx, network.Config{
		Engine: o.Engine, Dir: o.Dir, Log: o.Log, Keepers: 3, Customers: 1, Registry: true,
		Nodes: []network.NodeSpec{
			{Name: machineName, GPU: "A100", Count: 2, Region: region, Price: 1_260_000, Namespaces: true},
			{Name: linkedName, GPU: "A100", Region: linkedRegion, Price: 1_260_000, Namespaces: true, LinkMbits: linkMbits},
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.n.Close()) }()
	if err := b.n.Launch(ctx); err != nil {
		return nil, err
	}
	b.customer = b.n.Keys.Customers[0]
	if _, err := b.gantry(ctx, "credits", "add", "100"); err != nil {
		return nil, err
	}
	if err := b.push(ctx); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context) error{b.orders, b.visits, b.overLink, b.pulls} {
		if err := measure(ctx); err != nil {
			return nil, fmt.Errorf("%w (logs: %s/logs)", err, b.n.Dir())
		}
	}
	return b.result, nil
}

func (b *measuring) say(format string, args ...any) { fmt.Fprintf(b.o.Out, format+"\n", args...) }

func (b *measuring) gantry(ctx context.Context, args ...string) (network.Output, error) {
	out, err := b.n.Gantry(ctx, b.customer, args...)
	if err == nil {
		err = out.Err()
	}
	return out, err
}

// push puts the image with the tools, and iperf3 where it is, into the registry.
func (b *measuring) push(ctx context.Context) error {
	files, err := images.Busybox(tools...)
	if err != nil {
		return err
	}
	program, err := images.Program(ctx, "iperf3")
	if err != nil && !errors.Is(err, images.ErrMissing) {
		return err
	}
	b.iperf = err
	b.image, b.digested, _, err = images.Push(ctx, b.n.Registry(), "bench/tools", append(files, program...))
	return err
}

func order(image, region string, more ...string) []string {
	return append([]string{"deploy", "--gpu", "A100", "--region", region, "--max-price", "1.60", "--duration", "30m", "--allow-simulated", "--image", image}, more...)
}

// orders measures from an order to the first output, and the container's part.
func (b *measuring) orders(ctx context.Context) error {
	whole := Row{What: "order → first output", Unit: "s"}
	for i := range b.o.Runs + 1 {
		b.say("order %d of %d", i, b.o.Runs)
		took, err := b.firstLine(ctx)
		if err != nil {
			return err
		}
		if i > 0 { // the first one fetches the image
			whole.Values = append(whole.Values, took.Seconds())
		}
	}
	part, err := b.containers(ctx)
	if err != nil {
		return err
	}
	b.result.Tables = append(b.result.Tables, Table{Title: "Order, image cached", Rows: []Row{whole, part}})
	return nil
}

// firstLine orders a container and returns when its first line is there.
func (b *measuring) firstLine(ctx context.Context) (time.Duration, error) {
	const line = "the first line"
	cmd := b.n.Command(ctx, b.customer, order(b.image, region, "--run-to-completion", "--", "echo", line)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var took time.Duration
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if took == 0 && strings.Contains(lines.Text(), line) {
			took = time.Since(began)
		}
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("gantry deploy: %w: %s", err, said.String())
	}
	if took == 0 {
		return 0, fmt.Errorf("gantry deploy did not show the job's output: %s", said.String())
	}
	return took, nil
}

// visits rents a container and measures SSH, forwarded ports and copies.
func (b *measuring) visits(ctx context.Context) error {
	if b.o.SSHD != "" {
		stop, err := b.startSSH(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	return b.rented(ctx, region, b.ssh, b.ports, b.copies)
}

// rented has things measured on a lease of a container that serves iperf3, where that is there.
func (b *measuring) rented(ctx context.Context, region string, measure ...func(ctx context.Context, lease string) error) error {
	job := []string{"sleep", "100000"}
	if b.iperf == nil {
		job = []string{"iperf3", "-s", "-p", iperfPort}
	}
	out, err := b.gantry(ctx, order(b.image, region, append([]string{"--detach", "--"}, job...)...)...)
	if err != nil {
		return err
	}
	var deployed struct{ Leases []struct{ Address string } }
	if err := out.Decode(&deployed); err != nil {
		return err
	}
	if len(deployed.Leases) != 1 {
		return fmt.Errorf("%d leases for one order", len(deployed.Leases))
	}
	lease := deployed.Leases[0].Address
	// The container runs once a command does.
	for {
		answer, err := b.n.GantryText(ctx, b.customer, "exec", lease, "--", "true")
		if err != nil {
			return err
		}
		if answer.Code == 0 {
			break
		}
		if wait.For(ctx, 200*time.Millisecond) != nil {
			return errors.Join(ctx.Err(), answer.Err())
		}
	}
	for _, m := range measure {
		if err := m(ctx, lease); err != nil {
			return err
		}
	}
	_, err = b.gantry(ctx, "stop", lease)
	return err
}

// timed is how long a command took.
func timed(cmd *exec.Cmd) (float64, error) {
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, out)
	}
	return time.Since(began).Seconds(), nil
}
