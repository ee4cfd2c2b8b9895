package records

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/gagliardetto/solana-go"
)

// Payment says what a customer pays a gateway for: the wallet whose account it is, and which of its payments.
type Payment struct {
	Domain   Domain
	Gateway  solana.PublicKey
	Customer solana.PublicKey
	// Number is drawn by the customer's client, so that no two payments have the same purpose.
	Number uint64
}

// paymentTag begins what is hashed; it is no beginning of any other record.
const paymentTag = "gantry-gateway-payment-1"

// Purpose is the address that the transfer names beside the accounts that it moves money between: sha256 of the tag,
// cluster, gateway, customer and number (u64, big endian). Nobody has a key of it.
func (p Payment) Purpose() solana.PublicKey {
	raw := append([]byte(paymentTag), p.Domain[:]...)
	raw = append(raw, p.Gateway[:]...)
	raw = append(raw, p.Customer[:]...)
	return solana.PublicKey(sha256.Sum256(binary.BigEndian.AppendUint64(raw, p.Number)))
}
