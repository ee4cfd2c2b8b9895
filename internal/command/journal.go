package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/rs/zerolog"
)

// inJournal reports whether standard error is a stream of the journal, by JOURNAL_STREAM.
func inJournal() bool {
	yes, err := journal.StderrIsJournalStream()
	return err == nil && yes // a variable that cannot be read is nobody's
}

// journalled puts the priority of sd-daemon(3) before each line of a log.
type journalled struct {
	out  io.Writer
	text io.Writer // writes a line as it looks without a priority to lines

	mu    sync.Mutex
	lines bytes.Buffer
}

// newJournalled writes to out; format gives the lines their look.
func newJournalled(out io.Writer, format func(io.Writer) io.Writer) *journalled {
	j := &journalled{out: out}
	j.text = format(&j.lines)
	return j
}

// Write implements io.Writer, for lines without a level.
func (j *journalled) Write(p []byte) (int, error) { return j.WriteLevel(zerolog.NoLevel, p) }

// WriteLevel implements zerolog.LevelWriter.
func (j *journalled) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines.Reset()
	if _, err := j.text.Write(p); err != nil {
		return 0, err
	}
	// In one write: the lines of other threads do not come between.
	if _, err := io.WriteString(j.out, prioritized(priority(level), j.lines.String())); err != nil {
		return 0, err
	}
	return len(p), nil
}

// prioritized puts a priority before each line.
func prioritized(p journal.Priority, text string) string {
	prefix := fmt.Sprintf("<%d>", p)
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

func priority(level zerolog.Level) journal.Priority {
	switch level {
	case zerolog.TraceLevel, zerolog.DebugLevel:
		return journal.PriDebug
	case zerolog.WarnLevel:
		return journal.PriWarning
	case zerolog.ErrorLevel:
		return journal.PriErr
	case zerolog.FatalLevel, zerolog.PanicLevel:
		return journal.PriCrit
	}
	return journal.PriInfo
}

// Fail prints why a program ends to standard error; in the journal it is an error.
func Fail(text string) {
	if inJournal() {
		text = prioritized(journal.PriErr, text)
	}
	fmt.Fprintln(os.Stderr, strings.TrimSuffix(text, "\n"))
}
