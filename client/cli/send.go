package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// errDryRun ends a command after its first transaction was simulated and printed.
var errDryRun = errors.New("dry run")

type sent = service.Sent

// send submits instructions as one transaction and waits for it. In a dry run it prints what would happen and returns
// errDryRun. When the command is interrupted it says what is known about the transaction. A command that dies leaves its
// transaction in a store, for the next one to tell what became of it.
func (s *session) send(kind string, ixs []solana.Instruction, extra ...txm.Signer) (sent, error) {
	if s.cli.String(flagVault) != "" {
		return sent{}, s.printForVault(kind, ixs)
	}
	if err := s.agreedTo(kind); err != nil {
		return sent{}, err
	}
	if slices.Contains(asked, kind) {
		if err := s.leftovers(); err != nil {
			return sent{}, err
		}
	}
	f, err := s.folder()
	if err != nil {
		return sent{}, err
	}
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return sent{}, fmt.Errorf("random number: %w", err)
	}
	in := txm.Intent{ID: kind + "-" + hex.EncodeToString(id), Kind: kind, Instructions: ixs, ExtraSigners: extra}
	m, closeBoth, err := s.manager(filepath.Join(f.Transactions(), in.ID+".db"))
	if err != nil {
		return sent{}, err
	}
	if s.dryRun {
		defer closeBoth(false)
		return sent{}, s.simulate(m, in)
	}
	out, err := s.submit(m, in)
	// What may still take effect stays, so that the next command can say what became of it.
	closeBoth(err != nil && s.unknown(m, in.ID))
	return out, err
}

// unknown reports whether a transaction was signed and its outcome is not known.
func (s *session) unknown(m *txm.Manager, id string) bool {
	e, err := m.Get(id)
	return err == nil && e.Current != nil && !e.State.Terminal()
}

// submit carries an intent to its end. When the command is interrupted it says what is known.
func (s *session) submit(m *txm.Manager, in txm.Intent) (sent, error) {
	stop := s.waiting(fmt.Sprintf("%s to be confirmed", in.Kind), "Ctrl-C stops waiting; a transaction that is sent may still take effect")
	res, err := m.Submit(s.ctx, in)
	stop()
	if err != nil {
		return sent{}, s.sendError(m, in, err)
	}
	out := sent{Kind: in.Kind, Slot: res.Slot, Units: res.Units}
	if !res.Signature.IsZero() {
		out.Signature = res.Signature.String()
	}
	if e, err := s.client.Explorer(s.ctx); err == nil {
		out.Explorer = e.Tx(res.Signature)
	}
	return out, nil
}

// sendOne is send for a single instruction as builders return it.
func (s *session) sendOne(kind string, ix solana.Instruction, err error) (sent, error) {
	if err != nil {
		return sent{}, err
	}
	return s.send(kind, []solana.Instruction{ix})
}

// sendError adds the state of the transaction to the error of an interrupted command.
func (s *session) sendError(m *txm.Manager, in txm.Intent, err error) error {
	if s.ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return market.Explain(err)
	}
	r, gerr := m.Get(in.ID)
	if gerr != nil || r.Current == nil {
		return interrupted("interrupted before "+in.Kind+" was sent", "nothing has changed")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 3*time.Second)
	defer cancel()
	if st, serr := s.client.Statuses(ctx, []solana.Signature{r.Current.Signature}, true); serr == nil && st[0].Found {
		if st[0].Err != nil {
			return interrupted(in.Kind+" was refused", "nothing has changed (transaction "+r.Current.Signature.String()+")")
		}
		return interrupted(in.Kind+" took effect", "transaction "+r.Current.Signature.String())
	}
	return interrupted(in.Kind+" was sent and is not confirmed yet; it may still take effect for about a minute",
		"look at it with: solana confirm "+r.Current.Signature.String())
}

// dryRunJSON is what --dry-run prints.
type dryRunJSON struct {
	DryRun    bool     `json:"dryRun"`
	Kind      string   `json:"kind"`
	Units     uint64   `json:"computeUnits"`
	UnitLimit uint32   `json:"computeUnitLimit"`
	Fee       string   `json:"fee"`
	Logs      []string `json:"logs"`
}

func (s *session) simulate(m *txm.Manager, in txm.Intent) error {
	d, err := m.DryRun(s.ctx, in)
	if err != nil {
		return market.Explain(err)
	}
	out := dryRunJSON{DryRun: true, Kind: in.Kind, Units: d.Units, UnitLimit: d.UnitLimit, Fee: d.Fee.String(), Logs: d.Logs}
	err = s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "dry run of %s: would succeed, %d compute units, fee %s; nothing was sent\n", in.Kind, d.Units, d.Fee)
		for _, l := range d.Logs {
			fmt.Fprintf(w, "  %s\n", l)
		}
	})
	if err != nil {
		return err
	}
	return errDryRun
}

// waiting prints what the command waits for and how to interrupt it, then how long it has waited. The returned function
// ends that.
func (s *session) waiting(what, out string) (stop func()) {
	done := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		began := time.Now()
		pause := 2 * time.Second
		for {
			t := time.NewTimer(pause)
			select {
			case <-done:
				t.Stop()
				return
			case <-t.C:
				s.say(" … waiting for %s, %s so far (%s)", what, time.Since(began).Round(time.Second), out)
				pause = min(2*pause, 30*time.Second)
			}
		}
	}()
	return func() { close(done); <-gone }
}
