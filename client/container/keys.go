package container

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/atomicfile"
)

// The folder ssh of the state folder has a key that gantry makes for itself, which jobs with an image name, and the host
// keys of containers. The keys of ~/.ssh are named only if asked for: they tell a stranger who the customer is.

const (
	keyFile        = "id_ed25519"
	knownHostsPath = "known_hosts"
)

// Keys are those with which a client logs in, in a folder.
type Keys struct{ dir string }

// OpenKeys makes the folder ssh in that of what a client keeps.
func OpenKeys(root string) (*Keys, error) {
	dir := filepath.Join(root, "ssh")
	if err := os.MkdirAll(filepath.Join(dir, knownHostsPath), 0o700); err != nil {
		return nil, fmt.Errorf("folder of SSH keys: %w", err)
	}
	return &Keys{dir}, nil
}

// File is gantry's own private key, made when there is none.
func (k *Keys) File() (string, error) {
	path := filepath.Join(k.dir, keyFile)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	return path, makeKey(path)
}

// Own is gantry's own key.
func (k *Keys) Own() (ssh.Signer, error) {
	path, err := k.File()
	if err != nil {
		return nil, err
	}
	return ReadKey(path)
}

// makeKey writes a new key and its public half. Of several processes that do so at once, one makes the key that all use.
func makeKey(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(key, "gantry")
	if err != nil {
		return fmt.Errorf("SSH key: %w", err)
	}
	if err := atomicfile.Create(path, pem.EncodeToMemory(block)); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("SSH key: %w", err)
	}
	signer, err := ReadKey(path)
	if err != nil {
		return err
	}
	return atomicfile.WriteSynced(path+".pub", ssh.MarshalAuthorizedKey(signer.PublicKey()))
}

// ReadKey reads a private key.
func ReadKey(path string) (ssh.Signer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("the SSH key cannot be read: %v", err), "name another file with --identity, or make one with ssh-keygen -t ed25519")
	}
	signer, err := ssh.ParsePrivateKey(raw)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, service.Usage(fmt.Sprintf("the SSH key %s has a passphrase", path), "use it through OpenSSH: gantry ssh, gantry ssh-config")
	}
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("%s is not a private SSH key: %v", path, err), "name the private key, not the .pub file")
	}
	return signer, nil
}

// Line is a public key as jobs name it: without its comment, which often says who it is.
func Line(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// Alias is the name under which a lease's host key is known.
func Alias(lease solana.PublicKey) string { return "gantry-" + lease.String() }

// KnownHosts is the file with the host key of one lease.
func (k *Keys) KnownHosts(lease solana.PublicKey) string {
	return filepath.Join(k.dir, knownHostsPath, lease.String())
}

// Learn writes the host key of a lease, which its machine has said over a stream that only it can have.
func (k *Keys) Learn(lease solana.PublicKey, host ssh.PublicKey) error {
	return atomicfile.WriteSynced(k.KnownHosts(lease), []byte(knownhosts.Line([]string{Alias(lease)}, host)+"\n"))
}
