package market

// WeightAt is what a keeper's statements about a period that ends at end (unix seconds) count: its weight at that
// moment, whether it has left, was expelled or lost a part of its bond since. So every keeper computes the same report
// at any time.
func (k *Keeper) WeightAt(end int64) uint64 {
	switch {
	case k.ActiveSince >= end:
		return 0
	case k.WeightSince < end:
		return k.Weight
	}
	return k.FormerWeight
}
