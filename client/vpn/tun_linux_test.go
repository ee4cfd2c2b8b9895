package vpn

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/mesh"
)

// With root the kernel's programs reach members by an interface.
func TestAnInterfaceLeadsToMembers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: interfaces need root")
	}
	w := newWorld(t, 1)
	var port mesh.Port
	served(t, &port)
	done := make(chan error, 1)
	joined, dialled := make(chan *Computer), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
		done <- func() error {
			defer close(joined)
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			link, err := NewInterface(mesh.Interface, mesh.Visitor)
			if err != nil {
				return err
			}
			c, err := Join(&port, link, w.options())
			if err != nil {
				return err
			}
			joined <- c
			<-dialled
			d := net.Dialer{Timeout: 10 * time.Second} // connects on this thread: the address is a number
			conn, err := d.DialContext(context.Background(), "tcp4", mesh.Address(0).String()+":8080")
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET /z HTTP/1.0\r\n\r\n"); err != nil {
				return err
			}
			all, err := io.ReadAll(conn)
			if err == nil {
				require.Contains(t, string(all), "node-0 to "+mesh.Visitor.String()+"/z")
			}
			return err
		}()
	}()
	c, ok := <-joined
	if !ok {
		require.NoError(t, <-done)
	}
	t.Cleanup(c.Close)
	running(t, c.Run)
	places(t, c, 0)
	close(dialled)
	require.NoError(t, <-done)
}
