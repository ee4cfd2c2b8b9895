package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/containerd/continuity/fs"
	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// maxUsers is the largest list of users or groups that is read.
const maxUsers = 1 << 20

// imageFile is where a file of the image lies, whatever links say; it need not be there.
func imageFile(rootfs, name string) (string, error) {
	path, err := fs.RootPath(rootfs, name)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > maxUsers) {
		return "", fmt.Errorf("%s of the image is not a file, or larger than %d bytes", name, maxUsers)
	}
	return path, nil
}

// imageUser finds the user that a job or its image names, in the image's own files. Numbers need none of them. Error: [*jobspec.Error].
func imageUser(name string, of jobspec.Field, rootfs string) (*user.ExecUser, error) {
	if err := jobspec.CheckUser(name, of); err != nil {
		return nil, err
	}
	who, err := userInFiles(name, rootfs)
	if err == nil {
		return who, nil
	}
	if !jobspec.UserNeedsFiles(name) {
		return user.GetExecUser(name, &user.ExecUser{Home: "/"}, nil, nil)
	}
	return nil, jobspec.UnknownUser(name, of, err)
}

func userInFiles(name, rootfs string) (*user.ExecUser, error) {
	passwd, err := imageFile(rootfs, "/etc/passwd")
	if err != nil {
		return nil, err
	}
	group, err := imageFile(rootfs, "/etc/group")
	if err != nil {
		return nil, err
	}
	return user.GetExecUserPath(name, &user.ExecUser{Home: "/"}, passwd, group)
}

// userRequest is what the process that looks for a user is told.
type userRequest struct {
	Name string        `json:"name"`
	Of   jobspec.Field `json:"of"`
}

// checkUser refuses, before the lease starts, an image whose layers lack the user that is to run it: what it says comes from the image's
// files, which a process of its own reads. Numbers are always fine, and need no process.
func (p *Process) checkUser(ctx context.Context, d leaseDir, name string, of jobspec.Field) error {
	if err := jobspec.CheckUser(name, of); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if !jobspec.UserNeedsFiles(name) {
		return nil
	}
	raw, err := json.Marshal(userRequest{name, of})
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	cmd := exec.CommandContext(ctx, p.exe, InternalCommand, stageUser, string(d))
	cmd.Args[0] = "gantry-agent"
	cmd.Env = []string{}
	cmd.Stdin = bytes.NewReader(raw)
	// The image is mounted for this process alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("runtime: the image's user: %w", ctx.Err())
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitRefused:
		return fmt.Errorf("%w: %s", ErrSpec, lastOf(out))
	case err != nil:
		return fmt.Errorf("%w: the image's user: %s", ErrPull, lastOf(out))
	}
	return nil
}

// findUser is the process that checkUser starts.
func findUser(dir leaseDir) error {
	var r userRequest
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	c, err := readContainer(dir)
	if err != nil {
		return err
	}
	// One layer is the whole image; the kernel lays only several over each other.
	rootfs := filepath.Join(c.Layers, c.Image.Layers[0])
	if len(c.Image.Layers) > 1 {
		rootfs = dir.rootfs()
		if err := os.MkdirAll(rootfs, 0o755); err != nil {
			return fmt.Errorf("runtime: %w", err)
		}
		if err := mountImage(c, rootfs, unix.MS_NODEV|unix.MS_NOSUID|unix.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	_, err = imageUser(r.Name, r.Of, rootfs)
	return err
}
