package mesh

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// KeyLen is the length of WireGuard's keys (Curve25519), in bytes.
const KeyLen = 32

// ErrKey: the text or the bytes are not a key.
var ErrKey = errors.New("mesh: not a WireGuard key")

// Key is a public key. Its text is base64, as `wg` prints it.
type Key [KeyLen]byte

// String implements fmt.Stringer.
func (k Key) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// MarshalText implements encoding.TextMarshaler.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Error: ErrKey.
func (k *Key) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(b) != KeyLen {
		return fmt.Errorf("%w: %q", ErrKey, text)
	}
	*k = Key(b)
	return nil
}

// PrivateKey is the secret of a device. It never prints itself.
type PrivateKey struct{ key *ecdh.PrivateKey }

// NewPrivateKey makes a key.
func NewPrivateKey() (PrivateKey, error) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("mesh: make a key: %w", err)
	}
	return PrivateKey{key: k}, nil
}

// PrivateKeyFrom reads a key's 32 bytes. Error: ErrKey.
func PrivateKeyFrom(b []byte) (PrivateKey, error) {
	k, err := ecdh.X25519().NewPrivateKey(b)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return PrivateKey{key: k}, nil
}

// Bytes are the key's 32 bytes, for a file that nobody else reads.
func (k PrivateKey) Bytes() []byte { return k.key.Bytes() }

// Public is the key that peers know.
func (k PrivateKey) Public() Key { return Key(k.key.PublicKey().Bytes()) }

// String implements fmt.Stringer without the secret.
func (k PrivateKey) String() string { return "private key of " + k.Public().String() }

// GoString implements fmt.GoStringer without the secret.
func (k PrivateKey) GoString() string { return k.String() }
