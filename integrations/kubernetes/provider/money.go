package provider

import (
	"fmt"
	"math/big"
	"strings"
)

// oneUSDC is in the smallest unit.
const oneUSDC = 1_000_000

// micros reads an amount of USDC such as 2.5, rounded up to a millionth.
func micros(text string) (int64, error) {
	r, ok := new(big.Rat).SetString(strings.TrimSpace(text))
	if !ok || r.Sign() < 0 {
		return 0, fmt.Errorf("%q is not an amount of USDC such as 2.5", text)
	}
	r.Mul(r, big.NewRat(oneUSDC, 1))
	n := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	n.Quo(n, r.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%s USDC are too much", text)
	}
	return n.Int64(), nil
}

// usdc writes an amount as micros reads it.
func usdc(n int64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%06d", n/oneUSDC, n%oneUSDC), "0"), ".")
}
