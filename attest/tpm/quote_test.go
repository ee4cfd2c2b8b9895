package tpm_test

import (
	"testing"

	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// What ParseQuote refuses, whoever signed it.
func TestQuoteContents(t *testing.T) {
	_, _, e, _ := recorded(t)
	good := item(t, e, tpm.ItemQuote)
	for name, change := range map[string]func(*tpm2.TPMSAttest){
		"not made by a TPM": func(a *tpm2.TPMSAttest) { a.Magic = 0x00544347 },
		"no extra data":     func(a *tpm2.TPMSAttest) { a.QualifiedSigner.Buffer = nil },
		"a certificate of time": func(a *tpm2.TPMSAttest) {
			a.Type, a.Attested = tpm2.TPMSTAttestTime, tpm2.NewTPMUAttest(tpm2.TPMSTAttestTime, &tpm2.TPMSTimeAttestInfo{})
		},
		"SHA-1 bank":     quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRSelect.PCRSelections[0].Hash = tpm2.TPMAlgSHA1 }),
		"SHA-384 bank":   quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRSelect.PCRSelections[0].Hash = tpm2.TPMAlgSHA384 }),
		"short bitmap":   quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRSelect.PCRSelections[0].PCRSelect = []byte{1} }),
		"long bitmap":    quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRSelect.PCRSelections[0].PCRSelect = []byte{0xff, 0x7b, 0, 0} }),
		"nothing quoted": quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRSelect.PCRSelections[0].PCRSelect = []byte{0, 0, 0} }),
		"no bank":        quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRSelect.PCRSelections = nil }),
		"two banks": quoteInfo(func(q *tpm2.TPMSQuoteInfo) {
			q.PCRSelect.PCRSelections = append(q.PCRSelect.PCRSelections, q.PCRSelect.PCRSelections...)
		}),
		"short digest": quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRDigest.Buffer = q.PCRDigest.Buffer[:20] }),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := tpm2.Unmarshal[tpm2.TPMSAttest](good)
			require.NoError(t, err)
			change(a)
			_, err = tpm.ParseQuote(tpm2.Marshal(a))
			require.ErrorIs(t, err, attest.ErrMalformed)
		})
	}
}

func quoteInfo(change func(*tpm2.TPMSQuoteInfo)) func(*tpm2.TPMSAttest) {
	return func(a *tpm2.TPMSAttest) {
		q, err := a.Attested.Quote()
		if err != nil {
			return
		}
		change(q)
		a.Attested = tpm2.NewTPMUAttest(tpm2.TPMSTAttestQuote, q)
	}
}

func TestSignatureRange(t *testing.T) {
	order := []byte{
		0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
	}
	below := append([]byte(nil), order...)
	below[31]--
	for name, tc := range map[string]struct {
		r, s []byte
		ok   bool
	}{
		"zero":        {[]byte{0}, []byte{1}, false},
		"none":        {nil, []byte{1}, false},
		"order":       {[]byte{1}, order, false},
		"above":       {append([]byte{1}, order...), []byte{1}, false},
		"one":         {[]byte{1}, []byte{1}, true},
		"below order": {below, below, true},
	} {
		t.Run(name, func(t *testing.T) {
			raw := tpm2.Marshal(tpm2.TPMTSignature{
				SigAlg: tpm2.TPMAlgECDSA,
				Signature: tpm2.NewTPMUSignature(tpm2.TPMAlgECDSA, &tpm2.TPMSSignatureECC{
					Hash: tpm2.TPMAlgSHA256, SignatureR: tpm2.TPM2BECCParameter{Buffer: tc.r}, SignatureS: tpm2.TPM2BECCParameter{Buffer: tc.s},
				}),
			})
			_, err := tpm.ParseSignature(raw)
			require.Equal(t, tc.ok, err == nil, "%v", err)
		})
	}
}
