package statement

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Manifest is a keeper's signed digest of all its statements about a period. Because a keeper signs nothing more about
// a sealed period, there is one for each; two different ones are an equivocation.
type Manifest struct {
	Keeper    solana.PublicKey
	Period    records.Period
	Count     uint32 // statements
	Size      uint32 // bytes of the set
	Digest    [32]byte
	Signature solana.Signature
}

// ErrManifest: the manifest is not sound or not its keeper's.
var ErrManifest = errors.New("not a sound manifest")

// Signed is what the signature is over.
func (m Manifest) Signed(domain records.Domain) records.Manifest {
	return records.Manifest{Domain: domain, Period: m.Period, Count: m.Count, Size: m.Size, Digest: m.Digest}
}

// Contradicts reports whether another manifest of the same keeper and period names another set.
func (m Manifest) Contradicts(o Manifest) bool {
	return m.Keeper == o.Keeper && m.Period == o.Period && m.Signed(records.Domain{}) != o.Signed(records.Domain{})
}

// NewManifest signs for an encoded set.
func NewManifest(f Frame, raw []byte, count int, signer records.Signer) (Manifest, error) {
	m := Manifest{
		Keeper: signer.PublicKey(), Period: f.Period, Count: uint32(count), Size: uint32(len(raw)), Digest: Digest(raw),
	}
	sig, err := m.Signed(f.Domain).Sign(signer)
	m.Signature = sig
	return m, err
}

// Verify checks the bounds and the signature, by any of the keeper's keys. Error: ErrManifest.
func (m Manifest) Verify(domain records.Domain, keys records.Keys) error {
	signed := m.Signed(domain)
	_, err := keys.Find(m.Keeper, m.Period, func(key solana.PublicKey) error { return signed.Verify(key, m.Signature) })
	if m.Size > MaxSet || m.Keeper.IsZero() || err != nil {
		return fmt.Errorf("%w: of keeper %s about period %d", ErrManifest, m.Keeper, m.Period)
	}
	return nil
}

// Covers reports whether bytes are the set that the manifest is about.
func (m Manifest) Covers(raw []byte) bool { return len(raw) == int(m.Size) && Digest(raw) == m.Digest }

// Message is the manifest as it travels.
func (m Manifest) Message() messages.Manifest {
	return messages.Manifest{
		Keeper: m.Keeper, Period: uint64(m.Period), Count: m.Count, Size: m.Size, Digest: m.Digest, Signature: m.Signature,
	}
}

// ReadManifest takes a manifest as it travels. It does not verify it.
func ReadManifest(m messages.Manifest) Manifest {
	return Manifest{
		Keeper: m.Keeper, Period: records.Period(m.Period), Count: m.Count, Size: m.Size, Digest: m.Digest, Signature: m.Signature,
	}
}
