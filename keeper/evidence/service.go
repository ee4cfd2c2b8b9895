package evidence

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/internal/options"
)

// Service judges bundles. It is safe for concurrent use.
type Service struct {
	policy  policy.Policy
	sources []attest.Collateral
	archive *Archive

	// enroller is nil if the policy trusts no TPM.
	enroller *tpm.Enroller

	mu       sync.Mutex // verdicts are made one after the other: each reads what the last one stored
	enrolled map[tpm.Subject]enrolment
}

// Options of a Service.
type Options struct {
	// Policy is what evidence is judged by.
	Policy policy.Policy
	// Folder keeps the bundles.
	Folder string
	// Sources of collateral are asked in order; there may be none.
	Sources []attest.Collateral
}

// New opens the folder of bundles. Errors: options.ErrMissing, policy.ErrDocument, those of the folder.
func New(o Options) (*Service, error) {
	if err := options.Complete("evidence", o, "Policy", "Sources"); err != nil { // the next check is for the policy
		return nil, err
	}
	if _, err := policy.Standard(o.Policy, bundle.NewRecorder(o.Sources...), policy.Subject{}); err != nil {
		return nil, err
	}
	a, err := OpenArchive(o.Folder)
	if err != nil {
		return nil, err
	}
	s := &Service{policy: o.Policy, sources: o.Sources, archive: a, enrolled: map[tpm.Subject]enrolment{}}
	if err := s.openEnroller(); err != nil {
		return nil, err
	}
	return s, nil
}

// Question is what a bundle must answer, with what the chain says of the node.
type Question struct {
	Account   solana.PublicKey
	Challenge attest.Challenge
	// Devices are the identities that are claimed for the node on chain: all of them, or none to leave them out.
	Devices [][32]byte
	// Root is of the devices that the node registered, for a node that does not hold all their claims; zero otherwise.
	// Only evidence of exactly these lifts it above tier 1: it would take the claims from those who have them.
	Root [32]byte
	// Keepers are those whose statements about TPM enrolments count.
	Keepers []ed25519.PublicKey
}

// Verdict is what a keeper states.
type Verdict struct {
	// Passed is false only for what may cost stake.
	Passed bool
	// Changed says that it failed because of other devices.
	Changed bool
	Tier    uint8
	// Hash is the digest of the bundle as it was kept; zero if nothing was kept.
	Hash [32]byte
	// Why is for the log: what failed, and why the tier is not higher.
	Why []string
}

// Judge verifies a bundle for now and keeps it. The error is that it could not be kept; the verdict holds all the same.
func (s *Service) Judge(q Question, raw []byte, now time.Time) (Verdict, error) {
	b, err := bundle.Parse(raw)
	if err != nil {
		return Verdict{Passed: true, Why: []string{err.Error()}}, nil
	}
	account := [32]byte(q.Account)
	subject := subjectOf(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	claims, sealed, failed := policy.Judge(b, s.policy, policy.Subject{
		Challenge: q.Challenge, Account: &account, Keepers: q.Keepers, Enrolled: s.lookup(subject),
	}, now, s.sources...)
	for _, p := range claims.Of(attest.KindTPM) {
		if p.Claims["activated by"] == "" {
			s.forget(subject)
		}
	}
	if claims.Verdict == 0 || b.Challenge != q.Challenge {
		// Not an answer to this question, or a fault of ours: there is no finding about the node.
		return Verdict{Passed: true, Why: []string{fmt.Sprint(failed)}}, nil
	}
	v := Verdict{Passed: claims.Verdict != policy.False, Tier: claims.Tier, Hash: claims.EvidenceHash, Why: claims.Why}
	if failed != nil {
		v.Why = append([]string{failed.Error()}, v.Why...)
	}
	entry := entryOf(q, &claims, sealed)
	if reason := s.changed(q, entry); reason != "" && entry.Signed {
		v.Passed, v.Changed, v.Tier = false, true, 0
		v.Why = append([]string{reason}, v.Why...)
	} else if other, reason := s.shared(entry, now); reason != "" {
		// The first node to show a device keeps it; otherwise any node could lower another's tier with its evidence.
		v.Tier, entry.Proven = min(v.Tier, 1), nil
		v.Why = append(v.Why, fmt.Sprintf("not tier 2: %s is in the evidence of node %s too", reason, other))
	}
	if v.Tier > 1 && q.Root != [32]byte{} && entry.root() != q.Root {
		v.Tier = 1
		v.Why = append(v.Why, "not tier 2: the node registered other devices, which others claim")
	}
	if !v.Passed {
		v.Tier = 0
	}
	entry.Tier, entry.Passed = v.Tier, v.Passed
	if last, ok := s.archive.last(q.Account); ok {
		entry.remember(last)
	}
	return v, s.archive.put(entry, sealed)
}

// subjectOf is for whom a TPM is enrolled that answers the question.
func subjectOf(q Question) tpm.Subject {
	return tpm.Subject{GenesisHash: q.Challenge.GenesisHash, Program: q.Challenge.Program, Node: q.Challenge.NodeKey}
}

// entryOf notes what later bundles are compared with.
func entryOf(q Question, c *policy.Claims, b *bundle.Bundle) Entry {
	r := Entry{
		Account: q.Account, Hash: hexOf(c.EvidenceHash), PolicyHash: hexOf(c.PolicyHash), Created: b.Created, Expiry: c.Expiry,
		Signed: b.VerifySignature() == nil, GPUs: map[string]string{},
	}
	// Verifiers name only devices whose signature they checked. That another piece of the bundle failed changes nothing
	// of it: a node could add one that does, and so hide what it has.
	byInstance := map[int][32]byte{}
	for _, d := range c.Devices {
		if !r.Signed || d.Kind != attest.KindNVGPU && d.Kind != attest.KindTPM {
			continue
		}
		if d.Kind == attest.KindNVGPU {
			byInstance[int(d.Instance)] = d.Hash
		}
		r.Proven = append(r.Proven, hexOf(d.Hash))
	}
	for _, e := range b.OfKind(attest.KindInventory) {
		inv, err := inventory.FromEvidence(e)
		if err != nil {
			r.Signed = false // what it has is not known
			continue
		}
		for _, g := range inv.GPUs {
			key := ""
			if h, ok := byInstance[g.Index]; ok {
				key = hexOf(h)
			}
			r.GPUs[hexOf(policy.DeviceHash([]byte(g.UUID)))] = key
		}
	}
	return r
}

// root is the device root of the GPUs in the inventory; zero when it is not known.
func (r *Entry) root() [32]byte {
	devices := make([][32]byte, 0, len(r.GPUs))
	for id := range r.GPUs {
		var device [32]byte
		if n, err := hex.Decode(device[:], []byte(id)); err != nil || n != len(device) || !r.Signed {
			return [32]byte{}
		}
		devices = append(devices, device)
	}
	return market.DeviceRoot(devices)
}

// remember keeps the keys of GPUs that this time showed none, or were not listed: who leaves them out once must not
// have them forgotten.
func (r *Entry) remember(last Entry) {
	for uuid, key := range last.GPUs {
		if r.GPUs[uuid] == "" && key != "" {
			r.GPUs[uuid] = key
		}
	}
}

// changed returns how the devices differ from those claimed on chain and those seen last, "" if they do not.
func (s *Service) changed(q Question, r Entry) string {
	missing := 0
	for _, id := range q.Devices {
		if _, ok := r.GPUs[hexOf(id)]; !ok {
			missing++
		}
	}
	if len(r.GPUs) > 0 && missing > 0 {
		return fmt.Sprintf("%d of %d registered GPUs are not there any more", missing, len(q.Devices))
	}
	last, ok := s.archive.last(q.Account)
	if !ok || !last.Passed {
		return ""
	}
	for uuid, key := range r.GPUs {
		if old := last.GPUs[uuid]; old != "" && key != "" && old != key {
			return fmt.Sprintf("GPU %s… has another key than at %s", uuid[:8], time.Unix(last.Created, 0).UTC().Format(time.RFC3339))
		}
	}
	return ""
}

// shared finds another node whose evidence is valid and names a device that this one proves.
func (s *Service) shared(r Entry, now time.Time) (solana.PublicKey, string) {
	for _, other := range s.archive.all() {
		if other.Account == r.Account || now.Unix() > other.Expiry || !other.Passed {
			continue
		}
		for _, device := range r.Proven {
			for _, theirs := range other.Proven {
				if device == theirs {
					return other.Account, "device " + device[:8] + "…"
				}
			}
		}
	}
	return solana.PublicKey{}, ""
}

// Policy returns the policy and its digest.
func (s *Service) Policy() (policy.Policy, [32]byte, error) {
	h, err := s.policy.Digest()
	return s.policy, h, err
}

// Summary is a verdict's reasons in one line.
func (v Verdict) Summary() string { return strings.Join(v.Why, "; ") }

func hexOf(b [32]byte) string { return fmt.Sprintf("%x", b) }
