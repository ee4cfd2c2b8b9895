package verify

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// readComplaint reads the file that says what is wrong, and hashes it.
func readComplaint(path string) (raw []byte, hash [32]byte, err error) {
	raw, err = readBounded("complaint", path, messages.MaxComplaint)
	return raw, sha256.Sum256(raw), err
}

// readBounded reads a file that a flag names and that is for the keepers.
func readBounded(flag, path string, most int) ([]byte, error) {
	if path == "" {
		return nil, service.Usage(fmt.Sprintf("--%s is missing", flag), "give the file that says and shows what happened")
	}
	raw, err := service.ReadFile(path, int64(most))
	switch {
	case errors.Is(err, service.ErrTooLarge):
		return nil, service.Usage(fmt.Sprintf("--%s: %s has more than %d KiB", flag, path, most>>10),
			"say what happened in a shorter file, and name longer material in it by its sha256")
	case err != nil:
		return nil, service.OfFlag(flag, err)
	case len(raw) == 0:
		return nil, service.Usage(fmt.Sprintf("--%s: %s is empty", flag, path), "give a file that says what happened")
	}
	return raw, nil
}

// sendComplaint brings the complaint to every keeper, and returns how many took it.
func (s *session) sendComplaint(v *view.View, lease solana.PublicKey, raw []byte) (reached int, err error) {
	n, err := s.DialAny(v)
	if err != nil {
		return 0, err
	}
	return dispute.Complain(s.Context, n, v, lease, raw, s.Log)
}

func (s *session) disputeSend() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	raw, hash, err := readComplaint(s.CLI.String("complaint"))
	if err != nil {
		return err
	}
	v, d, err := s.openDispute(args[0])
	if err != nil {
		return err
	}
	if d.EvidenceHash != hash {
		return service.Refused(fmt.Sprintf("the dispute names a complaint with sha256 %x, this file has %x", d.EvidenceHash, hash), "give the file with which it was opened")
	}
	reached, err := s.sendComplaint(v, d.Lease, raw)
	if err != nil {
		return err
	}
	if reached == 0 {
		return service.Refused("no keeper took the complaint", "try again while the dispute is open")
	}
	return s.Done(map[string]int{"keepers": reached}, func(w *terminal.Page) {
		fmt.Fprintf(w, "the complaint reached %d of %d keepers, who pass it on\n", reached, len(v.Keepers()))
	})
}

func (s *session) disputeAnswer() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	raw, err := readBounded("answer", s.CLI.String("answer"), messages.MaxAnswer)
	if err != nil {
		return err
	}
	key, err := s.KeyFile()
	if err != nil {
		return err
	}
	mk, err := s.Market()
	if err != nil {
		return err
	}
	v, d, err := s.openDispute(args[0])
	if err != nil {
		return err
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	answer, err := dispute.Sign(v, mk.Domain, &d, raw, now, key)
	if err != nil {
		return err
	}
	n, err := s.DialAny(v)
	if err != nil {
		return err
	}
	reached, err := dispute.Answer(s.Context, n, v, answer, s.Log)
	if err != nil {
		return err
	}
	if reached == 0 {
		return service.Refused("no keeper took the answer", "try again while the dispute is open")
	}
	return s.Done(map[string]int{"keepers": reached}, func(w *terminal.Page) {
		fmt.Fprintf(w, "the answer reached %d of %d keepers, who pass it on; votes close at %s UTC\n", reached, len(v.Keepers()), service.When(d.ClosesAt))
	})
}

func (s *session) disputeRead() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	mk, err := s.Market()
	if err != nil {
		return err
	}
	v, d, err := s.openDispute(args[0])
	if err != nil {
		return err
	}
	n, err := s.DialAny(v)
	if err != nil {
		return err
	}
	out, err := dispute.Read(s.Context, n, v, mk.Domain, &d, s.Log)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) {
		fmt.Fprintf(w, "lease %s   %s\n\n--- the customer's complaint (its sha256 is on chain)\n", out.Lease, out.Kind)
		fmt.Fprintln(w, cmp.Or(lines(out.Complaint), "no keeper gives it"))
		if out.AnswerBy == "" {
			fmt.Fprintln(w, "\n--- the provider has not answered, as far as keepers say")
			return
		}
		fmt.Fprintf(w, "\n--- the provider's answer of %s, signed by %s\n%s\n", out.WrittenAt, out.AnswerBy, lines(out.Answer))
	})
}

// lines is a text of a party without the empty lines at its end.
func lines(text string) string { return strings.TrimRight(printable.Lines(text), "\n") }
