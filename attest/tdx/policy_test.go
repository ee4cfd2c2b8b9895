package tdx_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tdx/tdxtest"
)

var (
	now     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	binding = attest.Binding{Nonce: [32]byte{7}, Keys: [][32]byte{{1}, {2}}}
)

func platform(t testing.TB) *tdxtest.Platform {
	t.Helper()
	p, err := tdxtest.New(now)
	require.NoError(t, err)
	return p
}

func collateral(t testing.TB, p *tdxtest.Platform, change func(*tdxtest.Publication)) tdxtest.Collateral {
	t.Helper()
	pub := p.Published(now)
	if change != nil {
		change(&pub)
	}
	c, err := p.Sign(pub)
	require.NoError(t, err)
	return c
}

func verify(t testing.TB, p *tdxtest.Platform, policy tdx.Policy, c attest.Collateral, change func(*tdxtest.TD)) (attest.Result, error) {
	t.Helper()
	e, err := p.Evidence(binding.ReportData(), change)
	require.NoError(t, err)
	v, err := tdx.New(tdx.Options{Policy: policy, Root: p.Root(), Collateral: c})
	require.NoError(t, err)
	return v.Verify(e, binding, now)
}

func TestAnHonestQuotePassesInFull(t *testing.T) {
	p := platform(t)
	td := p.TD(binding.ReportData())
	res, err := verify(t, p, tdx.Policy{
		Measurements: []tdx.Measurement{{}, {MRTD: td.MRTD, RTMR: [4]*[48]byte{&td.RTMR[0], nil, &td.RTMR[2]}}}, Modules: [][48]byte{td.MRSEAM},
		MinTEETCB: td.TEETCB, MinEvaluation: 17, MRConfigID: &[48]byte{}, MROwner: &[48]byte{}, MROwnerConfig: &[48]byte{}, RequireFull: true,
	}, collateral(t, p, nil), nil)
	require.NoError(t, err)
	require.True(t, res.Ok())
	require.True(t, res.Confidential)
	require.Empty(t, res.Uncovered())
	require.Empty(t, res.Devices)
	require.Empty(t, res.Keys)
	require.Equal(t, "UpToDate", res.Claims[tdx.ClaimTCBStatus])
	require.Len(t, res.Claims[tdx.ClaimHostPlatform], 64)
}

// TestAChainAloneIsNotFull: without Intel's collateral nothing is said about patches or revocation.
func TestAChainAloneIsNotFull(t *testing.T) {
	p := platform(t)
	full := collateral(t, p, nil)
	for name, row := range map[string]struct {
		c         attest.Collateral
		uncovered string
	}{
		"none":          {nil, "platform tcb, quoting enclave, revocation, measurement, configuration"},
		"no TCB":        {full.Without(tdx.CollateralTCBInfo(p.FMSPC())), "platform tcb, quoting enclave, revocation, measurement, configuration"},
		"no QE":         {full.Without(tdx.CollateralQEIdentity), "platform tcb, quoting enclave, revocation, measurement, configuration"},
		"no chain":      {full.Without(tdx.CollateralSigningChain), "platform tcb, quoting enclave, revocation, measurement, configuration"},
		"no PCK list":   {full.Without(tdx.CollateralPCKCRL), "revocation, measurement, configuration"},
		"no root list":  {full.Without(tdx.CollateralRootCRL), "revocation, measurement, configuration"},
		"all there are": {full, "measurement, configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := verify(t, p, tdx.Policy{}, row.c, nil)
			require.NoError(t, err)
			require.Equal(t, row.uncovered, res.Uncovered())
			if name == "all there are" {
				return
			}
			if _, ok := res.Claims[tdx.ClaimTCBStatus]; ok {
				require.NotContains(t, res.Uncovered(), tdx.CheckTCB)
			}
			_, err = verify(t, p, tdx.Policy{RequireFull: true}, row.c, nil)
			require.ErrorIs(t, err, attest.ErrNoCollateral)
		})
	}
}

func TestGenuineButRefused(t *testing.T) {
	for name, row := range map[string]struct {
		check    string
		sentinel error
		policy   tdx.Policy
		change   func(*tdxtest.TD)
	}{
		"debugging on":         {check: tdx.CheckDebug, change: func(td *tdxtest.TD) { td.Attributes |= tdx.AttributeDebug }},
		"another under-debug":  {check: tdx.CheckDebug, change: func(td *tdxtest.TD) { td.Attributes |= 1 << 7 }},
		"migratable":           {check: tdx.CheckMigration, change: func(td *tdxtest.TD) { td.Attributes |= tdx.AttributeMigratable }},
		"SEPT_VE":              {check: tdx.CheckAttributes, change: func(td *tdxtest.TD) { td.Attributes = 0 }},
		"performance counters": {check: tdx.CheckAttributes, change: func(td *tdxtest.TD) { td.Attributes |= tdx.AttributePerfmon }},
		"forbidden feature":    {check: tdx.CheckAttributes, policy: tdx.Policy{ForbiddenXFAM: 1 << 17}, change: func(td *tdxtest.TD) { td.XFAM |= 1 << 17 }},
		"impossible attribute": {check: tdx.CheckModule, change: func(td *tdxtest.TD) { td.Attributes |= 1 << 40 }},
		"impossible XFAM":      {check: tdx.CheckModule, change: func(td *tdxtest.TD) { td.XFAM |= 1 << 60 }},
		"XFAM without x87":     {check: tdx.CheckModule, change: func(td *tdxtest.TD) { td.XFAM &^= 1 }},
		"another QE vendor":    {check: tdx.CheckModule, change: func(td *tdxtest.TD) { td.QEVendor[0]++ }},
		"old module":           {check: tdx.CheckModule, policy: tdx.Policy{MinTEETCB: [16]byte{4}}},
		"unsigned module":      {check: tdx.CheckModule, change: func(td *tdxtest.TD) { td.MRSignerSEAM[0] = 1 }},
		"debug module":         {check: tdx.CheckModule, change: func(td *tdxtest.TD) { td.SEAMAttributes = 1 }},
		"unexpected module":    {check: tdx.CheckModule, policy: tdx.Policy{Modules: [][48]byte{{1}}}},
		"another nonce":        {check: tdx.CheckReportData, sentinel: attest.ErrStale, change: func(td *tdxtest.TD) { td.ReportData[63] ^= 1 }},
		"another image":        {check: tdx.CheckMeasurement, policy: tdx.Policy{Measurements: []tdx.Measurement{{MRTD: [48]byte{1}}}}},
		"another register":     {check: tdx.CheckMeasurement, policy: tdx.Policy{Measurements: []tdx.Measurement{{RTMR: [4]*[48]byte{3: {1}}}}}, change: func(td *tdxtest.TD) { td.MRTD = [48]byte{} }},
		"another MRCONFIGID":   {check: tdx.CheckConfig, policy: tdx.Policy{MRConfigID: &[48]byte{1}}},
		"another MROWNER":      {check: tdx.CheckConfig, policy: tdx.Policy{MROwner: &[48]byte{1}}},
		"another owner config": {check: tdx.CheckConfig, policy: tdx.Policy{MROwnerConfig: &[48]byte{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			sentinel := row.sentinel
			if sentinel == nil {
				sentinel = attest.ErrPolicy
			}
			res, err := verify(t, platform(t), row.policy, nil, row.change)
			require.ErrorIs(t, err, sentinel)
			require.ErrorContains(t, err, row.check)
			require.False(t, res.Confidential)
			failed := 0
			for _, c := range res.Checks {
				if c.Outcome == attest.Failed {
					failed++
					require.Equal(t, row.check, c.Name)
				}
			}
			require.Equal(t, 1, failed, "only the cause fails")
		})
	}
}

func TestDebuggingIsNeverConfidential(t *testing.T) {
	res, err := verify(t, platform(t), tdx.Policy{AllowDebug: true}, nil, func(td *tdxtest.TD) { td.Attributes |= tdx.AttributeDebug })
	require.NoError(t, err)
	require.True(t, res.Ok())
	require.False(t, res.Confidential)
}

func TestEvidenceForm(t *testing.T) {
	p := platform(t)
	good, err := p.Evidence(binding.ReportData(), nil)
	require.NoError(t, err)
	item := good.Items[0]
	v, err := tdx.New(tdx.Options{Root: p.Root()})
	require.NoError(t, err)
	for name, e := range map[string]attest.Evidence{
		"no item":      {Kind: attest.KindTDX},
		"another item": {Kind: attest.KindTDX, Items: []attest.Item{{Name: "report", Data: item.Data}}},
		"two items":    {Kind: attest.KindTDX, Items: []attest.Item{item, {Name: "z"}}},
		"instance":     {Kind: attest.KindTDX, Instance: 2, Items: good.Items},
		"kind":         {Kind: attest.KindSNP, Items: good.Items},
	} {
		_, err := v.Verify(e, binding, now)
		require.ErrorIs(t, err, attest.ErrMalformed, name)
		require.ErrorContains(t, err, tdx.CheckFormat)
	}
	made, err := tdx.FromTSM(item.Data)
	require.NoError(t, err)
	require.Equal(t, good, made)
	_, err = tdx.FromTSM(item.Data[1:])
	require.ErrorIs(t, err, attest.ErrMalformed)
}

// TestWrongChains: another simulated Intel, swapped certificates, and certificates before and after their time.
func TestWrongChains(t *testing.T) {
	p, other := platform(t), platform(t)
	e, err := p.Evidence(binding.ReportData(), nil)
	require.NoError(t, err)
	check := func(root *x509.Certificate, at time.Time) error {
		v, err := tdx.New(tdx.Options{Root: root})
		require.NoError(t, err)
		_, err = v.Verify(e, binding, at)
		return err
	}
	require.NoError(t, check(p.Root(), now))
	require.ErrorIs(t, check(other.Root(), now), attest.ErrUntrusted)
	reissued, err := p.AnotherRoot()
	require.NoError(t, err)
	require.ErrorContains(t, check(reissued, now), "not the pinned one", "one root, one certificate")
	require.ErrorIs(t, check(nil, now), attest.ErrUntrusted, "the simulated Intel is not the pinned one")
	for _, years := range []int{-2, 2} {
		err := check(p.Root(), now.AddDate(years, 0, 0))
		require.ErrorIs(t, err, attest.ErrStale)
		require.ErrorContains(t, err, "is valid from")
	}

	theirs, err := other.Evidence(binding.ReportData(), nil)
	require.NoError(t, err)
	mine, foreign := e.Items[0].Data, theirs.Items[0].Data
	// The simulated chains differ in length by a byte or so at times: a swap needs the same.
	for try := 0; len(mine) != len(foreign) && try < 50; try++ {
		other = platform(t)
		theirs, err = other.Evidence(binding.ReportData(), nil)
		require.NoError(t, err)
		foreign = theirs.Items[0].Data
	}
	const chainAt = 48 + 584 + 4 + 134 + 384 + 64 + 2 + 32 + 6
	swapped := append(append([]byte(nil), mine[:chainAt]...), foreign[chainAt:]...)
	q, err := tdx.ParseQuote(swapped)
	require.NoError(t, err)
	_, err = tdx.Verify(q, other.Root(), now)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "QE report")
}
