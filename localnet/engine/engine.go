// Package engine starts the Solana node of a local network: the embedded surfnet or the real test validator, behind one
// interface. Both listen on the loopback interface only, on free ports, with the given programs deployed as
// upgradeable. Both are children of the given supervisor, so no node outlives its network.
package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/localnet/process"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrNotInstalled means that the node's executable was not found; the message says how to get it.
	ErrNotInstalled = errors.New("not installed")
	// ErrUnknownKind means that there is no engine of that name.
	ErrUnknownKind = errors.New("unknown engine")
	// ErrNotReady means that the node ran but did not become ready in time, or ended before.
	ErrNotReady = errors.New("the node did not become ready")
	// ErrUnsupported means that this engine cannot do what was asked.
	ErrUnsupported = errors.New("not supported by this engine")
)

// Kind names an engine.
type Kind string

const (
	// Surfnet is the embedded engine: fast, small, with mainnet's feature set and a movable clock.
	Surfnet Kind = "surfnet"
	// Agave is the real validator in its test configuration, with all of its features active.
	Agave Kind = "agave"
)

// Kinds lists all engines.
func Kinds() []Kind { return []Kind{Surfnet, Agave} }

// Program is an on-chain program to deploy before the node reports ready.
type Program struct {
	// ID is the program's address.
	ID solana.PublicKey
	// Path is the shared object.
	Path string
	// Authority may upgrade the program; the zero key makes it immutable.
	Authority solana.PublicKey
}

// Endpoint is where a running node is reached.
type Endpoint struct {
	// RPC is the JSON-RPC URL, WS the WebSocket URL.
	RPC, WS string
	// Genesis is the cluster's genesis hash, different for every start.
	Genesis solana.Hash
}

// Config is what every engine needs.
type Config struct {
	// Binary is the node's executable; empty looks it up, see Find.
	Binary string
	// Dir is a directory of the engine's own; what an earlier run left there is removed.
	Dir string
	// Programs are deployed at start.
	Programs []Program
	// SlotTime is the time between blocks; 0 is the engine's default (50 ms for surfnet, 100 ms for agave).
	SlotTime time.Duration
	// ReadyTimeout limits Start; 0 is one minute.
	ReadyTimeout time.Duration
	// Supervisor runs the node as a child process.
	Supervisor *process.Supervisor
	// Log gets what the engine does; the node's own log is a file, see process.Supervisor.LogPath.
	Log zerolog.Logger
}

// Engine is a Solana node. Start and Stop are called once each, from one goroutine.
type Engine interface {
	// Kind names the engine.
	Kind() Kind
	// Start returns when the node answers, produces blocks and has all programs deployed. It fails with ErrNotInstalled
	// or ErrNotReady; the node is not left running then.
	Start(ctx context.Context) (Endpoint, error)
	// Stop ends the node and waits until it is gone.
	Stop(ctx context.Context) error
	// Done is closed when a started node is gone, asked or not; Err then says why if it was not asked.
	Done() <-chan struct{}
	Err() error
	// Travel moves the chain's clock forward to the given time. Only surfnet can; others fail with ErrUnsupported.
	Travel(ctx context.Context, to time.Time) error
}

const (
	processName         = "node"
	defaultReadyTimeout = time.Minute
)

// New makes an engine of the given kind, not started. It fails with ErrUnknownKind or ErrNotInstalled.
func New(kind Kind, cfg Config) (Engine, error) {
	if cfg.Supervisor == nil {
		return nil, errors.New("engine: no supervisor given")
	}
	if cfg.Dir == "" {
		return nil, errors.New("engine: no directory given")
	}
	if cfg.ReadyTimeout <= 0 {
		cfg.ReadyTimeout = defaultReadyTimeout
	}
	binary, err := Find(kind, cfg.Binary)
	if err != nil {
		return nil, err
	}
	cfg.Binary = binary
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	cfg.Dir = dir
	switch kind {
	case Surfnet:
		return &surfnet{node: node{cfg: cfg}}, nil
	case Agave:
		return &agave{node: node{cfg: cfg}}, nil
	default:
		return nil, fmt.Errorf("%w %q: want one of %v", ErrUnknownKind, kind, Kinds())
	}
}
