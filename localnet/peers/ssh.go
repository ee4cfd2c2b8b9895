package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gantry-market/gantry/localnet/ports"
)

// SSH is OpenSSH's server, with a host key and the only user key that it takes, both made for it.
type SSH struct {
	Port string
	// Stop ends the server and all sessions.
	Stop func()

	dir string
}

// StartSSH starts the server that program is, in mounts of its own, where it finds the folder and the user that it wants. Sessions
// are root's, with the environment env besides. The folder is made anew. It takes root.
func StartSSH(ctx context.Context, program, dir string, env map[string]string) (*SSH, error) {
	s := &SSH{dir: dir}
	block, err := ports.Claim(1)
	if err != nil {
		return nil, fmt.Errorf("OpenSSH's server: %w", err)
	}
	defer block.Release()
	s.Port = strconv.Itoa(block.First())
	err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
	if err == nil {
		err = s.write(ctx, env)
	}
	if err == nil {
		cmd := exec.Command("sh", "-ec", `mount --make-rprivate /; mount -t tmpfs tmpfs /run; mkdir -m 755 /run/sshd; mount --bind "$2" /etc/passwd; exec "$1" -D -e -f "$3"`,
			"sh", program, s.at("passwd"), s.at("config"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		s.Stop, err = Serve(ctx, cmd, "127.0.0.1:"+s.Port)
	}
	if err != nil {
		return nil, fmt.Errorf("OpenSSH's server: %w", err)
	}
	return s, nil
}

func (s *SSH) at(name string) string { return filepath.Join(s.dir, name) }

// write makes the keys and the files of the server.
func (s *SSH) write(ctx context.Context, env map[string]string) error {
	for _, key := range []string{"host", "user"} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.at(key)).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return err
	}
	config := "Port " + s.Port + "\nListenAddress 127.0.0.1\nHostKey " + strconv.Quote(s.at("host")) + "\nAuthorizedKeysFile " + strconv.Quote(s.at("user.pub")) +
		"\nStrictModes no\nPermitRootLogin prohibit-password\nPidFile none\n"
	if len(env) > 0 {
		config += "SetEnv"
		for _, name := range slices.Sorted(maps.Keys(env)) {
			config += fmt.Sprintf(" %q", name+"="+env[name])
		}
		config += "\n"
	}
	return errors.Join(os.WriteFile(s.at("config"), []byte(config), 0o644),
		os.WriteFile(s.at("passwd"), []byte(strings.TrimRight(string(users), "\n")+"\nsshd:x:65533:65534::/run/sshd:/bin/false\n"), 0o644))
}

// Client are the arguments with which OpenSSH's client reaches the server; it believes the first host key.
func (s *SSH) Client() []string {
	return []string{
		"-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + s.at("known"), "-o", "IdentitiesOnly=yes",
		"-i", s.at("user"), "-p", s.Port, "root@127.0.0.1",
	}
}

// HostConfig is the block of ~/.ssh/config by which the client reaches the server under a name, and knows it by the host key that
// the server of another one has; usually its own.
func (s *SSH) HostConfig(name string, known *SSH) (string, error) {
	key, err := os.ReadFile(known.at("host.pub"))
	if err != nil {
		return "", err
	}
	file := s.at("known_hosts")
	if err := os.WriteFile(file, fmt.Appendf(nil, "[127.0.0.1]:%s %s", s.Port, key), 0o600); err != nil {
		return "", err
	}
	return fmt.Sprintf("Host %s\n  HostName 127.0.0.1\n  Port %s\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  StrictHostKeyChecking yes\n",
		name, s.Port, s.at("user"), file), nil
}
