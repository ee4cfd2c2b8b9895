package report

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/sdk/records"
)

var updateMillion = flag.Bool("update", false, "write the proofs of a million leaves anew")

const millionFile = "../../idl/vectors/report_million.json"

// provenLeaf is a leaf with its proof, as the program's tests read it.
type provenLeaf struct {
	Leaf     string   `json:"leaf"`
	Path     uint32   `json:"path"`
	Siblings []string `json:"siblings"`
	Root     string   `json:"root"`
}

// millionLeaves is a report of a million leaves: of nodes, of which every other has a lease.
func millionLeaves() []records.Leaf {
	const count = 1_000_000
	leaves := make([]records.Leaf, 0, count)
	for n := uint32(0); len(leaves) < count; n++ {
		l := records.Leaf{Period: 500_000, ChecksPassed: 60, ChecksTotal: 60, Tier: records.TierNotAsked, UpSeconds: 3600}
		binary.BigEndian.PutUint32(l.Node[:], n)
		leaves = append(leaves, l)
		if n%2 == 1 && len(leaves) < count {
			l.Lease, l.VerifiedSeconds = solana.PublicKey(l.Node), 3600
			leaves = append(leaves, l)
		}
	}
	return leaves
}

// The proofs of a report of a million leaves are those in idl/vectors, which the program's own code verifies in its tests.
func TestProofsOfAMillionLeaves(t *testing.T) {
	if !*updateMillion {
		long.Test(t, "a tree of a million leaves")
	}
	set, err := NewSet(millionLeaves())
	require.NoError(t, err)
	var cases []provenLeaf
	for _, i := range []uint32{0, 1, 2, 524_287, 524_288, 524_289, 777_777, 999_423, 999_424, 999_997, 999_998, 999_999} {
		p, err := set.Tree.Proof(i)
		require.NoError(t, err)
		raw := set.Leaves[i].Encode()
		require.NoError(t, p.Verify(set.Root, records.LeafHash(raw[:])))
		c := provenLeaf{Leaf: hex.EncodeToString(raw[:]), Path: p.Path(), Root: hex.EncodeToString(set.Root[:])}
		for _, s := range p.Siblings {
			c.Siblings = append(c.Siblings, hex.EncodeToString(s[:]))
		}
		cases = append(cases, c)
	}
	want, err := json.MarshalIndent(map[string]any{
		"about": "Leaves of a report of a million, written by keeper/report, with their proofs. The program has to accept each.",
		"cases": cases,
	}, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *updateMillion {
		require.NoError(t, os.WriteFile(millionFile, want, 0o644)) //nolint:gosec // a file of the repository
	}
	got, err := os.ReadFile(millionFile)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "write it anew with: go test ./keeper/report -run AMillionLeaves -update")
}
