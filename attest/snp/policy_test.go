package snp_test

import (
	"testing"
	"time"

	"github.com/google/go-sev-guest/abi"
	spb "github.com/google/go-sev-guest/proto/sevsnp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/snp/snptest"
)

var (
	now     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	binding = attest.Binding{Nonce: [32]byte{7}, Keys: [][32]byte{{1}, {2}}}
)

func machine(t testing.TB, o ...snptest.Option) *snptest.Machine {
	t.Helper()
	m, err := snptest.New(now, o...)
	require.NoError(t, err)
	return m
}

func verify(t testing.TB, m *snptest.Machine, p snp.Policy, c attest.Collateral, change func(*spb.Report)) (attest.Result, error) {
	t.Helper()
	e, err := m.Evidence(binding.ReportData(), change)
	require.NoError(t, err)
	v, err := snp.New(snp.Options{Policy: p, Roots: m.Roots(), Collateral: c})
	require.NoError(t, err)
	return v.Verify(e, binding, now)
}

func TestAnHonestReportPasses(t *testing.T) {
	m := machine(t)
	crl, err := m.CRL(now.AddDate(0, 0, -1), now.AddDate(0, 0, 1))
	require.NoError(t, err)
	res, err := verify(t, m, snp.Policy{
		Measurements: [][48]byte{m.Measurement()}, MinTCB: snp.TCB{Bootloader: 3, SNP: 8, Microcode: 115}, MinFirmware: 1<<16 | 55<<8 | 21,
		HostData: &[32]byte{}, IDKeys: [][48]byte{{}}, RequireRevocation: true,
	}, snptest.Collateral{snp.CollateralCRL(snp.Milan): crl}, nil)
	require.NoError(t, err)
	require.True(t, res.Ok())
	require.True(t, res.Confidential)
	require.Empty(t, res.Uncovered())
	require.Empty(t, res.Devices, "a processor is no GPU")
	require.Empty(t, res.Keys)
	require.Len(t, res.Claims[snp.ClaimHostChip], 64)
	require.Equal(t, "bootloader 3, tee 0, snp 8, microcode 115", res.Claims[snp.ClaimTCB])
}

func TestWhatIsNotCheckedIsSaid(t *testing.T) {
	res, err := verify(t, machine(t), snp.Policy{}, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "revocation, measurement, host data, identity block", res.Uncovered())
	res, err = verify(t, machine(t, snptest.VLEK()), snp.Policy{AllowVLEK: true}, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "host processor, revocation, measurement, host data, identity block", res.Uncovered())
	require.NotContains(t, res.Claims, snp.ClaimHostChip)
}

// TestGenuineButRefused has one row for each line of the policy: the signature is good, the content is not.
func TestGenuineButRefused(t *testing.T) {
	guestPolicy := func(f func(*abi.SnpPolicy)) func(*spb.Report) {
		return func(r *spb.Report) {
			p, _ := abi.ParseSnpPolicy(r.Policy)
			f(&p)
			r.Policy = abi.SnpPolicyToBytes(p)
		}
	}
	for name, row := range map[string]struct {
		check    string
		sentinel error
		policy   snp.Policy
		change   func(*spb.Report)
		machine  []snptest.Option
	}{
		"debugging on":              {check: snp.CheckDebug, change: guestPolicy(func(p *abi.SnpPolicy) { p.Debug = true })},
		"migration agent":           {check: snp.CheckMigration, change: guestPolicy(func(p *abi.SnpPolicy) { p.MigrateMA = true })},
		"sibling threads":           {check: snp.CheckGuestPolicy, change: guestPolicy(func(p *abi.SnpPolicy) { p.SMT = true })},
		"CXL memory":                {check: snp.CheckGuestPolicy, change: guestPolicy(func(p *abi.SnpPolicy) { p.CXLAllowed = true })},
		"guest image too old":       {check: snp.CheckGuestPolicy, policy: snp.Policy{MinGuestSVN: 1}},
		"another nonce":             {check: snp.CheckReportData, sentinel: attest.ErrStale, change: func(r *spb.Report) { r.ReportData[0] ^= 1 }},
		"another image":             {check: snp.CheckMeasurement, policy: snp.Policy{Measurements: [][48]byte{{1}, {2}}}},
		"other host data":           {check: snp.CheckHostData, policy: snp.Policy{HostData: &[32]byte{9}}},
		"unknown signer of image":   {check: snp.CheckIDBlock, policy: snp.Policy{IDKeys: [][48]byte{{1}}, AuthorKeys: [][48]byte{{}}}},
		"low privilege":             {check: snp.CheckVMPL, policy: snp.Policy{MaxVMPL: 1}, change: func(r *spb.Report) { r.Vmpl = 2 }},
		"old bootloader":            {check: snp.CheckTCB, policy: snp.Policy{MinTCB: snp.TCB{Bootloader: 4}}},
		"old TEE":                   {check: snp.CheckTCB, policy: snp.Policy{MinTCB: snp.TCB{TEE: 1}}},
		"old SNP firmware":          {check: snp.CheckTCB, policy: snp.Policy{MinTCB: snp.TCB{SNP: 9}}},
		"old microcode":             {check: snp.CheckTCB, policy: snp.Policy{MinTCB: snp.TCB{Microcode: 116}}},
		"old at launch":             {check: snp.CheckTCB, policy: snp.Policy{MinLaunchTCB: snp.TCB{SNP: 8}}, change: func(r *spb.Report) { r.LaunchTcb = 0 }},
		"not the certificate's TCB": {check: snp.CheckTCB, change: func(r *spb.Report) { r.ReportedTcb++ }},
		"rolled back":               {check: snp.CheckTCB, change: func(r *spb.Report) { r.CommittedTcb-- }},
		"old firmware":              {check: snp.CheckTCB, policy: snp.Policy{MinFirmware: 1<<16 | 55<<8 | 22}},
		"old firmware interface":    {check: snp.CheckTCB, policy: snp.Policy{MinFirmware: 1<<16 | 56<<8}},
		"cloud provider's key":      {check: snp.CheckSigner, machine: []snptest.Option{snptest.VLEK()}},
		"unwanted product line":     {check: snp.CheckProduct, policy: snp.Policy{Products: []string{snp.Genoa}}},
		"no alias check":            {check: snp.CheckPlatform, policy: snp.Policy{RequireAliasCheck: true}},
		"unknown platform bit":      {check: snp.CheckPlatform, change: func(r *spb.Report) { r.PlatformInfo = 1 << 40 }},
		"no list, one wanted":       {check: snp.CheckRevoked, sentinel: attest.ErrNoCollateral, policy: snp.Policy{RequireRevocation: true}},
	} {
		t.Run(name, func(t *testing.T) {
			sentinel := row.sentinel
			if sentinel == nil {
				sentinel = attest.ErrPolicy
			}
			res, err := verify(t, machine(t, row.machine...), row.policy, nil, row.change)
			require.ErrorIs(t, err, sentinel)
			require.ErrorContains(t, err, row.check)
			require.False(t, res.Confidential)
			require.False(t, res.Ok())
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
	res, err := verify(t, machine(t), snp.Policy{AllowDebug: true}, nil, func(r *spb.Report) { r.Policy |= 1 << 19 })
	require.NoError(t, err)
	require.True(t, res.Ok())
	require.False(t, res.Confidential)
}

func TestRevocation(t *testing.T) {
	m := machine(t, snptest.Serial(77))
	other := machine(t, snptest.Product("Genoa-B1"))
	day := func(n int) time.Time { return now.AddDate(0, 0, n) }
	for name, row := range map[string]struct {
		make     func() ([]byte, error)
		sentinel error
	}{
		"intermediate revoked": {func() ([]byte, error) { return m.CRL(day(-1), day(1), "ask") }, attest.ErrUntrusted},
		"endorsement revoked":  {func() ([]byte, error) { return m.CRL(day(-1), day(1), "endorsement") }, attest.ErrUntrusted},
		"expired":              {func() ([]byte, error) { return m.CRL(day(-9), day(-1)) }, attest.ErrStale},
		"of the future":        {func() ([]byte, error) { return m.CRL(day(1), day(2)) }, attest.ErrStale},
		"of another root":      {func() ([]byte, error) { return other.CRL(day(-1), day(1)) }, attest.ErrUntrusted},
		"not a list":           {func() ([]byte, error) { return []byte("nothing"), nil }, attest.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			crl, err := row.make()
			require.NoError(t, err)
			_, err = verify(t, m, snp.Policy{}, snptest.Collateral{snp.CollateralCRL(snp.Milan): crl}, nil)
			require.ErrorIs(t, err, row.sentinel)
			require.ErrorContains(t, err, snp.CheckRevoked)
		})
	}
}
