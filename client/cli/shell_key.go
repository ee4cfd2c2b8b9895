package cli

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

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// The folder ssh of the state folder has a key that gantry makes for itself, which jobs with an image name, and the host
// keys of containers. The keys of ~/.ssh are named only if asked for: they tell a stranger who the customer is.

const (
	keyFile        = "id_ed25519"
	knownHostsPath = "known_hosts"
)

// sshFolder is where gantry's own key is.
func (s *session) sshFolder() (string, error) {
	root, err := s.stateRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "ssh")
	if err := os.MkdirAll(filepath.Join(dir, knownHostsPath), 0o700); err != nil {
		return "", fmt.Errorf("folder of SSH keys: %w", err)
	}
	return dir, nil
}

// identityFile is the private key to log in with. Without --identity it is gantry's own, made when there is none.
func (s *session) identityFile() (string, error) {
	if path := s.cli.String(flagIdentity); path != "" {
		return filepath.Abs(path)
	}
	dir, err := s.sshFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, keyFile)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	return path, makeKey(path)
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
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // readable by its owner alone
	if err != nil {
		return fmt.Errorf("SSH key: %w", err)
	}
	defer os.Remove(f.Name())
	if err := errors.Join(pem.Encode(f, block), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("SSH key: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("SSH key: %w", err)
	}
	signer, err := readKey(path)
	if err != nil {
		return err
	}
	return atomicfile.Write(path+".pub", ssh.MarshalAuthorizedKey(signer.PublicKey()))
}

// identity is the key to log in with.
func (s *session) identity() (ssh.Signer, error) {
	path, err := s.identityFile()
	if err != nil {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) (ssh.Signer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("the SSH key cannot be read: %v", err), "name another file with --identity, or make one with ssh-keygen -t ed25519")
	}
	signer, err := ssh.ParsePrivateKey(raw)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, usage(fmt.Sprintf("the SSH key %s has a passphrase", path), "use it through OpenSSH: gantry ssh, gantry ssh-config")
	}
	if err != nil {
		return nil, usage(fmt.Sprintf("%s is no private SSH key: %v", path, err), "name the private key, not the .pub file")
	}
	return signer, nil
}

// jobKeys are the keys that a new job names: gantry's own, and those of the files of --ssh-key.
func (s *session) jobKeys() ([]string, error) {
	signer, err := s.identity()
	if err != nil {
		return nil, err
	}
	out := []string{authorizedLine(signer.PublicKey())}
	for _, path := range s.cli.StringSlice(flagSSHKey) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, usage(fmt.Sprintf("--ssh-key: %v", err), "name a public key, such as ~/.ssh/id_ed25519.pub")
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(raw)
		if err != nil {
			return nil, usage(fmt.Sprintf("--ssh-key: %s is no public SSH key", path), "name a public key, such as ~/.ssh/id_ed25519.pub")
		}
		out = append(out, authorizedLine(key)) // without its comment, which often says who it is
	}
	if len(out) > maxJobKeys {
		return nil, usage(fmt.Sprintf("%d SSH keys", len(out)), fmt.Sprintf("a job names at most %d", maxJobKeys))
	}
	return out, nil
}

// maxJobKeys is the limit of [messages.JobSpec].
const maxJobKeys = 16

func authorizedLine(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// hostAlias is the name under which a lease's host key is known.
func hostAlias(lease solana.PublicKey) string { return "gantry-" + lease.String() }

// knownHosts is the file with the host key of one lease.
func (s *session) knownHosts(lease solana.PublicKey) (string, error) {
	dir, err := s.sshFolder()
	return filepath.Join(dir, knownHostsPath, lease.String()), err
}

// learn writes the host key of a lease, which its machine has said over a stream that only it can have.
func (s *session) learn(lease solana.PublicKey, host ssh.PublicKey) error {
	path, err := s.knownHosts(lease)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(knownhosts.Line([]string{hostAlias(lease)}, host)+"\n"))
}
