package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gantry-market/gantry/attest"
)

// Version of the policy document.
const Version = 1

// maxDocument is the largest policy document, bytes.
const maxDocument = 1 << 20

// ErrDocument: not a policy that can be used.
var ErrDocument = errors.New("policy document")

// Policy says what evidence must show. As a document it is JSON; its digest names it, so that everybody who holds the
// document can repeat a verdict. Lists are sets: their order does not matter.
type Policy struct {
	Version int `json:"version"`
	// Name is for people.
	Name string `json:"name"`
	// MaxAgeSecs is how long after its creation a bundle is worth something, seconds.
	MaxAgeSecs int64 `json:"max_age_secs"`
	// WindowSecs is how long before its challenge's expiry a bundle may be created, seconds: the most that a challenge
	// is open.
	WindowSecs int64 `json:"window_secs"`
	// Roots are sha256 fingerprints, in hex, of the DER certificates that chains may end in. What is not named here is
	// not trusted, whatever this software has built in.
	Roots Roots `json:"roots"`
	// AllowSynthetic lets evidence count that rests on a root which its maker did not make: for tests. Such results say
	// so.
	AllowSynthetic bool `json:"allow_synthetic"`
	// Require names, for each kind of evidence (inventory, gpu, guest, tpm, snp, tdx, lease), the checks that must have passed
	// for the evidence to count for a tier. A check that was not covered has not passed.
	Require map[string][]string `json:"require"`
	GPU     GPU                 `json:"gpu"`
	TPM     TPM                 `json:"tpm"`
	SNP     SNP                 `json:"snp"`
	TDX     TDX                 `json:"tdx"`
}

// Roots are fingerprints by what they are roots of.
type Roots struct {
	GPU []string `json:"gpu"`
	RIM []string `json:"rim"`
	TPM []string `json:"tpm"`
	SNP []string `json:"snp"`
	TDX []string `json:"tdx"`
}

var kindKeys = map[attest.Kind]string{
	attest.KindInventory: "inventory", attest.KindNVGPU: "gpu", attest.KindTPM: "tpm", attest.KindSNP: "snp",
	attest.KindTDX: "tdx", attest.KindGuest: "guest", attest.KindSeal: "lease",
}

// KindKey is the word for a kind of evidence in policies; "" for one that they do not know.
func KindKey(k attest.Kind) string { return kindKeys[k] }

// Parse reads a policy document in any formatting. Fields that it does not know are refused, as they could be meant to
// be strict. Error: ErrDocument.
func Parse(data []byte) (Policy, error) {
	var p Policy
	if len(data) > maxDocument {
		return p, fmt.Errorf("%w: %d bytes, at most %d", ErrDocument, len(data), maxDocument)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, fmt.Errorf("%w: something follows it", ErrDocument)
	}
	return p, p.check()
}

// Encode returns the canonical document: JSON without space, lists sorted. Error: ErrDocument.
func (p Policy) Encode() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	p = p.sorted()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Digest is sha256 of the canonical document: the policy hash. Error: ErrDocument.
func (p Policy) Digest() ([32]byte, error) {
	data, err := p.Encode()
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(data), nil
}

func (p Policy) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrDocument, fmt.Sprintf(format, args...))
	}
	if p.Version != Version {
		return bad("version %d, this reads %d", p.Version, Version)
	}
	const longest = 10 * 365 * 24 * 3600
	if p.MaxAgeSecs <= 0 || p.MaxAgeSecs > longest || p.WindowSecs <= 0 || p.WindowSecs > longest {
		return bad("max_age_secs and window_secs must be between 1 and %d", longest)
	}
	for kind := range p.Require {
		known := false
		for _, k := range kindKeys {
			known = known || k == kind
		}
		if !known {
			return bad("require: no evidence is called %q", kind)
		}
	}
	for _, list := range [][]string{p.Roots.GPU, p.Roots.RIM, p.Roots.TPM, p.Roots.SNP, p.Roots.TDX} {
		for _, s := range list {
			if _, err := fixedHex(s, 32); err != nil {
				return bad("root %.80q: %v", s, err)
			}
		}
	}
	return nil
}

// sorted returns the policy with lists as sets and never null.
func (p Policy) sorted() Policy {
	p.Roots = Roots{set(p.Roots.GPU), set(p.Roots.RIM), set(p.Roots.TPM), set(p.Roots.SNP), set(p.Roots.TDX)}
	require := make(map[string][]string, len(p.Require))
	for kind, names := range p.Require {
		require[kind] = set(names)
	}
	p.Require = require
	p.GPU, p.TPM, p.SNP, p.TDX = p.GPU.sorted(), p.TPM.sorted(), p.SNP.sorted(), p.TDX.sorted()
	return p
}

// set is a sorted copy of a list without duplicates.
func set(list []string) []string {
	out := slices.Clone(list)
	if out == nil {
		out = []string{}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fixedHex decodes lower-case hex of a length.
func fixedHex(s string, n int) ([]byte, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, err
	}
	if len(b) != n || hex.EncodeToString(b) != s {
		return nil, fmt.Errorf("must be %d bytes in lower-case hex", n)
	}
	return b, nil
}
