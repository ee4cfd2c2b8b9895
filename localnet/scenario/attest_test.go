//go:build e2e

package scenario

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// kernelPCR is the register in which these machines measure what they start.
const kernelPCR = 4

// chips are software TPMs of machines, made by one maker or by another.
type chips struct {
	t     *testing.T
	dir   string
	maker map[string]*swtpm.CA
}

func newChips(t *testing.T) *chips {
	t.Helper()
	if err := swtpm.Available(); err != nil {
		t.Skipf("needs a software TPM: %v", err)
	}
	dir, err := os.MkdirTemp("", "gt") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	c := &chips{t, dir, map[string]*swtpm.CA{}}
	for _, name := range []string{"good", "other"} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(at, 0o700))
		c.maker[name], err = swtpm.NewCA(at)
		require.NoError(t, err)
	}
	return c
}

// socket is the TPM of a machine that has started a kernel.
func (c *chips) socket(machine, maker, kernel string) string {
	c.t.Helper()
	at := filepath.Join(c.dir, machine)
	require.NoError(c.t, os.Mkdir(at, 0o700))
	chip, err := swtpm.Start(c.t.Context(), c.maker[maker], at)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, chip.Close()) })
	conn, err := chip.Open()
	require.NoError(c.t, err)
	digest := sha256.Sum256([]byte(kernel))
	_, err = tpm2.PCRExtend{
		PCRHandle: tpm2.AuthHandle{Handle: tpm2.TPMHandle(kernelPCR), Auth: tpm2.PasswordAuth(nil)},
		Digests:   tpm2.TPMLDigestValues{Digests: []tpm2.TPMTHA{{HashAlg: tpm2.TPMAlgSHA256, Digest: digest[:]}}},
	}.Execute(conn)
	require.NoError(c.t, err)
	require.NoError(c.t, conn.Close())
	return chip.Socket()
}

// policy is a customer's file: TPMs of the good maker, in machines that have started a kernel. Software TPMs and simulated
// GPUs count, since this is a test.
func (c *chips) policy(kernel string) string {
	c.t.Helper()
	maker, err := c.maker["good"].Issuer()
	require.NoError(c.t, err)
	p := policy.Default()
	p.Name, p.AllowSynthetic = "the right kernel", true
	p.Roots.TPM, p.TPM.Algorithms = []string{fingerprintOf(maker)}, []string{"rsa2048", "p256", "p384"}
	measured := sha256.Sum256([]byte(kernel))
	value := sha256.Sum256(append(make([]byte, 32), measured[:]...))
	p.TPM.PCRs = []policy.PCR{{Index: kernelPCR, Values: []string{hex.EncodeToString(value[:])}}}
	raw, err := attestation.Document{Policy: p, Collateral: attestation.Collateral{policy.RootKey(fingerprintOf(maker)): maker.Raw}}.Encode()
	require.NoError(c.t, err)
	file := filepath.Join(c.t.TempDir(), "policy.json")
	require.NoError(c.t, os.WriteFile(file, raw, 0o600))
	return file
}

func fingerprintOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// hasSeen reports whether a machine has a text in any of its files.
func hasSeen(t *testing.T, n *network.Network, machine, text string) (found bool) {
	t.Helper()
	read := 0
	require.NoError(t, filepath.WalkDir(n.DataDir(machine), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // files come and go while machines run
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			read++
			found = found || bytes.Contains(raw, []byte(text))
		}
		return nil
	}))
	require.Positive(t, read)
	return found
}

var notProven = regexp.MustCompile(`the machine of lease (\w+) got nothing of the job: it has not proved what the policy asks for: `)

// Before any data leaves, customers have each machine prove itself. A machine with the right start gets the job. One with
// another kernel, one that replays a quote and one with a TPM of a stranger's get nothing, and the customer reads why.
func TestMachinesProveThemselvesBeforeTheyGetTheJob(t *testing.T) {
	t.Parallel()
	c := newChips(t)
	nodes := network.DefaultNodes(4)
	regions := []string{"us-west-2", "us-east-1", "eu-central-1", "ap-south-1"}
	for i := range nodes {
		nodes[i].GPU, nodes[i].Region, nodes[i].Price = "A100", regions[i], market.PricePerHour(1_300_000)
	}
	right, wrong, replays, foreign := nodes[0], nodes[1], nodes[2], nodes[3]
	flags := map[string][]string{
		right.Name:   {"--simulate-tpm", c.socket("1", "good", "right kernel")},
		wrong.Name:   {"--simulate-tpm", c.socket("2", "good", "wrong kernel")},
		replays.Name: {"--simulate-tpm", c.socket("3", "good", "right kernel"), "--simulate-replayed-quote"},
		foreign.Name: {"--simulate-tpm", c.socket("4", "other", "right kernel")},
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Flags: flags, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	file := c.policy("right kernel")
	order := func(machine network.NodeSpec, more ...string) []string {
		args := []string{"deploy", "--gpu", "A100", "--region", machine.Region, "--max-price", "1.60", "--duration", "10m", "--allow-simulated", "--verify", "never"}
		return append(args, more...)
	}
	attested := func(machine network.NodeSpec, secret string) network.Output {
		t.Helper()
		out, err := n.Gantry(t.Context(), customer, order(machine, "--attest", file, "--job", "--env", "SECRET="+secret, "--", "sh", "-c", `echo "served with $SECRET"; sleep 3`)...)
		require.NoError(t, err)
		return out
	}

	// The right one: while its job runs, its files have the secret.
	const told = "the-secret-of-the-right-machine"
	began := time.Now()
	lease := leaseIn(t, ok(t, n, customer, order(right, "--attest", file, "--detach", "--env", "SECRET="+told, "--", "sleep", "300")...))
	t.Logf("deployed with a proof after %.1f s", time.Since(began).Seconds())
	require.True(t, hasSeen(t, n, right.Name, told), "where the job is, it is found")
	var proof attestation.Proof
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "--json", "attest", lease, "--policy", file).Stdout), &proof))
	require.Equal(t, service.AttestationPassed, proof.Summary.State)
	require.Zero(t, proof.Summary.Tier, "simulated GPUs have no tier")
	require.Contains(t, proof.Summary.Verified, "That TPM opened a secret that your side had just sealed to it.")
	require.Contains(t, proof.Summary.Verified, "What the machine started with has values that the policy accepts.")
	require.Empty(t, proof.Summary.Failed)
	require.NotEmpty(t, proof.Summary.NotCovered)
	byNode := ok(t, n, customer, "attest", n.Nodes[0].Address.String(), "--policy", file)
	require.Contains(t, byNode.Stdout, "The TPM is one of a maker that the policy trusts.")
	require.Contains(t, byNode.Stdout, "not covered")
	strict, err := n.Gantry(t.Context(), customer, "attest", lease, "--policy", c.policy("another kernel"))
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, strict.Code, strict.Stderr)
	require.Contains(t, strict.Stdout, "What the machine started with (firmware, kernel or command line) is not what the policy accepts.")
	require.Equal(t, service.AttestationPassed, provenOf(t, n, lease).State)
	ok(t, n, customer, "stop", lease)

	// The one that replays has shown an honest quote before.
	lease = leaseIn(t, ok(t, n, customer, order(replays, "--detach", "--", "sleep", "300")...))
	_, err = n.Gantry(t.Context(), customer, "attest", lease, "--policy", file)
	require.NoError(t, err)
	ok(t, n, customer, "stop", lease)

	for _, one := range []struct {
		machine network.NodeSpec
		why     string
	}{
		{wrong, "What the machine started with (firmware, kernel or command line) is not what the policy accepts."},
		{replays, "The measurements were signed for another question: a replayed quote."},
		{foreign, "its TPM is none that the policy trusts"},
	} {
		secret := "the-secret-of-" + one.machine.Name
		out := attested(one.machine, secret)
		require.Equal(t, refusedByMarket, out.Code, out.Stderr)
		found := notProven.FindStringSubmatch(out.Stderr)
		require.NotNil(t, found, out.Stderr)
		require.Contains(t, out.Stderr, one.why)
		require.NotContains(t, out.Stdout, "served with")
		require.False(t, hasSeen(t, n, one.machine.Name, secret), "the secret is on %s", one.machine.Name)
		endedByCustomer(t, n, solana.MustPublicKeyFromBase58(found[1]))
		read := provenOf(t, n, found[1])
		require.Equal(t, service.AttestationRefused, read.State)
		require.Contains(t, read.Why, one.why)
	}
	served(t, n, c, file)
}

// provenOf is what gantry why says that the machine of a lease has proved.
func provenOf(t *testing.T, n *network.Network, lease string) *service.Attestation {
	t.Helper()
	var why service.Why
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, n.Keys.Customers[0], "why", lease).Stdout), &why))
	require.NotNil(t, why.Attestation)
	require.Equal(t, "the right kernel", why.Attestation.Policy)
	return why.Attestation
}

// served has a server do the same: its orders carry the policy, and its leases say what was proved.
func served(t *testing.T, n *network.Network, c *chips, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	m := serveModels(t, n, n.Keys.Customers[0])
	var out struct {
		Phase  string
		Leases []service.Lease
	}
	body := func(region string) map[string]any {
		return map[string]any{
			"gpu": "A100", "region": region, "seconds": 300, "maxPricePerGpuHour": "1.60", "allowSimulated": true, "verify": "never", "attest": string(text),
			"command": []string{"sleep", "300"}, "env": map[string]string{"SECRET": "of-the-server-for-" + region},
		}
	}
	require.Eventually(t, func() bool {
		status, text := m.order("right", body("us-west-2"), &out)
		require.Less(t, status, http.StatusBadRequest, text)
		return out.Phase == "bought"
	}, 2*time.Minute, 100*time.Millisecond)
	var l service.Lease
	status, answer := m.ask(http.MethodGet, "/v1/leases/"+out.Leases[0].Address, nil, &l)
	require.Equal(t, http.StatusOK, status, answer)
	require.NotNil(t, l.Attestation)
	require.Equal(t, service.AttestationPassed, l.Attestation.State)
	require.NotEmpty(t, l.Attestation.Verified)
	require.NotEmpty(t, l.Attestation.NotCovered)

	require.Eventually(t, func() bool {
		status, answer = m.order("wrong", body("us-east-1"), nil)
		return status >= http.StatusBadRequest
	}, 2*time.Minute, 100*time.Millisecond)
	found := notProven.FindStringSubmatch(answer)
	require.NotNil(t, found, answer)
	require.False(t, hasSeen(t, n, n.Nodes[1].Name, "of-the-server-for-us-east-1"))
	var w service.Why
	status, answer = m.ask(http.MethodGet, "/v1/why/"+found[1], nil, &w)
	require.Equal(t, http.StatusOK, status, answer)
	require.NotNil(t, w.Attestation)
	require.Equal(t, service.AttestationRefused, w.Attestation.State)
	require.Contains(t, w.Attestation.Why, "is not what the policy accepts")
}

// A lease whose machine is gone moves to another one. That has another kernel, so that it gets nothing.
func TestAMachineToWhichALeaseMovesProvesItself(t *testing.T) {
	t.Parallel()
	c := newChips(t)
	sockets := []string{c.socket("1", "good", "right kernel"), c.socket("2", "good", "wrong kernel")}
	n := likeMachines(t, 2, network.Config{Flags: map[string][]string{"node-1": {"--simulate-tpm", sockets[0]}, "node-2": {"--simulate-tpm", sockets[1]}}})
	customer := n.Keys.Customers[0]
	file := c.policy("right kernel")
	const secret = "the-secret-that-does-not-move"
	deployed := make(chan network.Output, 1)
	failed := make(chan error, 1)
	require.NoError(t, n.DrainNode(t.Context(), n.Nodes[1])) // the first award is not drawn
	go func() {
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "10m", "--allow-simulated", "--verify", "never",
			"--migrate", "--attest", file, "--env", "SECRET="+secret, "--", "sleep", "500")
		failed <- err
		deployed <- out
	}()
	first, at := firstRunning(t, n)
	require.Equal(t, "node-1", at.Name)
	require.Eventually(t, func() bool { return hasSeen(t, n, "node-1", secret) }, 30*time.Second, 200*time.Millisecond)
	require.NoError(t, n.ActivateNode(t.Context(), n.Nodes[1]))
	require.NoError(t, n.Fail(t.Context(), "node-1"))
	next := movedFrom(t, n, first)
	require.NoError(t, <-failed)
	out := <-deployed
	require.Equal(t, refusedByMarket, out.Code, out.Stderr)
	require.Regexp(t, notProven, out.Stderr)
	require.Contains(t, out.Stderr, next.Address.String())
	require.False(t, hasSeen(t, n, "node-2", secret))
	endedByCustomer(t, n, next.Address)
}
