package inference

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// dial connects with a port of the container, or gives up soon: a request then goes to another replica, although finding the
// machine may take longer.
func (r *replica) dial(ctx context.Context, _, address string) (net.Conn, error) {
	type dialled struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	done := make(chan dialled, 1)
	go func() {
		conn, err := r.connect(ctx, address)
		done <- dialled{conn, err}
	}()
	select {
	case got := <-done:
		return got.conn, got.err
	case <-ctx.Done():
		go func() {
			if got := <-done; got.conn != nil {
				_ = got.conn.Close()
			}
		}()
		return nil, fmt.Errorf("its port is not reached: %w", context.Cause(ctx))
	}
}

func (r *replica) connect(ctx context.Context, address string) (net.Conn, error) {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	r.way.Lock()
	way := r.way.Connection
	if way == nil {
		if way, err = r.d.s.o.Compute.Connect(r.lost, r.rec.Lease); err == nil {
			r.way.Connection = way
		}
	}
	r.way.Unlock()
	if err != nil {
		return nil, err
	}
	return way.Dial(ctx, uint16(port))
}

func (r *replica) disconnect() {
	r.way.Lock()
	defer r.way.Unlock()
	if r.way.Connection != nil {
		_ = r.way.Connection.Close()
	}
}

// healthy asks the model server.
func (r *replica) healthy() error {
	spec := &r.d.rec.Spec
	ctx, cancel := context.WithTimeout(r.quit, healthWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://replica:%d%s", spec.HealthPort, spec.HealthPath), nil)
	if err != nil {
		return err
	}
	res, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)); err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("its health check %s answers %d", spec.HealthPath, res.StatusCode)
	}
	return nil
}
