package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

// copyLog moves a stream to its file, up to the limit; then it says so once and drops the rest, so that the job is
// never blocked by its own output.
func (s *supervisor) copyLog(stream Stream, r *os.File) error {
	f, err := os.OpenFile(s.dir.log(stream), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	both, err := os.OpenFile(s.dir.log(Output), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.Close()
		return fmt.Errorf("runtime: %w", err)
	}
	s.pipes = append(s.pipes, r)
	s.logs.Add(1)
	go func() {
		defer s.logs.Done()
		defer r.Close()
		defer f.Close()
		defer both.Close()
		// Each copy appends whole reads to the common file, so that lines of the two outputs do not mix.
		w := io.MultiWriter(
			&cappedWriter{w: f, left: s.spec.Limits.logBytes()},
			&cappedWriter{w: both, left: s.spec.Limits.logBytes()},
		)
		_, _ = io.Copy(w, r) // ends with the stream; cappedWriter never fails
	}()
	return nil
}

// cappedWriter passes on a number of bytes and swallows the rest.
type cappedWriter struct {
	w    io.Writer
	left int64
	full bool
}

func (c *cappedWriter) Write(b []byte) (int, error) {
	part := b
	if int64(len(part)) > c.left {
		part = part[:c.left]
	}
	if len(part) > 0 {
		n, err := c.w.Write(part)
		c.left -= int64(n)
		if err != nil {
			c.left = 0 // a full disk: keep the job going
		}
	}
	if len(part) < len(b) && !c.full {
		c.full = true
		_, _ = io.WriteString(c.w, "\n[gantry: output limit reached, the rest is dropped]\n")
	}
	return len(b), nil
}

// logReader reads a log file that may still grow.
type logReader struct {
	ctx    context.Context
	f      *os.File
	follow bool
	over   func() bool
	ended  bool
}

const logPoll = 50 * time.Millisecond

func (l *logReader) Read(b []byte) (int, error) {
	for {
		n, err := l.f.Read(b)
		if n > 0 || (err != nil && !errors.Is(err, io.EOF)) {
			return n, err
		}
		if !l.follow || l.ended {
			return 0, io.EOF
		}
		// The job may have written between the read and its end: read once more.
		if l.ended = l.over(); l.ended {
			continue
		}
		if err := wait.For(l.ctx, logPoll); err != nil {
			return 0, err
		}
	}
}

func (l *logReader) Close() error { return l.f.Close() }

// Follow reads a file that may still grow, with follow until over says that it does not.
func Follow(ctx context.Context, f *os.File, follow bool, over func() bool) io.ReadCloser {
	return &logReader{ctx: ctx, f: f, follow: follow, over: over}
}

// OutputPath is the file of what a job prints, in the folder of all jobs.
func OutputPath(root, leaseID string) string {
	return leaseDir(filepath.Join(root, leaseID)).log(Output)
}
