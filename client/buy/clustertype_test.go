package buy

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/messages"
)

// clusterRequest is one that each type takes, but for its command.
func clusterRequest(command ...string) Request {
	return Request{GPU: "A100", Nodes: 3, Seconds: 600, Image: "example.org/image", Command: command}
}

func TestWhatIsWrongWithAClusterIsSaidBeforeMoneyMoves(t *testing.T) {
	for name, c := range map[string]struct {
		of     ClusterType
		change func(*Request)
		want   string
	}{
		"unknown type":           {ClusterType{Type: "slurm"}, nil, "say shell, ray or torch"},
		"one machine":            {ClusterType{Type: ClusterRay}, func(r *Request) { r.Nodes = 1 }, "a cluster has several machines"},
		"no image":               {ClusterType{Type: ClusterRay}, func(r *Request) { r.Image = "" }, "run containers"},
		"compared outputs":       {ClusterType{Type: ClusterRay}, func(r *Request) { r.Redundancy = 3 }, "no private network"},
		"torch without command":  {ClusterType{Type: ClusterTorch}, nil, "there is no command for torchrun"},
		"ray with a command":     {ClusterType{Type: ClusterRay}, func(r *Request) { r.Command = []string{"python", "job.py"} }, "there is a command too"},
		"ray that ends":          {ClusterType{Type: ClusterRay}, func(r *Request) { r.RunToCompletion = true }, "would never end"},
		"ray with entry point":   {ClusterType{Type: ClusterRay}, func(r *Request) { r.Entrypoint = "ray" }, "--entrypoint"},
		"ray from a suspension":  {ClusterType{Type: ClusterRay}, func(r *Request) { r.Restore = "hash" }, "--restore"},
		"processes of ray":       {ClusterType{Type: ClusterRay, Processes: 2}, nil, "--processes is for torchrun"},
		"restarts of a shell":    {ClusterType{Restarts: 2}, nil, "--restarts is for torchrun"},
		"dashboard of torch":     {ClusterType{Type: ClusterTorch, NoDashboard: true}, func(r *Request) { r.Command = []string{"a.py"} }, "--no-dashboard is for Ray"},
		"too many new starts":    {ClusterType{Type: ClusterTorch, Restarts: 1001}, func(r *Request) { r.Command = []string{"a.py"} }, "at most 1000"},
		"torch with entry point": {ClusterType{Type: ClusterTorch}, func(r *Request) { r.Command, r.Entrypoint = []string{"a.py"}, "sh" }, "--entrypoint"},
	} {
		t.Run(name, func(t *testing.T) {
			r := clusterRequest()
			if c.change != nil {
				c.change(&r)
			}
			err := c.of.Apply(&r)
			var f *service.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, service.CodeUsage, f.Code)
			require.Contains(t, f.Reason+"; "+f.Advice, c.want)
		})
	}
}

func TestAShellsCommandStaysAsItIs(t *testing.T) {
	for _, of := range []string{"", ClusterShell} {
		r := clusterRequest("sleep", "1")
		require.NoError(t, ClusterType{Type: of}.Apply(&r))
		require.Equal(t, clusterRequest("sleep", "1"), r)
		require.Equal(t, ClusterShell, clusterTypeOf(jobOf(&r)).Type)
	}
}

func jobOf(r *Request) *messages.JobSpec {
	return &messages.JobSpec{Image: r.Image, Entrypoint: r.Entrypoint, Command: r.Command}
}

func TestTheJobOfRay(t *testing.T) {
	r := clusterRequest()
	r.Env = map[string]string{"RAY_USAGE_STATS_ENABLED": "1", "MINE": "x"}
	require.NoError(t, ClusterType{Type: ClusterRay}.Apply(&r))
	require.NoError(t, r.Check())
	require.Equal(t, map[string]string{"RAY_USAGE_STATS_ENABLED": "1", "MINE": "x", "RAY_ADDRESS": "10.77.0.1:6379"}, r.Env)
	of := clusterTypeOf(jobOf(&r))
	require.Equal(t, ClusterType{Type: ClusterRay}, of)
	first := ClusterMember{Host: "node-0", Lease: "lease"}
	require.Equal(t, []ClusterService{
		{Name: ServiceRay, Host: "node-0", Lease: "lease", Port: 6379, Address: "10.77.0.1:6379"},
		{Name: ServiceClient, Host: "node-0", Lease: "lease", Port: 10001, Address: "10.77.0.1:10001"},
		{Name: ServiceDashboard, Host: "node-0", Lease: "lease", Port: 8265},
	}, of.services(first))

	r = clusterRequest()
	require.NoError(t, ClusterType{Type: ClusterRay, NoDashboard: true}.Apply(&r))
	of = clusterTypeOf(jobOf(&r))
	require.True(t, of.NoDashboard)
	require.Len(t, of.services(first), 2)
	require.Empty(t, clusterTypeOf(nil).Type, "of a job that is forgotten nothing is known")
}

func TestTheJobOfTorch(t *testing.T) {
	for _, c := range []struct {
		of            ClusterType
		command, want []string
	}{
		{ClusterType{}, []string{"train.py", "--lr", "1"}, []string{"--max_restarts=3", "train.py", "--lr", "1"}},
		{ClusterType{Restarts: 7, Processes: 8}, []string{"-m", "train"}, []string{"--max_restarts=7", "--nproc_per_node=8", "-m", "train"}},
		{ClusterType{}, []string{"python", "-u", "train.py"}, []string{"--max_restarts=3", "--no_python", "python", "-u", "train.py"}},
	} {
		c.of.Type = ClusterTorch
		r := clusterRequest(c.command...)
		require.NoError(t, c.of.Apply(&r))
		require.NoError(t, r.Check())
		require.Equal(t, append([]string{"--nnodes=3", "--rdzv_backend=c10d", "--rdzv_endpoint=10.77.0.1:29500", "--rdzv_id=gantry"}, c.want...), r.Command[4:])
		of := clusterTypeOf(jobOf(&r))
		require.Equal(t, ClusterTorch, of.Type)
		require.Equal(t, "10.77.0.1:29500", of.services(ClusterMember{})[0].Address)
	}
}

// fakeProgram is a program of a member's image, in the only folder of its PATH besides the usual ones.
func fakeProgram(t *testing.T, name, script string) (path string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700))
	return dir + ":/usr/bin:/bin"
}

// member runs the job of a cluster as its container does.
func member(ctx context.Context, r *Request, path string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.Entrypoint, r.Command...)
	cmd.Env = append(env, "PATH="+path)
	return cmd
}

// A worker starts Ray again until it is there, and ends when its container is stopped. The head has flags of its own.
func TestRayStartsAgain(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	path := fakeProgram(t, "ray", `
[ "$1" = start ] || exit 0
echo "$*" >> `+said+`
[ "$(wc -l < `+said+`)" -lt 2 ] && exit 3
exec sleep 60`)
	r := clusterRequest()
	require.NoError(t, ClusterType{Type: ClusterRay}.Apply(&r))
	starts := func() []string {
		raw, err := os.ReadFile(said)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(raw)), "\n")
	}
	// The fake Python finds the head at once.
	path = strings.Replace(fakeProgram(t, "python3", `[ "$3" = 10.77.0.1:6379 ]`), ":", ":"+strings.Split(path, ":")[0]+":", 1)
	worker := member(t.Context(), &r, path, "GANTRY_NODE_RANK=2", "GANTRY_NODE_IP=10.77.0.3", "GANTRY_GPU_COUNT=2", "GANTRY_CPUS=5")
	require.NoError(t, worker.Start())
	require.Eventually(t, func() bool { return len(starts()) == 2 }, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(t, worker.Wait())
	for _, line := range starts() {
		require.True(t, strings.HasPrefix(line, "start --block --node-ip-address=10.77.0.3 --num-gpus=2 --num-cpus=5 --address=10.77.0.1:6379 --node-manager-port="), line)
	}

	head := member(t.Context(), &r, path, "GANTRY_NODE_RANK=0", "GANTRY_NODE_IP=10.77.0.1")
	require.NoError(t, head.Start())
	require.Eventually(t, func() bool { return len(starts()) == 3 }, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, head.Process.Signal(syscall.SIGTERM))
	require.NoError(t, head.Wait())
	require.True(t, strings.HasPrefix(starts()[2], "start --block --node-ip-address=10.77.0.1 --num-gpus=0 --head --port=6379 "), starts()[2])

	none, err := member(t.Context(), &r, "/usr/bin:/bin", "GANTRY_NODE_RANK=0", "GANTRY_NODE_IP=10.77.0.1").CombinedOutput()
	require.ErrorContains(t, err, "127")
	require.Contains(t, string(none), "the image has no Ray")
}

// The interpreter that the image has runs torchrun, with all arguments as they are.
func TestTorchTakesTheImagesPython(t *testing.T) {
	r := clusterRequest("train.py", "two words", "")
	require.NoError(t, ClusterType{Type: ClusterTorch}.Apply(&r))
	said, err := member(t.Context(), &r, fakeProgram(t, "python3", `shift 2; for a; do echo "<$a>"; done`)).Output()
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(said), "<--max_restarts=3>\n<train.py>\n<two words>\n<>\n"), string(said))
	none, err := member(t.Context(), &r, "/nowhere").CombinedOutput()
	require.ErrorContains(t, err, "127")
	require.Contains(t, string(none), "the image has no Python")
}
