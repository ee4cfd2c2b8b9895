package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
)

// Prefixes keep the names of purchases over HTTP and by language models apart from those of --name.
const (
	httpPurchases = "http/"
	mcpPurchases  = "mcp/"
)

// buyer acts for the server's customer with the flows of the commands: each call is a session of its own, with the server's
// client, key and folder. What is bought is stored as a command's purchase is, so it is bought once and `gantry resume`
// knows it.
type buyer struct {
	s      *session
	prefix string // of the names of purchases
}

// Buy implements serve.Buyer.
func (b *buyer) Buy(ctx context.Context, name string, r serve.OrderRequest) (serve.Bought, error) {
	args := []string{
		"--name=" + b.prefix + name, "--detach", "--gpu=" + r.GPU, "--count=" + strconv.Itoa(int(max(r.Count, 1))), "--nodes=" + strconv.Itoa(int(max(r.Nodes, 1))),
		fmt.Sprintf("--duration=%ds", r.Seconds),
	}
	for flag, value := range map[string]string{"region": r.Region, "max-price": r.MaxPrice, "image": r.Image, "network": r.Network, flagVolume: r.Volume, "min-tops": r.MinTOPS, "min-bandwidth": r.MinBandwidth, flagInspect: r.Inspect} {
		if value != "" {
			args = append(args, "--"+flag+"="+value)
		}
	}
	for flag, value := range map[string]uint{"min-vram": r.MinMemory, "min-down": uint(r.MinDown), "min-up": uint(r.MinUp)} {
		if value > 0 {
			args = append(args, "--"+flag+"="+strconv.FormatUint(uint64(value), 10))
		}
	}
	for flag, set := range map[string]bool{"run-to-completion": r.RunToCompletion, "allow-simulated": r.AllowSimulated} {
		if set {
			args = append(args, "--"+flag)
		}
	}
	var out deployJSON
	err := b.run(ctx, deployCommand(Streams{}), append(append(args, "--"), r.Command...), r.Env, (*session).deploy, &out)
	if err == nil {
		err = b.s.inspections.bought(b, r.Inspect, out.Leases)
	}
	return serve.Bought{Order: out.Order, Leases: out.Leases}, err
}

// Stop implements serve.Buyer.
func (b *buyer) Stop(ctx context.Context, lease solana.PublicKey) (service.Lease, error) {
	var out service.Lease
	err := b.run(ctx, &cli.Command{Name: "stop", Flags: asSession()}, []string{"--", lease.String()}, nil, (*session).stop, &out)
	return out, err
}

// run runs the flow of a command in a session of its own, and decodes its document.
func (b *buyer) run(ctx context.Context, command *cli.Command, args []string, env map[string]string, flow func(*session) error, into any) error {
	ss, document, err := b.session(ctx, command, args, env)
	if err != nil {
		return err
	}
	defer ss.close()
	if err := flow(ss); err != nil {
		return err
	}
	if err := json.Unmarshal(document.Bytes(), into); err != nil {
		return fmt.Errorf("result of %s: %w", command.Name, err)
	}
	return nil
}

// session is one of its own for a command, with the server's client, key and folder, and the document that it prints. The
// caller closes it.
func (b *buyer) session(ctx context.Context, command *cli.Command, args []string, env map[string]string) (*session, *bytes.Buffer, error) {
	set := flag.NewFlagSet(command.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range command.Flags {
		if err := f.Apply(set); err != nil {
			return nil, nil, fmt.Errorf("flags of %s: %w", command.Name, err)
		}
	}
	if err := set.Parse(append([]string{"--" + flagSession + "=" + b.s.cli.String(flagSession)}, args...)); err != nil {
		return nil, nil, usage(err.Error(), "compare the request with /openapi.json")
	}
	document := &bytes.Buffer{}
	ss := &session{
		cli: cli.NewContext(b.s.cli.App, set, b.s.cli), ctx: ctx, out: document, err: b.s.err, output: io.Discard, json: true, yes: true, log: b.s.log,
		config: b.s.config, fees: b.s.fees, client: b.s.client, service: b.s.service, key: b.s.key, actsFor: b.s.actsFor, state: b.s.state, env: env, joined: b.s.joined, inspections: b.s.inspections,
	}
	ss.cli.Command = command
	return ss, document, nil
}
