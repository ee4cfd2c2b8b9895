package work

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFraudProofsOfTheProgram reads wrong entries that the program's tests wrote: what the program slashes for is what
// this package finds wrong.
func TestFraudProofsOfTheProgram(t *testing.T) {
	raw, err := os.ReadFile("../../idl/vectors/bad_work.json")
	require.NoError(t, err)
	var doc struct {
		Cases []struct {
			Claim          string `json:"claim"`
			Opening        string
			Row, Column    int
			Claimed, Right int32
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		b, err := hex.DecodeString(c.Claim)
		require.NoError(t, err)
		claim, err := ParseClaim(b)
		require.NoError(t, err, "case %d", i)
		b, err = hex.DecodeString(c.Opening)
		require.NoError(t, err)
		n := int(claim.N)
		opening, err := ParseChunkOpening(b, n)
		require.NoError(t, err, "case %d", i)
		require.NoError(t, CheckPath(n, claim.Root, opening), "case %d", i)
		require.Equal(t, c.Row, int(opening.Row))
		require.Equal(t, c.Claimed, opening.Values[c.Column%ChunkEntries], "case %d", i)
		right, err := Cell(claim.Seed, n, c.Row, c.Column)
		require.NoError(t, err)
		require.Equal(t, c.Right, right, "case %d", i)
		var wrong *WrongEntryError
		require.True(t, errors.As(VerifyChunk(claim.Seed, n, claim.Root, opening), &wrong), "case %d", i)
		opening.Values[c.Column%ChunkEntries] = right
		require.ErrorIs(t, CheckPath(n, claim.Root, opening), ErrRoot, "case %d", i)
	}
}
