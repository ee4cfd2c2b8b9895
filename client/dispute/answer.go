package dispute

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Protocols by which keepers take and give the sides of a dispute.
var (
	putAnswerProtocol = p2p.Protocol{
		ID: messages.AnswerPut, MaxRequest: messages.MaxAnswer + 1<<10, MaxResponse: 1 << 10, Timeout: AskFor,
	}
	getAnswerProtocol = p2p.Protocol{
		ID: messages.AnswerGet, MaxRequest: 1 << 10, MaxResponse: messages.MaxAnswer + 1<<10, Timeout: AskFor,
	}
	getComplaintProtocol = p2p.Protocol{
		ID: messages.ComplaintGet, MaxRequest: 1 << 10, MaxResponse: messages.MaxComplaint + 1<<10, Timeout: AskFor,
	}
)

// Sign makes the answer to a dispute. now is the cluster's time, unix seconds. Error: a key that is not of the party that the dispute
// accuses.
func Sign(v *view.View, domain records.Domain, d *market.Dispute, text []byte, now int64, key solana.PrivateKey) (messages.AnswerUpload, error) {
	if !mayAnswer(v, d.Lease, key.PublicKey()) {
		return messages.AnswerUpload{}, service.Refused(fmt.Sprintf("%s is neither the machine of lease %s nor its provider's wallet", key.PublicKey(), d.Lease),
			"pass the provider's keypair or the machine's node.json with --keypair")
	}
	return signAnswer(domain, d, text, now, key)
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

func signAnswer(domain records.Domain, d *market.Dispute, text []byte, now int64, key solana.PrivateKey) (messages.AnswerUpload, error) {
	m := messages.AnswerUpload{
		Version: messages.Version, Lease: d.Lease, OpenedAt: d.OpenedAt, WrittenAt: max(now, d.OpenedAt), Data: text, Key: key.PublicKey(),
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

// Answer brings an answer to every keeper of a view, and returns how many took it.
func Answer(ctx context.Context, n *p2p.Node, v *view.View, answer messages.AnswerUpload, log zerolog.Logger) (reached int, err error) {
	return Tell(ctx, v, log, func(ctx context.Context, keeper solana.PublicKey) error {
		_, err := p2p.Call[messages.AnswerUpload, messages.Answer](ctx, n, keeper, putAnswerProtocol, answer)
		return err
	})
}

// Sides are both sides of a dispute; a text is empty when no keeper gives it.
type Sides struct {
	Lease     string `json:"lease"`
	Kind      string `json:"kind"`
	Complaint string `json:"complaint,omitempty"`
	Answer    string `json:"answer,omitempty"`
	AnswerBy  string `json:"answerBy,omitempty"`
	WrittenAt string `json:"answerWrittenAt,omitempty"`
}

// Read asks every keeper for both sides, and keeps what verifies: the complaint of the dispute, and the newest answer.
func Read(ctx context.Context, n *p2p.Node, v *view.View, domain records.Domain, d *market.Dispute, log zerolog.Logger) (Sides, error) {
	r := reader{n: n, v: v, domain: domain, d: d, log: log}
	var complaint []byte
	var answer *messages.AnswerUpload
	for _, k := range v.Keepers() {
		if complaint == nil {
			complaint = r.complaint(ctx, k.Wallet)
		}
		if a := r.answer(ctx, k.Wallet); a != nil && (answer == nil || a.WrittenAt > answer.WrittenAt) {
			answer = a
		}
	}
	out := Sides{Lease: d.Lease.String(), Kind: market.DisputeKind(d.Kind).String(), Complaint: string(complaint)}
	if answer != nil {
		out.Answer, out.AnswerBy = string(answer.Data), solana.PublicKey(answer.Key).String()
		out.WrittenAt = time.Unix(answer.WrittenAt, 0).UTC().Format(time.RFC3339)
	}
	return out, ctx.Err()
}

// reader asks keepers for the sides of one dispute.
type reader struct {
	n      *p2p.Node
	v      *view.View
	domain records.Domain
	d      *market.Dispute
	log    zerolog.Logger
}

func (r *reader) complaint(ctx context.Context, keeper solana.PublicKey) []byte {
	ctx, cancel := context.WithTimeout(ctx, AskFor)
	defer cancel()
	req := messages.ComplaintRequest{Version: messages.Version, Lease: r.d.Lease, Hash: r.d.EvidenceHash}
	got, err := p2p.Call[messages.ComplaintRequest, messages.Complaint](ctx, r.n, keeper, getComplaintProtocol, req)
	if err != nil || sha256.Sum256(got.Data) != r.d.EvidenceHash {
		r.log.Debug().Err(err).Stringer("keeper", keeper).Msg("keeper does not give the complaint")
		return nil
	}
	return got.Data
}

func (r *reader) answer(ctx context.Context, keeper solana.PublicKey) *messages.AnswerUpload {
	ctx, cancel := context.WithTimeout(ctx, AskFor)
	defer cancel()
	got, err := p2p.Call[messages.AnswerRequest, messages.Answer](ctx, r.n, keeper, getAnswerProtocol, messages.AnswerRequest{Version: messages.Version, Lease: r.d.Lease})
	if err != nil || got.Answer == nil || !answers(r.v, r.domain, r.d, *got.Answer) {
		r.log.Debug().Err(err).Stringer("keeper", keeper).Msg("keeper gives no answer of the provider")
		return nil
	}
	return got.Answer
}

// answers reports whether this is an answer of the accused to the dispute.
func answers(v *view.View, domain records.Domain, d *market.Dispute, m messages.AnswerUpload) bool {
	key := solana.PublicKey(m.Key)
	return m.Lease == d.Lease && m.OpenedAt == d.OpenedAt && mayAnswer(v, d.Lease, key) && answerRecord(domain, m).Verify(key, m.Signature) == nil
}
