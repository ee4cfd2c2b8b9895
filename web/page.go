// Package web is the web page of `gantry serve`: files that a browser loads as they are, without a build step. The page
// asks the server's HTTP API and no other host; its headers have the browser hold it to that.
//
// Texts of the chain are hostile. static/dom.js makes every element and inserts texts as text; the browser refuses the
// rest (require-trusted-types-for), and so do the tests.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// onlyLocal has what must not be served for other clusters: a wallet whose key is a file.
const onlyLocal = "static/local/"

// Prefix is where the files are, besides the document at "/".
const Prefix = "/page/"

// policy lets the page load what this server has, and speak to it alone. form-action is 'none': the page sends forms
// itself. Nothing may turn text into markup or script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are the content types of the files. Those of the system's own table differ between machines.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

// File is one file of the page; it answers a GET.
type File struct {
	// Path is where a browser finds it.
	Path string
	raw  []byte
	kind string
	etag string
}

// Files are all files of the page; those of a local network only where local is set. Errors: a file without a known type.
func Files(local bool) ([]*File, error) {
	var out []*File
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (!local && strings.HasPrefix(name, onlyLocal)) {
			return err
		}
		raw, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := file(Prefix+name[len("static/"):], name, raw)
		if err != nil {
			return err
		}
		if f.Path == Prefix+"index.html" {
			f.Path = "/"
		}
		out = append(out, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("files of the page: %w", err)
	}
	return out, nil
}

// file is what a browser finds at a path.
func file(at, name string, raw []byte) (*File, error) {
	f := &File{Path: at, raw: raw, kind: types[path.Ext(name)], etag: fmt.Sprintf(`"%x"`, sha256.Sum256(raw))}
	if f.kind == "" {
		return nil, fmt.Errorf("%s: no content type is known", name)
	}
	return f, nil
}

// ServeHTTP answers with the file. A browser asks each time whether it is still the same: a newer server has newer files.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.raw))
}
