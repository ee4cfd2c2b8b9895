package measure

// CellProof is a byte of a leaf and all that shows where it is committed to: what prove_wrong_cell is given in three
// transactions.
type CellProof struct {
	Place
	GPU     uint8
	Profile Profile
	// Rounds is how many the commitment is over.
	Rounds uint32
	LeafAt
	Group uint8
	LeafOpening
	// Before is the root of the round before, RoundPath leads from the round to the root over rounds.
	Before    Hash
	RoundPath []Hash
}

// RoundsRoot is where the paths lead, which is the entry's root over rounds if the leaf was committed to; false where
// the trees have no such place, or paths of other lengths.
func (c CellProof) RoundsRoot() (Hash, bool) {
	p := c.Profile
	if p.Validate() != nil || c.Leaf >= p.Leaves() || c.Round >= c.Rounds || c.Rounds > MaxRounds ||
		len(c.Path) != p.LeafDepth() || len(c.RoundPath) != Depth(c.Rounds) {
		return Hash{}, false
	}
	root := Climb(LeafHash(&c.Bytes), c.Leaf, c.Path)
	return Climb(RoundHash(c.Round, c.Before, root), c.Round, c.RoundPath), true
}

// Right is the byte as it should be, of a profile and a leaf that are valid.
func (c CellProof) Right() byte {
	p := c.Profile
	nonce := c.Nonce(c.GPU, p.Hash())
	row, column := make([]int8, p.Order), make([]int8, p.Order)
	RowKey(RoundSeed(nonce, c.Round, c.Before), c.Leaf/p.RowLeaves()).Expand(row)
	columns, entries := c.ColumnSeed(p.Order), make([]int32, p.Fold)
	first := (c.Leaf%p.RowLeaves()*LeafBytes + uint32(c.Group)) * uint32(p.Fold)
	for i := range entries {
		RowKey(columns, first+uint32(i)).Expand(column)
		entries[i] = Dot(row, column)
	}
	return Mixed(entries)
}
