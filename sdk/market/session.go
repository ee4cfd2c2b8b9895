package market

import (
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// SessionKey is a key that spends for a customer.
type SessionKey = bindings.SessionKey

// SessionKeyOf is the session key with this public key, which may have expired; ok is false when the customer has not
// named it.
func (c *Credits) SessionKeyOf(key solana.PublicKey) (SessionKey, bool) {
	for _, k := range c.SessionKeys {
		if k.Cap > 0 && k.Key == key {
			return k, true
		}
	}
	return SessionKey{}, false
}

// ActsFor reports whether a key acts for the customer at a time: its own, or a session key that is not over. It is the
// twin of Credits::actor.
func (c *Credits) ActsFor(key solana.PublicKey, now time.Time) bool {
	if key == c.Customer {
		return true
	}
	k, ok := c.SessionKeyOf(key)
	return ok && now.Unix() < k.Expiry
}
