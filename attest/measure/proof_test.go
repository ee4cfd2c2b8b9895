package measure

import "testing"

// genuineProof is the leaf of the vectors' run, and the group that a test wants to prove.
func genuineProof(t *testing.T) (CellProof, Entry) {
	t.Helper()
	v := readVectors(t).Run
	entry, err := DecodeEntry(v.Entry)
	if err != nil {
		t.Fatal(err)
	}
	hashes := func(b []byte) (out []Hash) {
		for ; len(b) > 0; b = b[32:] {
			out = append(out, Hash(b))
		}
		return out
	}
	return CellProof{
		Place:       Place{Domain: [8]byte(v.Domain), Instant: [32]byte(v.Instant), Node: [32]byte(v.Node)},
		GPU:         v.GPU,
		Profile:     v.profile(),
		Rounds:      v.Rounds,
		LeafAt:      LeafAt{Round: v.Leaf.Round, Leaf: v.Leaf.Index},
		LeafOpening: LeafOpening{Bytes: [LeafBytes]byte(v.Leaf.Bytes), Path: hashes(v.Leaf.Path)},
		Before:      v.Roots[v.Leaf.Round-1].hash(),
		RoundPath:   hashes(v.RoundPaths[v.Leaf.Round]),
	}, entry
}

func TestEveryByteOfAGenuineLeafIsRight(t *testing.T) {
	c, entry := genuineProof(t)
	if root, ok := c.RoundsRoot(); !ok || root != entry.RoundsRoot {
		t.Fatalf("the leaf leads to %x, %t", root, ok)
	}
	for g := range LeafBytes {
		c.Group = uint8(g)
		if right := c.Right(); right != c.Bytes[g] {
			t.Fatalf("byte %d is %d, and the run has %d", g, right, c.Bytes[g])
		}
	}
}

func TestAProofLeadsToItsOwnPlaceOnly(t *testing.T) {
	for name, change := range map[string]func(*CellProof){
		"byte":              func(c *CellProof) { c.Bytes[3]++ },
		"leaf":              func(c *CellProof) { c.Leaf-- },
		"leaf of no round":  func(c *CellProof) { c.Leaf += c.Profile.Leaves() },
		"round":             func(c *CellProof) { c.Round-- },
		"round of no run":   func(c *CellProof) { c.Round = c.Rounds },
		"too many rounds":   func(c *CellProof) { c.Rounds = MaxRounds + 1 },
		"root before":       func(c *CellProof) { c.Before[0]++ },
		"path":              func(c *CellProof) { c.Path[0][0]++ },
		"short path":        func(c *CellProof) { c.Path = c.Path[1:] },
		"path of the round": func(c *CellProof) { c.RoundPath[1][31]++ },
		"long path":         func(c *CellProof) { c.RoundPath = append(c.RoundPath, Hash{}) },
		"profile":           func(c *CellProof) { c.Profile.Rows *= 2 },
		"no profile":        func(c *CellProof) { c.Profile = Profile{} },
	} {
		c, entry := genuineProof(t)
		change(&c)
		if root, ok := c.RoundsRoot(); ok && root == entry.RoundsRoot {
			t.Errorf("%s: leads to the same root", name)
		}
	}
}

// TestAByteFollowsFromAllOfThePlace: what is right on one cluster, at one instant, of one node and GPU is right nowhere
// else.
func TestAByteFollowsFromAllOfThePlace(t *testing.T) {
	for name, change := range map[string]func(*CellProof){
		"domain":  func(c *CellProof) { c.Domain[0]++ },
		"instant": func(c *CellProof) { c.Instant[0]++ },
		"node":    func(c *CellProof) { c.Node[0]++ },
		"GPU":     func(c *CellProof) { c.GPU++ },
		"profile": func(c *CellProof) { c.Profile.WalkMs++ },
		"round":   func(c *CellProof) { c.Round++ },
		"before":  func(c *CellProof) { c.Before[0]++ },
	} {
		c, _ := genuineProof(t)
		change(&c)
		same := 0
		for g := range LeafBytes {
			c.Group = uint8(g)
			if c.Right() == c.Bytes[g] {
				same++
			}
		}
		// One in 256 is the same by chance.
		if same > 16 {
			t.Errorf("%s: %d of 256 bytes stay", name, same)
		}
	}
}
