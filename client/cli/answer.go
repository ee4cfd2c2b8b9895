package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Protocols by which keepers take and give the sides of a dispute.
var (
	putAnswerProtocol = p2p.Protocol{
		ID: messages.AnswerPut, MaxRequest: messages.MaxAnswer + 1<<10, MaxResponse: 1 << 10, Timeout: askFor,
	}
	getAnswerProtocol = p2p.Protocol{
		ID: messages.AnswerGet, MaxRequest: 1 << 10, MaxResponse: messages.MaxAnswer + 1<<10, Timeout: askFor,
	}
	getComplaintProtocol = p2p.Protocol{
		ID: messages.ComplaintGet, MaxRequest: 1 << 10, MaxResponse: messages.MaxComplaint + 1<<10, Timeout: askFor,
	}
)

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
	v, now, err := s.snapshotNow(aboutDispute(args[0]))
	if err != nil {
		return err
	}
	d, err := s.dispute(v, args[0])
	if err != nil {
		return err
	}
	if !mayAnswer(v, d.Lease, key.PublicKey()) {
		return refused(fmt.Sprintf("%s is neither the machine of lease %s nor its provider's wallet", key.PublicKey(), d.Lease),
			"pass the provider's keypair or the machine's node.json with --keypair")
	}
	req, err := signAnswer(mk.Domain, &d, raw, now, key)
	if err != nil {
		return err
	}
	n, err := s.dialAny(v)
	if err != nil {
		return err
	}
	reached, err := dispute.Tell(s.ctx, v, s.log, func(ctx context.Context, keeper solana.PublicKey) error {
		_, err := p2p.Call[messages.AnswerUpload, messages.Answer](ctx, n, keeper, putAnswerProtocol, req)
		return err
	})
	if err != nil {
		return err
	}
	if reached == 0 {
		return refused("no keeper took the answer", "try again while the dispute is open")
	}
	return s.done(map[string]int{"keepers": reached}, func(w io.Writer) {
		fmt.Fprintf(w, "the answer reached %d of %d keepers, who pass it on; votes close at %s UTC\n", reached, len(v.Keepers()), when(d.ClosesAt))
	})
}

// mayAnswer reports whether a key is of the party that a dispute accuses.
func mayAnswer(v *view.View, lease, key solana.PublicKey) bool {
	l, ok := v.Lease(lease)
	if !ok {
		return false
	}
	p, known := v.Provider(l.Provider)
	return key == l.NodeKey || known && key == p.Wallet
}

func signAnswer(domain records.Domain, d *market.Dispute, raw []byte, now int64, key solana.PrivateKey) (messages.AnswerUpload, error) {
	m := messages.AnswerUpload{
		Version: messages.Version, Lease: d.Lease, OpenedAt: d.OpenedAt, WrittenAt: max(now, d.OpenedAt), Data: raw, Key: key.PublicKey(),
	}
	signer, err := records.NewSigner(key)
	if err != nil {
		return m, err
	}
	m.Signature, err = answerRecord(domain, m).Sign(signer)
	return m, err
}

func answerRecord(domain records.Domain, m messages.AnswerUpload) records.Answer {
	return records.Answer{Domain: domain, Lease: m.Lease, OpenedAt: m.OpenedAt, WrittenAt: m.WrittenAt, Text: sha256.Sum256(m.Data)}
}

// sidesJSON is both sides of a dispute as printed.
type sidesJSON struct {
	Lease     string `json:"lease"`
	Kind      string `json:"kind"`
	Complaint string `json:"complaint,omitempty"`
	Answer    string `json:"answer,omitempty"`
	AnswerBy  string `json:"answerBy,omitempty"`
	WrittenAt string `json:"answerWrittenAt,omitempty"`
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
	v, err := s.snapshot(aboutDispute(args[0]))
	if err != nil {
		return err
	}
	d, err := s.dispute(v, args[0])
	if err != nil {
		return err
	}
	complaint, answer, err := s.sides(v, mk.Domain, &d)
	if err != nil {
		return err
	}
	out := sidesJSON{Lease: d.Lease.String(), Kind: market.DisputeKind(d.Kind).String(), Complaint: string(complaint)}
	if answer != nil {
		out.Answer, out.AnswerBy = string(answer.Data), solana.PublicKey(answer.Key).String()
		out.WrittenAt = time.Unix(answer.WrittenAt, 0).UTC().Format(time.RFC3339)
	}
	return s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "lease %s   %s\n\n--- the customer's complaint (its sha256 is on chain)\n", out.Lease, out.Kind)
		fmt.Fprintln(w, orNone(printable.Lines(out.Complaint), "no keeper gives it"))
		if answer == nil {
			fmt.Fprintln(w, "\n--- the provider has not answered, as far as keepers say")
			return
		}
		fmt.Fprintf(w, "\n--- the provider's answer of %s, signed by %s\n%s\n", out.WrittenAt, out.AnswerBy, printable.Lines(out.Answer))
	})
}

// sides asks every keeper for both sides, and keeps what verifies: the complaint of the dispute, and the newest answer.
func (s *session) sides(v *view.View, domain records.Domain, d *market.Dispute) (complaint []byte, answer *messages.AnswerUpload, err error) {
	n, err := s.dialAny(v)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range v.Keepers() {
		if complaint == nil {
			complaint = s.askComplaint(n, k.Wallet, d)
		}
		if a := s.askAnswer(v, n, k.Wallet, domain, d); a != nil && (answer == nil || a.WrittenAt > answer.WrittenAt) {
			answer = a
		}
	}
	return complaint, answer, s.ctx.Err()
}

func (s *session) askComplaint(n *p2p.Node, keeper solana.PublicKey, d *market.Dispute) []byte {
	ctx, cancel := s.askContext()
	defer cancel()
	req := messages.ComplaintRequest{Version: messages.Version, Lease: d.Lease, Hash: d.EvidenceHash}
	got, err := p2p.Call[messages.ComplaintRequest, messages.Complaint](ctx, n, keeper, getComplaintProtocol, req)
	if err != nil || sha256.Sum256(got.Data) != d.EvidenceHash {
		s.log.Debug().Err(err).Stringer("keeper", keeper).Msg("keeper does not give the complaint")
		return nil
	}
	return got.Data
}

func (s *session) askAnswer(v *view.View, n *p2p.Node, keeper solana.PublicKey, domain records.Domain, d *market.Dispute) *messages.AnswerUpload {
	ctx, cancel := s.askContext()
	defer cancel()
	got, err := p2p.Call[messages.AnswerRequest, messages.Answer](ctx, n, keeper, getAnswerProtocol, messages.AnswerRequest{Version: messages.Version, Lease: d.Lease})
	if err != nil || got.Answer == nil || !answers(v, domain, d, *got.Answer) {
		s.log.Debug().Err(err).Stringer("keeper", keeper).Msg("keeper gives no answer of the provider")
		return nil
	}
	return got.Answer
}

// answers reports whether this is an answer of the accused to the dispute.
func answers(v *view.View, domain records.Domain, d *market.Dispute, m messages.AnswerUpload) bool {
	key := solana.PublicKey(m.Key)
	return m.Lease == d.Lease && m.OpenedAt == d.OpenedAt && mayAnswer(v, d.Lease, key) && answerRecord(domain, m).Verify(key, m.Signature) == nil
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}
