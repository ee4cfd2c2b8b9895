package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Send submits instructions as one transaction and waits for it. In a dry run it prints what would happen and returns
// buy.ErrSimulated. When the command is interrupted it says what is known about the transaction. A command that dies
// leaves its transaction in a store, for the next one to tell what became of it.
func (s *Session) Send(kind string, ixs []solana.Instruction, extra ...txm.Signer) (service.Sent, error) {
	if s.CLI.String(FlagVault) != "" {
		return service.Sent{}, s.printForVault(kind, ixs)
	}
	if err := s.agreedTo(kind); err != nil {
		return service.Sent{}, err
	}
	if slices.Contains(asked, kind) {
		if err := s.Leftovers(); err != nil {
			return service.Sent{}, err
		}
	}
	f, err := s.Folder()
	if err != nil {
		return service.Sent{}, err
	}
	in, err := buy.NewIntent(kind, ixs, extra...)
	if err != nil {
		return service.Sent{}, err
	}
	sender, err := s.Sender()
	if err != nil {
		return service.Sent{}, err
	}
	if s.DryRun {
		return service.Sent{}, s.Simulate(sender, filepath.Join(f.Transactions(), in.ID+".db"), in)
	}
	return sender.Send(s.Context, f, in)
}

// Sends is Send with the wallet as the only signer.
func (s *Session) Sends(kind string, ixs []solana.Instruction) (service.Sent, error) {
	return s.Send(kind, ixs)
}

// Desk builds what the wallet sends as an operator.
func (s *Session) Desk() (*operate.Desk, error) {
	mk, key, err := s.Open()
	if err != nil {
		return nil, err
	}
	d := s.Reader()
	d.Market, d.Key = mk, key.PublicKey()
	return d, nil
}

// Reader is a desk that reads alone: it needs no wallet.
func (s *Session) Reader() *operate.Desk {
	return &operate.Desk{Client: s.Client, Service: s.Service}
}

// Act sends what is built for the wallet, once somebody has agreed to what it asks.
func (s *Session) Act(build func(d *operate.Desk) (operate.Action, error)) (a operate.Action, tx service.Sent, err error) {
	d, err := s.Desk()
	if err != nil {
		return a, tx, err
	}
	if a, err = build(d); err != nil {
		return a, tx, err
	}
	if a.Asks != "" {
		if err := s.Confirm("%s", a.Asks); err != nil {
			return a, tx, err
		}
	}
	tx, err = s.Send(a.Kind, a.Instructions)
	return a, tx, err
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

// Simulate finds what a transaction would do. Error: [buy.ErrSimulated] where it would take effect.
func (s *Session) Simulate(sender *buy.Sender, path string, in txm.Intent) error {
	d, err := sender.DryRun(s.Context, path, in)
	if err != nil {
		return err
	}
	s.simulated = &buy.Simulated{Kind: in.Kind, Result: d}
	return buy.ErrSimulated
}

// printSimulated prints what a transaction would do.
func (s *Session) printSimulated() error {
	if s.simulated == nil {
		return nil
	}
	kind, d := s.simulated.Kind, s.simulated.Result
	out := dryRunJSON{DryRun: true, Kind: kind, Units: d.Units, UnitLimit: d.UnitLimit, Fee: d.Fee.String(), Logs: d.Logs}
	return s.Done(out, func(w *terminal.Page) {
		fmt.Fprintf(w, "dry run of %s: would succeed, %d compute units, fee %s; nothing was sent\n", kind, d.Units, d.Fee)
		for _, l := range d.Logs {
			fmt.Fprintf(w, "  %s\n", l)
		}
	})
}

// Waiting prints what the command waits for and how to interrupt it, then how long it has waited. The returned function
// ends that.
func (s *Session) Waiting(what, out string) (stop func()) {
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
				s.Say(" … waiting for %s, %s so far (%s)", what, time.Since(began).Round(time.Second), out)
				pause = min(2*pause, 30*time.Second)
			}
		}
	}()
	return func() { close(done); <-gone }
}
