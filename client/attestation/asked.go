package attestation

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/service"
)

// Asked is a [Request] in the words of a person: files, keys and values as text, each "" for none.
type Asked struct {
	File, Policy, Collateral string
	// At is the time to check for: RFC 3339, unix seconds, or now; "" for when the bundle was made.
	At                         string
	Nonce, Hash, Node, Account string
	Keepers                    []string
	Tier                       int
}

// Request reads the files and values. Error: a [service.Failure].
func (a *Asked) Request() (*Request, error) {
	r := &Request{File: a.File, Policy: policy.Default(), Expected: Expected{Tier: a.Tier}}
	var err error
	if r.Bundle, err = ReadBundle(r.File); err != nil {
		return nil, err
	}
	if a.Policy != "" {
		d, err := ReadDocument(a.Policy, "", nil)
		if err != nil {
			return nil, err
		}
		r.Policy = d.Policy
		r.Collateral = append(r.Collateral, d.Collateral)
	}
	if a.Collateral != "" {
		folder, err := Folder(a.Collateral)
		if err != nil {
			return nil, err
		}
		r.Collateral = append(r.Collateral, folder)
	}
	if err := a.expected(&r.Expected); err != nil {
		return nil, err
	}
	for _, text := range a.Keepers {
		key, err := service.Address(text, "keeper")
		if err != nil {
			return nil, err
		}
		r.Keepers = append(r.Keepers, ed25519.PublicKey(key[:]))
	}
	if a.Tier < 0 || a.Tier > 3 {
		return nil, service.Usage(fmt.Sprintf("--tier %d; there are tiers 0 to 3", a.Tier), "see docs/protocol/evidence.md")
	}
	r.At, err = a.at(r.Bundle.Created)
	return r, err
}

// expected reads the values that the bundle must have.
func (a *Asked) expected(e *Expected) error {
	for _, f := range []struct {
		name, text string
		into       **[32]byte
	}{{"nonce", a.Nonce, &e.Nonce}, {"hash", a.Hash, &e.Hash}} {
		if f.text == "" {
			continue
		}
		b, err := hex.DecodeString(f.text)
		if err != nil || len(b) != 32 {
			return service.Usage(fmt.Sprintf("--%s %q is not 32 bytes in hex", f.name, f.text), "it has 64 characters of 0–9 and a–f")
		}
		value := [32]byte(b)
		*f.into = &value
	}
	for _, f := range []struct {
		text string
		into **[32]byte
	}{{a.Node, &e.Node}, {a.Account, &e.Account}} {
		if f.text == "" {
			continue
		}
		key, err := service.Address(f.text, "node")
		if err != nil {
			return err
		}
		value := [32]byte(key)
		*f.into = &value
	}
	return nil
}

// at reads the time to check for.
func (a *Asked) at(created int64) (at time.Time, err error) {
	switch seconds, wrong := strconv.ParseInt(a.At, 10, 64); {
	case a.At == "":
		at = time.Unix(created, 0)
	case a.At == "now":
		at = time.Now()
	case wrong == nil:
		at = time.Unix(seconds, 0)
	default:
		if at, err = time.Parse(time.RFC3339, a.At); err != nil {
			err = service.Usage(fmt.Sprintf("--at %q is not a time", a.At), "write 2026-01-31T12:00:00Z, unix seconds, or now")
		}
	}
	return at, err
}
