package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/tpm"
)

func TestReach(t *testing.T) {
	p := Default()
	require.EqualValues(t, 1, p.Reach())
	p.Roots.TPM = []string{strings.Repeat("ab", 32)}
	require.EqualValues(t, 2, p.Reach())
	p.SNP.Measurements = []string{strings.Repeat("ab", 48)}
	require.EqualValues(t, 3, p.Reach())
	p.Roots.SNP = nil
	require.EqualValues(t, 2, p.Reach())
	p.TDX.Measurements = []TDXMeasurement{{MRTD: strings.Repeat("ab", 48)}}
	require.EqualValues(t, 3, p.Reach())
	p.Roots.RIM = nil
	require.EqualValues(t, 2, p.Reach())
}

// Simulated GPUs have no tier. What such a machine has shown besides counts for a policy of tests alone.
func TestWhatASimulatedMachineHasShown(t *testing.T) {
	l := newTPMLab(t)
	l.policy.AllowSynthetic = false
	l.mine.Statements = []tpm.Statement{l.statement(&l.mine, l.subject())}
	c, err := l.judge(l.with(&l.mine, l.plain()))
	require.NoError(t, err)
	require.EqualValues(t, 2, c.Tier)
	require.EqualValues(t, 2, c.Shown)
	l.inv.Simulated = true
	c, err = l.judge(l.with(&l.mine, l.plain()))
	require.NoError(t, err)
	require.Zero(t, c.Tier)
	require.Zero(t, c.Shown)
	l.policy.AllowSynthetic = true
	c, err = l.judge(l.with(&l.mine, l.plain()))
	require.NoError(t, err)
	require.Zero(t, c.Tier)
	require.EqualValues(t, 2, c.Shown)
	l.mine.Statements = nil
	c, err = l.judge(l.with(&l.mine, l.plain()))
	require.NoError(t, err)
	require.EqualValues(t, 1, c.Shown, "the TPM was not activated")
}
