package messages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two orders for the same command look different on chain, and a digest is not that of the command alone.
func TestTheDigestOfAJobIsSalted(t *testing.T) {
	job := JobSpec{Version: Version, Command: []string{"python", "train.py"}, Env: map[string]string{"TOKEN": "1234"}}
	bare, err := job.Digest()
	require.NoError(t, err)
	seen := map[[32]byte]bool{bare: true}
	for i := range byte(4) {
		job.Salt = make([]byte, SaltBytes)
		job.Salt[0] = i
		digest, err := job.Digest()
		require.NoError(t, err)
		require.False(t, seen[digest])
		seen[digest] = true
	}
}
