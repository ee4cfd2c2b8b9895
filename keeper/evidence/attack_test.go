package evidence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/snp/snptest"
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
		"nothing between":  nil,
		"no reports once":  func(b *bundle.Bundle) { without(b, attest.KindNVGPU, attest.KindSNP) },
		"junk once":        junk,
		"no TEE once":      func(b *bundle.Bundle) { without(b, attest.KindSNP) },
		"nothing but work": func(b *bundle.Bundle) { without(b, attest.KindNVGPU, attest.KindSNP, attest.KindInventory) },
		"no inventory that can be read": func(b *bundle.Bundle) {
			for i := range b.Evidence {
				if b.Evidence[i].Kind == attest.KindInventory {
					b.Evidence[i].Items[0].Data = []byte("{}")
				}
			}
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
	m, thief := newMachine(t, 1), newMachine(t, 2)
	m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	thief.tee, thief.gpus = tee, m.gpus
	require.EqualValues(t, 3, judge(m, junk).Tier)
	require.EqualValues(t, 1, judge(thief, junk).Tier, "the same GPUs twice")
	m.gpus = []*nvgputest.GPU{m.gpus[0], l.gpu(t, nvgputest.GPUOptions{})}
	v := judge(m, junk)
	require.True(t, v.Changed, v.Summary())
}
