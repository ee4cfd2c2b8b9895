//go:build e2e

package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"net/http"
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

// guestPolicy is a customer's file: an image of the guest, and makers of TPMs.
func guestPolicy(t *testing.T, e image.Expected, makers ...[]byte) string {
	t.Helper()
	p, collateral := policy.Default(), attestation.Collateral{}
	p.Name = "the measured guest"
	for _, maker := range makers {
		sum := sha256.Sum256(maker)
		name := hex.EncodeToString(sum[:])
		p.Roots.TPM = append(p.Roots.TPM, name)
		collateral[policy.RootKey(name)] = maker
	}
	raw, err := attestation.Document{Policy: e.Policy.Apply(p), Collateral: collateral}.Encode()
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
	policy := guestPolicy(t, e, makerOf(t, n, nodes[0].Name))
	done := make(chan network.Output, 1)
	go func() {
		defer close(done)
		done <- deploy(nodes[0], policy, "--env", words+"="+secret, "--", "env="+words, "tick="+strconv.Itoa(ticks), "exit")
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

	orderedOverHTTP(t, n, customer, map[string]any{
		"gpu": "A100", "region": nodes[0].Region, "maxPricePerGpuHour": "1.60", "seconds": 1800, "allowSimulated": true, "verify": "never", "runToCompletion": true,
		"guest": true, "attest": textOf(t, guestPolicy(t, e, makerOf(t, n, nodes[0].Name))), "network": "none", "image": ref,
		"env": map[string]string{words: "fourth-secret"}, "command": []string{"env=" + words, "exit"},
	}, words+" fourth-secret", bought.Leases[0].Address)
	require.False(t, hasSeen(t, n, nodes[0].Name, "fourth-secret"))

	out = deploy(nodes[1], guestPolicy(t, e, makerOf(t, n, nodes[1].Name)), "--env", words+"=other-secret", "--", "env="+words)
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Contains(t, out.Stderr, "is not what the policy accepts")
	require.False(t, hasSeen(t, n, nodes[1].Name, "other-secret"))

	out = deploy(nodes[2], guestPolicy(t, e, makerOf(t, n, nodes[0].Name)), "--env", words+"=third-secret", "--", "env="+words)
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Contains(t, out.Stderr, "starts no measured guest")
	require.Contains(t, out.Stderr, "refuses the job")
	require.False(t, hasSeen(t, n, nodes[2].Name, "third-secret"))
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(raw)
}

// orderedOverHTTP has a server order a job in a guest that says something and ends with the status 9. The server opens what the guest
// has sealed for it, and nothing of others, a lease that it has not bought.
func orderedOverHTTP(t *testing.T, n *network.Network, customer seed.Wallet, order map[string]any, says, others string) {
	t.Helper()
	at, err := n.StartServe(t.Context(), customer, "5")
	require.NoError(t, err)
	server := &models{t: t, url: at.URL, token: strings.TrimSpace(textOf(t, at.TokenFile))}
	code, said := server.ask(http.MethodGet, "/v1/leases/"+others+"/logs", nil, nil)
	require.Equal(t, http.StatusConflict, code, said)
	require.Contains(t, said, "has sealed this output")
	var job service.Job
	code, said = server.ask(http.MethodGet, "/v1/leases/"+others+"/job", nil, &job)
	require.Equal(t, http.StatusOK, code, said)
	require.EqualValues(t, -1, *job.ExitCode, said)
	require.Contains(t, job.Detail, "its exit code is sealed")

	refused := maps.Clone(order)
	delete(refused, "attest")
	code, said = server.order("no-policy", refused, nil)
	require.Equal(t, http.StatusBadRequest, code, said)
	var bought struct{ Leases []service.Lease }
	require.Eventually(t, func() bool {
		code, said = server.order("guest", order, &bought)
		require.Less(t, code, http.StatusBadRequest, said)
		return code == http.StatusCreated
	}, 4*time.Minute, 500*time.Millisecond, "%s", &said)
	require.Len(t, bought.Leases, 1)
	path := "/v1/leases/" + bought.Leases[0].Address
	require.Eventually(t, func() bool {
		job = service.Job{}
		code, said = server.ask(http.MethodGet, path+"/job", nil, &job)
		return code == http.StatusOK && job.ExitCode != nil
	}, 2*time.Minute, 500*time.Millisecond, "%s", &said)
	require.Equal(t, service.JobExited, job.State, said)
	require.EqualValues(t, 9, *job.ExitCode, "the guest's word: the machine does not know it")
	require.Contains(t, job.Detail, "as its guest says")
	var logs struct {
		Text  string
		Ended bool
	}
	code, said = server.ask(http.MethodGet, path+"/logs", nil, &logs)
	require.Equal(t, http.StatusOK, code, said)
	require.Contains(t, logs.Text, says)
	require.True(t, logs.Ended)
	code, said = server.ask(http.MethodGet, path+"/logs?follow=true", nil, nil)
	require.Equal(t, http.StatusOK, code, said)
	require.Contains(t, said, says)
	require.Contains(t, said, "event: end")
	out, err := n.Gantry(t.Context(), customer, "logs", bought.Leases[0].Address)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Contains(t, out.Stderr, "has sealed this output", "the wallet has not ordered it")
	require.NotContains(t, out.Stdout, says)
}

// The machine of a guest that a server has ordered fails. The next one starts a guest of its own, which proves itself before the server
// brings the job there. The server opens what both have sealed for it.
func TestALeaseInAMeasuredGuestMoves(t *testing.T) {
	t.Parallel()
	genuine, e := guestFiles(t, "")
	params := seed.Params()
	params.StartDeadlineSecs = 240 // an emulated processor boots slowly
	n := likeMachines(t, 2, network.Config{Params: &params, Flags: map[string][]string{"node-1": genuine, "node-2": genuine}})
	_, ref := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	s := newTeamServer(t, n, map[string]market.USDC{"main": 5 * market.OneUSDC})
	order := movingOrder("main")
	order["guest"], order["attest"] = true, textOf(t, guestPolicy(t, e, makerOf(t, n, "node-1"), makerOf(t, n, "node-2")))
	order["verify"], order["network"], order["image"], order["command"] = "never", "none", reachable(t, ref), []string{"env=WORDS", "wait"}
	order["env"] = map[string]string{"WORDS": "a-secret-that-moves"}
	first := s.buy("main", "moving", order)
	says := func(l market.Lease) func() bool {
		return func() bool { return strings.Contains(s.output("main", l.Address), "WORDS a-secret-that-moves") }
	}
	require.Eventually(t, says(first), time.Minute, 500*time.Millisecond)
	require.NoError(t, n.Fail(t.Context(), machineOf(t, n, first.Node).Name))
	next := movedFrom(t, n, first)
	require.Eventually(t, says(next), 4*time.Minute, 500*time.Millisecond)
	status, raw, err := s.ask(http.MethodGet, "/v1/why/"+next.Address.String(), s.tokens["main"], "", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", raw)
	var why service.Why
	require.NoError(t, json.Unmarshal(raw, &why))
	require.NotNil(t, why.Attestation)
	require.Equal(t, service.AttestationPassed, why.Attestation.State)
	for _, node := range []string{"node-1", "node-2"} {
		require.False(t, hasSeen(t, n, node, "a-secret-that-moves"))
	}
}
