package market

import "github.com/gagliardetto/solana-go"

// SigningKey is the key that signs for the keeper. Accounts that were made by hand and name none have their wallet.
func (k *Keeper) SigningKey() solana.PublicKey {
	if k.Signer.IsZero() {
		return k.Wallet
	}
	return k.Signer
}

// SignersAt are the keys that speak for the keeper about a period of so many seconds: its signer, and the one before it
// about a period that began before the change. It is the twin of Keeper::speaks.
func (k *Keeper) SignersAt(period uint64, secs uint32) []solana.PublicKey {
	keys := []solana.PublicKey{k.SigningKey()}
	if !k.FormerSigner.IsZero() && secs > 0 && period <= uint64(k.SignerSince)/uint64(secs) {
		keys = append(keys, k.FormerSigner)
	}
	return keys
}

// Liable are the keys that the bond answers for at a time: the twin of Keeper::answers_for.
func (k *Keeper) Liable(now int64) []solana.PublicKey {
	keys := []solana.PublicKey{k.SigningKey()}
	if now < k.SignerUntil {
		keys = append(keys, k.FormerSigner)
	}
	return keys
}

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
