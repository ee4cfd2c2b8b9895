package tpm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/tpm"
)

func BenchmarkVerify(b *testing.B) {
	_, v, e, now := recorded(b)
	for b.Loop() {
		_, err := v.Verify(e, testBinding, now)
		require.NoError(b, err)
	}
}

func BenchmarkVerifyQuoteAlone(b *testing.B) {
	_, _, e, _ := recorded(b)
	for b.Loop() {
		p, err := tpm.Parse(e)
		require.NoError(b, err)
		require.NoError(b, p.Quote.VerifySignature(p.AK, p.Signature))
	}
}

func BenchmarkReplayLog(b *testing.B) {
	_, _, e, _ := recorded(b)
	p, err := tpm.Parse(e)
	require.NoError(b, err)
	b.SetBytes(int64(len(p.Log)))
	for b.Loop() {
		_, err := tpm.ReplayLog(p.Log, p.PCRs)
		require.NoError(b, err)
	}
}

func BenchmarkLiveQuote(b *testing.B) {
	machine, _ := theLab.machine(b, "maker", "a")
	d := newDevice(machine, nil)
	for b.Loop() {
		_, err := d.Quote(b.Context(), testBinding.Qualifying())
		require.NoError(b, err)
	}
}

func BenchmarkLiveEnrol(b *testing.B) {
	machine, ca := theLab.machine(b, "maker", "a")
	d, trust := newDevice(machine, nil), trustOf(b, ca)
	e := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust})
	for b.Loop() {
		enrol(b, e, d, testSubject)
	}
}

func BenchmarkChallenge(b *testing.B) {
	rec, _, _, now := recorded(b)
	e := tpm.NewEnroller(tpm.EnrolOptions{Trust: rec.options(b).Trust, TTL: time.Minute})
	for b.Loop() {
		_, err := e.Challenge(testSubject, requestOf(rec.Evidence), now)
		require.NoError(b, err)
	}
}
