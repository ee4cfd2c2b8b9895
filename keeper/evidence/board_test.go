package evidence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
	"github.com/gantry-market/gantry/attest/snp/snptest"
)

// A genuine report of an H100 PCIe, from a machine that is registered as something else, is evidence of nothing that it
// sells.
func TestTheBoardInTheReportIsTheModels(t *testing.T) {
	tee, err := snptest.New(time.Now())
	require.NoError(t, err)
	l := newLab(t, tee)
	d, _ := newService(t, l.policy, l.collateral)
	m := newMachine(t, 1)
	m.tee, m.gpus = tee, []*nvgputest.GPU{l.gpu(t, nvgputest.GPUOptions{}), l.gpu(t, nvgputest.GPUOptions{})}
	judge := func(model string) Verdict {
		q := m.question(m.devices())
		of := class.GPUs().Named(model)
		require.NotNil(t, of, model)
		q.Boards = of.Boards
		v, err := d.Judge(q, m.answer(q), m.now)
		require.NoError(t, err)
		require.True(t, v.Passed, "a table of boards may be incomplete: it costs no stake")
		return v
	}
	require.Contains(t, class.GPUs().Named("H100-PCIe-80GB").Boards, nvgputest.Board.String())
	v := judge("H100-PCIe-80GB")
	require.EqualValues(t, 3, v.Tier, v.Summary())
	for _, model := range []string{"H100-SXM5-80GB", "H200-SXM5-141GB", "B200-SXM6-180GB"} {
		v = judge(model)
		require.Zero(t, v.Tier, model)
		require.Contains(t, v.Summary(), "is of board 1010_0200_882, the node's model has")
	}
	v = judge("H100-PCIe-80GB")
	require.EqualValues(t, 3, v.Tier, "what was shown under another model changes nothing: %s", v.Summary())
}
