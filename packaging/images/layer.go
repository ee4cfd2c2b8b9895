package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// entry is a file or a folder of a layer.
type entry struct {
	name    string // absolute
	mode    fs.FileMode
	owner   int
	content []byte // of a file
	from    string // a file of this machine that has the content instead
}

// layer packs entries, with the folders above them, in the order of their names.
func layer(entries []entry, at time.Time) (v1.Layer, error) {
	all := map[string]entry{}
	for _, e := range entries {
		for dir := path.Dir(e.name); dir != "/"; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = entry{name: dir, mode: fs.ModeDir | 0o755}
			}
		}
		all[e.name] = e
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := pack(w, all[name], at); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	return l, nil
}

func pack(w *tar.Writer, e entry, at time.Time) error {
	h := &tar.Header{Name: strings.TrimPrefix(e.name, "/"), Mode: int64(e.mode.Perm()), Uid: e.owner, Gid: e.owner, ModTime: at, Format: tar.FormatPAX}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	if e.mode.IsDir() {
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		return w.WriteHeader(h)
	}
	content := e.content
	if e.from != "" {
		var err error
		if content, err = os.ReadFile(e.from); err != nil {
			return err
		}
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// base is what every image has: the certificates of public issuers, names of users, and a folder for what is temporary.
func base() []entry {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
	}
	id := fmt.Sprint(user)
	return []entry{
		{name: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates.Bytes()},
		{name: "/etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/sbin/nologin\ngantry:x:" + id + ":" + id + ":Gantry:" + home + ":/sbin/nologin\n")},
		{name: "/etc/group", mode: 0o644, content: []byte("root:x:0:\ngantry:x:" + id + ":\n")},
		{name: "/tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{name: home, mode: fs.ModeDir | 0o700, owner: user},
	}
}

// programsOf are the programs, their licences and the data folder of an image, and for the agent the C library.
func (s spec) programsOf(p platform) (all []entry, err error) {
	owner := user
	if s.root {
		owner = 0
	}
	all = append(all, entry{name: s.data, mode: fs.ModeDir | 0o700, owner: owner})
	for name, from := range map[string]string{"LICENSE": "LICENSE", "THIRD-PARTY-LICENSES.txt": s.name + ".licences.txt"} {
		all = append(all, entry{name: "/usr/share/doc/" + s.name + "/" + name, mode: 0o644, from: filepath.Join(p.programs, from)})
	}
	for _, name := range s.programs {
		all = append(all, entry{name: "/usr/bin/" + name, mode: 0o755, from: filepath.Join(p.programs, name)})
	}
	if !s.root {
		return all, nil
	}
	libraries := filepath.Join(p.programs, "root")
	err = filepath.WalkDir(libraries, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, entry{name: strings.TrimPrefix(file, libraries), mode: 0o755, from: file})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the C library of %s: %w", s.name, err)
	}
	return all, nil
}
