package evidence

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
	"github.com/gantry-market/gantry/sdk/market"
)

// Service judges bundles. It is safe for concurrent use.
type Service struct {
	policy  policy.Policy
	sources []attest.Collateral
	archive *archive.Archive
	entries map[solana.PublicKey]Entry

	// enroller is nil if the policy trusts no TPM.
	enroller *tpm.Enroller

	mu       sync.Mutex // verdicts are made one after the other: each reads what the last one stored
	enrolled map[tpm.Subject]enrolment
	// answered are the guests' keys by which nodes have signed answers since their last bundle; zero for none.
	answered map[solana.PublicKey]map[[32]byte]bool
}

// Options of a Service.
type Options struct {
	// Policy is what evidence is judged by.
	Policy policy.Policy
	// Folder keeps the bundles, each for the time Keep.
	Folder string
	Keep   time.Duration
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
	if o.Policy.MaxAgeSecs < market.LeastEvidenceAge {
		return nil, fmt.Errorf("%w: max_age_secs is %d: a tier stands on chain for up to %d seconds after its bundle was made; the policy must believe in bundles for as long",
			policy.ErrDocument, o.Policy.MaxAgeSecs, market.LeastEvidenceAge)
	}
	a, err := archive.Open(o.Folder, o.Keep)
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(a)
	if err != nil {
		return nil, err
	}
	s := &Service{policy: o.Policy, sources: o.Sources, archive: a, entries: entries, enrolled: map[tpm.Subject]enrolment{}, answered: map[solana.PublicKey]map[[32]byte]bool{}}
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
	// Boards are those that signed reports of the node's GPUs may name, by its model; none for a model of which that is
	// not known.
	Boards []string
	// HeldBy is the node that holds the claim of a GPU's key by evidence of tier 3 that stands; nil where it is not known.
	HeldBy func(key [32]byte) (solana.PublicKey, bool)
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
	// Hash names the bundle as it was kept; zero if nothing was kept.
	Hash [32]byte
	// Keys are those of the GPUs that Hash names.
	Keys [][32]byte
	// Why is for the log: what failed, and why the tier is not higher.
	Why []string
}

// Judge verifies a bundle for now and keeps it. The error is that it could not be kept; the verdict holds all the same.
func (s *Service) Judge(q Question, raw []byte, now time.Time) (Verdict, error) {
	b, err := bundle.Parse(raw)
	if err != nil {
		return Verdict{Passed: true, Why: []string{err.Error()}}, nil
	}
	subject := subjectOf(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	claims, sealed, failed := policy.Judge(b, s.policy, policy.Subject{
		Challenge: q.Challenge, Keepers: q.Keepers, Enrolled: s.lookup(subject),
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
	v := Verdict{Passed: claims.Verdict != policy.False, Tier: claims.Tier, Hash: claims.EvidenceHash, Keys: policy.GPUKeys(sealed), Why: claims.Why}
	if failed != nil {
		v.Why = append([]string{failed.Error()}, v.Why...)
	}
	entry := entryOf(q, &claims, sealed)
	if reason := s.changed(q, entry); reason != "" && entry.Signed {
		v.Passed, v.Changed, v.Tier = false, true, 0
		v.Why = append([]string{reason}, v.Why...)
	}
	if why := s.shared(q, v, entry, now); why != "" {
		v.Tier, entry.Proven = 1, nil
		v.Why = append(v.Why, why)
	}
	if s.answeredByAnother(q.Account, entry) && v.Tier == 3 {
		v.Tier = 1
		v.Why = append(v.Why, "not tier 3: another process than the guest has answered since the last bundle")
	}
	if v.Tier > 1 && q.Root != [32]byte{} && entry.root() != q.Root {
		v.Tier = 1
		v.Why = append(v.Why, "not tier 2: the node registered other devices, which others claim")
	}
	if why := otherBoard(&claims, q.Boards); why != "" {
		v.Tier = 0
		v.Why = append(v.Why, why)
	}
	if !v.Passed {
		v.Tier = 0
	}
	entry.Tier, entry.Passed = v.Tier, v.Passed
	delete(s.answered, q.Account)
	if last, ok := s.entries[q.Account]; ok {
		entry.remember(last)
	}
	s.entries[q.Account] = entry
	if err := s.archive.Put(q.Account, sealed, now, s.sources...); err != nil {
		return v, err
	}
	return v, writeEntry(s.archive, entry)
}

// otherBoard says which signed report of a GPU names a board that the node's model does not have; "" for none. Such
// evidence is genuine, and of another GPU than the market sells: it is worth nothing, and costs nothing, since a table
// of boards may be incomplete.
func otherBoard(c *policy.Claims, boards []string) string {
	if len(boards) == 0 {
		return ""
	}
	for _, p := range c.Of(attest.KindNVGPU) {
		if board := p.Claims[nvgpu.ClaimBoard]; board != "" && !slices.Contains(boards, board) {
			return fmt.Sprintf("tier 0: the report of GPU %d is of board %s, the node's model has %s", p.Instance, board, strings.Join(boards, ", "))
		}
	}
	return ""
}

// maxGuests is how many guests' keys are told apart of a node between two bundles: it has one until it starts anew.
const maxGuests = 8

// Answered notes by which guest's key a node has signed an answer; zero for none.
func (s *Service) Answered(node solana.PublicKey, guest [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.answered[node]
	if keys == nil {
		keys = map[[32]byte]bool{}
		s.answered[node] = keys
	}
	if len(keys) >= maxGuests {
		guest = [32]byte{}
	}
	keys[guest] = true
}

// answeredByAnother reports whether answers since a node's last bundle came from a process that no bundle vouches for: neither
// this one nor the last of tier 3, from before a start. Otherwise a machine without the GPUs could answer, and the
// guest show evidence.
func (s *Service) answeredByAnother(account solana.PublicKey, r Entry) bool {
	last := s.entries[account]
	for key := range s.answered[account] {
		if k := hexOf(key); k != r.Guest && (last.Tier < 3 || k != last.Guest) {
			return true
		}
	}
	return false
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
	for _, p := range c.Of(attest.KindGuest) {
		if p.Err == nil && len(p.Keys) == 1 {
			r.Guest = hexOf(p.Keys[0])
		}
	}
	// Verifiers name only devices whose signature they checked. That another piece of the bundle failed changes nothing
	// of it: a node could add one that does, and so hide what it has.
	byInstance := map[int][32]byte{}
	for _, d := range c.Devices {
		switch {
		case !r.Signed:
		case d.Kind == attest.KindNVGPU:
			byInstance[int(d.Instance)] = d.Hash
		case d.Kind == attest.KindTPM:
			r.Proven = append(r.Proven, hexOf(d.Hash))
		}
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
	last, ok := s.entries[q.Account]
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

// shared says which device of this evidence counts for another node already, "" if none does. About GPUs the claims of
// their keys on chain decide, and only evidence of tier 3 makes one: there a guest has vouched for each of them. Reports
// that anybody who leases a GPU can have made count for nothing. A TPM counts for the node whose evidence of tier 2
// showed it first, as long as that tier stands.
func (s *Service) shared(q Question, v Verdict, r Entry, now time.Time) string {
	if v.Tier == 3 && q.HeldBy != nil {
		for _, key := range v.Keys {
			if holder, ok := q.HeldBy(key); ok && holder != q.Account {
				return fmt.Sprintf("not tier 3: node %s holds the GPU with key %x…", holder, key[:4])
			}
		}
	}
	if v.Tier != 2 {
		return ""
	}
	for _, other := range s.entries {
		if other.Account == r.Account || now.Unix() > other.Created+market.EvidenceSecs || !other.Passed || other.Tier != 2 {
			continue
		}
		for _, device := range r.Proven {
			if slices.Contains(other.Proven, device) {
				return fmt.Sprintf("not tier 2: device %s… is in the evidence of node %s too", device[:8], other.Account)
			}
		}
	}
	return ""
}

// Policy returns the policy and its digest.
func (s *Service) Policy() (policy.Policy, [32]byte, error) {
	h, err := s.policy.Digest()
	return s.policy, h, err
}

// Summary is a verdict's reasons in one line.
func (v Verdict) Summary() string { return strings.Join(v.Why, "; ") }

func hexOf(b [32]byte) string { return fmt.Sprintf("%x", b) }
