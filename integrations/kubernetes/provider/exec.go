package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"sync"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	utilexec "k8s.io/utils/exec"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// running is the lease of a pod whose container runs.
func (p *Provider) running(namespace, name string) (lease string, err error) {
	w, err := p.find(namespace, name)
	if err != nil {
		return "", err
	}
	r := w.get()
	if r.Lease == "" || !r.Started || r.Done || r.Deleted {
		return "", errdefs.InvalidInputf("the container of pod %s/%s does not run: see kubectl describe pod", namespace, name)
	}
	return r.Lease, nil
}

// shells are the commands for which a terminal's shell stands.
var shells = map[string]bool{"sh": true, "bash": true, "ash": true, "dash": true, "zsh": true}

// RunInContainer runs a command, or opens a shell in a terminal.
func (p *Provider) RunInContainer(ctx context.Context, namespace, name, _ string, cmd []string, attach api.AttachIO) error {
	lease, err := p.running(namespace, name)
	if err != nil {
		return err
	}
	if attach.TTY() {
		if len(cmd) != 1 || !shells[path.Base(cmd[0])] || attach.Stdin() == nil {
			return errdefs.InvalidInput("a terminal of a lease has a shell: kubectl exec -it POD -- sh. Run other commands in it, or without a terminal: leave -t out")
		}
		if err := p.shell(ctx, lease, attach); err != nil {
			return fmt.Errorf("shell in pod %s/%s: %w", namespace, name, err)
		}
		return nil
	}
	code, err := p.o.Market.Exec(ctx, lease, market.Command{Args: cmd, In: attach.Stdin(), Out: attach.Stdout(), Err: attach.Stderr()})
	switch {
	case err != nil:
		return fmt.Errorf("command in pod %s/%s: %w", namespace, name, err)
	case code != 0: // virtual-kubelet does not look into wrapped errors
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

func (p *Provider) shell(ctx context.Context, lease string, attach api.AttachIO) error {
	t, err := p.o.Market.OpenTerminal(ctx, lease, market.Size{Columns: 80, Rows: 24})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	defer t.Close()
	wg.Go(func() { resize(ctx, t, attach.Resize()) })
	// A read of the input ends with its stream, which virtual-kubelet closes when this function returns.
	go typeInto(ctx, t, attach.Stdin())
	return t.Show(ctx, attach.Stdout())
}

func resize(ctx context.Context, t *market.Terminal, sizes <-chan api.TermSize) {
	for {
		select {
		case <-ctx.Done():
			return
		case s, more := <-sizes:
			if !more || (s.Width > 0 && s.Height > 0 && t.Resize(ctx, market.Size{Columns: int(s.Width), Rows: int(s.Height)}) != nil) {
				return
			}
		}
	}
}

func typeInto(ctx context.Context, t *market.Terminal, in io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 && t.Type(ctx, buf[:n]) != nil {
			return
		}
		if err != nil {
			return
		}
	}
}

// AttachToContainer follows the output. The job of a lease has no input.
func (p *Provider) AttachToContainer(ctx context.Context, namespace, name, _ string, attach api.AttachIO) error {
	lease, err := p.running(namespace, name)
	if err != nil {
		return err
	}
	out, err := p.o.Market.Tail(ctx, lease, 1)
	if err != nil {
		return fmt.Errorf("output of pod %s/%s: %w", namespace, name, err)
	}
	return p.o.Market.Follow(ctx, lease, out.Next, attach.Stdout())
}

// PortForward connects a stream with a port of a pod's container. The server leads a port of its own machine there, on
// loopback, so that this works where both run on one machine or in one pod.
func (p *Provider) PortForward(ctx context.Context, namespace, name string, port int32, stream io.ReadWriteCloser) error {
	lease, err := p.running(namespace, name)
	if err != nil {
		return err
	}
	if !isLoopback(p.o.Market.Host()) {
		return errdefs.InvalidInputf("ports are forwarded to the loopback address of the machine of gantry serve, %s, which this provider does not reach: run both in one pod", p.o.Market.Host())
	}
	endpoint, err := p.o.Market.Forward(ctx, lease, port)
	if err != nil {
		return fmt.Errorf("port %d of pod %s/%s: %w", port, namespace, name, err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return fmt.Errorf("port %d of pod %s/%s: %w", port, namespace, name, err)
	}
	return join(ctx, conn, stream)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// join passes bytes both ways until the container has closed its side, or ctx ends.
func join(ctx context.Context, conn net.Conn, stream io.ReadWriteCloser) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(conn, stream) // its end is the end of what comes from there
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
	_, err := io.Copy(stream, conn)
	err = errors.Join(err, stream.Close())
	_ = conn.Close()
	wg.Wait()
	return err
}
