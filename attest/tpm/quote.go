package tpm

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest"
)

// Quote is what a TPM signed about its PCRs.
type Quote struct {
	// Raw is the TPMS_ATTEST.
	Raw []byte
	// Signer is the qualified name of the key that signed.
	Signer Name
	// Extra is the qualifying data.
	Extra []byte
	// Clock is the time that the TPM ran since it was last cleared.
	Clock time.Duration
	// Resets counts reboots, Restarts counts resumptions since the last one.
	Resets, Restarts uint32
	// Safe is false when the clock may have run backwards since an earlier report.
	Safe bool
	// Firmware is the manufacturer's number of the TPM's firmware.
	Firmware uint64
	// Selection of the SHA-256 bank, and the digest of the selected values.
	Selection Selection
	Digest    [32]byte
}

// ParseQuote reads a TPMS_ATTEST and refuses all that is not a quote made by a TPM over one selection in the SHA-256
// bank.
func ParseQuote(raw []byte) (Quote, error) {
	bad := func(format string, args ...any) (Quote, error) {
		return Quote{}, fmt.Errorf("quote: %s: %w", fmt.Sprintf(format, args...), attest.ErrMalformed)
	}
	if len(raw) > maxQuote {
		return bad("%d bytes", len(raw))
	}
	a, err := tpm2.Unmarshal[tpm2.TPMSAttest](raw)
	if err != nil {
		return bad("%v", err)
	}
	// The magic number is what keeps a key that is not restricted from signing a forgery.
	if a.Magic != tpm2.TPMGeneratedValue {
		return bad("magic number %#x, want TPM_GENERATED_VALUE", uint32(a.Magic))
	}
	if a.Type != tpm2.TPMSTAttestQuote {
		return bad("attestation of type %#x, want a quote", uint16(a.Type))
	}
	info, err := a.Attested.Quote()
	if err != nil {
		return bad("%v", err)
	}
	if !bytes.Equal(tpm2.Marshal(a), raw) {
		return bad("not in canonical form, or followed by other bytes")
	}
	if a.ClockInfo.Clock > uint64(math.MaxInt64/time.Millisecond) {
		return bad("clock of %d ms", a.ClockInfo.Clock)
	}
	q := Quote{
		Raw: bytes.Clone(raw), Extra: a.ExtraData.Buffer, Clock: time.Duration(a.ClockInfo.Clock) * time.Millisecond,
		Resets: a.ClockInfo.ResetCount, Restarts: a.ClockInfo.RestartCount, Safe: bool(a.ClockInfo.Safe), Firmware: a.FirmwareVersion,
	}
	if len(a.QualifiedSigner.Buffer) != len(q.Signer) {
		return bad("qualified name of %d bytes, want %d", len(a.QualifiedSigner.Buffer), len(q.Signer))
	}
	copy(q.Signer[:], a.QualifiedSigner.Buffer)
	if n := len(info.PCRSelect.PCRSelections); n != 1 {
		return bad("%d PCR selections, want 1", n)
	}
	s := info.PCRSelect.PCRSelections[0]
	if s.Hash != tpm2.TPMAlgSHA256 {
		return bad("PCR bank %#x, want SHA-256", uint16(s.Hash))
	}
	if len(s.PCRSelect) != pcrCount/8 {
		return bad("PCR bitmap of %d bytes, want %d", len(s.PCRSelect), pcrCount/8)
	}
	q.Selection = Selection(s.PCRSelect[0]) | Selection(s.PCRSelect[1])<<8 | Selection(s.PCRSelect[2])<<16
	if q.Selection == 0 {
		return bad("no PCR is selected")
	}
	if len(info.PCRDigest.Buffer) != len(q.Digest) {
		return bad("PCR digest of %d bytes, want %d", len(info.PCRDigest.Buffer), len(q.Digest))
	}
	copy(q.Digest[:], info.PCRDigest.Buffer)
	return q, nil
}

// Signature is an ECDSA signature on P-256 over a SHA-256 hash, with both numbers in the range from 1 to the group's
// order.
type Signature struct{ R, S *big.Int }

// ParseSignature reads a TPMT_SIGNATURE.
func ParseSignature(raw []byte) (Signature, error) {
	bad := func(format string, args ...any) (Signature, error) {
		return Signature{}, fmt.Errorf("signature: %s: %w", fmt.Sprintf(format, args...), attest.ErrMalformed)
	}
	if len(raw) > maxSignature {
		return bad("%d bytes", len(raw))
	}
	sig, err := tpm2.Unmarshal[tpm2.TPMTSignature](raw)
	if err != nil {
		return bad("%v", err)
	}
	if sig.SigAlg != tpm2.TPMAlgECDSA {
		return bad("algorithm %#x, want ECDSA", uint16(sig.SigAlg))
	}
	ecc, err := sig.Signature.ECDSA()
	if err != nil {
		return bad("%v", err)
	}
	if ecc.Hash != tpm2.TPMAlgSHA256 {
		return bad("hash %#x, want SHA-256", uint16(ecc.Hash))
	}
	if !bytes.Equal(tpm2.Marshal(sig), raw) {
		return bad("not in canonical form, or followed by other bytes")
	}
	out := Signature{R: new(big.Int).SetBytes(ecc.SignatureR.Buffer), S: new(big.Int).SetBytes(ecc.SignatureS.Buffer)}
	// The library checks the range too; here it is part of the form.
	order := elliptic.P256().Params().N
	for _, v := range []*big.Int{out.R, out.S} {
		if v.Sign() <= 0 || v.Cmp(order) >= 0 {
			return bad("number outside 1 to the group's order")
		}
	}
	return out, nil
}

// VerifySignature checks that the key signed the quote. Errors wrap [attest.ErrUntrusted].
func (q Quote) VerifySignature(ak AK, sig Signature) error {
	digest := sha256.Sum256(q.Raw)
	if !ecdsa.Verify(ak.Key, digest[:], sig.R, sig.S) {
		return fmt.Errorf("quote is not signed by the attestation key %s: %w", ak.Name, attest.ErrUntrusted)
	}
	return nil
}
