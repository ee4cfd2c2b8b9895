package measure

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// bytesHex is bytes as testdata/vectors.json writes them.
type bytesHex []byte

func (b *bytesHex) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func (b bytesHex) hash() Hash { return Hash(b) }

type vectorProfile struct {
	N        uint32
	Fold     uint8
	Rows     uint32
	ChainMs  uint32 `json:"chain_ms"`
	Resident uint32
	WalkMs   uint32 `json:"walk_ms"`
	Lanes    uint32
}

func (v vectorProfile) profile() Profile {
	return Profile{v.N, v.Fold, v.Rows, v.ChainMs, v.Resident, v.WalkMs, v.Lanes}
}

// vectors are what testdata/vectors.py computed, which shares nothing with this package.
type vectors struct {
	Profiles []struct {
		vectorProfile
		Bytes, Hash bytesHex
	}
	Rows []struct {
		Seed          bytesHex
		Index, K0, K1 uint32
		N             int
		First, Hash   bytesHex
	}
	Kept []struct {
		C    int32
		Byte byte
	}
	Mixed []struct {
		C    []int32
		Byte byte
	}
	Cells []struct {
		Profile      bytesHex
		N            int
		Fold         uint32
		GPU          uint8
		Nonce        bytesHex
		SeedB        bytesHex `json:"seed_b"`
		Round        uint32
		Before, Seed bytesHex
		Row, Group   uint32
		Entries      []int32
		Kept         []int
		Mix          byte
	}
	Run struct {
		vectorProfile
		Profile, Domain, Instant, Node, Nonce bytesHex
		GPU                                   uint8
		SeedB                                 bytesHex `json:"seed_b"`
		Rounds                                uint32
		Seeds, Roots, Slots                   []bytesHex
		Leaf                                  struct {
			Round, Index uint32
			Bytes, Path  bytesHex
		}
		RoundsRoot bytesHex   `json:"rounds_root"`
		RoundPaths []bytesHex `json:"round_paths"`
		SeedW      bytesHex   `json:"seed_w"`
		Walks      uint32
		LaneWalks  [][][2]bytesHex `json:"lane_walks"`
		LaneRoots  []bytesHex      `json:"lane_roots"`
		WalksRoot  bytesHex        `json:"walks_root"`
		Entry      bytesHex
		Commitment bytesHex
		NodeSecret bytesHex `json:"node_secret"`
		Signature  bytesHex
		Challenge  bytesHex
		Draw       bytesHex
		Drawn      struct {
			Leaves, Walks [][2]uint32
			Cells         []int
		}
		AnswerHash bytesHex `json:"answer_hash"`
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v vectors) place() Place {
	return Place{[8]byte(v.Run.Domain), [32]byte(v.Run.Instant), [32]byte(v.Run.Node)}
}

func (v vectors) entry() Entry {
	r := v.Run
	return Entry{
		GPU: r.GPU, Profile: r.profile().Hash(), Rounds: r.Rounds, LastRoot: r.Roots[r.Rounds-1].hash(), RoundsRoot: r.RoundsRoot.hash(),
		Walks: r.Walks, WalksRoot: r.WalksRoot.hash(), ChainMs: 11, WalkMs: 22,
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func sameBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %x, want %x", what, got, want)
	}
}

func joined(path []Hash) []byte {
	var b []byte
	for _, h := range path {
		b = append(b, h[:]...)
	}
	return b
}

func TestVectorsOfProfilesAndCells(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Profiles {
		p := c.profile()
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		b := p.Bytes()
		sameBytes(t, "profile", b[:], c.Bytes)
		equal(t, "profile's hash", p.Hash(), c.Hash.hash())
	}
	for _, c := range v.Rows {
		k := RowKey(c.Seed.hash(), c.Index)
		equal(t, "key", k, Key{c.K0, c.K1})
		row := expand(k, c.N)
		sameBytes(t, "row", asBytes(row[:32]), c.First)
		equal(t, "row's hash", sha256.Sum256(asBytes(row)), c.Hash.hash())
	}
	for _, c := range v.Kept {
		equal(t, "kept byte", Kept(c.C), c.Byte)
	}
	for _, c := range v.Mixed {
		equal(t, "mix byte", Mixed(c.C), c.Byte)
	}
	for _, c := range v.Cells {
		place := v.place()
		place.Node = sha256.Sum256([]byte("node"))
		equal(t, "nonce", place.Nonce(c.GPU, c.Profile.hash()), c.Nonce.hash())
		equal(t, "seed of columns", place.ColumnSeed(uint32(c.N)), c.SeedB.hash())
		equal(t, "seed of a round", RoundSeed(c.Nonce.hash(), c.Round, c.Before.hash()), c.Seed.hash())
		row := expand(RowKey(c.Seed.hash(), c.Row), c.N)
		for j, want := range c.Entries {
			got := Dot(row, expand(RowKey(c.SeedB.hash(), c.Group*c.Fold+uint32(j)), c.N))
			equal(t, "entry", got, want)
			equal(t, "kept byte", int(Kept(got)), c.Kept[j])
		}
		equal(t, "mix byte", Mixed(c.Entries), c.Mix)
	}
}

func TestVectorsOfARun(t *testing.T) {
	v := readVectors(t)
	r, place, p := v.Run, v.place(), v.Run.profile()
	nonce := place.Nonce(r.GPU, p.Hash())
	equal(t, "nonce", nonce, r.Nonce.hash())
	equal(t, "seed of columns", place.ColumnSeed(p.Order), r.SeedB.hash())
	var before Hash
	var roots []Hash
	for i, root := range r.Roots {
		equal(t, "seed of a round", RoundSeed(nonce, uint32(i), before), r.Seeds[i].hash())
		before = root.hash()
		roots = append(roots, before)
	}
	leaf := [LeafBytes]byte(r.Leaf.Bytes)
	equal(t, "leaves", len(r.Leaf.Path), 32*p.LeafDepth())
	equal(t, "root of a leaf", Climb(LeafHash(&leaf), r.Leaf.Index, hashes(r.Leaf.Path)), roots[r.Leaf.Round])
	equal(t, "root of rounds", RoundsRoot(roots), r.RoundsRoot.hash())
	for i := range roots {
		sameBytes(t, "path of a round", joined(Path(RoundLeaves(roots), uint32(i))), r.RoundPaths[i])
	}

	seed := WalkSeed(nonce, r.RoundsRoot.hash())
	equal(t, "seed of walks", seed, r.SeedW.hash())
	var lanes []Hash
	for lane, walks := range r.LaneWalks {
		var e Edge
		state := LaneState(seed, uint32(lane))
		for _, w := range walks {
			b := state.Bytes()
			sameBytes(t, "start of a walk", b[:], w[0])
			end := decodeState(w[1])
			e.Add(WalkHash(state, end))
			state = end
		}
		equal(t, "root of a lane", e.Root(), r.LaneRoots[lane].hash())
		lanes = append(lanes, e.Root())
	}
	equal(t, "root of walks", Root(lanes), r.WalksRoot.hash())
}

func TestVectorsOfACommitment(t *testing.T) {
	v := readVectors(t)
	r, p, e := v.Run, v.Run.profile(), v.entry()
	b := e.Bytes()
	sameBytes(t, "entry", b[:], r.Entry)
	back, err := DecodeEntry(b[:])
	if err != nil || back != e {
		t.Errorf("decoded entry %+v, %v; want %+v", back, err, e)
	}
	c := Commit(v.place(), []Entry{e})
	sameBytes(t, "commitment", c.Bytes(), r.Commitment)
	again, err := DecodeCommitment(r.Commitment)
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "decoded commitment", again.Bytes(), r.Commitment)
	sameBytes(t, "signature", ed25519.Sign(ed25519.NewKeyFromSeed(r.NodeSecret), c.Bytes()), r.Signature)
	if !again.Signed([32]byte(r.Node), r.Signature) {
		t.Error("the signature is not taken")
	}

	d := NewDraw([32]byte(r.Challenge), r.GPU, c)
	equal(t, "draw", Hash(d), r.Draw.hash())
	for o, got := range d.Leaves(p, r.Rounds) {
		equal(t, "drawn leaf", [2]uint32{got.Round, got.Leaf}, r.Drawn.Leaves[o])
	}
	for i, got := range d.Walks(p, r.Walks) {
		equal(t, "drawn walk", [2]uint32{got.Lane, got.Walk}, r.Drawn.Walks[i])
	}
	for i, cell := range d.Cells(0) {
		equal(t, "drawn cell", int(cell), r.Drawn.Cells[i])
	}
}

func expand(k Key, n int) []int8 {
	row := make([]int8, n)
	k.Expand(row)
	return row
}

func asBytes(row []int8) []byte {
	b := make([]byte, len(row))
	for i, v := range row {
		b[i] = byte(v)
	}
	return b
}

func hashes(b []byte) []Hash {
	var out []Hash
	for ; len(b) > 0; b = b[32:] {
		out = append(out, Hash(b))
	}
	return out
}
