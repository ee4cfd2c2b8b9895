// Command controlplane is a Kubernetes control plane for tests: etcd, the API server, the scheduler and the controller
// manager in one program, so that they are linked once. It is not part of the product, and nobody should run it for
// anything but a test.
//
//	controlplane etcd --data-dir ...
//	controlplane kube-apiserver --etcd-servers ...
//	controlplane kube-scheduler --kubeconfig ...
//	controlplane kube-controller-manager --kubeconfig ...
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version's metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("name the part to run")
	}
	part := os.Args[1]
	// Each part reads os.Args as if it were a program of its own.
	os.Args = append([]string{part}, os.Args[2:]...)
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kube-controller-manager":
		run(controllers.NewControllerManagerCommand())
	default:
		fail(fmt.Sprintf("no part is called %q", part))
	}
}

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

func fail(why string) {
	fmt.Fprintf(os.Stderr, "controlplane: %s: want etcd, kube-apiserver, kube-scheduler or kube-controller-manager\n", why)
	os.Exit(2)
}
