package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// keepOutput keeps the end of the output of a lease that is over, since the machine forgets it.
func (p *Provider) keepOutput(ctx context.Context, r *record) {
	out, err := p.o.Market.Tail(ctx, r.Lease, market.MaxTail)
	if err == nil {
		err = p.store.putOutput(r.Pod.UID, out.Text)
	}
	if err != nil {
		p.o.Log.Warn().Err(err).Str("pod", nameOf(r.Pod)).Msg("the output of a pod is not kept")
	}
}

// GetContainerLogs gives the output of a pod's container: its last 256 KiB, and with follow what comes after that.
func (p *Provider) GetContainerLogs(ctx context.Context, namespace, name, _ string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	if o.Timestamps || o.SinceSeconds > 0 || !o.SinceTime.IsZero() {
		return nil, errdefs.InvalidInput("machines keep no times of lines: leave --timestamps, --since and --since-time out")
	}
	w, err := p.find(namespace, name)
	if err != nil {
		return nil, err
	}
	r := w.get()
	if o.Previous {
		// The output of the attempt before becomes the previous one only when the next one ends.
		ending := outputEnding
		if r.Done {
			ending = previousEnding
		}
		return p.kept(&r, ending, o)
	}
	if r.Done {
		return p.kept(&r, outputEnding, o)
	}
	if r.Lease == "" {
		return nil, errdefs.InvalidInputf("pod %s has no lease yet, so it has no output: see kubectl describe pod", nameOf(r.Pod))
	}
	out, err := p.o.Market.Tail(ctx, r.Lease, market.MaxTail)
	if err != nil {
		return nil, fmt.Errorf("output of pod %s: %w", nameOf(r.Pod), err)
	}
	text := limited(out.Text, o)
	if !o.Follow || out.Ended {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	reader, writer := io.Pipe()
	ended := make(chan struct{})
	go func() { // ends with the reader, at the latest
		defer close(ended)
		var err error
		if _, err = io.WriteString(writer, text); err == nil {
			err = p.o.Market.Follow(ctx, r.Lease, out.Next, writer)
		}
		_ = writer.CloseWithError(err)
	}()
	return &following{reader, cancel, ended}, nil
}

// following is an output that is followed.
type following struct {
	*io.PipeReader
	cancel context.CancelFunc
	ended  <-chan struct{}
}

// Close ends the stream, and waits for that.
func (f *following) Close() error {
	f.cancel()
	err := f.PipeReader.Close()
	<-f.ended
	return err
}

func (p *Provider) kept(r *record, ending string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	text, err := p.store.output(r.Pod.UID, ending)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errdefs.NotFoundf("the output of pod %s was not kept: its machine had gone, or it has not run", nameOf(r.Pod))
	case err != nil:
		return nil, fmt.Errorf("output of pod %s: %w", nameOf(r.Pod), err)
	}
	return io.NopCloser(strings.NewReader(limited(text, o))), nil
}

// limited is what of an output was asked for. virtual-kubelet says 0 for all lines.
func limited(text string, o api.ContainerLogOpts) string {
	if o.Tail > 0 {
		text = lastLines(text, o.Tail)
	}
	if o.LimitBytes > 0 && len(text) > o.LimitBytes {
		text = text[:o.LimitBytes]
	}
	return text
}

// lastLines are the last n lines of a text.
func lastLines(text string, n int) string {
	at := len(strings.TrimSuffix(text, "\n"))
	for ; n > 0 && at >= 0; n-- {
		at = strings.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:]
}
