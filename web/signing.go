package web

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed signing
var signing embed.FS

// shared are the files of the page that the one for signing has too.
var shared = []string{"page.css", "fonts/geist.woff2", "fonts/geist-mono.woff2", "icon.svg", "dom.js", "show.js", "wallet.js", "views/connect.js"}

// Signing are the files of a page on which a wallet signs what a command sends. Its only view has no navigation, and asks
// nothing of `gantry serve`. The wallet for development is there only where local is set.
func Signing(local bool) ([]*File, error) {
	all, err := Files(local)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(all, func(f *File) bool {
		name := strings.TrimPrefix(f.Path, Prefix)
		return !slices.Contains(shared, name) && !strings.HasPrefix(name, "local/")
	})
	for name, path := range map[string]string{"index.html": "/", "signing.js": Prefix + "signing.js"} {
		raw, err := signing.ReadFile("signing/" + name)
		if err != nil {
			return nil, fmt.Errorf("files of the page for signing: %w", err)
		}
		f, err := file(path, name, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
