package records

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// TestThePurposeOfAPayment: every field changes it, and what others have computed stays true.
func TestThePurposeOfAPayment(t *testing.T) {
	p := Payment{Domain: Domain{1}, Gateway: solana.PublicKey{2}, Customer: solana.PublicKey{3}, Number: 4}
	seen := map[solana.PublicKey]string{p.Purpose(): "itself"}
	for name, change := range map[string]func(*Payment){
		"cluster":  func(p *Payment) { p.Domain[7]++ },
		"gateway":  func(p *Payment) { p.Gateway[31]++ },
		"customer": func(p *Payment) { p.Customer[31]++ },
		"number":   func(p *Payment) { p.Number++ },
		"swapped":  func(p *Payment) { p.Gateway, p.Customer = p.Customer, p.Gateway },
	} {
		q := p
		change(&q)
		require.NotContains(t, seen, q.Purpose(), name)
		seen[q.Purpose()] = name
	}
	require.Equal(t, "5Y4vzpzCcDh9SBcTJ3ZDNJtLa4fBvh3SThdayFo6AhXx", p.Purpose().String())
}
