package fault

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo is a server that answers every line with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func say(c net.Conn, text string) (string, error) {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintln(c, text); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func TestCutAndRestore(t *testing.T) {
	r, err := StartRelay(t.Context(), echo(t))
	require.NoError(t, err)
	defer r.Close()

	for round := range 3 {
		c, err := net.Dial("tcp4", r.Addr())
		require.NoError(t, err)
		answer, err := say(c, "hello")
		require.NoError(t, err)
		require.Equal(t, "hello\n", answer)

		r.Cut()
		require.Equal(t, round+1, r.Cuts())
		_, err = say(c, "still there?")
		require.Error(t, err)
		require.NoError(t, c.Close())
		_, err = net.DialTimeout("tcp4", r.Addr(), time.Second)
		require.Error(t, err)

		require.NoError(t, r.Restore())
		require.NoError(t, r.Restore())
	}
}

func TestHalfClosedConnectionsAreFinished(t *testing.T) {
	r, err := StartRelay(t.Context(), echo(t))
	require.NoError(t, err)
	defer r.Close()
	c, err := net.Dial("tcp4", r.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("all of it"))
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "all of it", string(got))
}

func TestMissingTarget(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	gone := l.Addr().String()
	require.NoError(t, l.Close())
	r, err := StartRelay(t.Context(), gone)
	require.NoError(t, err)
	c, err := net.Dial("tcp4", r.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = say(c, "anyone?")
	require.Error(t, err)
	r.Close()
	require.Error(t, r.Restore())
}
