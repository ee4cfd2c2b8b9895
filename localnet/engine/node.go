package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"

	"github.com/gantry-market/gantry/localnet/process"
)

// node is what both engines share: one child process and the wait for its readiness.
type node struct {
	cfg  Config
	proc *process.Process
}

// prepare checks the programs' files and gives the engine an empty directory.
func (n *node) prepare() error {
	for _, p := range n.cfg.Programs {
		f, err := os.Open(p.Path)
		if err != nil {
			return fmt.Errorf("program %s: %w (run `make build`)", p.ID, err)
		}
		magic := make([]byte, 4)
		_, err = io.ReadFull(f, magic)
		_ = f.Close()
		if err != nil || !bytes.Equal(magic, []byte("\x7fELF")) {
			return fmt.Errorf("program %s: %s is not a shared object", p.ID, p.Path)
		}
	}
	if err := os.RemoveAll(n.cfg.Dir); err != nil {
		return fmt.Errorf("clear the engine's directory: %w", err)
	}
	if err := os.MkdirAll(n.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("make the engine's directory: %w", err)
	}
	return nil
}

// launch starts the child and waits until it is ready; it stops the child when it does not become so.
func (n *node) launch(ctx context.Context, at Endpoint, args []string) (Endpoint, error) {
	proc, err := n.cfg.Supervisor.Start(process.Spec{Name: processName, Path: n.cfg.Binary, Args: args, Dir: n.cfg.Dir})
	if err != nil {
		return Endpoint{}, fmt.Errorf("engine: %w", err)
	}
	n.proc = proc
	started := time.Now()
	genesis, err := n.waitReady(ctx, at)
	if err != nil {
		_ = proc.Stop(context.WithoutCancel(ctx))
		return Endpoint{}, err
	}
	at.Genesis = genesis
	n.cfg.Log.Info().Str("rpc", at.RPC).Stringer("genesis", genesis).Dur("after", time.Since(started)).Msg("node is ready")
	return at, nil
}

// waitReady polls until the node is healthy, has moved by a block, and shows the programs as executable.
func (n *node) waitReady(ctx context.Context, at Endpoint) (solana.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.ReadyTimeout)
	defer cancel()
	client := rpc.New(at.RPC)
	defer func() { _ = client.Close() }()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var first uint64
	var last error
	for {
		select {
		case <-n.proc.Done():
			return solana.Hash{}, fmt.Errorf("%w: it ended (%w); its log: %s", ErrNotReady, n.endReason(), tail(n.proc.LogPath()))
		case <-ctx.Done():
			return solana.Hash{}, fmt.Errorf("%w: %w, last answer: %w; log: %s", ErrNotReady, ctx.Err(), last, n.proc.LogPath())
		case <-ticker.C:
		}
		slot, err := n.probe(ctx, client)
		switch {
		case err != nil:
			last = err
		case first == 0:
			first, last = slot, errors.New("no block yet")
		case slot > first:
			genesis, err := client.GetGenesisHash(ctx)
			if err != nil {
				return solana.Hash{}, fmt.Errorf("%w: genesis hash: %w", ErrNotReady, err)
			}
			return genesis, nil
		}
	}
}

func (n *node) probe(ctx context.Context, client *rpc.Client) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := client.GetHealth(ctx); err != nil {
		return 0, err
	}
	slot, err := client.GetSlot(ctx, rpc.CommitmentConfirmed)
	if err != nil {
		return 0, err
	}
	for _, p := range n.cfg.Programs {
		info, err := client.GetAccountInfoWithOpts(ctx, p.ID, &rpc.GetAccountInfoOpts{
			Commitment: rpc.CommitmentConfirmed, Encoding: solana.EncodingBase64,
		})
		if err != nil {
			return 0, fmt.Errorf("program %s: %w", p.ID, err)
		}
		if !info.Value.Executable {
			return 0, fmt.Errorf("program %s is not executable", p.ID)
		}
	}
	return slot, nil
}

func (n *node) endReason() error {
	if err := n.proc.Err(); err != nil {
		return err
	}
	return errors.New("exit code 0")
}

// Stop ends the node and waits until it is gone.
func (n *node) Stop(ctx context.Context) error {
	if n.proc == nil {
		return nil
	}
	return n.proc.Stop(ctx)
}

// Done is closed when a started node is gone; before Start it is nil.
func (n *node) Done() <-chan struct{} {
	if n.proc == nil {
		return nil
	}
	return n.proc.Done()
}

// Err says why the node ended; nil when it was asked to.
func (n *node) Err() error {
	if n.proc == nil {
		return nil
	}
	return n.proc.Err()
}

// tail returns the end of a log file on one line, for error messages.
func tail(path string) string {
	const size = 400
	b, err := os.ReadFile(path)
	if err != nil {
		return path
	}
	if len(b) > size {
		b = b[len(b)-size:]
	}
	return string(bytes.Join(bytes.Fields(b), []byte(" ")))
}

func loopback(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }

// authority is the form in which both executables take an upgrade authority.
func (p Program) authority() string {
	if p.Authority.IsZero() {
		return "none"
	}
	return p.Authority.String()
}
