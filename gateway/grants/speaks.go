package grants

import (
	"slices"

	"github.com/gagliardetto/solana-go"
)

// Of is the grant by which a key speaks for a lease: as its customer, or as who has signed it.
func (t *Table) Of(key, lease solana.PublicKey) (*Entry, bool) {
	for _, e := range t.All() {
		if (e.lease == lease || e.came.Grant.Lease == lease) && e.speaks(key) {
			return e, true
		}
	}
	return nil, false
}

// Speaks reports whether a key is that of a customer of any grant, or has signed for it; with a customer, of that one.
func (t *Table) Speaks(key solana.PublicKey, customer solana.PublicKey) bool {
	return slices.ContainsFunc(t.All(), func(e *Entry) bool { return e.speaks(key) && (customer.IsZero() || e.Customer == customer) })
}

func (e *Entry) speaks(key solana.PublicKey) bool {
	return key == e.Customer || key == solana.PublicKey(e.Signed.Signer)
}
