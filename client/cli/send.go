package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

type sent = service.Sent

// send submits instructions as one transaction and waits for it. In a dry run it prints what would happen and returns
// buy.ErrSimulated. When the command is interrupted it says what is known about the transaction. A command that dies
// leaves its transaction in a store, for the next one to tell what became of it.
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
	in, err := buy.NewIntent(kind, ixs, extra...)
	if err != nil {
		return sent{}, err
	}
	sender, err := s.sender()
	if err != nil {
		return sent{}, err
	}
	if s.dryRun {
		return sent{}, s.simulate(sender, filepath.Join(f.Transactions(), in.ID+".db"), in)
	}
	return sender.Send(s.ctx, f, in)
}

// sends is send of the wallet alone.
func (s *session) sends(kind string, ixs []solana.Instruction) (sent, error) {
	return s.send(kind, ixs)
}

// sendOne is send for a single instruction as builders return it.
func (s *session) sendOne(kind string, ix solana.Instruction, err error) (sent, error) {
	if err != nil {
		return sent{}, err
	}
	return s.send(kind, []solana.Instruction{ix})
}

// desk builds what the wallet sends as an operator.
func (s *session) desk() (*operate.Desk, error) {
	mk, key, err := s.open()
	if err != nil {
		return nil, err
	}
	d := s.reader()
	d.Market, d.Key = mk, key.PublicKey()
	return d, nil
}

// reader is a desk that reads alone: it needs no wallet.
func (s *session) reader() *operate.Desk {
	return &operate.Desk{Client: s.client, Service: s.service}
}

// act sends what is built for the wallet, once somebody has agreed to what it asks.
func (s *session) act(build func(d *operate.Desk) (operate.Action, error)) (a operate.Action, tx sent, err error) {
	d, err := s.desk()
	if err != nil {
		return a, tx, err
	}
	if a, err = build(d); err != nil {
		return a, tx, err
	}
	if a.Asks != "" {
		if err := s.confirm("%s", a.Asks); err != nil {
			return a, tx, err
		}
	}
	tx, err = s.send(a.Kind, a.Instructions)
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

// simulate finds what a transaction would do. Error: [buy.ErrSimulated] where it would take effect.
func (s *session) simulate(sender *buy.Sender, path string, in txm.Intent) error {
	m, closeBoth, err := sender.Open(s.ctx, path, 0)
	if err != nil {
		return err
	}
	defer closeBoth(false)
	d, err := m.DryRun(s.ctx, in)
	if err != nil {
		return market.Explain(err)
	}
	s.simulated = &buy.Simulated{Kind: in.Kind, Result: d}
	return buy.ErrSimulated
}

// printSimulated prints what a transaction would do.
func (s *session) printSimulated() error {
	if s.simulated == nil {
		return nil
	}
	kind, d := s.simulated.Kind, s.simulated.Result
	out := dryRunJSON{DryRun: true, Kind: kind, Units: d.Units, UnitLimit: d.UnitLimit, Fee: d.Fee.String(), Logs: d.Logs}
	return s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "dry run of %s: would succeed, %d compute units, fee %s; nothing was sent\n", kind, d.Units, d.Fee)
		for _, l := range d.Logs {
			fmt.Fprintf(w, "  %s\n", l)
		}
	})
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
