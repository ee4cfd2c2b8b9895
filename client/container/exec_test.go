package container

import (
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/service"
)

// ended is a client of an SSH server whose commands read one byte, and end with a status.
func ended(t *testing.T, status uint32) *ssh.Client {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	host, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener and the client
		conn, err := l.Accept()
		if err != nil {
			return
		}
		config := &ssh.ServerConfig{NoClientAuth: true}
		config.AddHostKey(host)
		_, channels, requests, err := ssh.NewServerConn(conn, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for ch := range channels {
			channel, asked, err := ch.Accept()
			if err != nil {
				return
			}
			for r := range asked {
				_ = r.Reply(r.Type == "exec", nil)
				_, _ = channel.Read(make([]byte, 1)) // so that the input has begun
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
				_ = channel.Close()
			}
		}
	}()
	c, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(host.PublicKey())})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pours is an input without an end.
type pours struct{}

func (pours) Read(b []byte) (int, error) { return len(b), nil }

// A command that has not read all of its input has ended as it says.
func TestACommandNeedNotReadItsInput(t *testing.T) {
	for _, status := range []int{0, 3} {
		code, exited := ExitCode(Run(t.Context(), ended(t, uint32(status)), "true", Streams{In: pours{}, Out: io.Discard, Err: io.Discard}))
		require.True(t, exited)
		require.Equal(t, status, code)
	}
	_, exited := ExitCode(service.Refused("the machine is gone", ""))
	require.False(t, exited)
}
