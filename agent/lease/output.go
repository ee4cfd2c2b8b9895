package lease

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// Outputs is where the outputs of a redundant order are.
type Outputs struct {
	// Committed of Wanted nodes have committed to theirs.
	Committed, Wanted uint8
	// CommitBy is the last second for commitments, RevealBy that for reveals.
	CommitBy, RevealBy time.Time
}

// outputPoll is how often a worker reads a redundant order while it waits for the other nodes.
const outputPoll = time.Second

// wantsOutput reports whether a lease waits for something about its output.
func wantsOutput(l market.Lease) bool {
	s := market.OutputState(l.Output)
	return s == market.OutputWanted || s == market.OutputCommitted
}

// decideOutput is the next action about the output of a redundant job that is over. ok is false when there is none now;
// a job that did not end by itself has no output to stand for.
func decideOutput(f Facts) (d Decision, ok bool) {
	if !f.Exists || !wantsOutput(f.Account) || f.Account.StartedAt == 0 || f.Entry.Exit == nil ||
		runtime.Reason(f.Entry.Exit.Reason) != runtime.ReasonExited {
		return d, false
	}
	outputs := f.Order.Outputs
	if market.OutputState(f.Account.Output) == market.OutputWanted {
		switch {
		case f.Now.After(outputs.CommitBy):
			return d, false
		case f.Entry.Output == nil:
			return Decision{Action: HashOutput}, true
		}
		return Decision{Action: CommitOutput}, true
	}
	if f.Entry.Output == nil || f.Now.After(outputs.RevealBy) {
		return d, false
	}
	if outputs.Committed < outputs.Wanted && !f.Now.After(outputs.CommitBy.Add(clockMargin)) {
		why := fmt.Sprintf("%d of %d nodes have committed to their outputs", outputs.Committed, outputs.Wanted)
		return Decision{Action: Wait, Until: f.Now.Add(outputPoll), Why: why}, true
	}
	return Decision{Action: RevealOutput}, true
}

// hashOutput stores the hash of what the job wrote to its standard output, and the salt that hides it until all others
// have committed: a restarted agent commits to and reveals the same output.
func (w *worker) hashOutput(ctx context.Context) error {
	r, err := w.m.o.Runtime.Logs(ctx, w.id, runtime.Stdout, 0, false)
	if err != nil {
		return fmt.Errorf("output of the job: %w", err)
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return fmt.Errorf("output of the job: %w", err)
	}
	out := store.Output{Hash: store.Key(h.Sum(nil))}
	if _, err := rand.Read(out.Salt[:]); err != nil {
		return fmt.Errorf("salt: %w", err)
	}
	_, err = w.m.o.Store.Update(store.Key(w.address), func(l *store.Lease) error {
		if l.Output == nil {
			l.Output = &out
		}
		return nil
	})
	if err == nil {
		w.log.Info().Hex("output", out.Hash[:]).Msg("agent stored the hash of the redundant job's output")
	}
	return err
}

// commitOutput puts the output commitment on chain.
func (w *worker) commitOutput(ctx context.Context, f Facts) error {
	out := f.Entry.Output
	w.log.Info().Msg("node commits to the output on chain")
	if err := w.m.o.Chain.CommitOutput(ctx, f.Account, market.OutputCommitment(w.m.o.Domain, w.address, out.Hash, out.Salt)); err != nil {
		return err
	}
	return w.awaitView(ctx, func(l market.Lease, ok bool) bool { return !ok || market.OutputState(l.Output) != market.OutputWanted })
}

// revealOutput reveals the output, once no other node can copy it any more.
func (w *worker) revealOutput(ctx context.Context, f Facts) error {
	w.log.Info().Msg("node reveals the output on chain")
	if err := w.m.o.Chain.RevealOutput(ctx, f.Account, f.Entry.Output.Hash, f.Entry.Output.Salt); err != nil {
		return err
	}
	return w.awaitView(ctx, func(l market.Lease, ok bool) bool {
		return !ok || market.OutputState(l.Output) != market.OutputCommitted
	})
}
