package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
)

func TestRunsAreCompared(t *testing.T) {
	run := &audit.Run{Order: solana.PublicKey{1}}
	require.Nil(t, rerunOf(run, [32]byte{5}, true).Same)
	run.Resolved = &bindings.OutputsResolved{Of: 3}
	require.Nil(t, rerunOf(run, [32]byte{}, true).Same, "no majority is no output of zeros")
	run.Resolved = &bindings.OutputsResolved{Of: 3, Accepted: 2, Output: [32]byte{5}}
	require.Nil(t, rerunOf(run, [32]byte{}, false).Same)
	require.True(t, *rerunOf(run, [32]byte{5}, true).Same)
	require.False(t, *rerunOf(run, [32]byte{6}, true).Same)
	run.Resolved, run.Unread = nil, chain.ErrUnreadable
	out := rerunOf(run, [32]byte{6}, true)
	require.Nil(t, out.Same)
	require.Contains(t, out.Text, "it is not known")
}
