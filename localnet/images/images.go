// Package images builds container images of programs of this computer, and puts them into a registry.
package images

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
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// ErrMissing means that this computer lacks a program for an image; the message says how to get it.
var ErrMissing = errors.New("program for the image is missing")

// File is one of a layer: a link, if it names a target.
type File struct {
	Path, Target string
	Content      []byte
}

// FindBusybox returns the path of a shell with small tools that needs no library. Error: ErrMissing.
func FindBusybox() (string, error) {
	const need = "a static busybox (scripts/toolchain.sh ssh)"
	path, err := exec.LookPath("busybox")
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrMissing, need)
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %s: %w", ErrMissing, need, path, err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "", fmt.Errorf("%w: %s: %s needs libraries", ErrMissing, need, path)
	}
	return path, nil
}

// Busybox is busybox under the names of its tools, in /bin.
func Busybox(tools ...string) ([]File, error) {
	path, err := FindBusybox()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	files := []File{{Path: "bin/busybox", Content: raw}}
	for _, t := range tools {
		files = append(files, File{Path: "bin/" + t, Target: "busybox"})
	}
	return files, nil
}

// Program is a program of this computer with its libraries, at the same paths. Error: ErrMissing.
func Program(ctx context.Context, program string) ([]File, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMissing, program)
	}
	listed, err := exec.CommandContext(ctx, "ldd", path).Output()
	if err != nil {
		return nil, fmt.Errorf("libraries of %s: %w", path, err)
	}
	var files []File
	for _, word := range append(strings.Fields(string(listed)), path) {
		if !filepath.IsAbs(word) {
			continue
		}
		raw, err := os.ReadFile(word)
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		files = append(files, File{Path: strings.TrimPrefix(word, "/"), Content: raw})
	}
	return files, nil
}

// Push puts an image of one layer with these files into a registry without a password, under the tag v1 of a repository. It
// returns its names, by tag and by digest, and the size of its layer as it is transferred.
func Push(ctx context.Context, registry, repository string, files []File) (tagged, digested string, size int64, err error) {
	fail := func(err error) (string, string, int64, error) { return "", "", 0, fmt.Errorf("image: %w", err) }
	layer, err := pack(files)
	if err != nil {
		return fail(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return fail(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fail(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", "amd64", v1.Config{Env: []string{"PATH=/bin:/usr/bin"}}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return fail(err)
	}
	tag, err := name.ParseReference(registry + "/" + repository + ":v1")
	if err != nil {
		return fail(err)
	}
	if err := remote.Write(tag, img, remote.WithContext(ctx)); err != nil {
		return fail(err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fail(err)
	}
	if size, err = layer.Size(); err != nil {
		return fail(err)
	}
	return tag.String(), tag.Context().Digest(digest.String()).String(), size, nil
}

func pack(files []File) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := tar.Header{Name: f.Path, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(f.Content))}
		if f.Target != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Target
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}
