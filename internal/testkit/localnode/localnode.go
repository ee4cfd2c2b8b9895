// Package localnode starts a real local Solana node for tests.
package localnode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/repository"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/realm"
)

// Timeout bounds what a test waits for from a node that has just started.
const Timeout = 20 * time.Second

// Surfnet starts the embedded engine, or skips the test when it is not built.
func Surfnet(t testing.TB) chain.Endpoint {
	t.Helper()
	return endpoint(Start(t, engine.Surfnet))
}

// Agave starts solana-test-validator, or skips the test when it is absent.
func Agave(t testing.TB) chain.Endpoint {
	t.Helper()
	return endpoint(Start(t, engine.Agave))
}

// Start starts a node with programs on it, or skips the test when the node is not installed. It ends with the test.
func Start(t testing.TB, kind engine.Kind, programs ...engine.Program) engine.Endpoint {
	t.Helper()
	at, _ := start(t, kind, programs...)
	return at
}

// StartStallable starts a node as Start does. stall stops its process until resume, as a machine does that is too busy
// or asleep: the process does not notice.
func StartStallable(t testing.TB, kind engine.Kind) (at chain.Endpoint, stall func() (resume func())) {
	t.Helper()
	node, sup := start(t, kind)
	child, err := sup.Process(sup.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(child.Pid(), s); err != nil {
			t.Fatalf("signal %s to the node's process: %v", s, err)
		}
	}
	return endpoint(node), func() func() {
		t.Helper()
		signal(syscall.SIGSTOP)
		awaitStopped(t, child.Pid())
		return func() {
			t.Helper()
			signal(syscall.SIGCONT)
		}
	}
}

// awaitStopped waits until all threads of a process stand still: a signal is only on its way when kill returns, and a request that
// is read before it arrives is answered as one that took the time of the stall.
func awaitStopped(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(Timeout); ; time.Sleep(time.Millisecond) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(stats) == 0 {
			t.Fatalf("threads of the node's process %d: %v", pid, err)
		}
		if !slices.ContainsFunc(stats, func(file string) bool {
			raw, err := os.ReadFile(file)
			if err != nil {
				return false // the thread has ended
			}
			// The state stands behind the name, which may have any characters (proc_pid_stat(5)).
			_, state, found := bytes.Cut(raw[bytes.LastIndexByte(raw, ')')+1:], []byte(" "))
			return !found || state[0] != 'T'
		}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node's process %d does not stop", pid)
		}
	}
}

func start(t testing.TB, kind engine.Kind, programs ...engine.Program) (engine.Endpoint, *process.Supervisor) {
	t.Helper()
	sup, err := process.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Close(); err != nil {
			t.Errorf("close the supervisor: %v", err)
		}
	})
	e, err := engine.New(kind, engine.Config{Dir: t.TempDir(), Supervisor: sup, Log: zerolog.Nop(), Programs: programs})
	if errors.Is(err, engine.ErrNotInstalled) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := e.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Errorf("stop the node: %v", err)
		}
	})
	return at, sup
}

// Market is the built program of this repository, to be deployed with an upgrade authority.
func Market(t testing.TB, authority solana.PublicKey) engine.Program {
	t.Helper()
	return engine.Program{ID: bindings.ProgramID, Path: filepath.Join(repository.Root(t), "program", "artifacts", "gantry_market.so"), Authority: authority}
}

// Governance is SPL Governance as scripts/governance.sh has built it; the test is skipped where nobody has.
func Governance(t testing.TB) engine.Program {
	t.Helper()
	path := filepath.Join(repository.Root(t), "build", "bin", "spl_governance.so")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: SPL Governance is not built (scripts/governance.sh): %v", err)
	}
	return engine.Program{ID: realm.Mainnet, Path: path}
}

func endpoint(at engine.Endpoint) chain.Endpoint { return chain.Endpoint{RPC: at.RPC, WS: at.WS} }
