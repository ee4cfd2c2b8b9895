//go:build e2e && linux

package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"
)

const version = "1.2.3+changed"

// imagesIn is the folder of the images, empty until they are made.
var imagesIn string

// dist has the images that scripts/images.sh makes of this checkout, once for all tests of the package.
var dist = sync.OnceValues(func() (folder string, err error) {
	if folder, err = os.MkdirTemp("", "gantry-images-"); err != nil {
		return "", err
	}
	imagesIn = folder
	build := exec.Command("../../scripts/images.sh", folder, "linux/"+runtime.GOARCH)
	build.Env = append(os.Environ(), "VERSION="+version)
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("scripts/images.sh: %w: %s", err, out)
	}
	return folder, err
})

func TestMain(m *testing.M) {
	status := m.Run()
	if imagesIn != "" {
		_ = os.RemoveAll(imagesIn)
	}
	os.Exit(status)
}

// sandbox is the runtime, and the folder of the images.
func sandbox(t *testing.T) (runsc, images string) {
	t.Helper()
	runsc, err := exec.LookPath("runsc")
	if err != nil || os.Getuid() != 0 {
		t.Skip("SKIPPED: images are run as root by the runtime of scripts/toolchain.sh sandbox")
	}
	images, err = dist()
	require.NoError(t, err)
	return runsc, images
}

// runscIn is a command of runsc whose containers have their state in a folder.
func runscIn(t *testing.T, runsc, state string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), runsc, append([]string{"--root", state, "--ignore-cgroups", "--platform=systrap"}, args...)...)
}

// stateOf is a folder for what runsc knows about its containers.
func stateOf(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	t.Cleanup(func() { _ = syscall.Unmount(filepath.Join(state, "null-netns"), syscall.MNT_DETACH) }) // what runsc leaves there
	return state
}

// The images run in a real runtime, without rights. Linux, root, runsc.
func TestImagesRun(t *testing.T) {
	runsc, images := sandbox(t)
	for _, c := range []struct {
		image string
		args  []string
		says  string
		fails bool
	}{
		{"gantry", []string{"serve", "--help"}, "--session", false},
		{"gantry", []string{"--version"}, version, false},
		{"gantry-keeper", []string{"--version"}, version, false},
		{"gantry-gateway", []string{"--version"}, version, false},
		{"gantry-agent", []string{"--version"}, version, false},
		// The settings of the images reach the programs, whose user may use the data folder: they read on until the key that nobody gave.
		{"gantry-keeper", []string{"run", "--url", "http://127.0.0.1:1"}, "keypair file does not exist: /run/secrets/keypair", true},
		{"gantry-gateway", []string{"run", "--url", "http://127.0.0.1:1", "--domain", "gw.test"}, "keypair file does not exist: /run/secrets/keypair", true},
	} {
		t.Run(c.image+" "+strings.Join(c.args, " "), func(t *testing.T) {
			bundle := unpacked(t, filepath.Join(images, c.image+"-"+version+".oci.tar"), c.args)
			out, err := runscIn(t, runsc, stateOf(t), "--network=none", "run", "--bundle", bundle, "try").CombinedOutput()
			require.Equal(t, c.fails, err != nil, "%v: %s", err, out)
			require.Contains(t, string(out), c.says)
		})
	}
}

// unpacked is a bundle for a runtime: the files of an image and its settings.
func unpacked(t *testing.T, file string, args []string) string {
	t.Helper()
	image := imageFor(t, opened(t, file), runtime.GOARCH)
	f, err := image.ConfigFile()
	require.NoError(t, err)
	bundle := t.TempDir()
	require.NoError(t, os.Chmod(bundle, 0o755))
	content := mutate.Extract(image)
	defer func() { require.NoError(t, content.Close()) }()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		path := filepath.Join(bundle, "rootfs", filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
		} else {
			raw, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, raw, h.FileInfo().Mode().Perm()))
		}
		require.NoError(t, os.Chmod(path, h.FileInfo().Mode()))
		require.NoError(t, os.Chown(path, h.Uid, h.Gid))
	}
	owner := oci.User{UID: user, GID: user}
	if f.Config.User == "0:0" {
		owner = oci.User{}
	}
	raw, err := json.Marshal(oci.Spec{
		Version: oci.Version, Root: &oci.Root{Path: "rootfs", Readonly: true},
		Process: &oci.Process{User: owner, Args: append(f.Config.Entrypoint, args...), Env: f.Config.Env, Cwd: f.Config.WorkingDir, NoNewPrivileges: true},
		Linux:   &oci.Linux{Namespaces: []oci.LinuxNamespace{{Type: oci.PIDNamespace}, {Type: oci.MountNamespace}}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bundle, "config.json"), raw, 0o600))
	return bundle
}
