package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const source = "https://github.com/gantry-market/gantry"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// run writes an image for its platforms into a folder, and prints the name of the archive and the image's digest.
func run(args []string, out io.Writer) error {
	if len(args) < 5 {
		return errUsage
	}
	folder, version := args[0], args[1]
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a unix time: %w", args[2], errUsage)
	}
	at := time.Unix(seconds, 0).UTC()
	s, err := chosen(args[3])
	if err != nil {
		return err
	}
	var platforms []platform
	for _, arg := range args[4:] {
		p, err := platformOf(arg)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
	}
	index, err := s.index(platforms, version, at)
	if err != nil {
		return fmt.Errorf("image %s: %w", s.name, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("image %s: %w", s.name, err)
	}
	file := filepath.Join(folder, s.name+"-"+version+".oci.tar")
	if err := archive(file, index, s.name, tag(version), at); err != nil {
		return fmt.Errorf("image %s: %w", s.name, err)
	}
	_, err = fmt.Fprintln(out, file, digest)
	return err
}

// index is the image for all platforms.
func (s spec) index(platforms []platform, version string, at time.Time) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	below, err := layer(base(), at)
	if err != nil {
		return nil, err
	}
	for _, p := range platforms {
		image, err := s.image(p, below, version, at)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", p.os, p.architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.architecture}},
		})
	}
	return mutate.Annotations(index, s.labels(version, at)).(v1.ImageIndex), nil
}

func (s spec) image(p platform, below v1.Layer, version string, at time.Time) (v1.Image, error) {
	entries, err := s.programsOf(p)
	if err != nil {
		return nil, err
	}
	programs, err := layer(entries, at)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, add := range []mutate.Addendum{
		{Layer: below, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "certificates and users"}},
		{Layer: programs, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: s.name + " " + version}},
	} {
		if image, err = mutate.Append(image, add); err != nil {
			return nil, err
		}
	}
	f, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	f = f.DeepCopy()
	f.OS, f.Architecture, f.Created = p.os, p.architecture, v1.Time{Time: at}
	f.Config = s.config(version, at)
	return mutate.ConfigFile(image, f)
}

func (s spec) config(version string, at time.Time) v1.Config {
	c := v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), WorkingDir: home,
		Env:        append([]string{"PATH=/usr/bin", "HOME=" + home, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}, s.env...),
		Entrypoint: []string{"/usr/bin/" + s.programs[0]}, Cmd: s.command,
		Volumes: map[string]struct{}{s.data: {}}, ExposedPorts: map[string]struct{}{},
		Labels: s.labels(version, at), StopSignal: "SIGTERM",
	}
	if s.root {
		c.User = "0:0"
	}
	for _, port := range s.ports {
		c.ExposedPorts[port] = struct{}{}
	}
	return c
}

// labels are those of https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func (s spec) labels(version string, at time.Time) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": s.name, "org.opencontainers.image.description": s.title,
		"org.opencontainers.image.version": version, "org.opencontainers.image.created": at.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": source,
		"org.opencontainers.image.url": source, "org.opencontainers.image.vendor": "The Gantry authors",
	}
}

// archive writes an OCI layout into one file, in the order of its names.
func archive(file string, index v1.ImageIndex, name, version string, at time.Time) (err error) {
	stage, err := os.MkdirTemp(filepath.Dir(file), ".image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	l, err := layout.Write(stage, empty.Index)
	if err != nil {
		return err
	}
	reference := map[string]string{"org.opencontainers.image.ref.name": version, "io.containerd.image.name": name + ":" + version}
	if err := l.AppendIndex(index, layout.WithAnnotations(reference)); err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == stage {
			return err
		}
		inside, err := filepath.Rel(stage, path)
		if err != nil {
			return err
		}
		e := entry{name: "/" + filepath.ToSlash(inside), mode: 0o644, from: path}
		if d.IsDir() {
			e.mode = fs.ModeDir | 0o755
		}
		return pack(w, e, at)
	})
	return errors.Join(err, w.Close())
}
