package container

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
)

const (
	// MaxEntries is how many entries of a folder are listed.
	MaxEntries = 1000
	// maxFollowed is how many links of a folder are followed, to say what they lead to.
	maxFollowed = 64
	// maxPath is how long a path may be, bytes.
	maxPath = 1024
	// listing is what the container's server may send besides the content of a file, bytes.
	listing = 8 << 20
)

// Kinds of entries.
const (
	KindFile   = "file"
	KindFolder = "folder"
	KindOther  = "other"
)

// FileEntry is a file or a folder of a container.
type FileEntry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind" enum:"file,folder,other" doc:"What a link leads to, where that is known; other is neither, or a link that was not followed"`
	Bytes    int64  `json:"bytes" doc:"Of a file; 0 for what is none"`
	Modified int64  `json:"modified" doc:"As the container says, unix seconds"`
}

// Folder is a folder of a container.
type Folder struct {
	Path    string      `json:"path" doc:"The whole path, without links"`
	Entries []FileEntry `json:"entries" doc:"Folders first, by name"`
	More    int         `json:"more" doc:"Entries that are there and not listed: beyond the first 1000, or with a name that cannot be shown"`
}

// Files are the files of a container, one folder or file at a time. Copier copies whole folders.
type Files struct {
	there *sftp.Client
	most  int64
}

// OpenFiles asks the container's SSH server for its files, of which none may be larger than so many bytes. The caller closes the client,
// which ends what is being done.
func OpenFiles(client *ssh.Client, most int64) (*Files, error) {
	s, err := client.NewSession()
	if err != nil {
		return nil, noFiles(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, noFiles(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		return nil, noFiles(err)
	}
	if err := s.RequestSubsystem("sftp"); err != nil {
		return nil, noFiles(err)
	}
	return NewFiles(out, in, most)
}

// NewFiles speaks with a server of files. It reads no more of it than a folder and a file need.
func NewFiles(from io.Reader, to io.WriteCloser, most int64) (*Files, error) {
	there, err := sftp.NewClientPipe(io.LimitReader(from, most+listing), to, sftp.UseConcurrentWrites(true), sftp.UseConcurrentReads(true))
	if err != nil {
		return nil, noFiles(err)
	}
	return &Files{there: there, most: most}, nil
}

func noFiles(err error) error {
	return service.Network("the container serves no files: "+err.Error(), Hint, err)
}

// Close ends it.
func (f *Files) Close() error { return f.there.Close() }

// checkPath refuses a path that cannot be one.
func checkPath(name string) error {
	switch {
	case name == "" || len(name) > maxPath || !utf8.ValidString(name):
		return service.Usage(fmt.Sprintf("a path has 1 to %d bytes of UTF-8", maxPath), "name a file of the container, such as /root/result.txt")
	case printable.Text(path.Base(name)) != path.Base(name):
		return service.Usage("the path has characters that cannot be shown", "copy such a file with gantry cp")
	}
	return nil
}

// List is a folder of the container. A path that does not begin with a slash begins in the home of the container's user.
func (f *Files) List(ctx context.Context, name string) (Folder, error) {
	if err := checkPath(name); err != nil {
		return Folder{}, err
	}
	whole, err := f.there.RealPath(name)
	if err != nil {
		return Folder{}, refusal(name, err)
	}
	all, err := f.there.ReadDirContext(ctx, whole)
	if err != nil {
		if info, other := f.there.Stat(whole); other == nil && !info.IsDir() {
			return Folder{}, service.Refused(printable.Text(name)+" is not a folder", "ask for the folder that it is in")
		}
		return Folder{}, refusal(name, err)
	}
	out := Folder{Path: whole, Entries: []FileEntry{}}
	links := 0
	for _, info := range all {
		own := info.Name()
		if own == "." || own == ".." {
			continue
		}
		if len(out.Entries) == MaxEntries || path.Base(own) != own || checkPath(own) != nil {
			out.More++
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 && links < maxFollowed {
			links++
			if target, err := f.there.Stat(path.Join(whole, own)); err == nil {
				info = target
			}
		}
		out.Entries = append(out.Entries, entry(own, info))
	}
	slices.SortFunc(out.Entries, func(a, b FileEntry) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

func rank(e FileEntry) int {
	if e.Kind == KindFolder {
		return 1
	}
	return 0
}

func entry(name string, info fs.FileInfo) FileEntry {
	e := FileEntry{Name: name, Kind: KindOther, Modified: max(0, info.ModTime().Unix())}
	switch {
	case info.IsDir():
		e.Kind = KindFolder
	case info.Mode().IsRegular():
		e.Kind, e.Bytes = KindFile, max(0, info.Size())
	}
	return e
}

// Read is the content of a file.
func (f *Files) Read(name string) ([]byte, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	info, err := f.there.Stat(name)
	switch {
	case err != nil:
		return nil, refusal(name, err)
	case !info.Mode().IsRegular():
		return nil, service.Refused(printable.Text(name)+" is not a file", "copy a folder with gantry cp")
	case info.Size() > f.most:
		return nil, f.tooLarge(name, info.Size())
	}
	r, err := f.there.Open(name)
	if err != nil {
		return nil, refusal(name, err)
	}
	defer r.Close()
	content := bytes.NewBuffer(make([]byte, 0, max(0, info.Size())+bytes.MinRead)) // many requests at a time fill a large buffer
	if _, err := content.ReadFrom(io.LimitReader(r, f.most+1)); err != nil {
		return nil, refusal(name, err)
	}
	if int64(content.Len()) > f.most { // the file may be another by now
		return nil, f.tooLarge(name, int64(content.Len()))
	}
	return content.Bytes(), nil
}

func (f *Files) tooLarge(name string, size int64) error {
	return service.Refused(fmt.Sprintf("%s has %d bytes, at most %d are copied so", printable.Text(name), size, f.most), "copy it with gantry cp")
}

// Write makes a file of the container, or replaces its content.
func (f *Files) Write(name string, content []byte) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if int64(len(content)) > f.most {
		return f.tooLarge(name, int64(len(content)))
	}
	if info, err := f.there.Stat(name); err == nil && !info.Mode().IsRegular() {
		return service.Refused(printable.Text(name)+" is there and is not a file", "give the path of a file")
	}
	w, err := f.there.Create(name)
	if err != nil {
		return refusal(name, err)
	}
	_, err = w.ReadFrom(bytes.NewReader(content))
	if err = errors.Join(err, w.Close()); err != nil {
		return refusal(name, err)
	}
	return nil
}

// refusal is what the container's server has said of a path.
func refusal(name string, err error) error {
	name = printable.Text(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &service.Failure{Code: service.CodeRefused, Reason: name + " is not there", Advice: "look at the folder again", Cause: err}
	case errors.Is(err, fs.ErrPermission):
		return &service.Failure{Code: service.CodeRefused, Reason: "the container's user may not do that with " + name, Advice: "choose another folder, such as the user's home", Cause: err}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, sftp.ErrSSHFxConnectionLost):
		return service.Network("the connection to the container broke, or it has sent too much, at "+name, "try again; gantry cp copies what is large", err)
	}
	return &service.Failure{Code: service.CodeRefused, Reason: fmt.Sprintf("%s in the container: %v", name, err), Advice: Hint, Cause: err}
}
