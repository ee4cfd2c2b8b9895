package cli

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/mcp"
)

// Exec implements mcp.Buyer.
func (b *modelBuyer) Exec(ctx context.Context, lease solana.PublicKey, r mcp.ExecRequest) (mcp.ExecResult, error) {
	ctx, cancel := context.WithTimeout(ctx, enterTime+time.Duration(r.Seconds)*time.Second)
	defer cancel()
	ss := b.s.fork(ctx)
	defer ss.close()
	c, err := ss.container(lease.String())
	if err != nil {
		return mcp.ExecResult{}, err
	}
	client, err := c.login()
	if err != nil {
		return mcp.ExecResult{}, err
	}
	remote, err := client.NewSession()
	if err != nil {
		return mcp.ExecResult{}, network("the container opens no session: "+err.Error(), sessionHint, err)
	}
	defer remote.Close()
	stdout, stderr := &tail{most: r.Most}, &tail{most: r.Most}
	remote.Stdout, remote.Stderr = stdout, stderr
	words := make([]string, len(r.Command))
	for i, word := range r.Command {
		words[i] = quoteShell(word)
	}
	if err := remote.Start(strings.Join(words, " ")); err != nil {
		return mcp.ExecResult{}, network("the container starts nothing: "+err.Error(), sessionHint, err)
	}
	done := make(chan error, 1)
	go func() { done <- remote.Wait() }()
	late := time.NewTimer(time.Duration(r.Seconds) * time.Second)
	defer late.Stop()
	var out mcp.ExecResult
	select {
	case err = <-done:
	case <-late.C:
		out.TimedOut = true
		_ = client.Close() // the command gets SIGHUP
		<-done
	case <-ctx.Done():
		_ = client.Close()
		<-done
		return out, ctx.Err()
	}
	var f *failure
	switch err := remoteExit(err); {
	case out.TimedOut:
		out.ExitCode = -1
	case err == nil:
	case errors.As(err, &f) && f.Quiet:
		out.ExitCode = f.Code
	default:
		return out, err
	}
	out.Stdout, out.StdoutOmitted = stdout.text()
	out.Stderr, out.StderrOmitted = stderr.text()
	return out, nil
}

// tail keeps the last bytes that are written to it.
type tail struct {
	most int

	mu   sync.Mutex
	kept []byte
	gone uint64
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - t.most; over > 0 {
		t.gone += uint64(over)
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// text is what is kept, with bytes that are not UTF-8 replaced, and how many bytes were before it.
func (t *tail) text() (string, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.kept), "\uFFFD"), t.gone
}
