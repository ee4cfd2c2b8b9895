package policy

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	spb "github.com/google/go-sev-guest/proto/sevsnp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx/tdxtest"
)

// What a host changes after the guest has answered is not what the guest's report covers, though the node signs the
// bundle anew: an inventory of better GPUs with the UUIDs of another machine, a report of another GPU, less than there was.
func TestNothingIsSwappedAfterTheGuestHasAnswered(t *testing.T) {
	for name, swap := range map[string]func(*lab, *bundle.Bundle){
		"inventory of a victim": func(l *lab, b *bundle.Bundle) {
			l.inv.GPUs = slices.Clone(l.inv.GPUs)
			for i := range l.inv.GPUs {
				l.inv.GPUs[i] = inventory.GPU{
					Index: i, Model: "NVIDIA H200", UUID: strings.Replace(l.inv.GPUs[i].UUID, "GPU-0000", "GPU-9999", 1), VRAMMiB: 143_771,
				}
			}
			e, err := l.inv.Evidence()
			require.NoError(t, err)
			l.replace(b, e)
		},
		"memory in the inventory": func(l *lab, b *bundle.Bundle) {
			l.inv.RAMMiB *= 2
			e, err := l.inv.Evidence()
			require.NoError(t, err)
			l.replace(b, e)
		},
		"GPU report of the same GPU": func(l *lab, b *bundle.Bundle) {
			e, err := l.gpus[0].Evidence(0, l.challenge.Binding()) // another random number of the GPU's
			require.NoError(t, err)
			l.replace(b, e)
		},
		"a GPU report more": func(l *lab, b *bundle.Bundle) {
			e, err := l.gpus[1].Evidence(5, l.challenge.Binding())
			require.NoError(t, err)
			l.replace(b, e)
		},
		"a GPU and its report less": func(l *lab, b *bundle.Bundle) {
			b.Evidence = slices.DeleteFunc(b.Evidence, func(e attest.Evidence) bool { return e.Kind == attest.KindNVGPU && e.Instance == 1 })
			l.inv.GPUs = l.inv.GPUs[:1]
			e, err := l.inv.Evidence()
			require.NoError(t, err)
			l.replace(b, e)
		},
		"inventory, under another guest's key": func(l *lab, b *bundle.Bundle) {
			l.inv.RAMMiB *= 2
			e, err := l.inv.Evidence()
			require.NoError(t, err)
			l.replace(b, e)
			l.revouch(b)
		},
		"guest's key": func(l *lab, b *bundle.Bundle) { l.revouch(b) },
	} {
		for _, tee := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
			t.Run(name+", "+tee.String(), func(t *testing.T) {
				l := newLab(t)
				b := l.bundle(tee)
				swap(l, b)
				require.NoError(t, b.Sign(l.key))
				c, _, err := l.judge(b)
				require.ErrorIs(t, err, attest.ErrStale)
				require.Equal(t, False, c.Verdict)
				require.Zero(t, c.Tier)
			})
		}
	}
}

// A confidential machine without a key of its own has not vouched for what answers from it.
func TestTierThreeNeedsTheGuestsKey(t *testing.T) {
	for _, tee := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
		l := newLab(t)
		b := l.bundle(tee)
		drop(b, attest.KindGuest)
		drop(b, tee)
		claims, err := bundle.Claims(b.Evidence)
		require.NoError(t, err)
		binding := l.challenge.Binding()
		binding.Claims = claims
		e, err := l.tee(tee)(binding.ReportData())
		require.NoError(t, err)
		b.Evidence = append(b.Evidence, e)
		require.NoError(t, b.Sign(l.key))
		c, _, err := l.judge(b)
		require.NoError(t, err)
		require.EqualValues(t, 1, c.Tier)
		require.Contains(t, c.Why, "not tier 3: no guest key")
	}
}

// A policy that names firmware and leaves the kernel open, or believes processors with known holes, is none.
func TestPoliciesThatLeaveHolesAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Policy)
		says   string
	}{
		"no kernel":             {func(p *Policy) { p.TDX.Measurements[0].RTMRs = [4]string{} }, "any kernel"},
		"no command line":       {func(p *Policy) { p.TDX.Measurements[0].RTMRs[2] = "" }, "any kernel"},
		"no least firmware":     {func(p *Policy) { p.SNP.MinTCB = SNPTCB{} }, "snp.min_tcb"},
		"no least microcode":    {func(p *Policy) { p.SNP.MinTCB.Microcode = 0 }, "snp.min_tcb"},
		"no firmware at launch": {func(p *Policy) { p.SNP.MinLaunchTCB = SNPTCB{} }, "snp.min_launch_tcb"},
		"processors may be masked": {func(p *Policy) {
			p.Require["snp"] = slices.DeleteFunc(p.Require["snp"], func(s string) bool { return s == snp.CheckChip })
		}, snp.CheckChip},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			_, err := Standard(l.policy, l.collateral, Subject{})
			require.NoError(t, err)
			c.change(&l.policy)
			_, err = Standard(l.policy, l.collateral, Subject{})
			require.ErrorIs(t, err, ErrDocument)
			require.ErrorContains(t, err, c.says)
			// A policy without any image has nothing to be measured by, and gives no tier 3.
			l.policy.SNP.Measurements, l.policy.TDX.Measurements = nil, nil
			l.policy.Require = StandardRequire()
			_, err = Standard(l.policy, l.collateral, Subject{})
			require.NoError(t, err)
		})
	}
}

// What a genuine machine shows beside its image, and what the document can ask for.
func TestWhatADocumentCanAskOfAMachine(t *testing.T) {
	hex48 := func(b byte) string { return strings.Repeat(hex.EncodeToString([]byte{b}), 48) }
	for name, c := range map[string]struct {
		snp  func(*spb.Report)
		tdx  func(*tdxtest.TD)
		ask  func(*Policy)
		tier uint8
	}{
		"as it is":                  {tier: 3, snp: func(*spb.Report) {}},
		"as it is, TDX":             {tier: 3, tdx: func(*tdxtest.TD) {}},
		"another kernel":            {tier: 1, tdx: func(td *tdxtest.TD) { td.RTMR[1][0]++ }},
		"another command line":      {tier: 1, tdx: func(td *tdxtest.TD) { td.RTMR[2][0]++ }},
		"a masked processor":        {tier: 1, snp: func(r *spb.Report) { r.ChipId = make([]byte, 64) }},
		"launched on old firmware":  {tier: 1, snp: func(r *spb.Report) { r.LaunchTcb = 0 }},
		"no alias check":            {tier: 1, snp: func(*spb.Report) {}, ask: func(p *Policy) { p.SNP.RequireAliasCheck = true }},
		"alias check":               {tier: 3, snp: func(r *spb.Report) { r.PlatformInfo |= 1 << 5 }, ask: func(p *Policy) { p.SNP.RequireAliasCheck = true }},
		"host data":                 {tier: 3, snp: func(r *spb.Report) { r.HostData[31] = 7 }, ask: func(p *Policy) { p.SNP.HostData = strings.Repeat("00", 31) + "07" }},
		"other host data":           {tier: 1, snp: func(*spb.Report) {}, ask: func(p *Policy) { p.SNP.HostData = strings.Repeat("00", 31) + "07" }},
		"identity key":              {tier: 3, snp: func(r *spb.Report) { r.IdKeyDigest = bytes.Repeat([]byte{5}, 48) }, ask: func(p *Policy) { p.SNP.IDKeys = []string{hex48(5)} }},
		"another identity key":      {tier: 1, snp: func(*spb.Report) {}, ask: func(p *Policy) { p.SNP.IDKeys = []string{hex48(5)} }},
		"another author":            {tier: 1, snp: func(*spb.Report) {}, ask: func(p *Policy) { p.SNP.AuthorKeys = []string{hex48(5)} }},
		"configuration":             {tier: 3, tdx: func(td *tdxtest.TD) { td.MRConfigID = [48]byte(bytes.Repeat([]byte{5}, 48)) }, ask: func(p *Policy) { p.TDX.MRConfigID = hex48(5) }},
		"another configuration":     {tier: 1, tdx: func(*tdxtest.TD) {}, ask: func(p *Policy) { p.TDX.MRConfigID = hex48(5) }},
		"another owner":             {tier: 1, tdx: func(*tdxtest.TD) {}, ask: func(p *Policy) { p.TDX.MROwner = hex48(5) }},
		"another owner's settings":  {tier: 1, tdx: func(*tdxtest.TD) {}, ask: func(p *Policy) { p.TDX.MROwnerConfig = hex48(5) }},
		"features that are refused": {tier: 1, tdx: func(*tdxtest.TD) {}, ask: func(p *Policy) { p.TDX.ForbiddenXFAM = "0000000000000002" }},
		"features that are not":     {tier: 3, tdx: func(*tdxtest.TD) {}, ask: func(p *Policy) { p.TDX.ForbiddenXFAM = "8000000000000000" }},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			if c.ask != nil {
				c.ask(&l.policy)
			}
			raw, err := l.policy.Encode()
			require.NoError(t, err)
			l.policy, err = Parse(raw)
			require.NoError(t, err, "as keepers read it")
			kind := attest.KindTDX
			if c.snp != nil {
				kind = attest.KindSNP
			}
			b := l.bundle(kind)
			drop(b, attest.KindGuest)
			drop(b, kind)
			l.vouch(b, l.challenge.Binding(), func(data [64]byte) (attest.Evidence, error) {
				if c.snp != nil {
					return l.snp.Evidence(data, c.snp)
				}
				return l.tdx.Evidence(data, c.tdx)
			})
			require.NoError(t, b.Sign(l.key))
			got, _, _ := l.judge(b)
			require.Equal(t, c.tier, got.Tier, got.Why)
			require.NotEqual(t, False, got.Verdict)
		})
	}
}

// revouch puts a key of the host's in place of the guest's and signs the claims with it; the TEE's report stays.
func (l *lab) revouch(b *bundle.Bundle) {
	b.Sort()
	host, err := guest.NewKey()
	require.NoError(l.t, err)
	vouched, err := host.Vouch(b.Evidence, b.Challenge.Binding(), func([64]byte) (attest.Evidence, error) { return attest.Evidence{}, nil })
	require.NoError(l.t, err)
	l.replace(b, vouched[0])
}

// replace puts a piece in place of the one of its kind and number, or adds it.
func (l *lab) replace(b *bundle.Bundle, e attest.Evidence) {
	same := func(x attest.Evidence) bool { return x.Kind == e.Kind && x.Instance == e.Instance }
	b.Evidence = append(slices.DeleteFunc(slices.Clone(b.Evidence), same), e)
}

// Whoever vouches for it: an instance of a GPU is no GPU.
func TestSplitGPUsHaveNoTier(t *testing.T) {
	for name, split := range map[string]func(*inventory.GPU){
		"mode":     func(g *inventory.GPU) { g.MIG = true },
		"instance": func(g *inventory.GPU) { g.UUID = "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f" },
	} {
		l := newLab(t)
		l.inv.GPUs = slices.Clone(l.inv.GPUs)
		c, _, err := l.judge(l.bundle(attest.KindSNP))
		require.NoError(t, err)
		require.EqualValues(t, 3, c.Tier)
		split(&l.inv.GPUs[1])
		c, _, err = l.judge(l.bundle(attest.KindSNP))
		require.NoError(t, err)
		require.Zero(t, c.Tier, name)
		require.Contains(t, c.Why, "not tier 1: GPU 1 is split in instances (MIG)")
	}
}
