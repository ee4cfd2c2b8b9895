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
	"github.com/gantry-market/gantry/client/market"
)

// Outputs is where the outputs of a redundant order are.
type Outputs struct {
	// Committed of Wanted nodes have committed to theirs.
	Committed, Wanted uint8
	// By is the last second for commitments, and Shown that for showing them.
	By, Shown time.Time
}

// outputPoll is how often a redundant order is looked at while its other nodes are waited for.
const outputPoll = time.Second

// wantsOutput reports whether a lease waits for something about its output.
func wantsOutput(l OnChain) bool {
	s := market.OutputState(l.Output)
	return s == market.OutputWanted || s == market.OutputCommitted
}

// decideOutput is the next act about the output of a redundant job that is over. ok is false when there is none now; a
// job that did not end by itself has no output to stand for.
func decideOutput(f Facts) (d Decision, ok bool) {
	if !f.Exists || !wantsOutput(f.Chain) || f.Chain.StartedAt == 0 || f.Record.Exit == nil ||
		runtime.Reason(f.Record.Exit.Reason) != runtime.ReasonExited {
		return d, false
	}
	outputs := f.Order.Outputs
	if market.OutputState(f.Chain.Output) == market.OutputWanted {
		switch {
		case f.Now.After(outputs.By):
			return d, false
		case f.Record.Output == nil:
			return Decision{Action: HashOutput}, true
		}
		return Decision{Action: CommitOutput}, true
	}
	if f.Record.Output == nil || f.Now.After(outputs.Shown) {
		return d, false
	}
	if outputs.Committed < outputs.Wanted && !f.Now.After(outputs.By.Add(margin)) {
		why := fmt.Sprintf("%d of %d nodes have committed to their outputs", outputs.Committed, outputs.Wanted)
		return Decision{Action: Wait, Until: f.Now.Add(outputPoll), Why: why}, true
	}
	return Decision{Action: RevealOutput}, true
}

// hashOutput writes down what the job wrote to its standard output, and the salt that hides it until all others have
// committed: what is on disk is what this node stands for, whatever happens to it.
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
		w.log.Info().Hex("output", out.Hash[:]).Msg("output of the redundant job written down")
	}
	return err
}

// commitOutput tells the chain what this node will show, without showing it.
func (w *worker) commitOutput(ctx context.Context, f Facts) error {
	out := f.Record.Output
	w.log.Info().Msg("committing to the output on chain")
	if err := w.m.ledger().CommitOutput(ctx, f.Chain, market.OutputCommitment(w.m.o.Domain, w.address, out.Hash, out.Salt)); err != nil {
		return err
	}
	return w.settle(ctx, func(l OnChain, ok bool) bool { return !ok || market.OutputState(l.Output) != market.OutputWanted })
}

// revealOutput shows it, once nobody can copy it any more.
func (w *worker) revealOutput(ctx context.Context, f Facts) error {
	w.log.Info().Msg("showing the output on chain")
	if err := w.m.ledger().RevealOutput(ctx, f.Chain, f.Record.Output.Hash, f.Record.Output.Salt); err != nil {
		return err
	}
	return w.settle(ctx, func(l OnChain, ok bool) bool { return !ok || market.OutputState(l.Output) != market.OutputCommitted })
}
