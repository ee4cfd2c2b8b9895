package evidence

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/snp/snptest"
	"github.com/gantry-market/gantry/sdk/market"
)

// change alters what a machine answers, and signs it again.
func (m *machine) change(raw []byte, alter func(*bundle.Bundle)) []byte {
	b, err := bundle.Parse(raw)
	require.NoError(m.t, err)
	alter(b)
	b.Collateral = nil
	require.NoError(m.t, b.Sign(m.key))
	raw, err = b.Encode()
	require.NoError(m.t, err)
	return raw
}

func without(b *bundle.Bundle, kinds ...attest.Kind) {
	var rest []attest.Evidence
	for _, e := range b.Evidence {
		drop := false
		for _, k := range kinds {
			drop = drop || e.Kind == k
		}
		if !drop {
			rest = append(rest, e)
		}
	}
	b.Evidence = rest
}

// junk is a piece of evidence that proves nothing and fails: a quote that nobody can read.
func junk(b *bundle.Bundle) {
	b.Evidence = append(b.Evidence, attest.Evidence{Kind: attest.KindTDX, Items: []attest.Item{{Name: "quote", Data: []byte("x")}}})
}

// What a node leaves out or spoils once must not make the keeper forget which devices it had.
func TestKeysAreNotForgotten(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	for name, between := range map[string]func(*bundle.Bundle){
		"nothing between": nil,
		"no reports once": func(b *bundle.Bundle) { without(b, attest.KindNVGPU, attest.KindGuest, attest.KindSNP) },
		"junk once":       junk,
		"no TEE once":     func(b *bundle.Bundle) { without(b, attest.KindSNP) },
		"nothing but junk": func(b *bundle.Bundle) {
			without(b, attest.KindNVGPU, attest.KindGuest, attest.KindSNP, attest.KindInventory)
			junk(b)
		},
		"no inventory that can be read": func(b *bundle.Bundle) {
			for i := range b.Evidence {
				if b.Evidence[i].Kind == attest.KindInventory {
					b.Evidence[i].Items[0].Data = []byte("{}")
				}
			}
			without(b, attest.KindGuest, attest.KindSNP)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, tee)
			d, _ := newService(t, l.policy, l.collateral)
			m := newMachine(t, 1)
			m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
			judge := func(alter func(*bundle.Bundle)) Verdict {
				q := m.question(m.devices())
				raw := m.answer(q)
				if alter != nil {
					raw = m.change(raw, alter)
				}
				v, err := d.Judge(q, raw, m.now)
				require.NoError(t, err)
				return v
			}
			require.EqualValues(t, 3, judge(nil).Tier)
			if between != nil {
				judge(between)
			}
			m.gpus[1] = l.gpu(t, nvgputest.GPUOptions{})
			v := judge(nil)
			require.True(t, v.Changed, v.Summary())
			require.False(t, v.Passed)
		})
	}
}

// Evidence that fails beside good evidence must not hide which devices the good one names.
func TestJunkHidesNothing(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	l := newLab(t, tee)
	d, _ := newService(t, l.policy, l.collateral)
	judge := func(m *machine, alter func(*bundle.Bundle)) Verdict {
		q := m.question(m.devices())
		v, err := d.Judge(q, m.change(m.answer(q), alter), m.now)
		require.NoError(t, err)
		return v
	}
	m := newMachine(t, 1)
	m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	require.EqualValues(t, 3, judge(m, junk).Tier)
	m.gpus = []*nvgputest.GPU{m.gpus[0], l.gpu(t, nvgputest.GPUOptions{})}
	v := judge(m, junk)
	require.True(t, v.Changed, v.Summary())
}

// Which node a GPU counts for is on chain: not what this keeper has seen before, nor what a node shows it in between, but
// the claims of the GPUs' keys decide about tier 3.
func TestClaimsOnChainDecideWhoseGPUItIs(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	l := newLab(t, tee)
	d, _ := newService(t, l.policy, l.collateral)
	claims := map[[32]byte]solana.PublicKey{}
	judge := func(m *machine) Verdict {
		q := m.question(m.devices())
		q.HeldBy = func(key [32]byte) (solana.PublicKey, bool) { holder, ok := claims[key]; return holder, ok }
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed, v.Summary())
		return v
	}
	m, second := newMachine(t, 1), newMachine(t, 2)
	m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	second.tee, second.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), m.gpus[1]}
	v := judge(m)
	require.EqualValues(t, 3, v.Tier)
	require.Len(t, v.Keys, 2)
	require.True(t, market.NamesKeys(v.Hash, v.Keys), "the program finds the keys in the hash that the report names")
	for _, key := range v.Keys {
		claims[key] = m.account
	}
	// What the first shows meanwhile frees nothing.
	m.gpus, m.tee = nil, nil
	require.EqualValues(t, 1, judge(m).Tier)
	v = judge(second)
	require.EqualValues(t, 1, v.Tier)
	require.Contains(t, v.Summary(), "not tier 3: node "+m.account.String())
	fresh, _ := newService(t, l.policy, l.collateral)
	d = fresh
	require.EqualValues(t, 1, judge(second).Tier, "a keeper that has seen nothing yet finds the same")
	clear(claims)
	require.EqualValues(t, 3, judge(second).Tier, "the claims have lapsed")
}

// Who leases a GPU has a report of it made for its own node's challenge. Without a guest that vouches for it that counts
// for nothing, whoever comes first.
func TestALesseeLowersNobodysTier(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	l := newLab(t, tee)
	d, _ := newService(t, l.policy, l.collateral)
	judge := func(m *machine) Verdict {
		q := m.question(m.devices())
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed, v.Summary())
		return v
	}
	owner, lessee := newMachine(t, 1), newMachine(t, 2)
	owner.tee, owner.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	lessee.gpus = owner.gpus
	require.EqualValues(t, 1, judge(lessee).Tier)
	require.EqualValues(t, 3, judge(owner).Tier, "though the lessee showed the GPUs first")
	require.EqualValues(t, 1, judge(lessee).Tier)
	require.EqualValues(t, 3, judge(owner).Tier)
}

// A machine without the GPUs answers in place of the guest between two bundles, and leaves evidence to the guest: it is
// no machine of tier 3. Who starts anew between them still is.
func TestAnswersBetweenBundlesAreTheGuests(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	l := newLab(t, tee)
	d, _ := newService(t, l.policy, l.collateral)
	m := newMachine(t, 1)
	m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	judge := func() Verdict {
		q := m.question(m.devices())
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed, v.Summary())
		return v
	}
	answers := func(keys ...[32]byte) {
		for _, key := range keys {
			d.Answered(m.account, key)
		}
	}
	answers(m.guest.Public())
	require.EqualValues(t, 3, judge().Tier)
	for name, foreign := range map[string][32]byte{"another process": {7}, "no guest": {}} {
		answers(m.guest.Public(), foreign)
		v := judge()
		require.EqualValues(t, 1, v.Tier, name)
		require.Contains(t, v.Summary(), "another process than the guest")
		answers(m.guest.Public())
		require.EqualValues(t, 3, judge().Tier, "the next bundle counts by what came since this one")
	}
	answers(m.guest.Public())
	m.guest, err = guest.NewKey()
	require.NoError(t, err)
	answers(m.guest.Public())
	require.EqualValues(t, 3, judge().Tier, "a start between two bundles")
	for n := range byte(2 * maxGuests) {
		answers([32]byte{1, n})
	}
	require.Len(t, d.answered[m.account], maxGuests+1)
	require.EqualValues(t, 1, judge().Tier)
}
