// Package sshkeys reads the keys that may log in to a container. Machines and customers read them by this one rule.
package sshkeys

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// ErrKeys: the keys that may log in cannot be used.
var ErrKeys = errors.New("SSH key cannot be used")

// Parse reads lines of an authorized_keys file. They carry no options: every key may do the same. Error: ErrKeys.
func Parse(lines []string) ([]ssh.PublicKey, error) {
	out := make([]ssh.PublicKey, 0, len(lines))
	for _, line := range lines {
		key, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %.64q: %w", ErrKeys, line, err)
		case len(options) > 0:
			return nil, fmt.Errorf("%w: %.64q has options, which are not obeyed here", ErrKeys, line)
		case len(rest) > 0:
			return nil, fmt.Errorf("%w: more than one in a line", ErrKeys)
		}
		out = append(out, key)
	}
	return out, nil
}
