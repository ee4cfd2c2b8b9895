package measure

import (
	"crypto/sha256"
	"errors"
	"testing"
)

// padded is the definition: leaves padded with zeros to a power of two, halved until one is left.
func padded(leaves []Hash) Hash {
	n := 1
	for n < len(leaves) {
		n *= 2
	}
	level := append(append([]Hash(nil), leaves...), make([]Hash, n-len(leaves))...)
	for ; len(level) > 1; level = level[:len(level)/2] {
		for i := range len(level) / 2 {
			level[i] = Node(level[2*i], level[2*i+1])
		}
	}
	return level[0]
}

func TestTrees(t *testing.T) {
	var leaves []Hash
	var edge Edge
	for n := range 70 {
		leaf := sha256.Sum256([]byte{byte(n)})
		leaves = append(leaves, leaf)
		edge.Add(leaf)
		want := padded(leaves)
		equal(t, "root", Root(leaves), want)
		equal(t, "root by the edge", edge.Root(), want)
		for i, l := range leaves {
			path := Path(leaves, uint32(i))
			equal(t, "depth", len(path), Depth(uint32(len(leaves))))
			equal(t, "root by a path", Climb(l, uint32(i), path), want)
		}
	}
}

func TestItemsAndSlots(t *testing.T) {
	p := Profile{Order: 1024, Fold: 4, Rows: 2048, Resident: 3, Lanes: 4}
	slot, row, column := p.ItemAt(p.Items() - 1)
	equal(t, "last item", [3]uint32{slot, row, column}, [3]uint32{2, 2047, 896})
	slot, row, column = p.ItemAt(2048*8 + 8 + 1)
	equal(t, "an item", [3]uint32{slot, row, column}, [3]uint32{1, 1, 128})
	for rounds := uint32(3); rounds < 20; rounds++ {
		held := make([]uint32, 3)
		for r := range rounds {
			held[r%3] = r
		}
		for slot, want := range held {
			equal(t, "round of a slot", p.SlotRound(uint32(slot), rounds), want)
		}
	}
}

func TestProfilesOutOfBounds(t *testing.T) {
	good := Profile{Order: 8192, Fold: 4, Rows: 1 << 15, Resident: 50, Lanes: 1 << 15}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Profile){
		"small order":        func(p *Profile) { p.Order = 512 },
		"large order":        func(p *Profile) { p.Order, p.Fold = 32768, 2 },
		"odd order":          func(p *Profile) { p.Order = 8191 },
		"fold":               func(p *Profile) { p.Fold = 3 },
		"no fold":            func(p *Profile) { p.Fold = 0 },
		"group too large":    func(p *Profile) { p.Order = 16384 },
		"few rows":           func(p *Profile) { p.Rows = 512 },
		"many rows":          func(p *Profile) { p.Rows = 1 << 21 },
		"odd rows":           func(p *Profile) { p.Rows = 1<<15 + 1 },
		"nothing resident":   func(p *Profile) { p.Resident = 0 },
		"too much resident":  func(p *Profile) { p.Resident = MaxRounds + 1 },
		"no lanes":           func(p *Profile) { p.Lanes = 0 },
		"three lanes":        func(p *Profile) { p.Lanes = 3 },
		"far too many lanes": func(p *Profile) { p.Lanes = 1 << 21 },
	} {
		p := good
		change(&p)
		if err := p.Validate(); !errors.Is(err, ErrProfile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongEncodings(t *testing.T) {
	v := readVectors(t)
	for _, n := range []int{0, 1, EntryBytes - 1, EntryBytes + 1} {
		if _, err := DecodeEntry(make([]byte, n)); !errors.Is(err, ErrEncoding) {
			t.Errorf("an entry of %d bytes: %v", n, err)
		}
	}
	good := v.Run.Commitment
	change := func(i int, b byte) []byte {
		c := append([]byte(nil), good...)
		c[i] = b
		return c
	}
	for name, b := range map[string][]byte{
		"empty": nil, "short": good[:len(good)-1], "long": append(change(0, good[0]), 0), "no GPU": change(commitmentHead-1, 0)[:commitmentHead],
		"nine GPUs": append(change(commitmentHead-1, 9), make([]byte, 8*32)...), "other tag": change(5, ^good[5]), "two of one": change(commitmentHead-1, 2),
	} {
		if _, err := DecodeCommitment(b); !errors.Is(err, ErrEncoding) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The light form asks for a few seconds and two rounds, is another profile than the whole one, and is itself light.
func TestTheLightForm(t *testing.T) {
	whole := Profile{Order: 8192, Fold: 4, Rows: 1 << 18, ChainMs: 15000, Resident: 35, WalkMs: 1500, Lanes: 1 << 17}
	light := whole.Light()
	if light.ChainMs != 3000 || light.WalkMs != 500 || light.Resident != 2 || light.Validate() != nil {
		t.Errorf("%+v", light)
	}
	if light.Hash() == whole.Hash() || light.Light() != light {
		t.Error("the light form passes as the whole one, or has a lighter one")
	}
	small := Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 250, Resident: 2, WalkMs: 100, Lanes: 16}
	if small.Light() != small {
		t.Error("a light profile was changed")
	}
}
