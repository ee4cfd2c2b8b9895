package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"
	"github.com/virtual-kubelet/virtual-kubelet/log"
	"github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/gantry-market/gantry/integrations/kubernetes/provider"
)

const (
	retryLeast, retryMost = 5 * time.Second, 5 * time.Minute
	// lookEvery is how often the node looks at the market.
	lookEvery = 30 * time.Second
	// workers is how many pods virtual-kubelet works on at once.
	workers = 10
)

func run(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%q is not understood: gantry-kubelet takes flags only", c.Args().First())
	}
	zlog, err := logger(c)
	if err != nil {
		return err
	}
	kube, err := cluster(c.String(flagKubeconfig))
	if err != nil {
		return err
	}
	ctx := log.WithLogger(c.Context, kubeletLog{zlog.With().Str("part", "virtual-kubelet").Logger(), nil})
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	defer events.Shutdown()
	recorder := events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "gantry-kubelet", Host: c.String(flagNode)})
	k, err := newKubelet(c, kube, recorder, zlog)
	if err != nil {
		return err
	}
	return k.run(ctx)
}

// cluster is the way to the API server.
func cluster(kubeconfig string) (kubernetes.Interface, error) {
	var config *rest.Config
	var err error
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w: name a file with --%s, or run in a pod with a service account", err, flagKubeconfig)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	return kube, nil
}

// kubelet is the node and its pods.
type kubelet struct {
	pods    *provider.Provider
	node    *provider.Node
	vk      *nodeutil.Node
	lists   corev1listers.PodLister
	secrets corev1listers.SecretLister
	log     zerolog.Logger
	name    string
}

func newKubelet(c *cli.Context, kube kubernetes.Interface, recorder record.EventRecorder, zlog zerolog.Logger) (*kubelet, error) {
	client, err := serve(c)
	if err != nil {
		return nil, err
	}
	d, err := defaults(c)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(c.String(flagListen))
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flagListen, err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flagListen, err)
	}
	k := &kubelet{log: zlog, name: c.String(flagNode)}
	if k.pods, err = provider.New(provider.Options{
		Market: client, Dir: c.String(flagState), Defaults: d, Poll: c.Duration(flagPoll), RetryLeast: retryLeast, RetryMost: retryMost, Recorder: recorder, Log: zlog,
	}); err != nil {
		return nil, err
	}
	k.node = provider.NewNode(provider.NodeOptions{
		Name: k.name, Version: version, Address: c.String(flagAddress), Port: int32(number), Pods: c.Int64(flagPods), Defaults: d, Market: client,
		Held: k.pods.Held, Every: lookEvery, Log: zlog,
	})
	encryption, err := encryption(c, k.name)
	if err != nil {
		return nil, err
	}
	auth, err := authorised(kube, k.name, c.String(flagClientCA))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	k.vk, err = nodeutil.NewNode(k.name, func(p nodeutil.ProviderConfig) (nodeutil.Provider, node.NodeProvider, error) {
		k.lists, k.secrets = p.Pods, p.Secrets
		return k.pods, k.node, nil
	}, nodeutil.WithClient(kube), func(n *nodeutil.NodeConfig) error {
		n.NodeSpec, n.NumWorkers, n.HTTPListenAddr = *k.node.Object(), workers, c.String(flagListen)
		n.EventRecorder, n.TLSConfig, n.Handler = quiet{recorder}, encryption, nodeutil.WithAuth(auth, mux)
		return nil
	}, nodeutil.AttachProviderRoutes(mux))
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", k.name, err)
	}
	return k, nil
}

// run is the node until ctx ends.
func (k *kubelet) run(ctx context.Context) error {
	defer k.node.Wait()
	defer k.pods.Start(ctx, k.lists, k.secrets)()
	k.log.Info().Str("node", k.name).Msg("the node begins")
	if err := k.vk.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("node %s: %w", k.name, err)
	}
	return nil
}

// quiet leaves out what virtual-kubelet says of pods that it has handed over: the provider says more.
type quiet struct{ record.EventRecorder }

func (q quiet) Event(about runtime.Object, kind, reason, message string) {
	switch reason {
	case "ProviderCreateSuccess", "ProviderUpdateSuccess":
		return
	}
	q.EventRecorder.Event(about, kind, reason, message)
}
