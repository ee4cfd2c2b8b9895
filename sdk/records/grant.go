package records

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"
	"github.com/gagliardetto/solana-go"
)

// The most that a grant may have.
const (
	MaxGrantedPorts   = 16
	MaxGrantedSSHKeys = 16
	// MaxGrantedName is how long the name of a port may be: with the end that names the lease it is one label of a host name.
	MaxGrantedName = 40
)

// Grant is what a customer signs to let a gateway reach a lease's container: one lease, one gateway, these ports, these
// SSH keys, for a time.
type Grant struct {
	Domain Domain `cbor:"1,keyasint"`
	// Lease is its address; or that of its order, for the leases of the order that go on for a failed one.
	Lease   solana.PublicKey `cbor:"2,keyasint"`
	Gateway solana.PublicKey `cbor:"3,keyasint"`
	// IssuedAt and Expiry are unix milliseconds, so that a grant and its successor have different times.
	IssuedAt int64         `cbor:"4,keyasint"`
	Expiry   int64         `cbor:"5,keyasint"`
	Ports    []GrantedPort `cbor:"6,keyasint,omitempty" max:"16"`
	// SSHKeys may pass the gateway to the container's SSH server: sha256 of each key in SSH's encoding, ascending.
	SSHKeys []Hash `cbor:"7,keyasint,omitempty" max:"16"`
}

// GrantedPort is a TCP port of a container.
type GrantedPort struct {
	Port uint16 `cbor:"1,keyasint"`
	// Name is the beginning of its host name at the gateway.
	Name string `cbor:"2,keyasint" max:"40"`
	// TLS says that the container speaks TLS there itself, which the gateway passes on as it is.
	TLS bool `cbor:"3,keyasint,omitempty"`
}

// Check says what is wrong with a grant. It does not look at who signed it. Error: ErrValue.
func (g *Grant) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("grant: "+format+": %w", append(args, ErrValue)...)
	}
	switch {
	case g.Domain.IsZero() || g.Lease.IsZero() || g.Gateway.IsZero():
		return wrong("cluster, lease and gateway are required")
	case g.IssuedAt <= 0 || g.Expiry <= g.IssuedAt:
		return wrong("from %d to %d", g.IssuedAt, g.Expiry)
	case len(g.Ports) == 0 && len(g.SSHKeys) == 0:
		return wrong("neither a port nor an SSH key")
	case len(g.Ports) > MaxGrantedPorts || len(g.SSHKeys) > MaxGrantedSSHKeys:
		return wrong("%d ports and %d SSH keys", len(g.Ports), len(g.SSHKeys))
	}
	for i, p := range g.Ports {
		switch {
		case p.Port == 0:
			return wrong("port 0")
		case !ValidGrantedName(p.Name):
			return wrong("name %q of port %d", p.Name, p.Port)
		case i > 0 && g.Ports[i-1].Port >= p.Port:
			return wrong("ports do not ascend")
		case slices.ContainsFunc(g.Ports[:i], func(o GrantedPort) bool { return o.Name == p.Name }):
			return wrong("two ports have the name %q", p.Name)
		}
	}
	for i := 1; i < len(g.SSHKeys); i++ {
		if bytes.Compare(g.SSHKeys[i-1][:], g.SSHKeys[i][:]) >= 0 {
			return wrong("SSH keys do not ascend")
		}
	}
	return nil
}

// ValidGrantedName reports whether a port may have a name: lower-case letters, digits and hyphens, as host names have. Two hyphens at the
// third place are for names of other alphabets ("xn--"): browsers show another name then, and no CA certifies others of that form.
func ValidGrantedName(name string) bool {
	for i, r := range name {
		inner := i > 0 && i < len(name)-1
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && (r != '-' || !inner) {
			return false
		}
	}
	reserved := len(name) > 3 && name[2:4] == "--"
	return name != "" && len(name) <= MaxGrantedName && !reserved
}

// Encode returns the bytes that are signed: the tag and the canonical CBOR of the grant.
func (g *Grant) Encode() ([]byte, error) {
	mode, err := cbor.CanonicalEncOptions().EncMode()
	if err != nil {
		return nil, fmt.Errorf("canonical encoding: %w", err)
	}
	raw, err := mode.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("encode grant: %w", err)
	}
	return append([]byte(TagGrant), raw...), nil
}

// Sign signs with the customer's wallet or one of its session keys. Error: ErrValue.
func (g *Grant) Sign(s Signer) (sig solana.Signature, err error) {
	if err := g.Check(); err != nil {
		return sig, err
	}
	raw, err := g.Encode()
	if err != nil {
		return sig, err
	}
	if sig, err = s.Sign(raw); err != nil {
		return sig, fmt.Errorf("sign the grant for lease %s: %w", g.Lease, err)
	}
	return sig, nil
}

// Verify checks the grant's content and a signature. Whether the key may speak for the lease's customer is on chain.
// Errors: ErrValue, ErrSignature.
func (g *Grant) Verify(key solana.PublicKey, sig solana.Signature) error {
	if err := g.Check(); err != nil {
		return err
	}
	raw, err := g.Encode()
	if err != nil {
		return err
	}
	return verify(key, raw, sig)
}

// Port returns the granted port with this number.
func (g *Grant) Port(number uint16) (GrantedPort, bool) {
	for _, p := range g.Ports {
		if p.Port == number {
			return p, true
		}
	}
	return GrantedPort{}, false
}

// AllowsKey reports whether an SSH key, in SSH's encoding, may pass.
func (g *Grant) AllowsKey(key []byte) bool {
	return slices.Contains(g.SSHKeys, Hash(sha256.Sum256(key)))
}
