package cli

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/service"
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
		return nil, usage(fmt.Sprintf("--%s is missing", flag), "give the file that says and shows what happened")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("--%s: %v", flag, err), "give a file that can be read")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, usage(fmt.Sprintf("--%s: %v", flag, err), "give a file that can be read")
	case len(raw) == 0:
		return nil, usage(fmt.Sprintf("--%s: %s is empty", flag, path), "give a file that says what happened")
	case len(raw) > most:
		return nil, usage(fmt.Sprintf("--%s: %s has more than %d KiB", flag, path, most>>10),
			"say what happened in a shorter file, and name longer material in it by its sha256")
	}
	return raw, nil
}

// sendComplaint brings the complaint to every keeper, and returns how many took it.
func (s *session) sendComplaint(v *view.View, lease solana.PublicKey, raw []byte) (reached int, err error) {
	n, err := s.dialAny(v)
	if err != nil {
		return 0, err
	}
	return dispute.Complain(s.ctx, n, v, lease, raw, s.log)
}

func (s *session) disputeSend() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	raw, hash, err := readComplaint(s.cli.String("complaint"))
	if err != nil {
		return err
	}
	v, d, err := s.openDispute(args[0])
	if err != nil {
		return err
	}
	if d.EvidenceHash != hash {
		return refused(fmt.Sprintf("the dispute names a complaint with sha256 %x, this file has %x", d.EvidenceHash, hash), "give the file with which it was opened")
	}
	reached, err := s.sendComplaint(v, d.Lease, raw)
	if err != nil {
		return err
	}
	if reached == 0 {
		return refused("no keeper took the complaint", "try again while the dispute is open")
	}
	return s.done(map[string]int{"keepers": reached}, func(w io.Writer) {
		fmt.Fprintf(w, "the complaint reached %d of %d keepers, who pass it on\n", reached, len(v.Keepers()))
	})
}

func (s *session) disputeAnswer() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	raw, err := readBounded("answer", s.cli.String("answer"), messages.MaxAnswer)
	if err != nil {
		return err
	}
	key, err := s.keyFile()
	if err != nil {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	v, d, err := s.openDispute(args[0])
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	answer, err := dispute.Sign(v, mk.Domain, &d, raw, now, key)
	if err != nil {
		return err
	}
	n, err := s.dialAny(v)
	if err != nil {
		return err
	}
	reached, err := dispute.Answer(s.ctx, n, v, answer, s.log)
	if err != nil {
		return err
	}
	if reached == 0 {
		return refused("no keeper took the answer", "try again while the dispute is open")
	}
	return s.done(map[string]int{"keepers": reached}, func(w io.Writer) {
		fmt.Fprintf(w, "the answer reached %d of %d keepers, who pass it on; votes close at %s UTC\n", reached, len(v.Keepers()), service.When(d.ClosesAt))
	})
}

func (s *session) disputeRead() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	v, d, err := s.openDispute(args[0])
	if err != nil {
		return err
	}
	n, err := s.dialAny(v)
	if err != nil {
		return err
	}
	out, err := dispute.Read(s.ctx, n, v, mk.Domain, &d, s.log)
	if err != nil {
		return err
	}
	return s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "lease %s   %s\n\n--- the customer's complaint (its sha256 is on chain)\n", out.Lease, out.Kind)
		fmt.Fprintln(w, cmp.Or(printable.Lines(out.Complaint), "no keeper gives it"))
		if out.AnswerBy == "" {
			fmt.Fprintln(w, "\n--- the provider has not answered, as far as keepers say")
			return
		}
		fmt.Fprintf(w, "\n--- the provider's answer of %s, signed by %s\n%s\n", out.WrittenAt, out.AnswerBy, printable.Lines(out.Answer))
	})
}
