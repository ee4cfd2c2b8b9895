package shell

import (
	"bufio"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/sdk/sshkeys"
)

// maxSetup bounds the line in bytes.
const maxSetup = 256 << 10

// Setup is what the server in the container is told, in one line before anything else. It is on no command line
// and in no environment.
type Setup struct {
	// HostKey is the seed of the server's ed25519 key.
	HostKey []byte `json:"host_key"`
	// Keys are those that may log in, as lines of an authorized_keys file.
	Keys []string `json:"keys"`
	// Ports asks for connections to these ports of the container in place of SSH; see package sdk/tunnel.
	Ports []uint16 `json:"ports,omitempty"`
	// User is who the server becomes before it does anything for its client; empty for who started it.
	User string `json:"user,omitempty"`
}

// NewSetup is the setup of a lease on the node with this key.
func NewSetup(node ed25519.PrivateKey, lease [32]byte, keys []string) (Setup, error) {
	if _, err := sshkeys.Parse(keys); err != nil {
		return Setup{}, err
	}
	seed, err := hkdf.Key(sha256.New, node.Seed(), lease[:], "gantry-ssh-host-1", ed25519.SeedSize)
	if err != nil {
		return Setup{}, fmt.Errorf("host key: %w", err)
	}
	return Setup{HostKey: seed, Keys: keys}, nil
}

// signer is the server's identity.
func (s Setup) signer() (ssh.Signer, error) {
	if len(s.HostKey) != ed25519.SeedSize {
		return nil, fmt.Errorf("the host key has %d bytes instead of %d", len(s.HostKey), ed25519.SeedSize)
	}
	return ssh.NewSignerFromSigner(ed25519.NewKeyFromSeed(s.HostKey))
}

// PublicHostKey is the server's public key in SSH's encoding.
func (s Setup) PublicHostKey() ([]byte, error) {
	signer, err := s.signer()
	if err != nil {
		return nil, err
	}
	return signer.PublicKey().Marshal(), nil
}

// Line is the setup as it is sent ahead of everything else.
func (s Setup) Line() ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode setup: %w", err)
	}
	return append(raw, '\n'), nil
}

// readSetup reads what Line wrote. The reader goes on with the first byte behind it.
func readSetup(r *bufio.Reader) (s Setup, err error) {
	var raw []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return s, fmt.Errorf("setup: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		if raw = append(raw, part...); len(raw) > maxSetup {
			return s, fmt.Errorf("the keys and settings of the shell take more than %d bytes; name fewer keys", maxSetup)
		}
		if !more {
			break
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("setup: %w", err)
	}
	return s, nil
}
