package records

import "github.com/gagliardetto/solana-go"

// Keys are the keys that sign for a keeper, named by its wallet, in a period: its signer, and for a while the former
// signer. A wallet that is not a keeper has none.
type Keys func(keeper solana.PublicKey, p Period) []solana.PublicKey

// Wallets are the Keys of keepers whose wallets sign for them.
func Wallets(keeper solana.PublicKey, _ Period) []solana.PublicKey {
	return []solana.PublicKey{keeper}
}

// Find returns the first of a keeper's keys with which verify has no error, else the last error, or ErrSignature.
func (k Keys) Find(keeper solana.PublicKey, p Period, verify func(solana.PublicKey) error) (solana.PublicKey, error) {
	err := error(ErrSignature)
	for _, key := range k(keeper, p) {
		if err = verify(key); err == nil {
			return key, nil
		}
	}
	return solana.PublicKey{}, err
}

// As is a signer whose records name a keeper by its wallet: they are signed by the key that the wallet has named.
func As(wallet solana.PublicKey, s Signer) Signer { return named{s, wallet} }

type named struct {
	Signer
	wallet solana.PublicKey
}

// PublicKey is the wallet.
func (n named) PublicKey() solana.PublicKey { return n.wallet }
