package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// RunInAll runs a line of text in containers at once. Each line of their output begins with the container's name. The error is
// that of the first one that failed.
func RunInAll(ctx context.Context, ways []*Container, names []string, line string, to Streams) error {
	failed := make([]error, len(ways))
	var running sync.WaitGroup
	for i, way := range ways {
		running.Go(func() {
			client, err := way.Login(ctx)
			if err != nil {
				failed[i] = err
				return
			}
			defer client.Close()
			prefix := names[i] + ": "
			o, e := &Marked{W: to.Out, Prefix: prefix}, &Marked{W: to.Err, Prefix: prefix}
			failed[i] = errors.Join(Run(ctx, client, line, Streams{Out: o, Err: e}), o.Flush(), e.Flush())
		})
	}
	running.Wait()
	for i, err := range failed {
		if err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
	}
	return nil
}

// Marked marks every line with where it comes from. Lines of several machines do not mix.
type Marked struct {
	W      io.Writer
	Prefix string
	rest   []byte
}

// Write implements io.Writer.
func (p *Marked) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := append([]byte(p.Prefix), p.rest[:i+1]...)
		p.rest = p.rest[i+1:]
		if _, err := p.W.Write(line); err != nil {
			return len(b), err
		}
	}
}

// Flush writes a last line without a line break.
func (p *Marked) Flush() error {
	if len(p.rest) == 0 {
		return nil
	}
	_, err := p.W.Write([]byte(p.Prefix + string(p.rest) + "\n"))
	p.rest = nil
	return err
}
