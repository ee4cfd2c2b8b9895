package rent

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
)

// The folder ssh of the state folder has a key that gantry makes for itself, which jobs with an image name, and the host
// keys of containers. The keys of ~/.ssh are named only if asked for: they tell a stranger who the customer is.

func (s *session) sshKeys() (*container.Keys, error) {
	root, err := s.StateRoot()
	if err != nil {
		return nil, err
	}
	return container.OpenKeys(root)
}

// identityFile is the private key to log in with: that of --identity, or gantry's own.
func (s *session) identityFile() (string, error) {
	if path := s.CLI.String(flagIdentity); path != "" {
		return filepath.Abs(path)
	}
	keys, err := s.sshKeys()
	if err != nil {
		return "", err
	}
	return keys.File()
}

// identity is the key to log in with.
func (s *session) identity() (ssh.Signer, error) {
	path, err := s.identityFile()
	if err != nil {
		return nil, err
	}
	return container.ReadKey(path)
}

// jobKeys are the keys that a new job names: gantry's own, and those of the files of --ssh-key.
func (s *session) jobKeys() ([]string, error) {
	signer, err := s.identity()
	if err != nil {
		return nil, err
	}
	out := []string{container.Line(signer.PublicKey())}
	for _, path := range s.CLI.StringSlice(flagSSHKey) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--ssh-key: %v", err), "name a public key, such as ~/.ssh/id_ed25519.pub")
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(raw)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--ssh-key: %s is not a public SSH key", path), "name a public key, such as ~/.ssh/id_ed25519.pub")
		}
		out = append(out, container.Line(key))
	}
	if len(out) > maxJobKeys {
		return nil, service.Usage(fmt.Sprintf("%d SSH keys", len(out)), fmt.Sprintf("a job names at most %d", maxJobKeys))
	}
	return out, nil
}

// maxJobKeys is the limit of [messages.JobSpec].
const maxJobKeys = 16
