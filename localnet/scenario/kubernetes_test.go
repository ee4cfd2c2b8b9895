//go:build e2e

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// kubeNode is the provider at work in a cluster and a market.
type kubeNode struct {
	*kube
	whole *testing.T // the test of which the parts are
	n     *network.Network
	args  []string
	kill  func()
	image string
	at    string // of the node, as --listen
}

// kubePod is what the tests look at of a pod.
type kubePod struct {
	Metadata struct{ Name, UID string }
	Status   struct {
		Phase, Reason, Message string
		ContainerStatuses      []struct {
			ContainerID string
			State       struct {
				Waiting    *struct{ Reason, Message string }
				Running    *struct{ StartedAt string }
				Terminated *struct {
					ExitCode int
					Reason   string
				}
			}
		}
	}
}

func (p kubePod) waits() string {
	if len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil {
		return p.Status.ContainerStatuses[0].State.Waiting.Reason
	}
	return ""
}

// Pods of a real Kubernetes control plane run as leases: a job with an environment from a Secret, a deployment, and what goes
// wrong. The node has the rights of its chart only. It is killed in between, and buys nothing twice.
func TestPodsRunAsLeases(t *testing.T) {
	needsSandbox(t)
	k := newKubeNode(t)
	k.part("a job succeeds, and its output is read", k.job)
	k.part("an image that is not public is opened by a pull secret", k.privateImage)
	k.part("a deployment runs while the node is killed, and ends", k.deployment)
	k.part("a node that is killed while it buys buys once", k.killedWhileBuying)
	k.part("an image that is not there", k.noImage)
	k.part("init containers are refused", k.initContainers)
}

func (k *kubeNode) part(name string, f func(*testing.T)) {
	k.whole.Run(name, func(t *testing.T) {
		k.t = t
		f(t)
	})
	k.t = k.whole
}

func newKubeNode(t *testing.T) *kubeNode {
	program, err := network.Binary("gantry-kubelet")
	if err != nil {
		t.Skip("SKIPPED: the node is not built: scripts/build.sh kubernetes")
	}
	k := &kubeNode{kube: startKube(t), whole: t}
	nodes := network.DefaultNodes(2)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	k.n, err = network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.n.Close()) })
	require.NoError(t, k.n.Launch(t.Context()))
	served, err := k.n.StartServe(t.Context(), k.n.Keys.Customers[0], "25", "--no-page") // as the chart does
	require.NoError(t, err)
	k.image, _ = imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	k.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: gantry}\n", "")
	k.install("gantry-kubelet", "{images: {gantry: none, kubelet: none}, rpcURL: 'https://rpc.example'}", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")
	k.install("gantry-agent", "{image: none, rpcURL: 'https://rpc.example', region: test}")
	k.at = freeAddr(t)
	k.args = []string{
		program, "--url", served.URL, "--token-file", served.TokenFile, "--kubeconfig", k.kubeconfig("node", k.token("gantry", "gantry-kubelet")), "--state", k.path("pods"),
		"--allow-simulated", "--gpu", "A100", "--max-price", "2", "--budget", "5", "--network", "none", "--listen", k.at, "--address", "127.0.0.1", "--client-ca", k.path("ca.crt"),
		"--poll", "1s", "--log-level", "debug",
	}
	k.begin()
	k.await("the node is ready with the GPUs of the market", func() bool {
		var node struct {
			Status struct {
				Capacity   map[string]string
				Conditions []struct{ Type, Status string }
			}
		}
		if !k.get("/api/v1/nodes/gantry", &node) || node.Status.Capacity["nvidia.com/gpu"] != "2" {
			return false
		}
		return slices.ContainsFunc(node.Status.Conditions, func(c struct{ Type, Status string }) bool { return c.Type == "Ready" && c.Status == "True" })
	})
	return k
}

// install creates the objects of a chart that are of these kinds. The API server only validates the others, because their image does not exist.
func (k *kubeNode) install(chart, values string, kinds ...string) {
	k.t.Helper()
	file := k.path(chart + ".values.yaml")
	require.NoError(k.t, os.WriteFile(file, []byte(values), 0o600))
	cmd := exec.CommandContext(k.t.Context(), "go", "run", "-C", "../../packaging/helm", ".", chart, chart, "gantry", file)
	cmd.Stderr = os.Stderr
	manifests, err := cmd.Output()
	require.NoError(k.t, err)
	for _, manifest := range strings.Split(string(manifests), "\n---\n") {
		query := "?dryRun=All&fieldValidation=Strict"
		if slices.ContainsFunc(kinds, func(kind string) bool { return strings.Contains(manifest, "\nkind: "+kind+"\n") }) {
			query = ""
		}
		k.apply(manifest, query)
	}
}

// begin starts the node, also after it was killed.
func (k *kubeNode) begin() {
	k.kill = run(k.whole, k.path("gantry-kubelet.log"), k.args[0], k.args[1:]...)
}

func (k *kubeNode) await(what string, is func() bool) {
	k.t.Helper()
	require.Eventually(k.t, is, 3*time.Minute, 500*time.Millisecond, "%s: see %s", what, k.dir)
}

// pods are those with a label.
func (k *kubeNode) pods(app string) []kubePod {
	k.t.Helper()
	var all struct{ Items []kubePod }
	k.get("/api/v1/namespaces/default/pods?labelSelector=app%3D"+app, &all)
	return all.Items
}

// pod waits for the one pod with a label.
func (k *kubeNode) pod(app, what string, is func(kubePod) bool) (p kubePod) {
	k.t.Helper()
	k.await(app+" "+what, func() bool {
		all := k.pods(app)
		if len(all) != 1 {
			return false
		}
		p = all[0]
		return is(p)
	})
	return p
}

// event waits for an event of a pod.
func (k *kubeNode) event(p kubePod, reason, says string) {
	k.t.Helper()
	k.await("event "+reason, func() bool {
		var all struct {
			Items []struct{ Reason, Message string }
		}
		k.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid%3D"+p.Metadata.UID, &all)
		return slices.ContainsFunc(all.Items, func(e struct{ Reason, Message string }) bool {
			return e.Reason == reason && strings.Contains(e.Message, says)
		})
	})
}

// leases are how many there are, and how many of them are over.
func (k *kubeNode) leases() (all, over int) {
	k.t.Helper()
	for _, l := range snapshotOf(k.t, k.n).LeasesOfCustomer(k.n.Keys.Customers[0].Address()) {
		all++
		if l.State() == market.LeaseEnded {
			over++
		}
	}
	return all, over
}

// template is the specification of a pod, indented as part of a manifest.
func (k *kubeNode) template(indent, image, restart, command, more string) string {
	lines := fmt.Sprintf(`restartPolicy: %s
tolerations: [{key: virtual-kubelet.io/provider, value: gantry, effect: NoSchedule}]
nodeSelector: {gantry.market/gpu: A100}
terminationGracePeriodSeconds: 5
containers:
  - name: main
    image: %s
    command: [sh, -c, %q]
    resources: {limits: {nvidia.com/gpu: 1}, requests: {memory: 512Mi}}
%s`, restart, image, command, more)
	return indent + strings.ReplaceAll(strings.TrimRight(lines, "\n"), "\n", "\n"+indent) + "\n"
}

func (k *kubeNode) job(t *testing.T) {
	k.apply(`
apiVersion: v1
kind: Secret
metadata: {name: settings}
stringData: {PASSWORD: hunter2}
---
apiVersion: batch/v1
kind: Job
metadata: {name: greet}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: greet}}
    spec:
`+k.template("      ", k.image, "Never", "echo hello $PASSWORD $(NAME)", `    env:
      - {name: NAME, value: lease}
      - {name: PASSWORD, valueFrom: {secretKeyRef: {name: settings, key: PASSWORD}}}`), "")
	p := k.pod("greet", "succeeds", func(p kubePod) bool { return p.Status.Phase == "Succeeded" })
	k.event(p, "Leased", "lease ")
	k.await("the job is complete", func() bool {
		var job struct{ Status struct{ Succeeded int } }
		return k.get("/apis/batch/v1/namespaces/default/jobs/greet", &job) && job.Status.Succeeded == 1
	})
	require.Equal(t, "hello hunter2 lease\n", k.logs(p))
	all, _ := k.leases()
	require.Equal(t, 1, all)
}

func (k *kubeNode) privateImage(t *testing.T) {
	registry := imagetest.Closed(t, true)
	image, _ := registry.Push(t, "team/private", imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...)), imagetest.Auth())
	config, err := json.Marshal(map[string]any{"auths": map[string]any{registry.Host: map[string]string{"username": imagetest.User, "password": imagetest.Password}}})
	require.NoError(t, err)
	pod := func(name, secrets string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {app: " + name + "}}\nspec:\n" + k.template("  ", image, "Never", "echo private", secrets)
	}
	k.apply(pod("closed", ""), "")
	k.event(k.pod("closed", "waits for its image", func(p kubePod) bool { return p.waits() == "ErrImagePull" || p.waits() == "ImagePullBackOff" }), "ErrImagePull", "not public")
	_, _, err = k.ask(http.MethodDelete, "/api/v1/namespaces/default/pods/closed", nil)
	require.NoError(t, err)
	k.apply(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: pull}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: %q}\n---\n%s", config,
		pod("private", "imagePullSecrets: [{name: pull}]")), "")
	require.Equal(t, "private\n", k.logs(k.pod("private", "succeeds", func(p kubePod) bool { return p.Status.Phase == "Succeeded" })))
}

func (k *kubeNode) logs(p kubePod) string {
	k.t.Helper()
	status, raw, err := k.ask(http.MethodGet, "/api/v1/namespaces/default/pods/"+p.Metadata.Name+"/log", nil)
	require.NoError(k.t, err)
	require.Equal(k.t, http.StatusOK, status, "%s", raw)
	return string(raw)
}

// shell types into a shell in a pod's container, as kubectl exec -it does, and returns what it has shown when it ends.
func (k *kubeNode) shell(p kubePod, typed string) string {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, k.url+"/api/v1/namespaces/default/pods/"+p.Metadata.Name+"/exec?container=main&command=sh&stdin=true&stdout=true&tty=true", &websocket.DialOptions{
		HTTPClient: k.client, Subprotocols: []string{"v5.channel.k8s.io"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + k.admin}},
	})
	require.NoError(k.t, err)
	defer conn.CloseNow()
	require.NoError(k.t, conn.Write(ctx, websocket.MessageBinary, append([]byte{0}, typed...))) // channel 0 is the input
	var shown strings.Builder
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil || len(raw) > 0 && raw[0] == 3 { // the status, which is the last
			require.NoError(k.t, ctx.Err(), "%s", shown.String())
			return shown.String()
		}
		if len(raw) > 1 {
			shown.Write(raw[1:])
		}
	}
}

func (k *kubeNode) deployment(t *testing.T) {
	k.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: served}
spec:
  selector: {matchLabels: {app: served}}
  template:
    metadata: {labels: {app: served}}
    spec:
`+k.template("      ", k.image, "Always", "echo begun; sleep 3600", ""), "")
	runs := func(p kubePod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Running != nil
	}
	p := k.pod("served", "runs", runs)
	k.await("its output", func() bool { return k.logs(p) == "begun\n" })
	require.Contains(t, k.shell(p, "echo $((40 + 2))\nexit\n"), "42")
	k.commands(p)
	k.await("what it uses", func() bool {
		// As metrics-server asks: the API server leads nobody to loopback addresses.
		status, raw, err := k.askAt("https://"+k.at, http.MethodGet, "/metrics/resource", nil)
		return err == nil && status == http.StatusOK && strings.Contains(string(raw), fmt.Sprintf(`container_cpu_usage_seconds_total{container="main",namespace="default",pod=%q} `, p.Metadata.Name))
	})
	before, _ := k.leases()
	k.kill()
	k.begin()
	k.await("the node that was killed gives output again", func() bool {
		status, raw, err := k.ask(http.MethodGet, "/api/v1/namespaces/default/pods/"+p.Metadata.Name+"/log", nil)
		return err == nil && status == http.StatusOK && string(raw) == "begun\n"
	})
	again := k.pod("served", "runs on", runs)
	require.Equal(t, p.Status.ContainerStatuses[0].ContainerID, again.Status.ContainerStatuses[0].ContainerID)
	all, _ := k.leases()
	require.Equal(t, before, all, "nothing is bought twice")
	status, raw, err := k.ask(http.MethodDelete, "/apis/apps/v1/namespaces/default/deployments/served?propagationPolicy=Background", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", raw)
	k.await("the pod is gone and its lease over", func() bool {
		all, over := k.leases()
		return len(k.pods("served")) == 0 && all == over
	})
}

func (k *kubeNode) killedWhileBuying(t *testing.T) {
	before, _ := k.leases()
	k.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: once, labels: {app: once}}\nspec:\n"+k.template("  ", k.image, "Never", "sleep 5", ""), "")
	// It is killed while the order is under way, or a moment later.
	require.Eventually(t, func() bool {
		records, err := filepath.Glob(k.path("pods/*.json"))
		require.NoError(t, err)
		return slices.ContainsFunc(records, func(path string) bool {
			raw, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(raw), `"name":"once"`) && (strings.Contains(string(raw), `"sent":true`) || strings.Contains(string(raw), `"lease":`))
		})
	}, time.Minute, 5*time.Millisecond)
	k.kill()
	k.begin()
	k.pod("once", "succeeds", func(p kubePod) bool { return p.Status.Phase == "Succeeded" })
	all, _ := k.leases()
	require.Equal(t, before+1, all)
}

func (k *kubeNode) noImage(t *testing.T) {
	before, _ := k.leases()
	missing := k.image[:strings.LastIndex(k.image, ":")] + "-none:v1"
	k.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: missing, labels: {app: missing}}\nspec:\n"+k.template("  ", missing, "Never", "true", ""), "")
	p := k.pod("missing", "waits for its image", func(p kubePod) bool { return p.waits() == "ErrImagePull" || p.waits() == "ImagePullBackOff" })
	require.Equal(t, "Pending", p.Status.Phase)
	k.event(p, "ErrImagePull", "is not there, or not public")
	status, raw, err := k.ask(http.MethodDelete, "/api/v1/namespaces/default/pods/missing", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", raw)
	k.await("the pod is gone", func() bool { return len(k.pods("missing")) == 0 })
	all, _ := k.leases()
	require.Equal(t, before, all)
}

func (k *kubeNode) initContainers(t *testing.T) {
	before, _ := k.leases()
	k.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: prepared, labels: {app: prepared}}\nspec:\n"+
		k.template("  ", k.image, "Never", "true", "initContainers:\n  - {name: prepare, image: "+k.image+"}"), "")
	p := k.pod("prepared", "is refused", func(p kubePod) bool { return p.Status.Phase == "Failed" })
	require.Equal(t, "Refused", p.Status.Reason)
	require.Contains(t, p.Status.Message, "init containers (prepare)")
	k.event(p, "Refused", "init containers (prepare)")
	all, _ := k.leases()
	require.Equal(t, before, all)
}
