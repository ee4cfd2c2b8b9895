package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

const (
	flagURL        = "url"
	flagTokenFile  = "token-file"
	flagKubeconfig = "kubeconfig"
	flagNode       = "node"
	flagState      = "state"
	flagGPU        = "gpu"
	flagMaxPrice   = "max-price"
	flagBudget     = "budget"
	flagNetwork    = "network"
	flagAhead      = "ahead"
	flagSimulated  = "allow-simulated"
	flagListen     = "listen"
	flagAddress    = "address"
	flagCert       = "tls-cert"
	flagKey        = "tls-key"
	flagClientCA   = "client-ca"
	flagPods       = "pods"
	flagPoll       = "poll"
	flagLogLevel   = "log-level"
)

// clusterCA is where a pod of the cluster finds the CA that has signed the API server's client certificate in most clusters.
const clusterCA = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

func flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagURL, EnvVars: []string{"GANTRY_SERVER"}, Value: "http://127.0.0.1:8484", Usage: "address of gantry serve"},
		&cli.StringFlag{Name: flagTokenFile, EnvVars: []string{"GANTRY_TOKEN_FILE"}, Required: true, Usage: "file with its token"},
		&cli.StringFlag{Name: flagKubeconfig, EnvVars: []string{"KUBECONFIG"}, Usage: "kubeconfig of the cluster; the service account of the pod by default"},
		&cli.StringFlag{Name: flagNode, EnvVars: []string{"GANTRY_NODE"}, Value: "gantry", Usage: "name of the node"},
		&cli.StringFlag{Name: flagState, EnvVars: []string{"GANTRY_STATE"}, Required: true, Usage: "folder of what is known of pods; it must outlive the program, and it holds the values of Secrets"},
		&cli.StringFlag{Name: flagGPU, Value: "any", Usage: "GPU model of pods that name none; any is the best machine of any model"},
		&cli.StringFlag{Name: flagMaxPrice, Usage: "the most USDC per GPU-hour of pods that name no price; the model's reference price by default"},
		&cli.StringFlag{Name: flagBudget, Value: "10", Usage: "the most USDC that a pod costs in total, if it names no budget"},
		&cli.StringFlag{Name: flagNetwork, Usage: "what pods reach that name nothing: internet (the default) or none"},
		&cli.DurationFlag{Name: flagAhead, Value: 10 * time.Minute, Usage: "time that is paid ahead, again and again; what is not used comes back"},
		&cli.BoolFlag{Name: flagSimulated, Usage: "simulated GPUs too, on local networks"},
		&cli.StringFlag{Name: flagListen, Value: ":10250", Usage: "where the API server asks for logs and shells"},
		&cli.StringFlag{Name: flagAddress, EnvVars: []string{"POD_IP"}, Required: true, Usage: "address at which the API server reaches --listen"},
		&cli.StringFlag{Name: flagCert, Usage: "certificate for --listen; one that the program signs itself by default"},
		&cli.StringFlag{Name: flagKey, Usage: "its key"},
		&cli.StringFlag{Name: flagClientCA, Value: clusterCA, Usage: "CA of the API server's client certificate"},
		&cli.Int64Flag{Name: flagPods, Value: 100, Usage: "the most pods"},
		&cli.DurationFlag{Name: flagPoll, Value: 3 * time.Second, Usage: "how often a lease is looked at"},
		&cli.StringFlag{Name: flagLogLevel, Value: "info", Usage: "debug, info, warn or error"},
	}
}

// serve is the way to gantry serve.
func serve(c *cli.Context) (*market.Client, error) {
	token, err := os.ReadFile(c.String(flagTokenFile))
	if err != nil {
		return nil, fmt.Errorf("token of gantry serve: %w", err)
	}
	return market.New(c.String(flagURL), strings.TrimSpace(string(token)), nil)
}

func defaults(c *cli.Context) (podspec.Defaults, error) {
	ahead := int64(c.Duration(flagAhead) / time.Second)
	if ahead < 1 {
		return podspec.Defaults{}, fmt.Errorf("--%s is %s: give a second or more, such as 10m", flagAhead, c.Duration(flagAhead))
	}
	if c.Duration(flagPoll) <= 0 {
		return podspec.Defaults{}, fmt.Errorf("--%s is %s: give a time such as 3s", flagPoll, c.Duration(flagPoll))
	}
	if c.String(flagGPU) == "" {
		return podspec.Defaults{}, errors.New("--" + flagGPU + " is empty: name a model such as A100, or any")
	}
	return podspec.Defaults{
		GPU: c.String(flagGPU), MaxPrice: c.String(flagMaxPrice), Budget: c.String(flagBudget), Network: c.String(flagNetwork), Seconds: ahead, AllowSimulated: c.Bool(flagSimulated),
	}, nil
}
