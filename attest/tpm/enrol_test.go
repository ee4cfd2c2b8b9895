package tpm_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// tap hands out random numbers and remembers the first of each challenge: the secret, which only a TPM could open.
type tap struct {
	mu     sync.Mutex
	secret []byte
	taken  bool
}

func (t *tap) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := rand.Read(p)
	if !t.taken {
		t.secret, t.taken = bytes.Clone(p), true
	}
	return n, err
}

func (t *tap) next() { t.taken = false }

func requestOf(items map[string][]byte) tpm.Request {
	return tpm.Request{AK: items[tpm.ItemAK], EK: items[tpm.ItemEK], Chain: items[tpm.ItemEKChain]}
}

// TestEnrollerModel runs an enroller against a model of it: each node has one open challenge, which can be answered
// once, in time, by that node.
func TestEnrollerModel(t *testing.T) {
	rec, _, _, start := recorded(t)
	trust := rec.options(t).Trust
	const ttl = 10 * time.Second
	const capacity = 3
	type open struct {
		secret  []byte
		expires time.Time
		id      [16]byte
	}
	rapid.Check(t, func(t *rapid.T) {
		source := &tap{}
		e := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust, TTL: ttl, Capacity: capacity, Random: source})
		now, model := start, map[byte]open{}
		subjectOf := func(node byte) tpm.Subject {
			s := testSubject
			s.Node = [32]byte{node}
			return s
		}
		node := rapid.ByteRange(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"challenge": func(t *rapid.T) {
				n := node.Draw(t, "node")
				source.next()
				challenge, err := e.Challenge(subjectOf(n), requestOf(rec.Evidence), now)
				delete(model, n)
				for other, o := range model {
					if !now.Before(o.expires) {
						delete(model, other)
					}
				}
				if len(model) >= capacity {
					require.ErrorIs(t, err, tpm.ErrBusy)
					return
				}
				require.NoError(t, err)
				require.Equal(t, now.Add(ttl), challenge.Expires)
				model[n] = open{source.secret, challenge.Expires, challenge.ID}
			},
			"answer": func(t *rapid.T) {
				from, of := node.Draw(t, "from"), node.Draw(t, "of")
				o, exists := model[of]
				secret := bytes.Clone(o.secret)
				right := rapid.Bool().Draw(t, "right")
				if !right {
					secret = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "secret")
				}
				enrolment, err := e.Finish(subjectOf(from), o.id, secret, now)
				switch {
				case !exists || from != of:
					require.ErrorIs(t, err, tpm.ErrUnknownEnrolment)
					return
				case !now.Before(o.expires):
					require.ErrorIs(t, err, attest.ErrStale)
				case !right:
					require.ErrorIs(t, err, attest.ErrUntrusted)
				default:
					require.NoError(t, err)
					require.Equal(t, subjectOf(from), enrolment.Subject)
				}
				delete(model, of)
				_, err = e.Finish(subjectOf(from), o.id, o.secret, now)
				require.ErrorIs(t, err, tpm.ErrUnknownEnrolment, "answered twice")
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) { require.Equal(t, len(model), e.Open()) },
		})
	})
}

func TestEnrollerRefuses(t *testing.T) {
	rec, _, _, now := recorded(t)
	trust := rec.options(t).Trust
	good := requestOf(rec.Evidence)
	for name, tc := range map[string]struct {
		trust   tpm.Trust
		request tpm.Request
		want    error
	}{
		"no roots":             {tpm.Trust{}, good, attest.ErrUntrusted},
		"another kind of key":  {tpm.Trust{Roots: trust.Roots, Intermediates: trust.Intermediates, Algorithms: []tpm.EKAlgorithm{tpm.EKP256}}, good, attest.ErrPolicy},
		"no certificate":       {trust, tpm.Request{AK: good.AK}, attest.ErrMalformed},
		"issuer's certificate": {trust, tpm.Request{AK: good.AK, EK: rec.Intermediate}, attest.ErrMalformed},
		"no attestation key":   {trust, tpm.Request{EK: good.EK}, attest.ErrMalformed},
		"broken chain":         {trust, tpm.Request{AK: good.AK, EK: good.EK, Chain: []byte{0x30}}, attest.ErrMalformed},
		"endless chain":        {trust, tpm.Request{AK: good.AK, EK: good.EK, Chain: bytes.Repeat(rec.Root, 7)}, attest.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tpm.NewEnroller(tpm.EnrolOptions{Trust: tc.trust}).Challenge(testSubject, tc.request, now)
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestStatement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fill := func(name string) (out [32]byte) {
			copy(out[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, name))
			return out
		}
		e := tpm.Enrolment{
			Subject: tpm.Subject{GenesisHash: fill("genesis"), Program: fill("program"), Node: fill("node")}, EK: fill("ek"),
			Seen: time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "seen"), 0).UTC(),
		}
		s, err := e.Sign(testKeeper("one"))
		require.NoError(t, err)
		require.NoError(t, s.Verify())
		parsed, err := tpm.ParseStatement(s.Encode())
		require.NoError(t, err)
		require.Equal(t, s, parsed)
		damaged := flip(s.Encode(), rapid.IntRange(8*8, len(s.Encode())*8-1).Draw(t, "bit"))
		parsed, err = tpm.ParseStatement(damaged)
		require.NoError(t, err)
		require.ErrorIs(t, parsed.Verify(), attest.ErrUntrusted)
	})
}

func TestActivationByStatement(t *testing.T) {
	rec, _, e, now := recorded(t)
	parts, err := tpm.Parse(e)
	require.NoError(t, err)
	genuine := parts.Statements[0].Enrolment
	opts := rec.options(t)
	opts.Activation.MaxAge = time.Hour
	sign := func(keeper string, change func(*tpm.Enrolment)) tpm.Statement {
		en := genuine
		if change != nil {
			change(&en)
		}
		s, err := en.Sign(testKeeper(keeper))
		require.NoError(t, err)
		return s
	}
	forged := sign("one", nil)
	forged.Signature[5] ^= 1
	strangers := sign("stranger", nil)
	for name, tc := range map[string]struct {
		list []tpm.Statement
		ok   bool
	}{
		"genuine":                   {[]tpm.Statement{sign("one", nil)}, true},
		"and a stranger's":          {[]tpm.Statement{sign("one", nil), strangers}, true},
		"and an old one":            {[]tpm.Statement{sign("one", nil), sign("one", func(e *tpm.Enrolment) { e.Seen = e.Seen.Add(-2 * time.Hour) })}, true},
		"only a stranger's":         {[]tpm.Statement{strangers}, false},
		"forged":                    {[]tpm.Statement{forged}, false},
		"forged beside the genuine": {[]tpm.Statement{forged, sign("one", nil)}, false},
		"too old":                   {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.Seen = e.Seen.Add(-61 * time.Minute) })}, false},
		"of the future":             {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.Seen = e.Seen.Add(time.Hour) })}, false},
		"another node":              {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.Subject.Node[0] ^= 1 })}, false},
		"another market":            {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.Subject.Program[0] ^= 1 })}, false},
		"another cluster":           {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.Subject.GenesisHash[0] ^= 1 })}, false},
		"another endorsement key":   {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.EK[0] ^= 1 })}, false},
		"another attestation key":   {[]tpm.Statement{sign("one", func(e *tpm.Enrolment) { e.AK[33] ^= 1 })}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := tpm.New(opts).For(testSubject)
			r, err := v.Verify(with(e, tpm.ItemStatements, tpm.EncodeStatements(tc.list)), testBinding, now)
			if tc.ok {
				require.NoError(t, err)
				require.Len(t, r.Devices, 1)
				return
			}
			require.ErrorIs(t, err, attest.ErrUntrusted)
			require.Equal(t, tpm.CheckActivation, failedCheck(t, r))
		})
	}
}
