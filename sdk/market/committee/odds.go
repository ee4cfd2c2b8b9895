package committee

import "math/big"

// Odds is the probability that at least k members of a committee are dishonest, when it is drawn from n keepers of
// equal weight of which f are dishonest.
func Odds(n, f, members, k int) float64 {
	sum := new(big.Int)
	for i := k; i <= min(members, f); i++ {
		if members-i > n-f {
			continue
		}
		dishonest := new(big.Int).Binomial(int64(f), int64(i))
		sum.Add(sum, dishonest.Mul(dishonest, new(big.Int).Binomial(int64(n-f), int64(members-i))))
	}
	all := new(big.Int).Binomial(int64(n), int64(members))
	if all.Sign() == 0 {
		return 0
	}
	p, _ := new(big.Rat).SetFrac(sum, all).Float64()
	return p
}

// SafeSize is the least number of members for which the probability that most of them are dishonest is below p.
func SafeSize(n, f int, p float64) int {
	for members := 1; members <= n; members += 2 {
		if Odds(n, f, members, members/2+1) < p {
			return members
		}
	}
	return n
}
