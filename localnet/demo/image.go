package demo

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/localnet/machine"
	"github.com/gantry-market/gantry/localnet/network"
)

// tools are the programs of the demo's image, all of them busybox.
var tools = []string{"sh", "cat", "df", "echo", "httpd", "ip", "ls", "mkdir", "nc", "nproc", "ping", "timeout", "uname", "wc"}

// withoutContainers says why this computer can show no containers; it is empty where it can.
func withoutContainers(ctx context.Context) (string, error) {
	switch {
	case os.Geteuid() != 0:
		return "they need root", nil
	case config.Config{}.FindRunsc() == "":
		return "runsc, gVisor's runtime, is missing (scripts/toolchain.sh sandbox)", nil
	}
	for _, check := range []func() (string, error){network.FindRegistry, findBusybox} {
		if _, err := check(); err != nil {
			return err.Error(), nil
		}
	}
	err := network.TryNamespaces(ctx)
	if errors.Is(err, machine.ErrUnavailable) {
		return err.Error(), nil
	}
	return "", err
}

// findBusybox returns the path of a shell with small tools that needs no library.
func findBusybox() (string, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return "", errors.New("the image needs a static busybox (scripts/toolchain.sh ssh)")
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("the image needs a static busybox: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("the image needs a static busybox, and %s needs libraries (scripts/toolchain.sh ssh)", path)
		}
	}
	return path, nil
}

// pushImage builds the image of the demo's containers, and puts it into the network's registry.
func pushImage(ctx context.Context, n *network.Network) (ref string, size int64, err error) {
	layer, err := toolLayer()
	if err != nil {
		return "", 0, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return "", 0, fmt.Errorf("image: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return "", 0, fmt.Errorf("image: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", "amd64", v1.Config{Env: []string{"PATH=/bin"}}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return "", 0, fmt.Errorf("image: %w", err)
	}
	tag, err := name.ParseReference(n.Registry() + "/demo/tools:v1")
	if err != nil {
		return "", 0, fmt.Errorf("image: %w", err)
	}
	if err := remote.Write(tag, img, remote.WithContext(ctx)); err != nil {
		return "", 0, fmt.Errorf("push the image: %w", err)
	}
	if size, err = layer.Size(); err != nil {
		return "", 0, fmt.Errorf("image: %w", err)
	}
	return tag.String(), size, nil
}

// toolLayer is a layer with the tools.
func toolLayer() (v1.Layer, error) {
	path, err := findBusybox()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(raw))}); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	if _, err := w.Write(raw); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	for _, tool := range tools {
		if err := w.WriteHeader(&tar.Header{Name: "bin/" + tool, Linkname: "busybox", Typeflag: tar.TypeSymlink, Mode: 0o777}); err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}
