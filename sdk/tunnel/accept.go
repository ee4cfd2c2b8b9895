package tunnel

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Accept runs f for each connection of a listener until ctx ends or the listener does. It closes the listener, waits for all f, and
// closes their connections. Error: of the listener, with that of ctx.
func Accept(ctx context.Context, l net.Listener, f func(context.Context, net.Conn)) error {
	defer l.Close()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var served sync.WaitGroup
	defer served.Wait()
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		conn, err := l.Accept()
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		served.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(sctx, func() { _ = conn.Close() })()
			f(sctx, conn)
		})
	}
}
