// Package enginetest starts a real local Solana node for tests.
package enginetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gantry-market/gantry/client/chain"
)

// Engine is a running node.
type Engine struct {
	Endpoint chain.Endpoint
	Genesis  string
	cmd      *exec.Cmd
}

// Stop kills the node and waits for it.
func (e *Engine) Stop() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

// Surfnet starts the embedded engine, or skips the test when it is not built.
func Surfnet(t testing.TB) *Engine {
	t.Helper()
	bin := find("GANTRY_SURFNET", "gantry-surfnet")
	if bin == "" {
		t.Skip("gantry-surfnet is not built (make build, or set GANTRY_SURFNET)")
	}
	cmd := exec.Command(bin, "--exit-with-parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &Engine{cmd: cmd}
	t.Cleanup(e.Stop)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("gantry-surfnet said nothing: %v", err)
	}
	var hello struct {
		RPC     string `json:"rpc"`
		WS      string `json:"ws"`
		Genesis string `json:"genesis_hash"`
	}
	if err := json.Unmarshal(line, &hello); err != nil {
		t.Fatalf("gantry-surfnet said %q: %v", line, err)
	}
	e.Endpoint, e.Genesis = chain.Endpoint{RPC: hello.RPC, WS: hello.WS}, hello.Genesis
	return e
}

// Agave starts solana-test-validator, or skips the test when it is absent.
func Agave(t testing.TB) *Engine {
	t.Helper()
	bin := find("GANTRY_SOLANA_TEST_VALIDATOR", "solana-test-validator")
	if bin == "" {
		t.Skip("solana-test-validator is not on PATH (or set GANTRY_SOLANA_TEST_VALIDATOR)")
	}
	port := freePorts(t)
	cmd := exec.Command(bin, "--ledger", filepath.Join(t.TempDir(), "ledger"), "--reset", "--quiet",
		"--rpc-port", strconv.Itoa(port), "--faucet-port", strconv.Itoa(port+2), "--gossip-port", strconv.Itoa(port+3),
		"--dynamic-port-range", fmt.Sprintf("%d-%d", port+4, port+40), "--bind-address", "127.0.0.1",
		"--ticks-per-slot", "8")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &Engine{cmd: cmd, Endpoint: chain.Endpoint{RPC: fmt.Sprintf("http://127.0.0.1:%d", port)}}
	t.Cleanup(e.Stop)
	return e
}

// freePorts finds a base with a free block of ports above it.
func freePorts(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := l.Addr().(*net.TCPAddr).Port
	if p > 65000 {
		p -= 2000
	}
	return p
}

func find(env, name string) string {
	if p := os.Getenv(env); p != "" {
		return p
	}
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	_, file, _, ok := runtime.Caller(0)
	if ok {
		p := filepath.Join(filepath.Dir(file), "..", "..", "..", "build", "bin", name)
		if st, err := os.Stat(p); err == nil && !st.IsDir() {
			return p
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	for _, p := range []string{
		filepath.Join(home, ".cache", "gantry", "surfnet-target", "release", name),
		filepath.Join(home, ".local", "bin", name),
	} {
		if st, err := os.Stat(p); err == nil && !st.IsDir() {
			return p
		}
	}
	return ""
}

// Timeout bounds the start of an engine.
const Timeout = 20 * time.Second
