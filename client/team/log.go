package team

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

const (
	fileLog  = "team.log"
	fileHead = "team.head"
	// maxLine bounds a line of the log, bytes.
	maxLine = 16 << 10
	// maxText is how much is kept of each of its texts, bytes.
	maxText = 512
)

// ErrLog: the log was changed, or lacks lines.
var ErrLog = errors.New("the log is not as it was written")

// Line is one of the log: what is about to be changed, or what came of it.
type Line struct {
	N  uint64    `json:"n" doc:"Number, from 1"`
	At time.Time `json:"at"`
	Caller
	// Action is what is done, and To what it is done to.
	Action string `json:"action" doc:"What is done: an operation of the API, or a command"`
	To     string `json:"to,omitempty" doc:"What it is done to"`
	Key    string `json:"idempotencyKey,omitempty"`
	// Of is the number of the line whose result this is; 0 for a change that is about to be made.
	Of     uint64   `json:"of,omitempty" doc:"Number of the line whose result this is"`
	Result string   `json:"result,omitempty" doc:"What came of it"`
	Order  string   `json:"order,omitempty"`
	Leases []string `json:"leases,omitempty"`
	Prev   string   `json:"prev" doc:"Hash of the line before"`
	Hash   string   `json:"hash,omitempty" doc:"sha256 of the line without this field"`
}

// sealed is the line with its hash, as bytes.
func (l Line) sealed() (Line, []byte, error) {
	l.Hash = ""
	raw, err := json.Marshal(l)
	if err != nil {
		return l, nil, fmt.Errorf("line of the log: %w", err)
	}
	sum := sha256.Sum256(raw)
	l.Hash = hex.EncodeToString(sum[:])
	if raw, err = json.Marshal(l); err != nil {
		return l, nil, fmt.Errorf("line of the log: %w", err)
	}
	return l, append(raw, '\n'), nil
}

// head is the end of the log.
type head struct {
	N    uint64
	Hash string
}

// log is the file. Its methods are called with the lock.
type log struct {
	dir  string
	head head
	size int64 // bytes that head is the end of
}

// append writes a line and waits for the disk.
func (l *log) append(line Line) (Line, error) {
	f, err := os.OpenFile(filepath.Join(l.dir, fileLog), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return line, fmt.Errorf("log of changes: %w", err)
	}
	defer func() { _ = f.Close() }() // it is synced
	if err := l.catchUp(f); err != nil {
		return line, err
	}
	line.N, line.Prev, line.At = l.head.N+1, l.head.Hash, time.Now().UTC()
	for _, text := range []*string{&line.Action, &line.To, &line.Key, &line.Result} {
		*text = short(*text)
	}
	line, raw, err := line.sealed()
	if err != nil {
		return line, err
	}
	if len(raw) > maxLine {
		return line, fmt.Errorf("line of the log: %d bytes, at most %d", len(raw), maxLine)
	}
	if _, err := f.Write(raw); err != nil {
		return line, fmt.Errorf("log of changes: %w", errors.Join(err, f.Truncate(l.size)))
	}
	if err := f.Sync(); err != nil {
		return line, fmt.Errorf("log of changes: %w", err)
	}
	if l.size == 0 { // the file's name
		if err := atomicfile.SyncFolder(l.dir); err != nil {
			return line, fmt.Errorf("log of changes: %w", err)
		}
	}
	l.head, l.size = head{line.N, line.Hash}, l.size+int64(len(raw))
	if err := atomicfile.Write(filepath.Join(l.dir, fileHead), fmt.Appendf(nil, "%d %s\n", line.N, line.Hash)); err != nil {
		return line, fmt.Errorf("head of the log: %w", err)
	}
	return line, nil
}

// short is a text as the log keeps it: what is read back is the same, byte for byte.
func short(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "?")
}

// catchUp reads what another process has written, and cuts off a line that was not written whole: its change did not
// happen, because it would have waited for the line.
func (l *log) catchUp(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("log of changes: %w", err)
	}
	if info.Size() == l.size {
		return nil
	}
	if info.Size() < l.size {
		return fmt.Errorf("%w: it is shorter than it was", ErrLog)
	}
	end, size, _, err := follow(io.NewSectionReader(f, l.size, info.Size()-l.size), l.head, nil)
	if err != nil {
		return err
	}
	l.head, l.size = end, l.size+size
	if l.size < info.Size() {
		if err := f.Truncate(l.size); err != nil {
			return fmt.Errorf("log of changes: %w", err)
		}
	}
	return nil
}

// follow checks lines behind one, and gives each to take; nil for nothing. It returns the last one, the bytes of all, and
// whether a line without its end is behind them.
func follow(r io.Reader, after head, take func(Line)) (end head, size int64, torn bool, err error) {
	b := bufio.NewReaderSize(r, 2*maxLine)
	for {
		raw, err := b.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return after, size, len(raw) > 0, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return after, size, false, fmt.Errorf("%w: line %d is too long", ErrLog, after.N+1)
		case err != nil:
			return after, size, false, fmt.Errorf("log of changes: %w", err)
		}
		var line Line
		if err := json.Unmarshal(raw, &line); err != nil {
			return after, size, false, fmt.Errorf("%w: line %d cannot be read: %w", ErrLog, after.N+1, err)
		}
		_, again, err := line.sealed()
		switch {
		case err != nil:
			return after, size, false, err
		case line.N != after.N+1:
			return after, size, false, fmt.Errorf("%w: line %d follows line %d", ErrLog, line.N, after.N)
		case !bytes.Equal(again, raw):
			return after, size, false, fmt.Errorf("%w: line %d was changed", ErrLog, line.N)
		case line.Prev != after.Hash:
			return after, size, false, fmt.Errorf("%w: line %d follows another line %d than the one before it", ErrLog, line.N, after.N)
		}
		after, size = head{line.N, line.Hash}, size+int64(len(raw))
		if take != nil {
			take(line)
		}
	}
}

// read gives every line to take, in order, and checks all.
func (l *log) read(take func(Line)) (Checked, error) {
	var r io.Reader = bytes.NewReader(nil)
	switch f, err := os.Open(filepath.Join(l.dir, fileLog)); {
	case err == nil:
		defer func() { _ = f.Close() }()
		r = f
	case !errors.Is(err, fs.ErrNotExist):
		return Checked{}, fmt.Errorf("log of changes: %w", err)
	}
	written, err := l.written()
	if err != nil {
		return Checked{}, err
	}
	found := written.N == 0
	end, size, torn, err := follow(r, head{}, func(line Line) {
		if line.N == written.N && line.Hash == written.Hash {
			found = true
		}
		if take != nil {
			take(line)
		}
	})
	switch {
	case err != nil:
		return Checked{}, err
	case end.N < written.N:
		return Checked{}, fmt.Errorf("%w: it ends with line %d, and %d were written", ErrLog, end.N, written.N)
	case !found:
		return Checked{}, fmt.Errorf("%w: its line %d is not the one that was written", ErrLog, written.N)
	}
	if l.size == 0 { // the first append need not read it again
		l.head, l.size = end, size
	}
	return Checked{Lines: end.N, Head: end.Hash, Torn: torn}, nil
}

// written is the head as the file says.
func (l *log) written() (h head, err error) {
	raw, err := os.ReadFile(filepath.Join(l.dir, fileHead))
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("head of the log: %w", err)
	}
	if _, err := fmt.Sscanf(string(raw), "%d %64s\n", &h.N, &h.Hash); err != nil {
		return h, fmt.Errorf("%w: its head cannot be read", ErrLog)
	}
	return h, nil
}

// Checked is what a check of the whole log has found.
type Checked struct {
	Lines uint64 `json:"lines"`
	// Head is the hash of the last line. Where it is noted outside of the folder, a later check finds that lines were taken off the end.
	Head string `json:"head,omitempty" doc:"Hash of the last line; note it elsewhere to find out that lines were taken off the end"`
	// Torn says that a line was not written whole; its change did not happen.
	Torn bool `json:"torn,omitempty" doc:"A line was not written whole; its change did not happen"`
}
