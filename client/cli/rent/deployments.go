package rent

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/internal/contexts"
)

const flagToken = "token"

// atServer adds the flags of commands that ask a running gantry serve.
func atServer(flags ...cli.Flag) []cli.Flag {
	return append(flags,
		&cli.StringFlag{Name: command.FlagServer, Usage: "`URL` of a running gantry serve (default: GANTRY_SERVER, then the context, then " + contexts.DefaultServer + ")"},
		&cli.StringFlag{Name: flagToken, Usage: "`TOKEN` of that server; on a command line other users see it", EnvVars: []string{"GANTRY_TOKEN"}},
	)
}

func deploymentsCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "deployments", Usage: "models that a running gantry serve serves by replicas on leases",
		Description: "They belong to the server, which buys, watches and ends their leases. Clients of OpenAI's API reach them at /openai/v1.",
		Subcommands: []*cli.Command{
			{
				Name: "create", Usage: "create a deployment; the same command again creates nothing", ArgsUsage: "NAME",
				Flags: atServer(
					&cli.StringFlag{Name: flagTemplate, Usage: "`NAME` of a template of a model server"},
					&cli.StringFlag{Name: flagModel, Usage: "an open model in place of --template: `NAME[:QUANTISATION]` of gantry models"},
					&cli.StringSliceFlag{Name: flagSet, Usage: "`PARAMETER=VALUE` of the template; repeat"},
					&cli.IntFlag{Name: "min", Usage: "replicas at least; 0 ends the last one when no one asks"},
					&cli.IntFlag{Name: "max", Value: 1, Usage: "replicas at most"},
					&cli.StringFlag{Name: "gpu", Usage: "GPU `MODEL`, or part of its name"},
					&cli.UintFlag{Name: "count", Usage: "GPUs of a replica"},
					&cli.StringFlag{Name: "region", Usage: "`PREFIX` of the region"},
					&cli.StringFlag{Name: "max-price", Usage: "the most `USDC` per GPU-hour"},
					&cli.StringFlag{Name: "image", Usage: "another `IMAGE`"},
					&cli.StringFlag{Name: "network", Usage: "`WHAT` replicas reach: internet or none"},
					&cli.BoolFlag{Name: "allow-simulated", Usage: "simulated GPUs will do (local networks)"},
				),
				Action: action(s, (*session).createDeployment),
			},
			{Name: "list", Usage: "all deployments", Flags: atServer(), Action: action(s, (*session).listDeployments)},
			{Name: "show", Usage: "one deployment with its replicas", ArgsUsage: "NAME", Flags: atServer(), Action: action(s, (*session).showDeployment)},
			{Name: "delete", Usage: "end a deployment and its leases", ArgsUsage: "NAME", Flags: atServer(), Action: action(s, (*session).deleteDeployment)},
		},
	}
}

func (s *session) createDeployment() error {
	args, err := s.Args("NAME")
	if err != nil {
		return err
	}
	set, err := parseSet(s.CLI.StringSlice(flagSet))
	if err != nil {
		return err
	}
	count := s.CLI.Uint("count")
	if count > 8 {
		return service.Usage(fmt.Sprintf("--count is %d", count), "a node has 1 to 8 GPUs")
	}
	r := serve.DeploymentRequest{
		Template: s.CLI.String(flagTemplate), Model: s.CLI.String(flagModel), Set: set, GPU: s.CLI.String("gpu"), Count: uint8(count), Region: s.CLI.String("region"), MaxPrice: s.CLI.String("max-price"),
		Image: s.CLI.String("image"), Network: s.CLI.String("network"), AllowSimulated: s.CLI.Bool("allow-simulated"), MinReplicas: s.CLI.Int("min"), MaxReplicas: s.CLI.Int("max"),
	}
	var d serve.Deployment
	if err := s.askServer(http.MethodPut, "/v1/deployments/"+url.PathEscape(args[0]), r, &d); err != nil {
		return err
	}
	return s.printDeployment(&d)
}

func (s *session) listDeployments() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	var all serve.Deployments
	if err := s.askServer(http.MethodGet, "/v1/deployments", nil, &all); err != nil {
		return err
	}
	return s.Done(all.Deployments, func(w *terminal.Page) {
		rows := make([][]string, len(all.Deployments))
		for i, d := range all.Deployments {
			rows[i] = deploymentRow(&d)
		}
		if len(rows) == 0 {
			fmt.Fprintln(w, "no deployments; make one with: gantry deployments create NAME --model MODEL")
			return
		}
		w.Table(deploymentHeads, rows)
	})
}

const deploymentHeads = "NAME|>SERVING|>WANTED|MIN-MAX~1|>ACTIVE~2|>WAITING~3|STATE"

func deploymentRow(d *inference.DeploymentStatus) []string {
	return []string{
		d.Name, fmt.Sprint(d.Serving), fmt.Sprint(d.Wanted), fmt.Sprintf("%d-%d", d.MinReplicas, d.MaxReplicas), fmt.Sprint(d.Active), fmt.Sprint(d.Waiting), d.State(),
	}
}

func (s *session) showDeployment() error { return s.oneDeployment(http.MethodGet) }

func (s *session) deleteDeployment() error { return s.oneDeployment(http.MethodDelete) }

// oneDeployment asks for one with a method, and prints it.
func (s *session) oneDeployment(method string) error {
	args, err := s.Args("NAME")
	if err != nil {
		return err
	}
	var d serve.Deployment
	if err := s.askServer(method, "/v1/deployments/"+url.PathEscape(args[0]), nil, &d); err != nil {
		return err
	}
	return s.printDeployment(&d)
}

func (s *session) printDeployment(d *serve.Deployment) error {
	return s.Done(d, func(w *terminal.Page) {
		w.Table(deploymentHeads, [][]string{deploymentRow(&d.DeploymentStatus)})
		if !d.Deleting {
			w.Hint(fmt.Sprintf("clients of OpenAI's API ask it at %s/openai/v1, as model %s", s.Server, d.Name))
		}
		if len(d.Replicas) == 0 {
			return
		}
		rows := make([][]string, len(d.Replicas))
		for i, r := range d.Replicas {
			rows[i] = []string{fmt.Sprint(r.ID), r.Phase, r.Lease, fmt.Sprint(r.Active), r.Reason}
		}
		fmt.Fprintln(w)
		w.Table(">REPLICA|PHASE|@LEASE|>ACTIVE~1|REASON", rows)
	})
}

// askServer asks a running gantry serve, and decodes its answer.
func (s *session) askServer(method, path string, body, into any) error {
	return serve.Ask(s.Context, s.Server, s.CLI.String(flagToken), method, path, body, into)
}
