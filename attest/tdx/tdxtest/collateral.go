package tdxtest

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tdx"
)

// Collateral is a simulated Intel's, by the keys of package tdx.
type Collateral map[string][]byte

// Get implements [attest.Collateral].
func (c Collateral) Get(key string) ([]byte, error) {
	if b, ok := c[key]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("%q: %w", key, attest.ErrNoCollateral)
}

// Without is a copy that lacks some keys.
func (c Collateral) Without(keys ...string) Collateral {
	d := maps.Clone(c)
	for _, k := range keys {
		delete(d, k)
	}
	return d
}

// Publication is what the simulated Intel says.
type Publication struct {
	// From and To are the period of all of it.
	From, To time.Time
	// Evaluation is the number of the data set.
	Evaluation int
	// PlatformStatus, QEStatus and ModuleStatus are of the level that the simulated platform is on.
	PlatformStatus, QEStatus, ModuleStatus string
	// TDXSVN is the least version of the TDX module for that level.
	TDXSVN int
	// ModuleSigner and ModuleAttributes are what a TDX module of version 1 must have.
	ModuleSigner     [48]byte
	ModuleAttributes [8]byte
	// FMSPC names the platform that it is about.
	FMSPC string
	// Revoked are certificates in the lists: "pck", "ca" or "signer".
	Revoked []string
}

// Published is what an Intel that is content with the platform says for a week around a time.
func (p *Platform) Published(at time.Time) Publication {
	return Publication{
		From: at.AddDate(0, 0, -3), To: at.AddDate(0, 0, 4), Evaluation: 17, PlatformStatus: "UpToDate", QEStatus: "UpToDate",
		ModuleStatus: "UpToDate", TDXSVN: tdxSVN, FMSPC: fmspc,
	}
}

// Sign makes collateral of a publication.
func (p *Platform) Sign(pub Publication) (Collateral, error) {
	tcb, err := p.signed("tcbInfo", p.tcbInfo(pub))
	if err != nil {
		return nil, err
	}
	qe, err := p.signed("enclaveIdentity", p.qeIdentity(pub))
	if err != nil {
		return nil, err
	}
	c := Collateral{tdx.CollateralTCBInfo(fmspc): tcb, tdx.CollateralQEIdentity: qe}
	for _, cert := range []*x509.Certificate{p.tcb, p.root} {
		c[tdx.CollateralSigningChain] = append(c[tdx.CollateralSigningChain], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	lists := map[string][]x509.RevocationListEntry{}
	for _, name := range pub.Revoked {
		key, serial := tdx.CollateralRootCRL, p.ca.SerialNumber
		switch name {
		case "pck":
			key, serial = tdx.CollateralPCKCRL, p.pck.SerialNumber
		case "signer":
			serial = p.tcb.SerialNumber
		}
		lists[key] = append(lists[key], x509.RevocationListEntry{SerialNumber: serial, RevocationTime: pub.From})
	}
	list := func(key string) *x509.RevocationList {
		return &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: pub.From, NextUpdate: pub.To, RevokedCertificateEntries: lists[key]}
	}
	if c[tdx.CollateralPCKCRL], err = x509.CreateRevocationList(rand.Reader, list(tdx.CollateralPCKCRL), p.ca, p.caKey); err != nil {
		return nil, err
	}
	c[tdx.CollateralRootCRL], err = x509.CreateRevocationList(rand.Reader, list(tdx.CollateralRootCRL), p.root, p.rootKey)
	return c, err
}

// signed puts a body and the signature over its exact bytes into one object, as PCS does.
func (p *Platform) signed(name string, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	s, err := raw(p.tcbKey, b)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"%s":%s,"signature":"%s"}`, name, b, hex.EncodeToString(s)), nil
}

type object = map[string]any

func (p *Platform) tcbInfo(pub Publication) object {
	svns := func(f func(int) int) (list []object) {
		for i := range 16 {
			list = append(list, object{"svn": f(i)})
		}
		return list
	}
	level := func(status string, tdxModule int) object {
		return object{"tcb": object{
			"sgxtcbcomponents": svns(cpuSVN), "pcesvn": pceSVN,
			"tdxtcbcomponents": svns(func(i int) int { return []int{tdxModule, 0, tdxTCB2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}[i] }),
		}, "tcbDate": stamp(pub.From), "tcbStatus": status}
	}
	zero := func(n int) string { return strings.Repeat("00", n) }
	return object{
		"id": "TDX", "version": 3, "issueDate": stamp(pub.From), "nextUpdate": stamp(pub.To), "fmspc": pub.FMSPC, "pceId": "0000",
		"tcbType": 0, "tcbEvaluationDataNumber": pub.Evaluation,
		"tdxModule": object{"mrsigner": zero(48), "attributes": zero(8), "attributesMask": strings.Repeat("FF", 8)},
		"tdxModuleIdentities": []object{{
			"id": "TDX_01", "mrsigner": hex.EncodeToString(pub.ModuleSigner[:]), "attributes": hex.EncodeToString(pub.ModuleAttributes[:]),
			"attributesMask": strings.Repeat("FF", 8),
			"tcbLevels":      []object{{"tcb": object{"isvsvn": pub.TDXSVN}, "tcbDate": stamp(pub.From), "tcbStatus": pub.ModuleStatus}},
		}},
		"tcbLevels": []object{level(pub.PlatformStatus, pub.TDXSVN), level("OutOfDate", 1)},
	}
}

func (p *Platform) qeIdentity(pub Publication) object {
	signer := p.TD([64]byte{}).QEMRSigner
	return object{
		"id": "TD_QE", "version": 2, "issueDate": stamp(pub.From), "nextUpdate": stamp(pub.To), "tcbEvaluationDataNumber": pub.Evaluation,
		"miscselect": "00000000", "miscselectMask": "FFFFFFFF", "attributes": "11" + strings.Repeat("00", 15),
		"attributesMask": "FB" + strings.Repeat("FF", 7) + strings.Repeat("00", 8), "mrsigner": hex.EncodeToString(signer[:]), "isvprodid": qeProd,
		"tcbLevels": []object{{"tcb": object{"isvsvn": qeSVN}, "tcbDate": stamp(pub.From), "tcbStatus": pub.QEStatus}},
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
