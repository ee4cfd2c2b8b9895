package records

import (
	"encoding/hex"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Domain separates clusters: the first eight bytes of the genesis hash.
type Domain [8]byte

// DomainOf returns the domain of the cluster with this genesis hash.
func DomainOf(genesis solana.Hash) Domain {
	var d Domain
	copy(d[:], genesis[:8])
	return d
}

// String returns the domain in lower-case hex, as used in topic names.
func (d Domain) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether the domain is unset. No cluster has a zero domain in practice; code that signs should refuse
// it.
func (d Domain) IsZero() bool { return d == Domain{} }

// ParseDomain reads the hex form that String writes.
func ParseDomain(s string) (Domain, error) {
	var d Domain
	b, err := hex.DecodeString(s)
	if err != nil {
		return d, fmt.Errorf("domain %q: %w", s, err)
	}
	if len(b) != len(d) {
		return d, fmt.Errorf("domain %q: %w", s, ErrLength)
	}
	copy(d[:], b)
	return d, nil
}
