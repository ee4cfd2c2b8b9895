// Package localnode starts a real local Solana node for tests.
package localnode

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/checkout"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/process"
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
	return at
}

// Market is the built program of this repository, to be deployed with an upgrade authority.
func Market(t testing.TB, authority solana.PublicKey) engine.Program {
	t.Helper()
	return engine.Program{ID: bindings.ProgramID, Path: filepath.Join(checkout.Root(t), "program", "artifacts", "gantry_market.so"), Authority: authority}
}

func endpoint(at engine.Endpoint) chain.Endpoint { return chain.Endpoint{RPC: at.RPC, WS: at.WS} }
