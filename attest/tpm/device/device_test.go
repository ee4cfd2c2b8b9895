package device_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
)

func TestNoTPM(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tpmrm0")
	d := device.New(device.Options{Path: path})
	for name, do := range map[string]func() error{
		"request":  func() error { _, err := d.Request(t.Context()); return err },
		"key":      func() error { _, err := d.AK(t.Context()); return err },
		"activate": func() error { _, err := d.Activate(t.Context(), tpm.Credential{}); return err },
		"collect": func() error {
			_, err := (&device.Collector{Device: d}).Collect(t.Context(), [32]byte{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := do()
			require.ErrorIs(t, err, attest.ErrAbsent)
			require.ErrorContains(t, err, path, "what was looked for")
		})
	}
}

func TestNotATPM(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := device.New(device.Options{Path: path}).AK(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, attest.ErrAbsent)
}

// script answers every command with a response code, and counts what was closed.
type script struct {
	code   uint32
	err    error
	closed int
}

func (s *script) Send([]byte) ([]byte, error) {
	reply := binary.BigEndian.AppendUint16(nil, uint16(tpm2.TPMSTNoSessions))
	reply = binary.BigEndian.AppendUint32(reply, 10)
	return binary.BigEndian.AppendUint32(reply, s.code), s.err
}

func (s *script) Close() error {
	s.closed++
	return nil
}

func TestTPMThatRefuses(t *testing.T) {
	broken := errors.New("the wire is cut")
	for name, tc := range map[string]struct {
		script *script
		want   error
	}{
		// Response codes for the first handle: part 2, section 6.6.
		"no certificate":    {&script{code: 0x18b}, attest.ErrAbsent},
		"in failure mode":   {&script{code: 0x101}, tpm2.TPMRCFailure},
		"connection breaks": {&script{err: broken}, broken},
		"empty success":     {&script{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := device.New(device.Options{Open: func() (transport.TPMCloser, error) { return tc.script, nil }})
			_, err := d.Request(t.Context())
			require.Error(t, err)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
			}
			require.Equal(t, 1, tc.script.closed)
		})
	}
	d := device.New(device.Options{Open: func() (transport.TPMCloser, error) { return nil, fs.ErrPermission }})
	_, err := d.AK(t.Context())
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestCancelled(t *testing.T) {
	s := &script{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := device.New(device.Options{Open: func() (transport.TPMCloser, error) { return s, nil }}).AK(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, s.closed, "never opened")
}

// A socket that answers nonsense.
func TestNonsense(t *testing.T) {
	dir, err := os.MkdirTemp("", "gantry-tpm")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request"))
			_ = c.Close()
		}
	}()
	_, err = device.New(device.Options{Path: path}).AK(t.Context())
	require.Error(t, err)
	require.NoError(t, l.Close())
	<-done
}
