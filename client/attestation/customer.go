package attestation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// openFor is how long a question is open: a slow TPM, and the turns of other customers.
	openFor = 90 * time.Second
	// askPause lies between two tries while the machine answers others.
	askPause = 2 * time.Second
)

// ErrRefused: the machine has not proved what the policy asks for.
var ErrRefused = errors.New("it has not proved what the policy asks for")

// Caller asks the machine of a lease once.
type Caller func(ctx context.Context, req messages.AttestRequest) (messages.AttestAnswer, error)

// Lease is a lease whose machine must prove itself to the customer.
type Lease struct {
	// Address is the lease's, Node the node's account, Key the machine's key as it is on chain.
	Address, Node, Key solana.PublicKey
	// Genesis is the cluster's, SlotHash that of a block that is a moment old.
	Genesis, SlotHash [32]byte
	Document          Document
	// Job is the digest of the ordered job, for whose secrets the machine must name a key; zero where nothing is to be
	// sealed.
	Job [32]byte
	// Guest asks the measured guest of the lease in place of the machine. It has no GPU, and so no tier: its TPM must show an image that
	// the policy names.
	Guest bool
	// Tier is that which the machine must reach; 0 for the highest that the policy can give.
	Tier uint8
	// Now is the chain's time.
	Now func() time.Time
}

// Proof is what a machine has shown.
type Proof struct {
	Lease string `json:"lease"`
	Node  string `json:"node"`
	// Summary is for people.
	Summary service.Attestation `json:"attestation"`
	// Evidence has every check; nil where the machine sent none.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Bundle is what was sent, with the collateral that the verdict used: an auditor can repeat it. Nil for none.
	Bundle []byte `json:"-"`
	// Sealer seals to the key that the machine has made for the lease and its job; nil where none was asked for, and for a
	// machine that was refused.
	Sealer *seal.Sealer `json:"-"`
	// Declined: the machine gives no answer, and says why.
	Declined bool `json:"-"`
}

// Ask sends the machine of a lease a fresh nonce, and verifies its answer. Where it refuses the machine, the summary says
// why, and the error is nil. Error: the machine could not be asked, or the policy cannot be used.
func (l *Lease) Ask(ctx context.Context, call Caller) (Proof, error) {
	q := question{Lease: l, call: call, least: l.Tier}
	if q.least == 0 {
		q.least = l.Document.Policy.Reach()
	}
	if _, err := rand.Read(q.nonce[:]); err != nil {
		return Proof{}, fmt.Errorf("random number: %w", err)
	}
	if err := q.enrol(ctx); err != nil {
		return q.proof(nil, err)
	}
	now := l.Now()
	req := messages.AttestRequest{SlotHash: l.SlotHash, Expiry: now.Add(min(openFor, time.Duration(l.Document.Policy.WindowSecs)*time.Second)).Unix()}
	answer, err := q.ask(ctx, req)
	if err != nil {
		return q.proof(nil, err)
	}
	return q.judge(answer.Evidence, attest.Challenge{
		GenesisHash: l.Genesis, Program: market.ProgramID, ID: attest.LeaseID(l.Address, q.nonce), Node: l.Node, NodeKey: l.Key,
		SlotHash: l.SlotHash, Expiry: req.Expiry,
	})
}

// question is one of a customer to a machine.
type question struct {
	*Lease
	call  Caller
	nonce [32]byte
	least uint8
	// seen is the TPM that has opened a secret of ours; nil for none. noTPM is why there is none.
	seen  *tpm.Enrolment
	noTPM string
}

// refusedError is the error of a machine that does not do what it is asked for, or does it wrongly.
type refusedError struct {
	why      string
	declined bool // by the machine itself
}

func (e *refusedError) Error() string { return e.why }

// ask asks the machine, again while it answers others. Error: *refusedError, the caller's.
func (q *question) ask(ctx context.Context, req messages.AttestRequest) (messages.AttestAnswer, error) {
	req.Version, req.Lease, req.Nonce, req.Guest = messages.Version, q.Address, q.nonce, q.Guest
	for {
		answer, err := q.call(ctx, req)
		switch {
		case err != nil:
			return answer, err
		case answer.Again && wait.For(ctx, askPause) == nil:
		case answer.Refused != "" && !answer.NoTPM:
			return answer, &refusedError{"the machine says: " + printable.Text(answer.Refused), true}
		default:
			return answer, nil
		}
	}
}

// enrol has the machine show that its attestation key lives in its TPM, by a secret that only this TPM can open. A policy
// that names no maker of TPMs asks for none.
func (q *question) enrol(ctx context.Context) error {
	trust, why, err := policy.TPMTrust(q.Document.Policy, q.Document.Collateral)
	if err != nil || why != "" {
		q.noTPM = why
		return err
	}
	subject := tpm.Subject{GenesisHash: q.Genesis, Program: market.ProgramID, Node: q.Key}
	keys, err := q.ask(ctx, messages.AttestRequest{TPM: &messages.TPMStep{}})
	if err != nil {
		return err
	}
	if keys.TPM == nil {
		q.noTPM = "the machine shows no TPM"
		return nil
	}
	enroller := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust, TTL: openFor})
	challenge, err := enroller.Challenge(subject, tpm.Request{AK: keys.TPM.AK, EK: keys.TPM.EK, Chain: keys.TPM.Chain}, q.Now())
	if err != nil {
		return &refusedError{why: "its TPM is none that the policy trusts: " + printable.Text(err.Error())}
	}
	opened, err := q.ask(ctx, messages.AttestRequest{TPM: &messages.TPMStep{IDObject: challenge.Credential.IDObject, EncryptedSeed: challenge.Credential.EncryptedSeed}})
	if err != nil {
		return err
	}
	var secret []byte
	if opened.TPM != nil {
		secret = opened.TPM.Secret
	}
	seen, err := enroller.Finish(subject, challenge.ID, secret, q.Now())
	if err != nil {
		return &refusedError{why: "its TPM did not open the secret that was sealed to it: " + printable.Text(err.Error())}
	}
	q.seen = &seen
	return nil
}

// enrolled looks up the TPM that has opened our secret.
func (q *question) enrolled(ak tpm.Name) (tpm.Enrolment, bool) {
	if q.seen == nil || q.seen.AK != ak {
		return tpm.Enrolment{}, false
	}
	return *q.seen, true
}

// judge verifies an answer.
func (q *question) judge(raw []byte, want attest.Challenge) (Proof, error) {
	b, err := bundle.Parse(raw)
	if err != nil {
		return q.proof(nil, &refusedError{why: "its answer is no evidence: " + printable.Text(err.Error())})
	}
	if why := other(b.Challenge, want); why != "" {
		return q.proof(nil, &refusedError{why: why})
	}
	r := &Request{Bundle: b, Policy: q.Document.Policy, Collateral: []attest.Collateral{q.Document.Collateral}, At: q.Now(), enrolled: q.enrolled}
	v, err := verify(r)
	if err != nil {
		return Proof{}, err
	}
	if problem := plainProblem(&v.evidence); problem != "" {
		return q.proof(v, &refusedError{why: problem})
	}
	if q.Guest && len(v.claims.Guest) > 0 {
		return q.proof(v, &refusedError{why: "it has not shown a measured guest: " + printable.Text(strings.Join(v.claims.Guest, "; "))})
	}
	if !q.Guest && v.claims.Shown < q.least {
		return q.proof(v, &refusedError{why: q.below(v)})
	}
	if q.Job == [32]byte{} {
		return q.proof(v, nil)
	}
	keys := b.OfKind(attest.KindSeal)
	if len(keys) != 1 {
		return q.proof(v, &refusedError{why: "it names no key to which the job could be sealed"})
	}
	sealer, err := seal.Read(keys[0], seal.Subject{Lease: q.Address, Job: q.Job})
	if err != nil {
		return q.proof(v, &refusedError{why: "the key that it names is not for this lease and job: " + printable.Text(err.Error())})
	}
	p, err := q.proof(v, nil)
	p.Sealer = sealer
	return p, err
}

// below says what a machine lacks of which nothing is false.
func (q *question) below(v *verified) string {
	why := fmt.Sprintf("it has shown what tier %d takes, and tier %d is asked for", v.claims.Shown, q.least)
	if v.claims.Simulated && v.claims.Shown == 0 {
		return why + ": its GPUs are simulated"
	}
	if q.least == 2 && q.noTPM != "" {
		return why + ": " + q.noTPM
	}
	for _, w := range v.evidence.Why {
		why += "; " + w
	}
	return why
}

// Refused is the proof of a machine that is refused for a reason of the caller's, such as that it did not answer.
func (l *Lease) Refused(why string) (Proof, error) { return l.verdict(why) }

// verdict is a proof without its evidence: refused for a reason, passed with "".
func (l *Lease) verdict(why string) (Proof, error) {
	digest, err := l.Document.Policy.Digest()
	if err != nil {
		return Proof{}, err
	}
	state := service.AttestationPassed
	if why != "" {
		state = service.AttestationRefused
	}
	return Proof{Lease: l.Address.String(), Node: l.Node.String(), Summary: service.Attestation{
		State: state, At: l.Now().Unix(), Why: why, Policy: printable.Text(l.Document.Policy.Name), PolicyHash: fmt.Sprintf("%x", digest),
		Verified: []string{}, Failed: []string{}, NotCovered: []string{},
	}}, nil
}

// proof is what is known at the end. Errors that are no refusals of the machine are returned.
func (q *question) proof(v *verified, err error) (Proof, error) {
	var refused *refusedError
	if err != nil && !errors.As(err, &refused) {
		return Proof{}, err
	}
	why := ""
	if refused != nil {
		why = refused.why
	}
	p, err := q.verdict(why)
	p.Declined = refused != nil && refused.declined
	if err != nil || v == nil {
		return p, err
	}
	s := &p.Summary
	hash, err := policy.EvidenceHash(v.sealed)
	if err == nil {
		p.Bundle, err = v.sealed.Encode()
	}
	if err != nil {
		return Proof{}, fmt.Errorf("evidence with its collateral: %w", err)
	}
	p.Evidence, s.Hash, s.Tier, s.Simulated = &v.evidence, fmt.Sprintf("%x", hash), v.claims.Tier, v.claims.Simulated
	summarise(s, &v.evidence)
	return p, nil
}

// other says how an answer's challenge differs from the question; "" for an answer to it.
func other(has, want attest.Challenge) string {
	switch {
	case has == want:
		return ""
	case has.GenesisHash != want.GenesisHash || has.Program != want.Program:
		return "its evidence is for another market"
	case has.Node != want.Node || has.NodeKey != want.NodeKey:
		return fmt.Sprintf("its evidence is of another machine: node %s with key %s", solana.PublicKey(has.Node), solana.PublicKey(has.NodeKey))
	}
	return "its evidence answers another question than yours: it was made before, or for somebody else"
}

// Failure is the error of a command that has shown all this.
func (p *Proof) Failure() error {
	if p.Err() == nil {
		return nil
	}
	return &service.Failure{
		Code: service.CodeRefused, Reason: "the machine is refused: " + p.Summary.Why, Advice: "the lease continues; end it with: gantry stop " + p.Lease,
		Cause: ErrRefused, Told: true,
	}
}

// Err is the error of a machine that was refused; nil for one that has passed. It wraps ErrRefused.
func (p *Proof) Err() error {
	if p.Summary.State == service.AttestationPassed {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRefused, p.Summary.Why)
}
