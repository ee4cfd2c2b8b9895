package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/moby/sys/user"
)

// account is the user that the container's processes run as.
type account struct{ name, home, shell string }

// whoami reads the image's list of users. A user that is not in it has no shell of its own.
func whoami() account {
	a := account{name: "root", home: os.Getenv("HOME"), shell: os.Getenv("SHELL")}
	uid := os.Getuid()
	found, err := user.ParsePasswdFileFilter("/etc/passwd", func(u user.User) bool { return u.Uid == uid })
	if err == nil && len(found) > 0 {
		a = account{found[0].Name, found[0].Home, found[0].Shell}
	}
	if a.home == "" {
		a.home = "/"
	}
	return a
}

// become makes this process, which is root's, another user of the container, of its lists as they are now. A number needs no list.
func become(name string) error {
	who, err := user.GetExecUserPath(name, &user.ExecUser{Home: "/"}, "/etc/passwd", "/etc/group")
	switch {
	case errors.Is(err, user.ErrNoPasswdEntries):
		return fmt.Errorf("the user %.64q is not in the container's /etc/passwd", name)
	case errors.Is(err, user.ErrNoGroupEntries):
		return fmt.Errorf("the group of %.64q is not in the container's /etc/group", name)
	case err != nil:
		return fmt.Errorf("the user %.64q cannot be: %w", name, err)
	}
	if err := errors.Join(syscall.Setgroups(who.Sgids), syscall.Setgid(who.Gid), syscall.Setuid(who.Uid)); err != nil {
		return fmt.Errorf("become the user %.64q: %w", name, err)
	}
	return os.Setenv("HOME", who.Home)
}

// home is the directory in which sessions begin.
func home() string { return whoami().directory() }

var errNoShell = errors.New("the image has no shell; only a plain command can be run")

// words splits a line as a shell does that knows nothing but blanks, single quotes and backslashes.
func words(line string) (out []string, err error) {
	var word []rune
	in, quoted, escaped := false, false, false
	for _, r := range line {
		switch {
		case escaped:
			word, escaped = append(word, r), false
		case r == '\'':
			in, quoted = true, !quoted
		case quoted:
			word = append(word, r)
		case r == '\\':
			in, escaped = true, true
		case r == ' ' || r == '\t' || r == '\n':
			if in {
				out, word, in = append(out, string(word)), nil, false
			}
		case strings.ContainsRune("\"`$&|;<>()*?[]#~{}", r):
			return nil, fmt.Errorf("%q needs a shell", r)
		default:
			word, in = append(word, r), true
		}
	}
	if quoted || escaped {
		return nil, errors.New("the line ends within a quoted word")
	}
	if in {
		out = append(out, string(word))
	}
	if len(out) == 0 || out[0] == "" {
		return nil, errors.New("no command")
	}
	return out, nil
}

// findShell is the user's own shell if there is one, else any.
func (a account) findShell() (string, error) {
	for _, path := range []string{a.shell, "/bin/bash", "/bin/sh", "sh"} {
		if path == "" || strings.HasSuffix(path, "nologin") || strings.HasSuffix(path, "/false") {
			continue
		}
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", errNoShell
}

// directory is the user's home, or the root where there is none.
func (a account) directory() string {
	if info, err := os.Stat(a.home); err == nil && info.IsDir() {
		return a.home
	}
	return "/"
}

// environment is the job's, with what programs expect of a session.
func (a account) environment(job []string) []string {
	env := []string{"USER=" + a.name, "LOGNAME=" + a.name, "HOME=" + a.home}
	if shell, err := a.findShell(); err == nil {
		env = append(env, "SHELL="+shell)
	}
	return append(env, job...) // of two values of one name the last counts
}
