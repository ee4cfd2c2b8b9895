package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	modules "golang.org/x/mod/module"
)

var (
	licence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright)([-_.].*)?$`)
	notice  = regexp.MustCompile(`(?i)^notices?([-_.].*)?$`)
	code    = regexp.MustCompile(`\.(go|py|js|sh|tmpl|html|png|svg)$`)
	gnu     = regexp.MustCompile(`^\s*GNU (AFFERO |LESSER )?GENERAL PUBLIC LICENSE`)
)

// unlicensed are modules whose authors have published no licence, and why the programs have them none the less. See LIMITATIONS.md.
var unlicensed = map[string]string{
	"github.com/gagliardetto/treeout": "No licence was published with this module. It is a part of github.com/gagliardetto/solana-go, of the same author, which prints transactions with it and has the Apache License 2.0.",
}

// folders are where the sources of modules lie. What Go's cache has lost is downloaded again.
func folders(ctx context.Context, all []module) (map[module]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	places := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(places) != 2 {
		return nil, fmt.Errorf("go env: %q", out)
	}
	found := map[module]string{}
	var missing []string
	for _, m := range all {
		if m.path == "std" {
			found[m] = places[0]
			continue
		}
		path, perr := modules.EscapePath(m.path)
		version, verr := modules.EscapeVersion(m.version)
		if err := errors.Join(perr, verr); err != nil {
			return nil, fmt.Errorf("module %s: %w", m, err)
		}
		found[m] = filepath.Join(places[1], path+"@"+version)
		if _, err := os.Stat(found[m]); err != nil {
			missing = append(missing, m.path+"@"+m.version)
		}
	}
	return found, download(ctx, missing)
}

// download fetches modules into Go's cache, outside of this module, which need not know them.
func download(ctx context.Context, missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "licences-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fetch := exec.CommandContext(ctx, "go", append([]string{"mod", "download", "-json"}, missing...)...)
	fetch.Dir = dir
	out, err := fetch.Output()
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Error string }
		if derr := d.Decode(&m); errors.Is(derr, io.EOF) {
			break
		} else if derr != nil {
			return fmt.Errorf("go mod download: %w", errors.Join(derr, err))
		}
		if m.Error != "" {
			return fmt.Errorf("the sources of %s %s are not there: %s", m.Path, m.Version, m.Error)
		}
	}
	if err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	return nil
}

// texts are the licences and notices of a module, those in the folders of single packages too. Error: the module has no licence.
func texts(m module, folder string) (found []string, err error) {
	licensed := false
	look := func(path string) error {
		name := filepath.Base(path)
		if code.MatchString(name) || !licence.MatchString(name) && !notice.MatchString(name) {
			return nil
		}
		text, err := read(path)
		if err != nil {
			return err
		}
		atRoot := filepath.Dir(path) == filepath.Clean(folder)
		switch {
		case text == "":
			return nil
		case atRoot && gnu.MatchString(text):
			return fmt.Errorf("module %s has a licence of GNU: %s", m, name)
		case atRoot && licence.MatchString(name):
			licensed = true
		}
		found = append(found, text)
		return nil
	}
	if m.path == "std" {
		err = look(filepath.Join(folder, "LICENSE")) // the rest of the folder is the toolchain
	} else {
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor"):
				return filepath.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			return look(path)
		})
	}
	why := unlicensed[m.path]
	switch {
	case err != nil:
	case licensed && why != "":
		err = fmt.Errorf("module %s has a licence now: remove it from those that have none", m)
	case !licensed && why != "":
		found = append(found, why)
	case !licensed:
		err = fmt.Errorf("module %s has no licence in %s: ask its authors, or do without it", m, folder)
	}
	return found, err
}

// read is a text with the line ends of Unix.
func read(path string) (string, error) {
	raw, err := os.ReadFile(path)
	return strings.TrimSpace(strings.ReplaceAll(string(raw), "\r\n", "\n")), err
}
