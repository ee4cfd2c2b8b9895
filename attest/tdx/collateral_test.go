package tdx_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tdx/tdxtest"
)

// TestWhatIntelSaysCounts has a row for each thing that collateral can hold against a platform.
func TestWhatIntelSaysCounts(t *testing.T) {
	for name, row := range map[string]struct {
		sentinel error
		check    string
		publish  func(*tdxtest.Publication)
		td       func(*tdxtest.TD)
		policy   tdx.Policy
	}{
		"platform out of date": {check: tdx.CheckTCB, publish: func(p *tdxtest.Publication) { p.PlatformStatus = "OutOfDate" }},
		"platform revoked":     {check: tdx.CheckTCB, publish: func(p *tdxtest.Publication) { p.PlatformStatus = "Revoked" }},
		"hardening needed":     {check: tdx.CheckTCB, publish: func(p *tdxtest.Publication) { p.PlatformStatus = "SWHardeningNeeded" }},
		"module too old":       {check: tdx.CheckTCB, publish: func(p *tdxtest.Publication) { p.TDXSVN = 4 }},
		"below all levels":     {check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.TEETCB[2] = 4 }},
		"QE out of date":       {check: tdx.CheckTCB, publish: func(p *tdxtest.Publication) { p.QEStatus = "OutOfDate" }},
		"QE too old":           {check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.QEISVSVN = 3 }},
		"another enclave":      {check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.QEISVProdID = 1 }},
		"another QE signer":    {check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.QEMRSigner[0]++ }},
		"another platform":     {check: tdx.CheckTCB, publish: func(p *tdxtest.Publication) { p.FMSPC = "00806f050001" }},
		"unsigned module":      {check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.MRSignerSEAM[0] = 1 }},
		"unknown module":       {check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.TEETCB[1] = 9 }},
		"module out of date": {
			check: tdx.CheckTCB, td: func(td *tdxtest.TD) { td.TEETCB[1] = 1 },
			publish: func(p *tdxtest.Publication) { p.ModuleStatus = "OutOfDate" },
		},
		"module of another signer": {
			check: "not signed by the signer of TDX_01", td: func(td *tdxtest.TD) { td.TEETCB[1] = 1 },
			publish: func(p *tdxtest.Publication) { p.ModuleSigner[0] = 1 },
		},
		"module with other attributes": {
			check: "attributes are not those of TDX_01", td: func(td *tdxtest.TD) { td.TEETCB[1] = 1 },
			publish: func(p *tdxtest.Publication) { p.ModuleAttributes[7] = 1 },
		},
		"collateral expired":   {attest.ErrStale, tdx.CheckTCB, func(p *tdxtest.Publication) { p.From, p.To = now.AddDate(0, 0, -9), now.AddDate(0, 0, -1) }, nil, tdx.Policy{}},
		"collateral of future": {attest.ErrStale, tdx.CheckTCB, func(p *tdxtest.Publication) { p.From = now.AddDate(0, 0, 1) }, nil, tdx.Policy{}},
		"old evaluation":       {attest.ErrPolicy, tdx.CheckTCB, nil, nil, tdx.Policy{MinEvaluation: 18}},
		"PCK revoked":          {check: tdx.CheckRevoked, publish: func(p *tdxtest.Publication) { p.Revoked = []string{"pck"} }},
		"CA revoked":           {check: tdx.CheckRevoked, publish: func(p *tdxtest.Publication) { p.Revoked = []string{"ca"} }},
		"signer revoked":       {check: tdx.CheckRevoked, publish: func(p *tdxtest.Publication) { p.Revoked = []string{"signer"} }},
	} {
		t.Run(name, func(t *testing.T) {
			sentinel := row.sentinel
			switch {
			case sentinel == nil && row.check == tdx.CheckRevoked:
				sentinel = attest.ErrUntrusted
			case sentinel == nil:
				sentinel = attest.ErrPolicy
			}
			p := platform(t)
			res, err := verify(t, p, row.policy, collateral(t, p, row.publish), row.td)
			require.ErrorIs(t, err, sentinel)
			require.ErrorContains(t, err, row.check)
			require.False(t, res.Confidential)
			require.False(t, res.Ok())
		})
	}
}

func TestAModuleWithItsOwnIdentity(t *testing.T) {
	p := platform(t)
	res, err := verify(t, p, tdx.Policy{}, collateral(t, p, nil), func(td *tdxtest.TD) { td.TEETCB[1] = 1 })
	require.NoError(t, err)
	require.Equal(t, "measurement, configuration", res.Uncovered())
}

// TestTamperedCollateral: what is not exactly what Intel signed is refused.
func TestTamperedCollateral(t *testing.T) {
	p, other := platform(t), platform(t)
	key := tdx.CollateralTCBInfo(p.FMSPC())
	foreign := collateral(t, other, nil)
	outdated := collateral(t, p, func(pub *tdxtest.Publication) { pub.PlatformStatus = "OutOfDate" })[key]
	body := outdated[len(`{"tcbInfo":`):bytes.LastIndex(outdated, []byte(`,"signature"`))]
	better := bytes.Replace(body, []byte(`"OutOfDate"`), []byte(`"UpToDate"`), 1)
	for name, row := range map[string]struct {
		key      string
		data     []byte
		sentinel error
		reason   string
	}{
		"status edited":             {key, bytes.Replace(outdated, body, better, 1), attest.ErrUntrusted, "not signed by"},
		"second body":               {key, append(append([]byte(`{"tcbInfo":`), better...), append([]byte(`,`), outdated[1:]...)...), attest.ErrMalformed, "too many"},
		"second body, other case":   {key, append(append(bytes.Clone(outdated[:len(outdated)-1]), `,"TcbInfo":`...), append(better, '}')...), attest.ErrMalformed, "too many"},
		"trailing":                  {key, append(bytes.Clone(outdated), " {}"...), attest.ErrMalformed, "not one object"},
		"not an object":             {key, []byte(`[]`), attest.ErrMalformed, "not a JSON object"},
		"cut":                       {key, outdated[:len(outdated)-1], attest.ErrMalformed, "does not end"},
		"no signature":              {key, []byte(`{"tcbInfo":{}}`), attest.ErrMalformed, "not one object"},
		"another's TCB information": {key, foreign[key], attest.ErrUntrusted, "not signed by"},
		"another's chain":           {tdx.CollateralSigningChain, foreign[tdx.CollateralSigningChain], attest.ErrUntrusted, "not the pinned one"},
		"another's QE identity":     {tdx.CollateralQEIdentity, foreign[tdx.CollateralQEIdentity], attest.ErrUntrusted, "not signed by"},
		"another's PCK list":        {tdx.CollateralPCKCRL, foreign[tdx.CollateralPCKCRL], attest.ErrUntrusted, "not signed by"},
		"another's root list":       {tdx.CollateralRootCRL, foreign[tdx.CollateralRootCRL], attest.ErrUntrusted, "not signed by"},
		"no list":                   {tdx.CollateralRootCRL, []byte("x"), attest.ErrMalformed, tdx.CollateralRootCRL},
	} {
		t.Run(name, func(t *testing.T) {
			c := collateral(t, p, nil)
			c[row.key] = row.data
			_, err := verify(t, p, tdx.Policy{}, c, nil)
			require.ErrorIs(t, err, row.sentinel)
			require.ErrorContains(t, err, row.reason)
		})
	}
}
