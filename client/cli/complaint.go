package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/dispute"
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
	v, err := s.snapshot(aboutDispute(args[0]))
	if err != nil {
		return err
	}
	d, err := s.dispute(v, args[0])
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
