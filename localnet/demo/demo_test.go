package demo

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

func TestSigned(t *testing.T) {
	for want, c := range map[string]struct {
		n        int64
		decimals int
	}{
		"+0.000001":   {1, 6},
		"−0.419000":   {-419_000, 6},
		"+2":          {2_000_000_000, 9},
		"−0.10008":    {-100_080_000, 9},
		"+22.5":       {22_500_000_000, 9},
		"+1000.00000": {100_000_000, 5},
	} {
		require.Equal(t, want, signed(c.n, c.decimals))
	}
	require.Equal(t, "10", sol9(10_000_000_000))
}

func TestExpectationsNameWhatFailed(t *testing.T) {
	e := &expectations{}
	require.True(t, e.that(true, "an order is awarded"))
	require.True(t, equal(e, 2, 2, "two"))
	require.False(t, equal(e, 1, 2, "seconds paid"))
	require.False(t, e.that(false, "the stake is locked", "only %d %%", 40))
	held, failed := e.result()
	require.Equal(t, 2, held)
	require.Equal(t, []string{"seconds paid: got 1, expected 2", "the stake is locked: only 40 %"}, failed)
}

// The clock moves when all are in a cool-down, to the end of the longest, and not while one of them works.
func TestCooldownsMoveTheClockForAll(t *testing.T) {
	var c cooldowns
	c.work(2)
	shortOver := c.begin(10)
	_, alone := c.last()
	require.False(t, alone, "one still works")
	longOver := c.begin(30)
	unix, alone := c.last()
	require.True(t, alone)
	require.EqualValues(t, 30, unix)
	shortOver()
	_, alone = c.last()
	require.False(t, alone, "one works again")
	c.work(-1) // and is done
	longOver()
	c.work(-1)
	_, alone = c.last()
	require.True(t, alone)
	require.Empty(t, c.ends)
}

func TestJobOutputIsTheJobsAlone(t *testing.T) {
	stderr := " ✓ escrow   1 USDC reserved\n … waiting for the award\nepoch  5\ndone\n · exited   with code 0\n"
	require.Equal(t, "epoch  5\ndone", jobOutput(stderr))
	require.Empty(t, jobOutput(""))
}

func TestTableAndSteps(t *testing.T) {
	var out bytes.Buffer
	table(&out, [][]string{{"", "before"}, {"customer", "10"}, {"−", "1000.5"}})
	require.Equal(t, "          before\ncustomer      10\n−         1000.5\n", out.String())
	out.Reset()
	p := &printer{out: &out, start: time.Now()}
	require.Equal(t, 1, p.begin("it begins", "well"))
	p.note(1, "two\nlines")
	require.Contains(t, out.String(), " 1  it begins")
	require.Contains(t, out.String(), "\n 1    two\n 1    lines\n")
}

func TestAnswersOfAHostileContainer(t *testing.T) {
	answers := answersIn("asked 13.0.0.1:80 the internet answers 11.0.0.1\nasked 10.9.9.9:80\nall asked\nasked")
	require.Equal(t, map[string]string{"13.0.0.1:80": "the internet answers 11.0.0.1", "10.9.9.9:80": ""}, answers)
}

// What is missing for containers is named, with what to do about it.
func TestADemoWithoutContainersSaysWhy(t *testing.T) {
	dir := t.TempDir()
	why := func() string {
		text, err := withoutContainers(t.Context())
		require.NoError(t, err)
		return text
	}
	program := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	t.Setenv("PATH", dir)
	if os.Geteuid() != 0 {
		require.Equal(t, "they need root", why())
		return
	}
	require.Contains(t, why(), "scripts/toolchain.sh sandbox")
	program("runsc", "#!/bin/sh\n")
	require.Contains(t, why(), "scripts/toolchain.sh ssh")
	program("busybox", "#!/bin/sh\n")
	require.Contains(t, why(), "a static busybox")
}

// The demo's own Merkle code and the client's lead to the same root.
func TestProofRootAgreesWithTheClient(t *testing.T) {
	var leaves []records.Leaf
	for i := range 5 {
		leaf := records.Leaf{Period: 7}
		leaf.Node[0] = byte(i + 1)
		leaves = append(leaves, leaf)
	}
	tree, err := records.LeafTree(leaves)
	require.NoError(t, err)
	for i, leaf := range leaves {
		proof, err := tree.Proof(uint32(i))
		require.NoError(t, err)
		var siblings [][32]byte
		for _, h := range proof.Siblings {
			siblings = append(siblings, h)
		}
		raw := leaf.Encode()
		require.Equal(t, [32]byte(tree.Root()), proofRoot(raw[:], proof.Path(), siblings))
		raw[0] ^= 1
		require.NotEqual(t, [32]byte(tree.Root()), proofRoot(raw[:], proof.Path(), siblings))
	}
	one := sha256.Sum256(append([]byte{0}, make([]byte, records.LeafSize)...))
	require.Equal(t, one, proofRoot(make([]byte, records.LeafSize), 0, nil))
}

func TestOpeningIsParsedStrictly(t *testing.T) {
	leaf := records.Leaf{Period: 3, Flags: records.FlagWorkFailed}
	leaf.Node[0] = 9
	raw := leaf.Encode()
	data := append([]byte{0}, raw[:]...)
	data = append(data, 2, 0, 0, 0, 1, 0, 0, 0)
	data = append(data, make([]byte, 32)...)
	var o opened
	require.NoError(t, o.parse(data))
	require.Equal(t, leaf, o.leaf)
	require.EqualValues(t, 2, o.path)
	require.Len(t, o.proof, 1)
	require.Error(t, new(opened).parse(data[:len(data)-1]))
	require.Error(t, new(opened).parse(append(data, 0)))
	require.Error(t, new(opened).parse(data[:100]))
}
