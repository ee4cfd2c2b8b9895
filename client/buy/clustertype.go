package buy

import (
	_ "embed" // what the machines of a cluster run
	"fmt"
	"path"
	"strings"

	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Types of clusters.
const (
	ClusterShell = "shell" // each machine runs the command
	ClusterRay   = "ray"   // Ray: its head on the first machine, workers on the others
	ClusterTorch = "torch" // torchrun runs the command
)

// Ports of Ray and of torchrun, in a cluster's private network.
const (
	rayPort       = 6379
	rayClientPort = 10001
	dashboardPort = 8265
	torchPort     = 29500
)

// DefaultRestarts is how often torchrun starts a command again.
const DefaultRestarts = 3

const maxRestarts = 1000

// ClusterType says what the machines of a cluster run together. It is the same struct in all interfaces. A zero field means its
// default.
type ClusterType struct {
	Type        string `json:"type,omitempty" enum:"shell,ray,torch" doc:"What the machines run together: shell, the command on each; ray, Ray's head on node-0 and workers on the others, without a command; torch, the command by torchrun" jsonschema:"what the machines run together: shell (the default), the command on each; ray, Ray's head on node-0 and workers on the others, without a command; torch, the command by torchrun"`
	NoDashboard bool   `json:"noDashboard,omitempty" doc:"With ray: start no dashboard, which also takes jobs" jsonschema:"with ray: start no dashboard, which also takes jobs"`
	Processes   uint8  `json:"processesPerNode,omitempty" doc:"With torch: processes on each machine; one for each GPU by default" jsonschema:"with torch: processes on each machine; one for each GPU by default"`
	Restarts    uint16 `json:"restarts,omitempty" maximum:"1000" doc:"With torch: how often the command starts again when it has failed; 3 by default" jsonschema:"with torch: how often the command starts again when it has failed; 3 by default"`
}

var (
	//go:embed clusters/ray.sh
	rayScript string
	//go:embed clusters/torch.sh
	torchScript string
	//go:embed clusters/torch.py
	torchProgram string
)

// Apply checks the request of a cluster, and puts what its type runs into it. Error: a [service.Failure].
func (c ClusterType) Apply(r *Request) error {
	if err := CheckCluster(r); err != nil {
		return err
	}
	if err := c.check(r); err != nil {
		return err
	}
	switch c.Type {
	case ClusterRay:
		c.ray(r)
	case ClusterTorch:
		c.torch(r)
	}
	return nil
}

// check is what is wrong with the type, or with a request of it.
func (c ClusterType) check(r *Request) error {
	switch c.Type {
	case "", ClusterShell, ClusterRay, ClusterTorch:
	default:
		return usage(fmt.Sprintf("--type %q is not known", c.Type), "say shell, ray or torch")
	}
	made := c.Type == ClusterRay || c.Type == ClusterTorch
	switch {
	case c.NoDashboard && c.Type != ClusterRay:
		return usage("--no-dashboard is for Ray", "add --type ray, or leave it out")
	case c.Processes != 0 && c.Type != ClusterTorch:
		return usage("--processes is for torchrun", "add --type torch, or leave it out")
	case c.Restarts != 0 && c.Type != ClusterTorch:
		return usage("--restarts is for torchrun", "add --type torch, or leave it out")
	case c.Restarts > maxRestarts:
		return usage(fmt.Sprintf("--restarts is %d", c.Restarts), fmt.Sprintf("give at most %d", maxRestarts))
	case made && r.Restore != "":
		return usage(fmt.Sprintf("a suspended container says what runs, and --type %s too", c.Type), "leave --restore or --type out")
	case made && r.Entrypoint != "":
		return usage(fmt.Sprintf("--type %s says what starts, and there is an --entrypoint too", c.Type), "leave --entrypoint or --type out")
	case c.Type == ClusterRay && len(r.Command) > 0:
		return usage("a cluster of Ray runs Ray, and there is a command too",
			"leave the command out, and give it to Ray when the cluster runs: gantry cluster status says how")
	case c.Type == ClusterRay && r.RunToCompletion:
		return usage("Ray runs until its cluster is ended: --run-to-completion would never end it", "leave --run-to-completion out; gantry cluster down ends the leases")
	case c.Type == ClusterTorch && len(r.Command) == 0:
		return usage("there is no command for torchrun", "write it after --, such as: gantry cluster up --type torch --nodes 2 --image IMAGE -- train.py")
	}
	return nil
}

// ray makes the job that of Ray. Its ports are fixed: those of workers that it chose itself could be another program's.
func (c ClusterType) ray(r *Request) {
	head := []string{
		"--head", fmt.Sprintf("--port=%d", rayPort), // the port of Ray's client is the default: an image may lack the client
		// Only the owner of the lease reaches the container's loopback interface: who reaches the dashboard can run programs.
		"--dashboard-host=127.0.0.1", fmt.Sprintf("--dashboard-port=%d", dashboardPort),
	}
	if c.NoDashboard {
		head = append(head, noDashboard)
	}
	both := []string{
		"--node-manager-port=6380", "--object-manager-port=6381", "--runtime-env-agent-port=6382", "--dashboard-agent-grpc-port=6383",
		"--dashboard-agent-listen-port=6384", "--metrics-export-port=6385", "--min-worker-port=20000", "--max-worker-port=29499",
	}
	r.Entrypoint = clusterEntry
	r.Command = []string{"-c", rayScript, madeBy + ClusterRay, strings.Join(head, " "), "--address=" + inCluster(rayPort), strings.Join(both, " ")}
	r.Env = withDefault(r.Env, map[string]string{"RAY_ADDRESS": inCluster(rayPort), "RAY_USAGE_STATS_ENABLED": "0"})
}

// torch makes the command one of torchrun.
func (c ClusterType) torch(r *Request) {
	restarts := c.Restarts
	if restarts == 0 {
		restarts = DefaultRestarts
	}
	args := []string{
		// Older torchruns do not know flags with hyphens.
		fmt.Sprintf("--nnodes=%d", r.Nodes), "--rdzv_backend=c10d", "--rdzv_endpoint=" + inCluster(torchPort), "--rdzv_id=gantry",
		fmt.Sprintf("--max_restarts=%d", restarts),
	}
	if c.Processes != 0 {
		args = append(args, fmt.Sprintf("--nproc_per_node=%d", c.Processes))
	}
	if first := r.Command[0]; first != "-m" && path.Ext(first) != ".py" {
		args = append(args, "--no_python")
	}
	r.Entrypoint = clusterEntry
	r.Command = append(append([]string{"-c", torchScript, madeBy + ClusterTorch, torchProgram}, args...), r.Command...)
}

const (
	clusterEntry = "/bin/sh"
	madeBy       = "gantry-" // before the type, as the script's own name
	noDashboard  = "--include-dashboard=false"
)

// inCluster is a port of the first machine.
func inCluster(port int) string { return fmt.Sprintf("%s:%d", mesh.Address(0), port) }

// withDefault are variables, and defaults for those that are not among them.
func withDefault(env, defaults map[string]string) map[string]string {
	out := map[string]string{}
	for _, from := range []map[string]string{defaults, env} {
		for name, value := range from {
			out[name] = value
		}
	}
	return out
}

// clusterTypeOf is what the machines run together, as Apply has made their job; "" for a job that is forgotten.
func clusterTypeOf(job *messages.JobSpec) ClusterType {
	if job == nil {
		return ClusterType{}
	}
	if job.Entrypoint == clusterEntry && len(job.Command) > 3 && job.Command[0] == "-c" {
		switch job.Command[2] {
		case madeBy + ClusterRay:
			return ClusterType{Type: ClusterRay, NoDashboard: strings.Contains(job.Command[3], noDashboard)}
		case madeBy + ClusterTorch:
			return ClusterType{Type: ClusterTorch}
		}
	}
	return ClusterType{Type: ClusterShell}
}

// ClusterService is what a member of a cluster serves to the others, or to the customer.
type ClusterService struct {
	Name    string `json:"name"`
	Host    string `json:"host"`
	Lease   string `json:"lease"`
	Port    uint16 `json:"port"`
	Address string `json:"address,omitempty"` // in the private network; none for what listens on the container's loopback interface alone
}

// Names of services.
const (
	ServiceRay       = "ray"
	ServiceClient    = "ray-client"
	ServiceDashboard = "dashboard"
	ServiceTorch     = "rendezvous"
)

// services are those of the first machine.
func (c ClusterType) services(first ClusterMember) []ClusterService {
	at := func(name string, port uint16, address string) ClusterService {
		return ClusterService{Name: name, Host: first.Host, Lease: first.Lease, Port: port, Address: address}
	}
	switch c.Type {
	case ClusterRay:
		out := []ClusterService{at(ServiceRay, rayPort, inCluster(rayPort)), at(ServiceClient, rayClientPort, inCluster(rayClientPort))}
		if !c.NoDashboard {
			out = append(out, at(ServiceDashboard, dashboardPort, ""))
		}
		return out
	case ClusterTorch:
		return []ClusterService{at(ServiceTorch, torchPort, inCluster(torchPort))}
	}
	return nil
}
