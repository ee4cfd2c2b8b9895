package check

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/keeper/evidence"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Judge judges bundles. *evidence.Service is one.
type Judge interface {
	Judge(q evidence.Question, bundle []byte, now time.Time) (evidence.Verdict, error)
	// WantsTPM, Enrol and Statement are how a node's TPM is enrolled before it is asked for evidence.
	WantsTPM(subject tpm.Subject, now time.Time) bool
	Enrol(subject tpm.Subject, request tpm.Request, now time.Time) (tpm.Credential, func([]byte, records.Signer, time.Time) error, error)
	Statement(subject tpm.Subject) []byte
	// Answered notes by which guest's key a node has signed an answer; zero for none.
	Answered(node solana.PublicKey, guest [32]byte)
}

// maxEvidenceWait is the longest that an answer with evidence is waited for: a TPM takes seconds.
const maxEvidenceWait = 30 * time.Second

// errNoEvidence says why evidence was not judged.
var errNoEvidence = errors.New("evidence not judged")

// answered notes whose process gave an answer: evidence of a confidential machine counts for the one that it is of.
func (c *Checker) answered(n *market.Node, r messages.ChallengeResponse) {
	if c.o.Evidence == nil || r.Inventory == nil {
		return
	}
	var key [32]byte
	if g := r.Guest; g != nil && guest.VerifyAnswer(g.Key, r.Nonce, r.Vouched(), g.Signature) {
		key = g.Key
	}
	c.o.Evidence.Answered(n.Address, key)
}

// evidenceWait is how long an answer is waited for: a quarter of a period, within reason.
func (c *Checker) evidenceWait() time.Duration {
	return min(max(c.o.Timing.Timeout, time.Duration(c.o.Secs)*time.Second/4), maxEvidenceWait)
}

// timeForEvidence reports whether evidence that is asked for now can be judged before the period ends.
func (c *Checker) timeForEvidence(into time.Duration) bool {
	return c.o.Evidence != nil && into+c.evidenceWait() < time.Duration(c.o.Secs)*time.Second
}

// evidence asks for a bundle and judges it. A node that is there and evades the question has shown nothing: tier 0.
func (c *Checker) evidence(ctx context.Context, t subject, period records.Period) {
	once := func(ctx context.Context) (Finding, error) { return c.evidenceOnce(ctx, t, period) }
	f, ok := c.insist(ctx, t, insistence{"evidence", period, c.evidenceWait(), func() bool { return c.stillFree(t) }}, once)
	if !ok {
		return
	}
	if f.Evaded {
		f.Passed = true
	}
	f.Node, f.Kind, f.Period = t.node.Address, records.CheckEvidence, period
	c.finish(ctx, f)
}

// evidenceOnce asks once. Errors: errNoEvidence when this keeper could not ask, errEvaded.
func (c *Checker) evidenceOnce(ctx context.Context, t subject, period records.Period) (f Finding, err error) {
	slotHash, err := c.o.SlotHash(ctx)
	if err != nil {
		return f, fmt.Errorf("%w: slot hash: %w", errNoEvidence, err)
	}
	wait := c.evidenceWait()
	ask := messages.EvidenceChallenge{
		GenesisHash: c.o.Genesis, Program: market.ProgramID, SlotHash: slotHash, Expiry: c.o.Now().Add(wait).Unix() + 1,
	}
	if _, err := io.ReadFull(c.o.Rand, ask.ID[:]); err != nil {
		return f, fmt.Errorf("%w: %w", errNoEvidence, err)
	}
	subject := tpm.Subject{GenesisHash: c.o.Genesis, Program: market.ProgramID, Node: t.node.NodeKey}
	if c.o.Evidence.WantsTPM(subject, c.o.Now()) {
		if err := c.enrol(ctx, t.node, subject, wait); err != nil {
			c.o.Log.Debug().Err(err).Stringer("node", t.node.Address).Msg("TPM of the node was not enrolled")
		}
		ask.Expiry = c.o.Now().Add(wait).Unix() + 1
	}
	ask.TPMStatement = c.o.Evidence.Statement(subject)
	resp, took, err := c.ask(ctx, t.node, messages.ChallengeRequest{Kind: messages.CheckEvidence, Period: uint64(period), Evidence: &ask}, wait)
	f.At, f.Latency = c.o.Now(), took
	switch {
	case err != nil:
		return f, fmt.Errorf("%w: %w", errEvaded, err)
	case len(resp.Evidence) == 0:
		return f, unanswered(resp)
	}
	q := evidence.Question{Account: t.node.Address, Challenge: ask.Of(t.node.Address, t.node.NodeKey)}
	// Of the keepers' statements about TPMs only our own count here: every keeper sees TPMs activated itself. If those
	// of any one counted, one bad keeper could lift tiers with all. Auditors choose whom to believe.
	own := c.o.Key.PublicKey()
	q.Keepers = []ed25519.PublicKey{own[:]}
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		switch {
		case !ok:
		case n.ClaimsMissing > 0:
			q.Root = n.DeviceRoot
		default:
			q.Devices = v.Registered(n) // none as long as its claims are not all known here
		}
	})
	q.HeldBy = c.heldBy
	if t.model != nil {
		if of := class.GPUs().Named(t.model.ModelName()); of != nil {
			q.Boards = of.Boards
		}
	}
	v, err := c.o.Evidence.Judge(q, resp.Evidence, c.o.Now())
	if err != nil {
		c.o.Log.Warn().Err(err).Stringer("node", t.node.Address).Msg("evidence was judged and could not be stored")
	}
	c.o.View.Proven(t.node.Address, v.Keys)
	f.Passed, f.Detail = v.Passed, v.Hash
	switch {
	case v.Passed:
		f.Figures.First = uint32(v.Tier)
	case v.Changed:
		f.Figures.First = records.EvidenceDeviceChanged
	}
	event := c.o.Log.Debug()
	if !v.Passed {
		event = c.o.Log.Warn()
	}
	event.Stringer("node", t.node.Address).Uint8("tier", v.Tier).Bool("passed", v.Passed).Bool("device_changed", v.Changed).
		Hex("evidence", v.Hash[:]).Str("why", v.Summary()).Dur("took", took).Msg("keeper judged evidence")
	return f, nil
}

// heldBy is the node that holds the claim of a GPU's key.
func (c *Checker) heldBy(key [32]byte) (holder solana.PublicKey, ok bool) {
	now := c.o.Now().Unix()
	c.o.View.Read(func(v *view.Accounts) {
		if claim, found := v.Keys[key]; found && claim.TierAt(now) == 3 {
			holder, ok = claim.Node, true
		}
	})
	return holder, ok
}

// enrol has a node show that its attestation key lives in its TPM. A node without one says so, which is no fault.
func (c *Checker) enrol(ctx context.Context, n *market.Node, subject tpm.Subject, wait time.Duration) error {
	step := func(s messages.TPMStep) (*messages.TPMAnswer, error) {
		resp, _, err := c.ask(ctx, n, messages.ChallengeRequest{Kind: messages.CheckEvidence, TPM: &s}, wait)
		if err == nil && resp.TPM == nil {
			err = fmt.Errorf("the node says: %q", resp.Refused)
		}
		return resp.TPM, err
	}
	keys, err := step(messages.TPMStep{})
	if err != nil {
		return err
	}
	credential, finish, err := c.o.Evidence.Enrol(subject, tpm.Request{AK: keys.AK, EK: keys.EK, Chain: keys.Chain}, c.o.Now())
	if err != nil {
		return err
	}
	opened, err := step(messages.TPMStep{IDObject: credential.IDObject, EncryptedSeed: credential.EncryptedSeed})
	if err != nil {
		return err
	}
	return finish(opened.Secret, c.o.Key, c.o.Now())
}
