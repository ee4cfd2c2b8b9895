package signing

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// ErrAddress: the address of a signer cannot be read.
var ErrAddress = errors.New("address of the signer")

// ErrLink: the other end of a connection has another key than the one that is expected there.
var ErrLink = errors.New("the other end of the connection has another key")

const linkSyntax = "give unix:/path/to/signer.sock, or tls://KEY@HOST:PORT with the signer's link key (gantry-keeper signer key)"

// Address is where a signer listens: a Unix socket, or TLS at a host and port.
type Address struct {
	socket string           // path; empty for TLS
	host   string           // with the port
	server solana.PublicKey // the signer's link key
}

// ParseAddress reads unix:PATH or tls://KEY@HOST:PORT. Error: ErrAddress.
func ParseAddress(s string) (Address, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		path = strings.TrimPrefix(path, "//")
		if !filepath.IsAbs(path) {
			return Address{}, fmt.Errorf("%w: %q is not an absolute path; %s", ErrAddress, path, linkSyntax)
		}
		return Address{socket: path}, nil
	}
	rest, ok := strings.CutPrefix(s, "tls://")
	name, host, at := strings.Cut(rest, "@")
	if !ok || !at {
		return Address{}, fmt.Errorf("%w %q; %s", ErrAddress, s, linkSyntax)
	}
	key, err := solana.PublicKeyFromBase58(name)
	if err != nil {
		return Address{}, fmt.Errorf("%w: link key %q: %w; %s", ErrAddress, name, err, linkSyntax)
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		return Address{}, fmt.Errorf("%w: %w; %s", ErrAddress, err, linkSyntax)
	}
	return Address{host: host, server: key}, nil
}

// String is the address without its key.
func (a Address) String() string {
	if a.socket != "" {
		return "unix:" + a.socket
	}
	return "tls://" + a.host
}

// Dialer connects to a signer.
type Dialer struct {
	Address
	// Key is this end's link key; for TLS only.
	Key solana.PrivateKey
}

func (d Dialer) transport() *http.Transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var n net.Dialer
		if d.socket != "" {
			return n.DialContext(ctx, "unix", d.socket)
		}
		conf, err := linkConfig(d.Key, []solana.PublicKey{d.server})
		if err != nil {
			return nil, err
		}
		return (&tls.Dialer{NetDialer: &n, Config: conf}).DialContext(ctx, "tcp", d.host)
	}
	return &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16, IdleConnTimeout: 5 * time.Minute}
}

// ListenSocket listens on a Unix socket that only this user may connect to. A socket that a killed signer left is
// removed: the lock of the wallet says that no other signer runs.
func ListenSocket(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the signer's socket: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("the signer's former socket: %w", err)
		}
	}
	// Nobody may connect in the moment between its creation and the change of its mode either: it is made in a folder
	// of its own first.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".signer-*")
	if err != nil {
		return nil, fmt.Errorf("the signer's socket: %w", err)
	}
	defer os.Remove(dir)
	made := filepath.Join(dir, "s")
	l, err := net.Listen("unix", made)
	if err != nil {
		return nil, fmt.Errorf("the signer's socket: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("the signer's socket: %w", err), l.Close())
	}
	return l, nil
}

// ListenTLS listens at a host and port for the keepers with these link keys.
func ListenTLS(addr string, key solana.PrivateKey, allow []solana.PublicKey) (net.Listener, error) {
	conf, err := linkConfig(key, allow)
	if err != nil {
		return nil, err
	}
	l, err := tls.Listen("tcp", addr, conf)
	if err != nil {
		return nil, fmt.Errorf("listen for keepers: %w", err)
	}
	return l, nil
}

// linkConfig is TLS 1.3 between two ends that know each other's keys. Each shows a certificate that it has signed itself;
// names and dates in it mean nothing.
func linkConfig(key solana.PrivateKey, others []solana.PublicKey) (*tls.Config, error) {
	if err := key.Validate(); err != nil {
		return nil, fmt.Errorf("link key: %w", err)
	}
	private := ed25519.PrivateKey(key)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		return nil, fmt.Errorf("certificate of the link key: %w", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: private}},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // VerifyConnection compares the key itself
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return fmt.Errorf("%w: it shows none", ErrLink)
			}
			public, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !slices.Contains(others, solana.PublicKeyFromBytes(public)) {
				return fmt.Errorf("%w", ErrLink)
			}
			return nil
		},
	}, nil
}

// LinkKey reads the key by which a process shows who it is to the other end, or makes it when there is none.
func LinkKey(path string) (solana.PrivateKey, error) {
	key, _, err := chain.LoadOrMakeKeypair(path)
	return key, err
}
