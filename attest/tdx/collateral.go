package tdx

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"time"

	"github.com/google/go-tdx-guest/pcs"
	tdxverify "github.com/google/go-tdx-guest/verify"

	"github.com/gantry-market/gantry/attest"
)

// Keys under which [attest.Collateral] has what Intel's provisioning service (PCS, API version 4) publishes.
const (
	// CollateralQEIdentity is the answer of /tdx/certification/v4/qe/identity, JSON.
	CollateralQEIdentity = "tdx/qe-identity"
	// CollateralSigningChain is the TCB signing certificate and the root, PEM, from the header TCB-Info-Issuer-Chain.
	// TCB information and QE identity have the same signer.
	CollateralSigningChain = "tdx/tcb-signing-chain"
	// CollateralPCKCRL is the list of the PCK platform CA, DER.
	CollateralPCKCRL = "tdx/pck-crl/platform"
	// CollateralRootCRL is the list of the SGX root CA, DER.
	CollateralRootCRL = "tdx/root-crl"
)

// CollateralTCBInfo is the key of the answer of /tdx/certification/v4/tcb?fmspc=FMSPC, JSON.
func CollateralTCBInfo(fmspc string) string { return "tdx/tcb-info/" + fmspc }

// maxCollateral bounds one piece of collateral. TCB information is under 32 KiB, the platform CA's list under 256 KiB.
const maxCollateral = 4 << 20

// TCB is what Intel's collateral says about a platform.
type TCB struct {
	// Evaluation is the number of Intel's evaluation data set: it grows with each set of fixes.
	Evaluation int
	// Issued is when Intel signed the platform's information.
	Issued time.Time
}

// CheckTCB compares platform, TDX module and quoting enclave with Intel's signed information: all must be up to date by
// it. Errors wrap [attest.ErrNoCollateral], [attest.ErrMalformed], [attest.ErrStale] or [attest.ErrUntrusted] for
// collateral that is missing, broken, outside its period or not Intel's, and [attest.ErrPolicy] for what it says.
func (t *Trusted) CheckTCB(c attest.Collateral, now time.Time) (TCB, error) {
	in, err := t.collect(c)
	if err != nil {
		return TCB{}, err
	}
	if err := in.authentic(t.root, now); err != nil {
		return TCB{}, err
	}
	options := &tdxverify.Options{TrustedRoots: t.pool(), Getter: in, Now: now, GetCollateral: true}
	if err := tdxverify.TdxQuote(t.Quote.proto, options); err != nil {
		return TCB{}, fmt.Errorf("%w: %w", attest.ErrPolicy, err)
	}
	if err := in.module(t.Quote); err != nil {
		return TCB{}, err
	}
	return TCB{
		Evaluation: min(in.tcb.TcbInfo.TcbEvaluationDataNumber, in.qe.EnclaveIdentity.TcbEvaluationDataNumber), Issued: in.tcb.TcbInfo.IssueDate,
	}, nil
}

// intel is its signed information, and answers the library's requests from it.
type intel struct {
	chain            []byte
	signer, root     *x509.Certificate
	tcb              pcs.TdxTcbInfo
	qe               pcs.QeIdentity
	tcbBody, qeBody  []byte
	tcbWhole, qeFull []byte
	fmspc            string
}

// Get implements the library's getter.
func (in *intel) Get(u string) (map[string][]string, []byte, error) {
	chain := []string{url.QueryEscape(string(in.chain))}
	switch u {
	case pcs.TcbInfoURL(in.fmspc):
		return map[string][]string{"Tcb-Info-Issuer-Chain": chain}, in.tcbWhole, nil
	case pcs.QeIdentityURL():
		return map[string][]string{"Sgx-Enclave-Identity-Issuer-Chain": chain}, in.qeFull, nil
	}
	return nil, nil, fmt.Errorf("%s: %w", u, attest.ErrNoCollateral)
}

func (t *Trusted) collect(c attest.Collateral) (*intel, error) {
	if c == nil {
		return nil, attest.ErrNoCollateral
	}
	in := &intel{fmspc: t.FMSPC}
	var err error
	if in.chain, err = get(c, CollateralSigningChain); err != nil {
		return nil, err
	}
	certs, err := parsePEM(in.chain, 2)
	if err != nil {
		return nil, fmt.Errorf("collateral %q: %w", CollateralSigningChain, err)
	}
	in.signer, in.root = certs[0], certs[1]
	if in.tcbBody, in.tcbWhole, err = getSigned(c, CollateralTCBInfo(t.FMSPC), "tcbInfo", &in.tcb); err != nil {
		return nil, err
	}
	in.qeBody, in.qeFull, err = getSigned(c, CollateralQEIdentity, "enclaveIdentity", &in.qe)
	return in, err
}

// authentic checks that the root signed the signer, and the signer both pieces, and that all of it is of now.
func (in *intel) authentic(root *x509.Certificate, now time.Time) error {
	if !bytes.Equal(in.root.Raw, root.Raw) {
		return fmt.Errorf("the collateral's root %q is not the pinned one: %w", in.root.Subject.CommonName, attest.ErrUntrusted)
	}
	if !bytes.Equal(in.signer.RawIssuer, root.RawSubject) {
		return fmt.Errorf("the collateral's signer is of issuer %q: %w", in.signer.Issuer.CommonName, attest.ErrUntrusted)
	}
	if err := in.signer.CheckSignatureFrom(root); err != nil {
		return fmt.Errorf("the collateral's signer is not signed by the pinned root: %w (%w)", attest.ErrUntrusted, err)
	}
	for _, piece := range []struct {
		name      string
		body      []byte
		signature string
		from, to  time.Time
	}{
		{"signing certificate", nil, "", in.signer.NotBefore, in.signer.NotAfter},
		{"TCB information", in.tcbBody, in.tcb.Signature, in.tcb.TcbInfo.IssueDate, in.tcb.TcbInfo.NextUpdate},
		{"QE identity", in.qeBody, in.qe.Signature, in.qe.EnclaveIdentity.IssueDate, in.qe.EnclaveIdentity.NextUpdate},
	} {
		if piece.body != nil && !signed(in.signer, piece.body, piece.signature) {
			return fmt.Errorf("the %s is not signed by %q: %w", piece.name, in.signer.Subject.CommonName, attest.ErrUntrusted)
		}
		if now.Before(piece.from) || now.After(piece.to) {
			return fmt.Errorf("the %s is of %s and ends at %s: %w", piece.name, day(piece.from), day(piece.to), attest.ErrStale)
		}
	}
	return nil
}

// signed checks an ECDSA P-256 signature in hexadecimal r ‖ s.
func signed(signer *x509.Certificate, body []byte, signature string) bool {
	s, err := hex.DecodeString(signature)
	key, ok := signer.PublicKey.(*ecdsa.PublicKey)
	if err != nil || !ok || len(s) != 64 || key.Curve != elliptic.P256() {
		return false
	}
	digest := sha256.Sum256(body)
	return ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(s[:32]), new(big.Int).SetBytes(s[32:]))
}

func get(c attest.Collateral, key string) ([]byte, error) {
	b, err := c.Get(key)
	if err != nil {
		return nil, fmt.Errorf("collateral %q: %w", key, err)
	}
	if len(b) > maxCollateral {
		return nil, malformed("collateral %q of %d bytes is longer than %d", key, len(b), maxCollateral)
	}
	return b, nil
}

// getSigned reads {NAME: …, "signature": "…"} and returns the signed body, and the whole in a form that has one
// reading. The library takes the signed
// bytes from the key that it looks for and the values from whatever key Go's decoder takes for the same, letter case
// aside: an unsigned "TcbInfo" beside a signed "tcbInfo" would be believed.
func getSigned(c attest.Collateral, key, name string, into any) (body, whole []byte, err error) {
	b, err := get(c, key)
	if err != nil {
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	fields := map[string]json.RawMessage{}
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, malformed("collateral %q is not a JSON object", key)
	}
	for d.More() {
		token, err := d.Token()
		field, ok := token.(string)
		if err != nil || !ok || field != name && field != "signature" || fields[field] != nil {
			return nil, nil, malformed("collateral %q has a field %q too many", key, field)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, malformed("collateral %q: %v", key, err)
		}
		fields[field] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, malformed("collateral %q does not end: %v", key, err)
	}
	if len(fields) != 2 || len(bytes.TrimSpace(b[d.InputOffset():])) != 0 {
		return nil, nil, malformed("collateral %q is not one object of %q and its signature", key, name)
	}
	// Put together by hand: the encoder would compact the signed bytes.
	clean := fmt.Appendf(nil, `{"%s":%s,"signature":%s}`, name, fields[name], fields["signature"])
	if err := json.Unmarshal(clean, into); err != nil {
		return nil, nil, malformed("collateral %q: %v", key, err)
	}
	return fields[name], clean, nil
}

// module compares the TDX module with its own entry in the TCB information, which the library does for its version
// only. Modules of major version 0 have no entry: the platform's speaks for them, and the library compares that.
func (in *intel) module(q *Quote) error {
	svn := q.TEETCB()
	if svn[1] == 0 {
		return nil
	}
	id := fmt.Sprintf("TDX_%02x", svn[1])
	body := q.proto.GetTdQuoteBody()
	for _, m := range in.tcb.TcbInfo.TdxModuleIdentities {
		if m.ID != id {
			continue
		}
		if !bytes.Equal(m.Mrsigner.Bytes, body.GetMrSignerSeam()) {
			return fmt.Errorf("the TDX module is not signed by the signer of %s: %w", id, attest.ErrPolicy)
		}
		if len(m.AttributesMask.Bytes) != 8 || len(m.Attributes.Bytes) != 8 {
			return malformed("the attributes of %s in the TCB information are not 8 bytes", id)
		}
		for i, mask := range m.AttributesMask.Bytes {
			if body.GetSeamAttributes()[i]&mask != m.Attributes.Bytes[i] {
				return fmt.Errorf("the TDX module's attributes are not those of %s: %w", id, attest.ErrPolicy)
			}
		}
		return nil
	}
	return fmt.Errorf("the TCB information does not know TDX module %s: %w", id, attest.ErrPolicy)
}
