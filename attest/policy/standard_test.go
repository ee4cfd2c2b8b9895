package policy

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/snp/snptest"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tdx/tdxtest"
)

func TestDefaultNamesTheBuiltInRoots(t *testing.T) {
	p := Default()
	raw, err := p.Encode()
	require.NoError(t, err)
	_, err = Parse(raw)
	require.NoError(t, err)
	gpu, err := nvgpu.PinnedRoots()
	require.NoError(t, err)
	require.Equal(t, []string{fingerprint(gpu.Device)}, p.Roots.GPU)
	require.Equal(t, []string{fingerprint(gpu.RIM)}, p.Roots.RIM)
	amd, err := snp.PinnedRoots()
	require.NoError(t, err)
	require.Len(t, p.Roots.SNP, len(amd))
	for _, r := range amd {
		require.Contains(t, p.Roots.SNP, fingerprint(r.ARK))
	}
	intel, err := tdx.PinnedRoot()
	require.NoError(t, err)
	require.Equal(t, []string{fingerprint(intel)}, p.Roots.TDX)
	verifiers, err := Standard(p, nil, Subject{})
	require.NoError(t, err)
	require.Len(t, verifiers, 7)
}

// collateralMap is collateral of tests.
type collateralMap map[string][]byte

func (m collateralMap) Get(key string) ([]byte, error) {
	if data, ok := m[key]; ok {
		return bytes.Clone(data), nil
	}
	return nil, attest.ErrNoCollateral
}

func (m collateralMap) root(c *x509.Certificate) []string {
	m[RootKey(fingerprint(c))] = c.Raw
	return []string{fingerprint(c)}
}

// lab is a machine whose GPUs and processor were made for the test, with all that their real ones have.
type lab struct {
	*testbed
	collateral collateralMap
	gpus       []*nvgputest.GPU
	snp        *snptest.Machine
	tdx        *tdxtest.Platform
}

// hardware is made once: its keys cost seconds.
type hardware struct {
	at        time.Time
	authority *nvgputest.Authority
	gpus      []*nvgputest.GPU
	manifests nvgputest.Collateral
	snp       *snptest.Machine
	tdx       *tdxtest.Platform
	published tdxtest.Collateral
}

var theHardware = sync.OnceValues(func() (h hardware, err error) {
	h.at = time.Now().UTC().Truncate(time.Second)
	note := func(e error) { err = errors.Join(err, e) }
	var e error
	h.authority, e = nvgputest.NewAuthority()
	note(e)
	for range 2 {
		g, e := h.authority.NewGPU(nvgputest.GPUOptions{})
		note(e)
		h.gpus = append(h.gpus, g)
	}
	h.manifests, e = h.authority.Collateral()
	note(e)
	h.snp, e = snptest.New(h.at)
	note(e)
	h.tdx, e = tdxtest.New(h.at)
	note(e)
	h.published, e = h.tdx.Sign(h.tdx.Published(h.at))
	note(e)
	return h, err
})

func newLab(t testing.TB) *lab {
	h, err := theHardware()
	require.NoError(t, err)
	l := &lab{testbed: newTestbed(t), collateral: collateralMap{}, gpus: slices.Clone(h.gpus), snp: h.snp, tdx: h.tdx}
	l.now = h.at
	l.challenge.Expiry = l.now.Unix() + 30
	for key, data := range h.manifests {
		l.collateral[key] = data
	}
	for key, data := range h.published {
		l.collateral[key] = data
	}
	l.inv.Driver = nvgputest.Driver
	l.policy = Default()
	roots := h.authority.Roots()
	l.policy.AllowSynthetic = true
	l.policy.Roots.GPU, l.policy.Roots.RIM = l.collateral.root(roots.Device), l.collateral.root(roots.RIM)
	l.policy.Roots.TDX = l.collateral.root(l.tdx.Root())
	for _, r := range l.snp.Roots() {
		l.policy.Roots.SNP = l.collateral.root(r.ARK)
	}
	launch := l.snp.Measurement()
	l.policy.SNP.Measurements = []string{hex.EncodeToString(launch[:])}
	l.policy.SNP.MinTCB = SNPTCB{Bootloader: 3, SNP: 8, Microcode: 115}
	l.policy.SNP.MinLaunchTCB = l.policy.SNP.MinTCB
	td := l.tdx.TD([64]byte{})
	l.policy.TDX.Measurements = []TDXMeasurement{{
		MRTD: hex.EncodeToString(td.MRTD[:]), RTMRs: [4]string{1: hex.EncodeToString(td.RTMR[1][:]), 2: hex.EncodeToString(td.RTMR[2][:])},
	}}
	return l
}

// bundle collects what the machine has, with SEV-SNP or TDX.
func (l *lab) bundle(tee attest.Kind) *bundle.Bundle {
	b := &bundle.Bundle{Challenge: l.challenge, Created: l.now.Unix()}
	binding := l.challenge.Binding()
	inv, err := l.inv.Evidence()
	require.NoError(l.t, err)
	b.Evidence = append(b.Evidence, inv)
	for i, g := range l.gpus {
		e, err := g.Evidence(uint16(i), binding)
		require.NoError(l.t, err)
		b.Evidence = append(b.Evidence, e)
	}
	l.vouch(b, binding, l.tee(tee))
	require.NoError(l.t, b.Sign(l.key))
	return b
}

// tee has the machine's processor report.
func (l *lab) tee(kind attest.Kind) func([64]byte) (attest.Evidence, error) {
	return func(data [64]byte) (attest.Evidence, error) {
		if kind == attest.KindSNP {
			return l.snp.Evidence(data, nil)
		}
		return l.tdx.Evidence(data, nil)
	}
}

func (l *lab) judge(b *bundle.Bundle) (Claims, *bundle.Bundle, error) {
	return Judge(b, l.policy, Subject{Challenge: l.challenge}, l.now, l.collateral)
}

func TestWholeWayToTierThree(t *testing.T) {
	for _, tee := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
		t.Run(tee.String(), func(t *testing.T) {
			l := newLab(t)
			c, sealed, err := l.judge(l.bundle(tee))
			require.NoError(t, err)
			require.Equal(t, Sound, c.Verdict)
			require.Equal(t, uint8(3), c.Tier, c.Why)
			require.Len(t, c.Attested(), 2)
			digest, err := sealed.Digest()
			require.NoError(t, err)
			require.Len(t, GPUKeys(sealed), 2)
			root := DeviceRoot(c.Attested())
			require.Equal(t, append(digest[:20:20], root[:12]...), c.EvidenceHash[:], "the bundle's digest and the keys of its GPUs")
			require.NotEmpty(t, sealed.Collateral)

			// An auditor has the file alone.
			raw, err := sealed.Encode()
			require.NoError(t, err)
			read, err := bundle.Parse(raw)
			require.NoError(t, err)
			again, resealed, err := Judge(read, l.policy, Subject{Challenge: l.challenge}, l.now.Add(time.Hour))
			require.NoError(t, err)
			require.Equal(t, uint8(3), again.Tier, again.Why)
			require.Equal(t, c.OnChain, again.OnChain)
			require.Equal(t, sealed.Collateral, resealed.Collateral)

			l.policy.AllowSynthetic = false
			strict, _, err := l.judge(l.bundle(tee))
			require.NoError(t, err)
			require.Zero(t, strict.Tier)
			require.Contains(t, strings.Join(strict.Why, "\n"), "its maker did not make")
		})
	}
}

func TestWhatKeepsMachinesFromTierThree(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*lab)
		tier  uint8
		ok    bool
		why   string
	}{
		"no guest image named":    {func(l *lab) { l.policy.SNP.Measurements = nil }, 1, true, `"measurement" did not pass (not covered`},
		"another guest image":     {func(l *lab) { l.policy.SNP.Measurements = []string{strings.Repeat("00", 48)} }, 1, false, "not an expected measurement"},
		"no manifests":            {func(l *lab) { delete(l.collateral, nvgpu.DriverRIMKey(nvgputest.Chip, nvgputest.Driver)) }, 1, true, "driver manifest"},
		"a driver too old":        {func(l *lab) { l.policy.GPU.MinDriver = "999.0" }, 1, false, "below 999.0"},
		"no GPU root":             {func(l *lab) { l.policy.Roots.GPU = nil }, 1, true, "not checked"},
		"a root not supplied":     {func(l *lab) { delete(l.collateral, RootKey(l.policy.Roots.SNP[0])) }, 1, true, "not checked"},
		"the makers' roots alone": {func(l *lab) { l.policy.Roots = Default().Roots }, 1, false, "trusted root"},
		"another driver's word":   {func(l *lab) { l.inv.Driver = "1.2.3" }, 1, true, "the machine says 1.2.3"},
		"a GPU more than reports": {func(l *lab) { l.gpus = l.gpus[:1] }, 1, true, "1 of 2 GPUs have none"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			c.spoil(l)
			got, _, err := l.judge(l.bundle(attest.KindSNP))
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.NotEqual(t, False, got.Verdict)
			require.Equal(t, c.tier, got.Tier, got.Why)
			require.Contains(t, strings.Join(got.Why, "\n"), c.why)
		})
	}
}

func TestReplayedHardwareEvidenceIsFalse(t *testing.T) {
	l := newLab(t)
	old := l.bundle(attest.KindSNP)
	l.challenge.ID[7]++
	fresh := l.bundle(attest.KindSNP)
	for _, kind := range []attest.Kind{attest.KindNVGPU, attest.KindSNP, attest.KindGuest} {
		b := *fresh
		b.Evidence = append([]attest.Evidence(nil), fresh.Evidence...)
		drop(&b, kind)
		b.Evidence = append(b.Evidence, old.OfKind(kind)...)
		require.NoError(t, b.Sign(l.key))
		c, _, err := l.judge(&b)
		require.ErrorIs(t, err, attest.ErrStale, kind)
		require.Equal(t, False, c.Verdict, kind)
		require.Zero(t, c.Tier)
	}
	c, _, err := l.judge(old)
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, Unproven, c.Verdict, "an old answer as it was is no new lie")
	require.Zero(t, c.Tier)
}

// A report of somebody else's GPU, made for this node's challenge, does not help: the guest did not vouch for it.
func TestRelayedGPUReport(t *testing.T) {
	l := newLab(t)
	b := l.bundle(attest.KindSNP)
	authority := l.gpus[0]
	l.gpus[0] = l.gpus[1]
	other := l.bundle(attest.KindSNP)
	l.gpus[0] = authority
	drop(b, attest.KindNVGPU)
	b.Evidence = append(b.Evidence, other.OfKind(attest.KindNVGPU)...)
	require.NoError(t, b.Sign(l.key))
	c, _, err := l.judge(b)
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, False, c.Verdict)
}

// Two owners may register a machine under one key. What it answers as the node of one is no answer as that of the other, and
// its devices have not signed it there.
func TestABundleCountsForOneAccount(t *testing.T) {
	l := newLab(t)
	b := l.bundle(attest.KindSNP)
	other := l.challenge
	other.Node[0]++
	c, _, err := Judge(b, l.policy, Subject{Challenge: other}, l.now, l.collateral)
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, Unproven, c.Verdict)
	require.Zero(t, c.Tier)

	b.Challenge = other
	require.NoError(t, b.Sign(l.key))
	c, _, err = Judge(b, l.policy, Subject{Challenge: other}, l.now, l.collateral)
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, False, c.Verdict)
	require.Zero(t, c.Tier)
}

func TestPoliciesThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(*Policy){
		"board":            func(p *Policy) { p.GPU.Boards = []string{"1010"} },
		"driver":           func(p *Policy) { p.GPU.MinDriver = "new" },
		"VBIOS list":       func(p *Policy) { p.GPU.VBIOSes = []string{"??"} },
		"firmware id":      func(p *Policy) { p.GPU.FirmwareIDs = []string{"ab"} },
		"two GPU roots":    func(p *Policy) { p.Roots.GPU = append(p.Roots.GPU, nvidiaRIMRoot) },
		"SNP measurement":  func(p *Policy) { p.SNP.Measurements = []string{strings.Repeat("AB", 48)} },
		"TDX measurement":  func(p *Policy) { p.TDX.Measurements = []TDXMeasurement{{MRTD: "00"}} },
		"TDX register":     func(p *Policy) { p.TDX.Measurements[0].RTMRs[2] = "00" },
		"TDX module":       func(p *Policy) { p.TDX.Modules = []string{"x"} },
		"TDX owner":        func(p *Policy) { p.TDX.MROwner = "00" },
		"TDX features":     func(p *Policy) { p.TDX.ForbiddenXFAM = "2000" },
		"host data":        func(p *Policy) { p.SNP.HostData = strings.Repeat("00", 31) },
		"author key":       func(p *Policy) { p.SNP.AuthorKeys = []string{"00"} },
		"TDX versions":     func(p *Policy) { p.TDX.MinTEETCB = "00" },
		"version":          func(p *Policy) { p.Version = 9 },
		"wrong root bytes": func(p *Policy) { p.Roots.TDX = []string{strings.Repeat("cd", 32)} },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.collateral[RootKey(nvidiaRIMRoot)] = []byte("not it")
			l.collateral[RootKey(strings.Repeat("cd", 32))] = []byte("not it")
			spoil(&l.policy)
			_, err := Standard(l.policy, l.collateral, Subject{})
			require.ErrorIs(t, err, ErrDocument)
		})
	}
}
