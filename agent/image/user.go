package image

import (
	"fmt"
	"os"

	"github.com/containerd/continuity/fs"
	"github.com/moby/sys/user"

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

// User finds the user that a job or its image names, in the image's own files. Numbers need none of them. Error: [*jobspec.Error].
func User(name string, of jobspec.Field, rootfs string) (*user.ExecUser, error) {
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
