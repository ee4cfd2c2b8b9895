package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// entry is a file of a kind of its own.
func entry(h tar.Header) imagetest.Entry { return imagetest.Entry{Header: h} }

// Paths that climb, links that leave: nothing is written, linked, hidden or removed outside of the layer.
func TestHostileLayersStayInside(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	link := func(kind byte, name, to string) imagetest.Entry {
		return entry(tar.Header{Name: name, Linkname: to, Typeflag: kind, Mode: 0o777})
	}
	file := imagetest.File
	for name, entries := range map[string][]imagetest.Entry{
		"climb":                  {file("../../../../../../../.."+victim, "x")},
		"absolute":               {file(victim, "x")},
		"symlink":                {link(tar.TypeSymlink, "out", outside), file("out/victim", "x")},
		"relative symlink":       {link(tar.TypeSymlink, "out", "../../../../../../../.."+outside), file("out/victim", "x")},
		"symlink to the file":    {link(tar.TypeSymlink, "f", victim), file("f", "x")},
		"symlink, then folder":   {link(tar.TypeSymlink, "out", outside), entry(tar.Header{Name: "out/victim/", Typeflag: tar.TypeDir, Mode: 0o777})},
		"hard link":              {link(tar.TypeLink, "h", victim), file("h", "x")},
		"hard link that climbs":  {link(tar.TypeLink, "h", "../../../../../../../.."+victim), file("h", "x")},
		"hard link by a symlink": {link(tar.TypeSymlink, "out", outside), link(tar.TypeLink, "h", "out/victim"), file("h", "x")},
		"whiteout":               {file("../../../../../../../.."+outside+"/.wh.victim", "")},
		"whiteout of above":      {file("a/.wh...", ""), file(".wh...", ""), file(".wh.", "")},
		"whiteout by a symlink":  {link(tar.TypeSymlink, "out", outside), file("out/.wh.victim", "")},
		"opaque by a symlink":    {link(tar.TypeSymlink, "out", outside), file("out/.wh..wh..opq", "")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			require.NoError(t, os.WriteFile(victim, []byte("of the machine"), 0o600))
			_, err := fetch(t, s, served(t, "amd64", imagetest.Layer(t, entries...)), 1<<20)
			if err != nil {
				t.Log(err)
			}
			raw, err := os.ReadFile(victim)
			require.NoError(t, err)
			require.Equal(t, "of the machine", string(raw))
			var st unix.Stat_t
			require.NoError(t, unix.Stat(victim, &st))
			require.Equal(t, uint64(1), uint64(st.Nlink), "nobody has another name for it")
			require.Equal(t, uint32(0o600), st.Mode&0o7777)
			found, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, found, 1)
			n, err := unix.Listxattr(outside, nil)
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}

// A device node of a layer would be one of the machine's devices for whoever sees the layer.
func TestHostileDevicesAreNotMade(t *testing.T) {
	s := newStore(t)
	i, err := fetch(t, s, served(t, "amd64", imagetest.Layer(t,
		entry(tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Mode: 0o666, Devmajor: 8}),
		entry(tar.Header{Name: "dev/mem", Typeflag: tar.TypeChar, Mode: 0o666, Devmajor: 1, Devminor: 1}),
		entry(tar.Header{Name: "dev/fifo", Typeflag: tar.TypeFifo, Mode: 0o666}), imagetest.File("bin/job", ""))), 1<<20)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(s.Layers(), i.Layers[0], "bin/job"))
	for _, name := range []string{"sda", "mem", "fifo"} {
		_, err := os.Lstat(filepath.Join(s.Layers(), i.Layers[0], "dev", name))
		require.ErrorIs(t, err, os.ErrNotExist, name)
	}
}

// Attributes of the overlay in a layer would be obeyed as if the machine had set them.
func TestHostileOverlayAttributesAreDropped(t *testing.T) {
	s := newStore(t)
	i, err := fetch(t, s, served(t, "amd64", imagetest.Layer(t, entry(tar.Header{
		Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755, Format: tar.FormatPAX, PAXRecords: map[string]string{
			"SCHILY.xattr.trusted.overlay.redirect": "/etc", "SCHILY.xattr.trusted.overlay.opaque": "y", "SCHILY.xattr.user.mine": "yes",
		},
	}))), 1<<20)
	require.NoError(t, err)
	at := filepath.Join(s.Layers(), i.Layers[0], "d")
	names := make([]byte, 1024)
	n, err := unix.Listxattr(at, names)
	require.NoError(t, err)
	require.Equal(t, "user.mine\x00", string(names[:n]))
}

// Programs with the right to become root, and everything else of strangers, lie where nobody but root comes.
func TestHostileSetuidFilesAreOutOfReach(t *testing.T) {
	s := newStore(t)
	_, err := fetch(t, s, served(t, "amd64", imagetest.Layer(t, entry(tar.Header{Name: "bin/su", Typeflag: tar.TypeReg, Mode: 0o4755}))), 1<<20)
	require.NoError(t, err)
	for _, dir := range []string{s.Layers(), s.tmp()} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
}

// A layer that leaves out its folders takes them from the layers below. What was prepared below one image must not be
// found in another that has the same layer.
func TestHostileFoldersDoNotReachOtherImages(t *testing.T) {
	s := newStore(t)
	shared := imagetest.Layer(t, imagetest.File("etc/shadow", "secret"))
	hostile := imagetest.Layer(t, entry(tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o777, Uid: 4242}))
	_, err := fetch(t, s, served(t, "amd64", hostile, shared), 1<<20)
	require.NoError(t, err)
	i, err := fetch(t, s, served(t, "amd64", imagetest.Layer(t, entry(tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755})), shared), 1<<20)
	require.NoError(t, err)
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(s.Layers(), i.Layers[1], "etc"), &st))
	require.Equal(t, uint32(0o755), st.Mode&0o7777)
	require.Zero(t, st.Uid)
}

// layerOf is a layer with any content at all.
func layerOf(content []byte, kind types.MediaType) v1.Layer { return static.NewLayer(content, kind) }

// archiveOf is a layer's archive, before it is packed.
func archiveOf(t *testing.T, entries ...imagetest.Entry) []byte {
	t.Helper()
	r, err := imagetest.Layer(t, entries...).Uncompressed()
	require.NoError(t, err)
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return raw
}

// servedRaw is an image whose one layer is packed like this, with the digest of what it says to contain.
func servedRaw(t *testing.T, r imagetest.Registry, packed []byte, kind types.MediaType, diffID v1.Hash) Reference {
	t.Helper()
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: named{layerOf(packed, kind), diffID}, MediaType: kind})
	require.NoError(t, err)
	file, err := img.ConfigFile()
	require.NoError(t, err)
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	img, err = mutate.ConfigFile(img, file)
	require.NoError(t, err)
	_, digested := r.Push(t, "team/job", img)
	return parsed(t, digested)
}

// named is a layer with a digest of its content that it is given.
type named struct {
	v1.Layer
	diffID v1.Hash
}

func (n named) DiffID() (v1.Hash, error) { return n.diffID, nil }

func digestOf(t *testing.T, raw []byte) v1.Hash {
	t.Helper()
	h, _, err := v1.SHA256(bytes.NewReader(raw))
	require.NoError(t, err)
	return h
}

// What is small to fetch and large to unpack ends at the limit, and leaves nothing.
func TestHostileBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 64<<20)
	zip := func(raw []byte) []byte {
		z, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return z.EncodeAll(raw, nil)
	}
	endless := func() []byte { // a header before a file, again and again
		var b bytes.Buffer
		one := archiveOf(t, entry(tar.Header{Name: "f", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{"a.b": strings.Repeat("x", 700<<10)}}))
		one = one[:len(one)-1536] // without the file's own header and the end
		for range 100 {
			b.Write(one)
		}
		return b.Bytes()
	}
	for name, packed := range map[string][]byte{
		"zstd file":            zip(archiveOf(t, imagetest.File("f", zeros))),
		"zstd of other things": zip(endless()),
		"folders without names": zip(archiveOf(t, imagetest.File(strings.Repeat("d/", 1500)+"f", ""),
			imagetest.File("e/"+strings.Repeat("d/", 1500)+"f", ""))),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			raw, err := decompressed(packed)
			require.NoError(t, err)
			r := servedRaw(t, imagetest.Start(t, nil), packed, types.OCILayerZStd, digestOf(t, raw))
			_, err = fetch(t, s, r, 4<<20)
			require.ErrorIs(t, err, ErrTooLarge)
			found, err := os.ReadDir(s.Layers())
			require.NoError(t, err)
			require.Empty(t, found)
		})
	}
	t.Run("gzip", func(t *testing.T) {
		_, err := fetch(t, newStore(t), served(t, "amd64", imagetest.Layer(t, imagetest.File("f", zeros))), 4<<20)
		require.ErrorIs(t, err, ErrTooLarge)
	})
	t.Run("many empty files", func(t *testing.T) {
		var many []imagetest.Entry
		for i := range 2000 {
			many = append(many, imagetest.File(fmt.Sprint(i), ""))
		}
		_, err := fetch(t, newStore(t), served(t, "amd64", imagetest.Layer(t, many...)), 4<<20)
		require.ErrorIs(t, err, ErrTooLarge, "each file takes a block of the disk at least")
	})
}

func decompressed(packed []byte) ([]byte, error) {
	z, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(packed, nil)
}

// A registry that answers with other things than it was asked for.
func TestHostileRegistryLies(t *testing.T) {
	good := archiveOf(t, imagetest.File("bin/job", "x"))
	answer := func(part string, change func(w http.ResponseWriter, r *http.Request)) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, part) {
					change(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		}
	}
	forever := func(status int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			chunk := bytes.Repeat([]byte(" "), 1<<20)
			for range 64 { // more than any limit here
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		wrap   func(http.Handler) http.Handler
		diffID v1.Hash
		want   string
	}{
		"another layer":           {answer("/blobs/"+digestOf(t, good).String(), func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte("y"), len(good))) }), digestOf(t, good), ""},
		"a longer layer":          {answer("/blobs/"+digestOf(t, good).String(), forever(200)), digestOf(t, good), ""},
		"endless error":           {answer("/blobs/"+digestOf(t, good).String(), forever(400)), digestOf(t, good), "more than it may"},
		"endless manifest":        {answer("/manifests/", forever(200)), digestOf(t, good), "more than it may"},
		"another manifest":        {answer("/manifests/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }), digestOf(t, good), "does not match"},
		"another content":         {nil, digestOf(t, []byte("z")), "has the digest"},
		"no such layer":           {answer("/blobs/"+digestOf(t, good).String(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }), digestOf(t, good), "404"},
		"a layer by another hash": {nil, v1.Hash{Algorithm: "sha512", Hex: strings.Repeat("a", 128)}, "sha256"},
		"a layer named by a path": {nil, v1.Hash{Algorithm: "sha256", Hex: "../../../../etc"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			_, err := fetch(t, s, servedRaw(t, imagetest.Start(t, c.wrap), good, types.OCIUncompressedLayer, c.diffID), 1<<20)
			require.Error(t, err)
			require.ErrorContains(t, err, c.want)
			found, err := os.ReadDir(s.Layers())
			require.NoError(t, err)
			require.Empty(t, found)
		})
	}
}

// A configuration is read into memory.
func TestHostileConfigurationIsTooLarge(t *testing.T) {
	img := imagetest.Image(t, "amd64", v1.Config{Labels: map[string]string{"a": strings.Repeat("x", 8<<20)}}, imagetest.Layer(t, imagetest.File("bin/job", "")))
	_, digested := imagetest.Start(t, nil).Push(t, "team/job", img)
	_, err := fetch(t, newStore(t), parsed(t, digested), 1<<20)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "configuration")
}

// Lists within lists, and layers that lie somewhere else, send the node wherever their author likes.
func TestHostileListsAndLayersOfElsewhere(t *testing.T) {
	registry := imagetest.Start(t, nil)
	push := func(index v1.ImageIndex) Reference {
		ref, err := name.ParseReference(registry.Host + "/team/job:list")
		require.NoError(t, err)
		require.NoError(t, remote.WriteIndex(ref, index))
		d, err := index.Digest()
		require.NoError(t, err)
		return parsed(t, ref.Context().Digest(d.String()).String())
	}
	here := &v1.Platform{OS: "linux", Architecture: "amd64"}
	img := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("bin/job", "")))
	list := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: here}})
	_, err := fetch(t, newStore(t), push(list), 1<<20)
	require.NoError(t, err)
	nested := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: list, Descriptor: v1.Descriptor{Platform: here}})
	_, err = fetch(t, newStore(t), push(nested), 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "has no image for linux/amd64")

	foreign, err := mutate.Append(img, mutate.Addendum{
		Layer: layerOf([]byte("x"), types.DockerForeignLayer), MediaType: types.DockerForeignLayer, URLs: []string{"http://169.254.169.254/latest"},
	})
	require.NoError(t, err)
	_, digested := registry.Push(t, "team/job", foreign)
	_, err = fetch(t, newStore(t), parsed(t, digested), 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "not in the image's own registry")
}
