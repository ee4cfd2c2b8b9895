//go:build e2e

package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/guestfiles"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// guestFiles are the flags of an agent that starts an image of the guest, and what the image shows.
func guestFiles(t *testing.T, commandLine string) (flags []string, e image.Expected) {
	t.Helper()
	files, e := guestfiles.Build(t, commandLine)
	return []string{"--guest-image", files.Image, "--guest-firmware", files.Firmware, "--guest-accelerator", "tcg"}, e
}

// guestPolicy is a customer's file: a maker of TPMs, and an image of the guest.
func guestPolicy(t *testing.T, maker []byte, e image.Expected) string {
	t.Helper()
	sum := sha256.Sum256(maker)
	name := hex.EncodeToString(sum[:])
	p := policy.Default()
	p.Name, p.Roots.TPM = "the measured guest", []string{name}
	raw, err := attestation.Document{Policy: e.Policy.Apply(p), Collateral: attestation.Collateral{policy.RootKey(name): maker}}.Encode()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "policy.json")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	return file
}

// makerOf has an agent's maker of TPMs, which is made with the first one, make a certificate now.
func makerOf(t *testing.T, n *network.Network, machine string) []byte {
	t.Helper()
	dir := filepath.Join(n.DataDir(machine), "guests", "maker")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	short, err := os.MkdirTemp("", "gt") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(short)) })
	ca, err := swtpm.NewCA(dir)
	require.NoError(t, err)
	chip, err := swtpm.Start(t.Context(), ca, short)
	require.NoError(t, err)
	require.NoError(t, chip.Close())
	raw, err := os.ReadFile(filepath.Join(dir, "issuercert.pem"))
	require.NoError(t, err)
	block, _ := pem.Decode(raw)
	require.NotNil(t, block)
	return block.Bytes
}

// reachable is a way to a registry on loopback by an address that guests reach as well.
func reachable(t *testing.T, ref string) string {
	t.Helper()
	host, rest, ok := strings.Cut(ref, "/")
	require.True(t, ok)
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		ip, isIP := a.(*net.IPNet)
		if !isIP || ip.IP.To4() == nil || !ip.IP.IsPrivate() {
			continue
		}
		relay, err := fault.StartRelayAt(t.Context(), ip.IP.String(), host)
		require.NoError(t, err)
		t.Cleanup(relay.Close)
		return relay.Addr() + "/" + rest
	}
	t.Skip("this machine has no private address by which a guest could reach a registry")
	return ""
}

// runs reports whether a process is there and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// jobFailed is the exit code of a command whose job failed.
const jobFailed = 5

// provenBy is what gantry why says that the guest of a lease has proved.
func provenBy(t *testing.T, n *network.Network, lease string) *service.Attestation {
	t.Helper()
	var why service.Why
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, n.Keys.Customers[0], "why", lease).Stdout), &why))
	require.NotNil(t, why.Attestation)
	return why.Attestation
}

// killedMeanwhile kills the agent of a machine with SIGKILL once its guest has put something out. It returns the processes of the guest.
func killedMeanwhile(t *testing.T, n *network.Network, machine string) (processes []int) {
	t.Helper()
	var file string
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(n.DataDir(machine), "guests", "leases", "*", "output"))
		if err != nil || len(found) != 1 {
			return false
		}
		file = found[0]
		info, err := os.Stat(file)
		return err == nil && info.Size() > 500 // some seconds of the job
	}, 8*time.Minute, 100*time.Millisecond)
	var run struct{ Supervisor, QEMU, TPM struct{ PID int } }
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(file), "run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &run))
	processes = []int{run.Supervisor.PID, run.QEMU.PID, run.TPM.PID}
	before, err := n.Pid(machine)
	require.NoError(t, err)
	require.NoError(t, n.Kill(machine))
	for _, pid := range processes {
		require.NotZero(t, pid)
		require.NotEqual(t, before, pid)
		require.DirExists(t, filepath.Join("/proc", strconv.Itoa(pid)), "it outlives the agent")
	}
	return processes
}

// A customer has a machine start the measured guest, verifies it, and seals the job to it. The machine's agent is killed meanwhile, and
// started again. Output and exit code come back sealed. Nothing of the guest is left. The machine has neither the secret nor the words of the job in its folder or its log. One whose guest has another command line gets
// nothing, and one without guests declines the lease, which is not billed.
func TestAJobRunsInAMeasuredGuest(t *testing.T) {
	t.Parallel()
	genuine, e := guestFiles(t, "")
	changed, _ := guestFiles(t, image.CommandLine+" debug")
	nodes := network.DefaultNodes(3)
	regions := []string{"us-west-2", "us-east-1", "eu-central-1"}
	for i := range nodes {
		nodes[i].GPU, nodes[i].Region, nodes[i].Price = "A100", regions[i], market.PricePerHour(1_300_000)
	}
	params := seed.Params()
	params.StartDeadlineSecs = 240 // an emulated processor boots slowly
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Params: &params, Log: warnings(t),
		Flags: map[string][]string{nodes[0].Name: genuine, nodes[1].Name: changed},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	_, ref := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	ref = reachable(t, ref)
	deploy := func(machine network.NodeSpec, policy string, more ...string) network.Output {
		t.Helper()
		args := []string{
			"deploy", "--gpu", "A100", "--region", machine.Region, "--max-price", "1.60", "--duration", "30m", "--allow-simulated", "--verify", "never", "--job",
			"--guest", "--attest", policy, "--network", "none", "--image", ref,
		}
		out, err := n.Gantry(t.Context(), customer, append(args, more...)...)
		require.NoError(t, err)
		return out
	}

	const secret, words = "the-secret-of-the-guest", "WORDS_OF_THE_JOB"
	const ticks = 20
	began := time.Now()
	maker := makerOf(t, n, nodes[0].Name)
	done := make(chan network.Output, 1)
	go func() {
		defer close(done)
		done <- deploy(nodes[0], guestPolicy(t, maker, e), "--env", words+"="+secret, "--", "env="+words, "tick="+strconv.Itoa(ticks), "exit")
	}()
	processes := killedMeanwhile(t, n, nodes[0].Name)
	out := <-done
	t.Logf("done after %s: %d\n%s\n%s", time.Since(began).Round(time.Second), out.Code, out.Stdout, out.Stderr)
	require.Equal(t, jobFailed, out.Code)
	require.Contains(t, out.Stderr, words+" "+secret)
	var bought struct{ Leases []service.Lease }
	require.NoError(t, json.NewDecoder(strings.NewReader(out.Stdout)).Decode(&bought), out.Stdout) // its error follows
	require.Len(t, bought.Leases, 1)
	require.NotNil(t, bought.Leases[0].ExitCode)
	require.EqualValues(t, 9, *bought.Leases[0].ExitCode, "the guest's word, and not the machine's")
	logs := ok(t, n, customer, "logs", bought.Leases[0].Address).Stdout
	require.Contains(t, logs, words+" "+secret)
	for i := range ticks {
		for _, text := range []string{out.Stderr, logs} {
			require.Len(t, regexp.MustCompile(fmt.Sprintf(`tick %d\D`, i)).FindAllString(text, -1), 1, "each number comes once")
		}
	}
	require.Contains(t, logs, fmt.Sprintf("ticked %d", ticks))
	for _, pid := range processes {
		require.Eventually(t, func() bool { return !runs(pid) }, time.Minute, 100*time.Millisecond, "process %d of the guest is left", pid)
	}
	for _, text := range []string{secret, words} {
		require.False(t, hasSeen(t, n, nodes[0].Name, text))
		log, err := os.ReadFile(n.LogPath(nodes[0].Name))
		require.NoError(t, err)
		require.Contains(t, string(log), "the measured guest answers")
		require.Contains(t, string(log), "the measured guest of an earlier agent goes on")
		require.Equal(t, 1, strings.Count(string(log), "job started"))
		require.NotContains(t, string(log), text)
	}
	proof := provenBy(t, n, bought.Leases[0].Address)
	require.Equal(t, service.AttestationPassed, proof.State)
	require.Contains(t, proof.Verified, "What the machine started with has values that the policy accepts.")

	out = deploy(nodes[1], guestPolicy(t, makerOf(t, n, nodes[1].Name), e), "--env", words+"=other-secret", "--", "env="+words)
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Contains(t, out.Stderr, "is not what the policy accepts")
	require.False(t, hasSeen(t, n, nodes[1].Name, "other-secret"))

	out = deploy(nodes[2], guestPolicy(t, makerOf(t, n, nodes[0].Name), e), "--env", words+"=third-secret", "--", "env="+words)
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Contains(t, out.Stderr, "starts no measured guest")
	require.Contains(t, out.Stderr, "refuses the job")
	require.False(t, hasSeen(t, n, nodes[2].Name, "third-secret"))
}
