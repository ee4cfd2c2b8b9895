package tpm

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// activation settles whether the attestation key lives in the TPM of the endorsement key: by the verifier's own record,
// or by the statement of a keeper that it believes. Statements of others are of no account, whatever they say; one that
// names a believed keeper must be signed by it.
func (v *Verifier) activation(r *attest.Result, p Parts, now time.Time) (bool, error) {
	a := v.opts.Activation
	var why string
	if a.Own == nil {
		why = "no records of enrolments"
	} else if own, ok := a.Own(p.AK.Name); !ok {
		why = "this attestation key was not enrolled here"
	} else if problem := a.problem(own, p, now); problem != "" {
		why = "enrolled here, but " + problem
	} else {
		r.Pass(CheckActivation, "seen by this verifier at %s", own.Seen.UTC().Format(time.RFC3339))
		r.Claim("activated by", "this verifier")
		return true, nil
	}
	var stated *Statement
	for i, s := range p.Statements {
		if !a.believes(s.Keeper) {
			why += fmt.Sprintf("; keeper %s… is not one whose statements count", hex.EncodeToString(s.Keeper[:4]))
			continue
		}
		if err := s.Verify(); err != nil {
			return false, fail(r, CheckActivation, err)
		}
		if problem := a.problem(s.Enrolment, p, now); problem != "" {
			why += fmt.Sprintf("; keeper %s… has a statement, but %s", hex.EncodeToString(s.Keeper[:4]), problem)
			continue
		}
		stated = &p.Statements[i]
	}
	if stated != nil {
		r.Pass(CheckActivation, "stated by keeper %x at %s", stated.Keeper, stated.Seen.UTC().Format(time.RFC3339))
		r.Claim("activated by", hex.EncodeToString(stated.Keeper[:]))
		return true, nil
	}
	if v.opts.RequireActivation {
		return false, r.Fail(CheckActivation, attest.ErrUntrusted, "not known: %s", why)
	}
	r.Skip(CheckActivation, "not known that the attestation key is in that TPM: %s", why)
	return false, nil
}

func (a Activation) believes(keeper [32]byte) bool {
	for _, k := range a.Keepers {
		if bytes.Equal(k, keeper[:]) {
			return true
		}
	}
	return false
}

// problem is why an enrolment does not serve for this evidence, empty if it does.
func (a Activation) problem(e Enrolment, p Parts, now time.Time) string {
	switch {
	case e.AK != p.AK.Name:
		return "for another attestation key"
	case e.EK != p.EK.Identity:
		return "for another endorsement key"
	case a.Subject != nil && e.Subject != *a.Subject:
		return "for another node or market"
	case e.Seen.After(now.Add(clockSkew)):
		return "seen in the future, at " + e.Seen.UTC().Format(time.RFC3339)
	case a.MaxAge > 0 && now.Sub(e.Seen) > a.MaxAge:
		return "too old, of " + e.Seen.UTC().Format(time.RFC3339)
	}
	return ""
}
