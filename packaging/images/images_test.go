package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// files are programs for a test: what they contain does not matter to an image.
func files(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, s := range specs {
		for _, name := range s.programs {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("program "+name), 0o700))
		}
	}
	for _, name := range []string{"LICENSE", "gantry.licences.txt", "gantry-keeper.licences.txt", "gantry-gateway.licences.txt", "gantry-agent.licences.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("licence"), 0o600))
	}
	library := filepath.Join(folder, "root", "lib64")
	require.NoError(t, os.MkdirAll(library, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(library, "ld-linux-x86-64.so.2"), []byte("loader"), 0o600))
	return folder
}

// made makes an image and returns the name of its archive, and what was printed.
func made(t *testing.T, name, programs string) (file, said string) {
	t.Helper()
	var out bytes.Buffer
	folder := t.TempDir()
	require.NoError(t, run([]string{folder, "1.2.3+changed", "1700000000", name, "linux/amd64=" + programs, "linux/arm64=" + programs}, &out))
	return filepath.Join(folder, name+"-1.2.3+changed.oci.tar"), out.String()
}

// opened is the layout of an archive.
func opened(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	into := t.TempDir()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		path := filepath.Join(into, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o700))
			continue
		}
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	outer, err := layout.ImageIndexFromPath(into)
	require.NoError(t, err)
	top, err := outer.IndexManifest()
	require.NoError(t, err)
	require.Len(t, top.Manifests, 1)
	require.Equal(t, "1.2.3-changed", top.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	index, err := outer.ImageIndex(top.Manifests[0].Digest)
	require.NoError(t, err)
	return index
}

// imageFor is the image of an index for a platform.
func imageFor(t *testing.T, index v1.ImageIndex, architecture string) v1.Image {
	t.Helper()
	m, err := index.IndexManifest()
	require.NoError(t, err)
	for _, d := range m.Manifests {
		if d.Platform.Architecture == architecture {
			image, err := index.Image(d.Digest)
			require.NoError(t, err)
			return image
		}
	}
	t.Fatalf("no image for %s", architecture)
	return nil
}

func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	programs := files(t)
	first, said := made(t, "gantry-keeper", programs)
	second, _ := made(t, "gantry-keeper", programs)
	a, err := os.ReadFile(first)
	require.NoError(t, err)
	b, err := os.ReadFile(second)
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b))
	digest, err := opened(t, first).Digest()
	require.NoError(t, err)
	require.Contains(t, said, digest.String())
	require.NoError(t, os.WriteFile(filepath.Join(programs, "gantry-keeper"), []byte("another"), 0o700))
	_, other := made(t, "gantry-keeper", programs)
	require.NotContains(t, other, digest.String())
}

func TestWhatAnImageHas(t *testing.T) {
	programs := files(t)
	for _, s := range specs {
		t.Run(s.name, func(t *testing.T) {
			file, _ := made(t, s.name, programs)
			index := opened(t, file)
			require.NoError(t, validate.Index(index))
			image := imageFor(t, index, "arm64")
			c, err := image.ConfigFile()
			require.NoError(t, err)
			require.Equal(t, "arm64", c.Architecture)
			require.Equal(t, []string{"/usr/bin/" + s.name}, c.Config.Entrypoint)
			for _, label := range []string{"title", "description", "version", "created", "licenses", "source", "url", "vendor"} {
				require.NotEmpty(t, c.Config.Labels["org.opencontainers.image."+label], label)
			}
			require.Equal(t, s.name == "gantry-agent", c.Config.User == "0:0", "only the agent is root")
			has := map[string]*tar.Header{}
			unpacked := mutate.Extract(image)
			defer func() { require.NoError(t, unpacked.Close()) }()
			for r := tar.NewReader(unpacked); ; {
				h, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				has[filepath.Clean(h.Name)] = h
				if h.Name == "etc/ssl/certs/ca-certificates.crt" {
					trusted(t, r)
				}
			}
			for _, name := range s.programs {
				require.Equal(t, int64(0o755), has["usr/bin/"+name].Mode, name)
			}
			require.Equal(t, int64(0o1777), has["tmp"].Mode)
			require.NotNil(t, has["usr/share/doc/"+s.name+"/LICENSE"])
			require.NotNil(t, has["usr/share/doc/"+s.name+"/THIRD-PARTY-LICENSES.txt"])
			data := has[s.data[1:]]
			require.Equal(t, int64(0o700), data.Mode)
			require.Equal(t, s.root, data.Uid == 0)
			require.Equal(t, s.root, has["lib64/ld-linux-x86-64.so.2"] != nil, "only the agent has the C library")
		})
	}
}

// trusted checks that certificates are many, and can be used.
func trusted(t *testing.T, r io.Reader) {
	t.Helper()
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	count := 0
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		_, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		count++
	}
	require.Greater(t, count, 100)
}

func TestWhatIsAskedWrongly(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"f", "1", "now", "gantry", "linux/amd64=x"},
		{"f", "1", "0", "gantry-what", "linux/amd64=x"},
		{"f", "1", "0", "gantry", "windows/amd64=x"},
		{"f", "1", "0", "gantry", "linux/amd64"},
	} {
		require.ErrorIs(t, run(args, io.Discard), errUsage, args)
	}
	require.ErrorIs(t, run([]string{t.TempDir(), "1", "0", "gantry", "linux/amd64=" + t.TempDir()}, io.Discard), os.ErrNotExist)
}
