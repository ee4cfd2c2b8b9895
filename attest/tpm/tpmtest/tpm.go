package tpmtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"sort"
	"time"

	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// TPM is a TPM in memory.
type TPM struct {
	// EK is the endorsement key's certificate.
	EK *x509.Certificate
	// PCRs are what it quotes; all zero at first, of the default selection.
	PCRs tpm.PCRs
	// Log and Statements go into the evidence when they are not empty.
	Log        []byte
	Statements []tpm.Statement

	maker *Maker
	ek    crypto.Signer
	ak    *ecdsa.PrivateKey
}

// NewTPM makes a TPM of the manufacturer.
func (m *Maker) NewTPM(algorithm tpm.EKAlgorithm) (*TPM, error) {
	t := &TPM{maker: m, PCRs: tpm.PCRs{}}
	for _, i := range tpm.DefaultSelection.List() {
		t.PCRs[i] = [32]byte{}
	}
	var err error
	if t.ek, err = newKey(algorithm); err != nil {
		return nil, fmt.Errorf("make endorsement key: %w", err)
	}
	if t.EK, err = m.Certify(t.ek.Public(), nil); err != nil {
		return nil, err
	}
	if t.ak, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make attestation key: %w", err)
	}
	return t, nil
}

// AK is the attestation key's public area.
func (t *TPM) AK() (tpm.AK, error) {
	point, err := t.ak.PublicKey.Bytes()
	if err != nil {
		return tpm.AK{}, fmt.Errorf("attestation key: %w", err)
	}
	public := tpm.AKTemplate()
	public.Unique = tpm2.NewTPMUPublicID(tpm2.TPMAlgECC, &tpm2.TPMSECCPoint{
		X: tpm2.TPM2BECCParameter{Buffer: point[1:33]}, Y: tpm2.TPM2BECCParameter{Buffer: point[33:]},
	})
	return tpm.ParseAK(tpm2.Marshal(&public))
}

// Enrolment is what a keeper would have seen at a time.
func (t *TPM) Enrolment(subject tpm.Subject, seen time.Time) (tpm.Enrolment, error) {
	ak, err := t.AK()
	if err != nil {
		return tpm.Enrolment{}, err
	}
	ek, err := tpm.ParseEK(t.EK.Raw)
	if err != nil {
		return tpm.Enrolment{}, err
	}
	return tpm.Enrolment{Subject: subject, EK: ek.Identity, AK: ak.Name, Seen: seen.UTC().Truncate(time.Second)}, nil
}

// Evidence quotes for a binding. edit, which may be nil, changes what is signed.
func (t *TPM) Evidence(b attest.Binding, edit func(*tpm2.TPMSAttest)) (attest.Evidence, error) {
	ak, err := t.AK()
	if err != nil {
		return attest.Evidence{}, err
	}
	selection, digest, qualifying := t.PCRs.Selection(), t.PCRs.Digest(), b.Qualifying()
	signer := ak.Name.Qualified(tpm2.TPMRHEndorsement)
	quote := &tpm2.TPMSAttest{
		Magic: tpm2.TPMGeneratedValue, Type: tpm2.TPMSTAttestQuote,
		QualifiedSigner: tpm2.TPM2BName{Buffer: signer[:]}, ExtraData: tpm2.TPM2BData{Buffer: qualifying[:]},
		ClockInfo: tpm2.TPMSClockInfo{Clock: 1000, ResetCount: 1, Safe: true}, FirmwareVersion: 1,
		Attested: tpm2.NewTPMUAttest(tpm2.TPMSTAttestQuote, &tpm2.TPMSQuoteInfo{
			PCRSelect: tpm2.TPMLPCRSelection{PCRSelections: []tpm2.TPMSPCRSelection{{
				Hash: tpm2.TPMAlgSHA256, PCRSelect: selection.Bitmap(),
			}}},
			PCRDigest: tpm2.TPM2BDigest{Buffer: digest[:]},
		}),
	}
	if edit != nil {
		edit(quote)
	}
	signed := tpm2.Marshal(quote)
	signature, err := t.sign(signed)
	if err != nil {
		return attest.Evidence{}, err
	}
	return evidence(map[string][]byte{
		tpm.ItemAK: ak.Raw, tpm.ItemEK: t.EK.Raw, tpm.ItemEKChain: t.maker.Issuer.Raw, tpm.ItemQuote: signed, tpm.ItemSignature: signature,
		tpm.ItemPCRs: t.PCRs.Encode(), tpm.ItemLog: t.Log, tpm.ItemStatements: tpm.EncodeStatements(t.Statements),
	}), nil
}

func evidence(items map[string][]byte) attest.Evidence {
	e := attest.Evidence{Kind: attest.KindTPM}
	for name, data := range items {
		if len(data) > 0 {
			e.Items = append(e.Items, attest.Item{Name: name, Data: data})
		}
	}
	sort.Slice(e.Items, func(i, j int) bool { return e.Items[i].Name < e.Items[j].Name })
	return e
}

func (t *TPM) sign(data []byte) ([]byte, error) {
	digest := sha256.Sum256(data)
	r, s, err := ecdsa.Sign(rand.Reader, t.ak, digest[:])
	if err != nil {
		return nil, fmt.Errorf("sign quote: %w", err)
	}
	return tpm2.Marshal(tpm2.TPMTSignature{
		SigAlg: tpm2.TPMAlgECDSA,
		Signature: tpm2.NewTPMUSignature(tpm2.TPMAlgECDSA, &tpm2.TPMSSignatureECC{
			Hash: tpm2.TPMAlgSHA256, SignatureR: tpm2.TPM2BECCParameter{Buffer: r.Bytes()}, SignatureS: tpm2.TPM2BECCParameter{Buffer: s.Bytes()},
		}),
	}), nil
}
