//go:build e2e

package scenario

import (
	"archive/tar"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// integration is where the programs and the samples for Slurm are.
const integration = "../../integrations/slurm"

// slurm is a real slurmctld on this computer, whose nodes are rented.
type slurm struct {
	t     *testing.T
	n     *network.Network
	owner seed.Wallet
	dir   string
	kill  func()
}

// slurmImage is an image of Debian's slurmd with the program of the integration.
func slurmImage(t *testing.T) string {
	t.Helper()
	own, env := imagetest.Debian(t, "slurm", "bin", "usr/sbin", "usr/lib/x86_64-linux-gnu/slurm-wlm")
	for _, name := range []string{"slurmd", "slurmstepd"} { // Debian's installer makes these links
		own = append(own, imagetest.Entry{Header: tar.Header{Name: "usr/sbin/" + name, Linkname: name + "-wlm", Typeflag: tar.TypeSymlink, Mode: 0o777}})
	}
	node, err := os.ReadFile(filepath.Join(integration, "image/gantry-slurm-node"))
	require.NoError(t, err)
	files := []imagetest.Entry{
		{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}},
		imagetest.File("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
		imagetest.File("etc/group", "root:x:0:\n"), imagetest.File("usr/local/sbin/gantry-slurm-node", string(node)),
	}
	for i, v := range env {
		env[i] = strings.Replace(v, "PATH=/usr/bin:", "PATH=/usr/sbin:/usr/bin:", 1)
	}
	tagged, _ := imagetest.Start(t, nil).Push(t, "clusters/slurm", imagetest.Image(t, "amd64", v1.Config{Env: env}, imagetest.Layer(t, own...), imagetest.Layer(t, files...)))
	return tagged
}

// sample is a file of the integration with other values.
func sample(t *testing.T, name string, values ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(integration, name))
	require.NoError(t, err)
	text := string(raw)
	for i := 0; i < len(values); i += 2 {
		line := regexp.MustCompile(`(?m)^` + values[i] + `.*$`)
		require.Regexp(t, line, text, "%s has a line of %s", name, values[i])
		text = line.ReplaceAllLiteralString(text, values[i+1])
	}
	return text
}

// startSlurm starts a market of three machines, and slurmctld with the files of the integration.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	needsSandbox(t)
	for _, tool := range []string{"slurmctld", "sbatch", "munged", "jq", "ssh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is missing: scripts/toolchain.sh slurm ssh", tool)
		}
	}
	image := slurmImage(t)
	nodes := network.DefaultNodes(3)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count, nodes[i].Price = "A100", 1, market.PricePerHour(1_300_000)
	}
	params := seed.Params()
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 30, 120
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Params: &params, Log: warnings(t),
		KeeperFlags: []string{"--simulate-unmeasured", "--evidence-every", "0"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	dir, err := os.MkdirTemp("", "gantry-slurm") // the state directory is closed to the user whose jobs these are
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	s := &slurm{t: t, n: n, owner: n.Keys.Customers[0], dir: dir}
	ok(t, n, s.owner, "credits", "add", "10")
	s.configure(image)
	key := make([]byte, 128)
	_, _ = rand.Read(key)
	s.write("gantry-munge.key", string(key))
	run(t, s.path("munged.log"), "munged", "--foreground", "--force", "--key-file", s.path("gantry-munge.key"), "--socket", s.path("munge.socket"),
		"--pid-file", s.path("munged.pid"), "--log-file", s.path("munged-own.log"), "--seed-file", s.path("munged.seed"))
	require.Eventually(t, func() bool { _, err := os.Stat(s.path("munge.socket")); return err == nil }, time.Minute, 50*time.Millisecond)
	s.start()
	return s
}

// configure writes the files of the integration for this computer.
func (s *slurm) configure(image string) {
	t := s.t
	host, err := os.Hostname()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(s.path("state"), 0o755))
	require.NoError(t, os.Chmod(s.dir, 0o755))
	program, err := filepath.Abs(filepath.Join(integration, "gantry-slurm"))
	require.NoError(t, err)
	for _, name := range []string{"resume", "suspend", "epilog"} {
		script := fmt.Sprintf("#!/bin/sh\nSLURM_CONF=%s exec %s %s \"$@\"\n", s.path("slurm.conf"), program, name)
		require.NoError(t, os.WriteFile(s.path("gantry-slurm-"+name), []byte(script), 0o755))
	}
	short, _, _ := strings.Cut(host, ".")
	s.write("slurm.conf", sample(t, "slurm.conf",
		"SlurmctldHost=", "SlurmctldHost="+short+"(127.0.0.1)", "SlurmctldPort=", "SlurmctldPort="+portOf(freeAddr(t)), "SlurmdPort=", "SlurmdPort="+portOf(freeAddr(t)),
		"SlurmUser=", "SlurmUser=root", "AuthType=", "AuthType=auth/munge\nAuthInfo=socket="+s.path("munge.socket"), "StateSaveLocation=", "StateSaveLocation="+s.path("state"),
		"SlurmctldPidFile=", "SlurmctldPidFile="+s.path("slurmctld.pid"), "SlurmctldLogFile=", "SlurmctldLogFile="+s.path("slurmctld.log"),
		"ResumeProgram=", "ResumeProgram="+s.path("gantry-slurm-resume"), "SuspendProgram=", "SuspendProgram="+s.path("gantry-slurm-suspend"),
		"ResumeFailProgram=", "ResumeFailProgram="+s.path("gantry-slurm-suspend"), "EpilogSlurmctld=", "EpilogSlurmctld="+s.path("gantry-slurm-epilog"),
		"ResumeTimeout=", "ResumeTimeout=90", "SuspendTimeout=", "SuspendTimeout=15",
		"NodeName=", "NodeName=a100-[1-8],dear-[1-2] CPUs=1 RealMemory=500 State=CLOUD",
		"PartitionName=", "PartitionName=gantry Nodes=a100-[1-8] OverSubscribe=EXCLUSIVE Default=YES State=UP\nPartitionName=dear Nodes=dear-[1-2] OverSubscribe=EXCLUSIVE State=UP",
		// In a container without any network but loopback glibc finds no IPv4 address at all if only such are asked for.
		"GresTypes=", "CommunicationParameters=EnableIPv6"))
	s.write("cgroup.conf", sample(t, "cgroup.conf"))
	cmd := s.n.Command(t.Context(), s.owner)
	quoted := []string{}
	for _, arg := range cmd.Args {
		quoted = append(quoted, "'"+arg+"'")
	}
	var exports string
	for _, v := range cmd.Env {
		if name, value, _ := strings.Cut(v, "="); name == "HOME" || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GANTRY_") {
			exports += fmt.Sprintf("export %s='%s'\n", name, value)
		}
	}
	order := "--gpu A100 --duration 20m --network none --memory 700m --allow-simulated --image " + image
	s.write("gantry.conf", sample(t, "gantry.conf",
		`GANTRY=`, "GANTRY=("+strings.Join(quoted, " ")+")", `export HOME=`, exports, `ORDER=`, "ORDER=("+order+" --max-price 3)\nORDER_dear=("+order+" --max-price 0.01)",
		`ALONE=`, fmt.Sprintf("ALONE=60\nSTATE=%s LOG=%s", s.path("gantry"), s.path("gantry.log"))))
}

func (s *slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *slurm) write(name, content string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(s.dir, 0o755))
	mode := os.FileMode(0o600)
	if strings.HasSuffix(name, ".conf") {
		mode = 0o644
	}
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(content), mode))
}

// start starts slurmctld, and waits until it answers.
func (s *slurm) start() {
	s.t.Helper()
	s.t.Setenv("SLURM_CONF", s.path("slurm.conf"))
	s.kill = run(s.t, s.path("slurmctld-said.log"), "slurmctld", "-D", "-f", s.path("slurm.conf"))
	require.Eventually(s.t, func() bool {
		out, _ := exec.Command("scontrol", "ping").CombinedOutput()
		return strings.Contains(string(out), "is UP")
	}, 30*time.Second, 200*time.Millisecond, "see %s", s.path("slurmctld.log"))
}

// nobody is the user whose jobs these are.
const nobody = 65534

// submit submits a script as an ordinary user, and returns the job's number.
func (s *slurm) submit(script string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("sbatch", append([]string{"--parsable"}, args...)...)
	cmd.Stdin = strings.NewReader(script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func (s *slurm) tool(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput()
	return string(out)
}

func (s *slurm) read(name string) string {
	raw, _ := os.ReadFile(s.path(name))
	return string(raw)
}

// until waits until a program says something.
func (s *slurm) until(text string, within time.Duration, name string, args ...string) {
	s.t.Helper()
	last, began := said(""), time.Now()
	require.Eventually(s.t, func() bool {
		last = said(s.tool(name, args...))
		return strings.Contains(string(last), text)
	}, within, 300*time.Millisecond, "%s says %s: %s", name, text, &last)
	s.t.Logf("%s after %.1f s", text, time.Since(began).Seconds())
}

// rented awaits that so many leases run.
func (s *slurm) rented(count int) {
	s.t.Helper()
	began := time.Now()
	(&groupVisit{t: s.t, n: s.n, owner: s.owner}).leases(count)
	s.t.Logf("%d leases run after %.1f s", count, time.Since(began).Seconds())
}

// Slurm rents the nodes of a job, runs the job on them, and returns them. A node that cannot be rented costs nothing. When
// slurmctld dies, its nodes end.
func TestSlurmRentsNodes(t *testing.T) {
	long.Test(t, "slurmd is unpacked and started, and waits for Slurm's timeouts")
	s := startSlurm(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("gantry.log:\n%s\nslurmctld.log:\n%s", s.read("gantry.log"), s.read("slurmctld.log"))
		}
	})
	page, err := os.ReadFile("../../docs/operate/slurm.md")
	require.NoError(t, err)
	walk := regexp.MustCompile(`(?s)\$ cat job.sh\n(.*?)\$ sbatch (.*?) job.sh\n`).FindSubmatch(page)
	require.NotNil(t, walk, "the page has a job and its sbatch")
	pair := s.submit(string(walk[1])+"id -u\n", strings.Fields(string(walk[2]))...)
	s.rented(2)
	s.until("JobState=COMPLETED", 3*time.Minute, "scontrol", "show", "job", pair)
	written := func(job, node, file string) string {
		path := filepath.Join("gantry/results", job, node, file)
		require.Eventually(t, func() bool { return s.read(path) != "" }, time.Minute, 200*time.Millisecond, "%s is fetched", path)
		return s.read(path)
	}
	out := written(pair, "a100-1", "slurm-"+pair+".out")
	require.Contains(t, out, "gvisor")
	require.Contains(t, out, "\n65534\n")
	require.Contains(t, out, "a100-1 runs task 0 of 2 in /work")
	require.Contains(t, out, "a100-2 runs task 1 of 2 in /work")
	s.rented(0)
	s.until("idle~", 2*time.Minute, "sinfo", "-h", "-p", "gantry", "-n", "a100-1", "-o", "%t")

	// One node has no private network, and needs none.
	alone := s.submit("#!/bin/sh\nsrun echo alone >deep.txt; exit 3\n", "--chdir", "/work/deep")
	s.until("ExitCode=3:0", 3*time.Minute, "scontrol", "show", "job", alone)
	require.Equal(t, "alone\n", written(alone, "a100-1", "deep.txt"))
	s.rented(0)

	// Nobody sells at this price: the log says so, nothing is rented, and Slurm takes the job back.
	dear := s.submit("#!/bin/sh\n", "--partition", "dear")
	require.Eventually(t, func() bool { return strings.Contains(s.read("gantry.log"), "dear-1: nothing was rented") }, 2*time.Minute, 300*time.Millisecond)
	s.until("Restarts=1", 4*time.Minute, "scontrol", "show", "job", dear)
	s.tool("scancel", dear)
	s.rented(0)
	s.until("idle~", 2*time.Minute, "sinfo", "-h", "-p", "dear", "-n", "dear-1", "-o", "%t")

	// slurmctld dies: the node hears it no more, and ends.
	s.submit("#!/bin/sh\nsleep 1000\n")
	s.rented(1)
	s.until(" R ", 3*time.Minute, "squeue", "-h", "-o", " %t ")
	s.kill()
	s.rented(0)
	t.Logf("gantry.log:\n%s", s.read("gantry.log"))
}
