package contexts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

var (
	// ErrFile: the file of contexts cannot be read or written.
	ErrFile = errors.New("the file of contexts is wrong")
	// ErrUnknown: no context has that name.
	ErrUnknown = errors.New("there is no such context")
	// ErrContext: a context cannot be stored as it is.
	ErrContext = errors.New("the context cannot be stored")
)

// Context is the settings of one market and wallet. Empty fields are taken from other sources: see Resolve.
type Context struct {
	RPC     []string `json:"rpcUrls,omitempty"` // the first one that answers is asked
	WS      []string `json:"wsUrls,omitempty"`  // one for each of RPC, or none
	Keypair string   `json:"keypair,omitempty"`
	Server  string   `json:"server,omitempty"`  // a gantry serve
	Gateway string   `json:"gateway,omitempty"` // for public addresses
	Sponsor string   `json:"sponsor,omitempty"` // pays fees and rent
	// Bucket keeps volumes: s3://BUCKET/FOLDER, at the URL of Endpoint, for Price a GiB and month.
	Bucket   string `json:"bucket,omitempty"`
	Endpoint string `json:"bucketEndpoint,omitempty"`
	Price    string `json:"bucketPrice,omitempty"`
}

// File is the contexts of a user.
type File struct {
	Current  string // the context that is used if no other is named; empty for none
	Contexts map[string]Context

	path string
}

// DefaultPath is $XDG_CONFIG_HOME/gantry/config.yaml, or the same in ~/.config.
func DefaultPath() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%w: no folder for it: %w", ErrFile, err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "gantry", "config.yaml"), nil
}

// Load reads the file at DefaultPath. If there is no file, or no home folder, there are no contexts. Error: ErrFile,
// with the line.
func Load() (*File, error) {
	path, err := DefaultPath()
	if err != nil {
		return &File{Contexts: map[string]Context{}}, nil //nolint:nilerr // nobody has contexts there
	}
	return Read(path)
}

// Read is Load of another file.
func Read(path string) (*File, error) {
	f := &File{Contexts: map[string]Context{}, path: path}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if err := f.parse(raw); err != nil {
		return nil, err
	}
	return f, nil
}

// Path is where the file is, or will be.
func (f *File) Path() string { return f.path }

// Names are those of the contexts, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// Named is a context by its name. Error: ErrUnknown.
func (f *File) Named(name string) (Context, error) {
	c, ok := f.Contexts[name]
	if !ok {
		return c, fmt.Errorf("%w: %q is not in %s", ErrUnknown, name, f.path)
	}
	return c, nil
}

// Use makes a context the one that counts from now on. Error: ErrUnknown.
func (f *File) Use(name string) error {
	if _, err := f.Named(name); err != nil {
		return err
	}
	f.Current = name
	return f.write()
}

// Delete removes a context. If it is the one that counts, none does afterwards. Error: ErrUnknown.
func (f *File) Delete(name string) error {
	if _, err := f.Named(name); err != nil {
		return err
	}
	delete(f.Contexts, name)
	if f.Current == name {
		f.Current = ""
	}
	return f.write()
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Set stores these settings of a context, which is made if there is none; its others stay. Error: ErrContext.
func (f *File) Set(name string, with Context) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%w: %q is not a name: give letters, digits, dots and hyphens", ErrContext, name)
	}
	if with.Keypair != "" && !strings.HasPrefix(with.Keypair, "~") { // the next command runs in another folder
		full, err := filepath.Abs(with.Keypair)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrContext, err)
		}
		with.Keypair = full
	}
	c := f.Contexts[name]
	if len(with.RPC) > 0 { // a WebSocket URL is of its RPC URL
		c.RPC, c.WS = with.RPC, with.WS
	} else if len(with.WS) > 0 {
		c.WS = with.WS
	}
	for _, s := range []struct {
		of   *string
		with string
	}{{&c.Keypair, with.Keypair}, {&c.Server, with.Server}, {&c.Gateway, with.Gateway}, {&c.Sponsor, with.Sponsor}, {&c.Bucket, with.Bucket}, {&c.Endpoint, with.Endpoint}, {&c.Price, with.Price}} {
		if s.with != "" {
			*s.of = s.with
		}
	}
	if _, err := c.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrContext, err)
	}
	f.Contexts[name] = c
	return f.write()
}

// write replaces the file. Only its owner may read it: the URL of an RPC node may hold a key.
func (f *File) write() error {
	if f.path == "" {
		_, err := DefaultPath()
		return err
	}
	path := f.path
	if real, err := filepath.EvalSymlinks(path); err == nil { // the target of a symbolic link is replaced, and the link stays
		path = real
	}
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	err := enc.Encode(f.node())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.WriteSynced(path, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("%w: %s cannot be written: %w", ErrFile, f.path, err)
	}
	return nil
}
