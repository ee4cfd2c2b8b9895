package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
)

// Listening is where a server answers.
type Listening struct {
	Addr  string   // address and port
	Names []string // by which it is called
	// Cert and Key are files of a certificate and its key (PEM); empty for plain HTTP.
	Cert, Key string
	// Plain lets it speak plain HTTP on an address that is not loopback.
	Plain bool
	// Next is what to do about such an address.
	Next string
}

// Listen opens the port, with TLS where there is a certificate. Without one it is on loopback, unless Plain is set. Error: a service.Failure
// that names the flags of the command line.
func (o *Listening) Listen() (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", o.Addr)
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("--listen %q is not an address and port", o.Addr), "such as --listen 127.0.0.1:8484")
	}
	secure, err := o.tls()
	if err != nil {
		return nil, err
	}
	if !addr.IP.IsLoopback() && secure == nil && !o.Plain {
		return nil, service.Usage(fmt.Sprintf("--listen %q is not on loopback, and the server speaks plain HTTP", o.Addr), o.Next)
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("cannot listen on %s: %v", o.Addr, err), "choose another --listen")
	}
	if secure != nil {
		return tls.NewListener(l, secure), nil
	}
	return l, nil
}

// tls is how the server is spoken with; nil for plain HTTP.
func (o *Listening) tls() (*tls.Config, error) {
	switch {
	case o.Cert == "" && o.Key == "":
		return nil, nil
	case o.Cert == "" || o.Key == "":
		return nil, service.Usage("--tls-cert and --tls-key belong together", "give both")
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("the certificate cannot be used: %v", err), "give PEM files of one certificate, with those that have signed it behind it, and of its key")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// URL is where the server answers on a listener.
func (o *Listening) URL(l net.Listener) string {
	if o.Cert == "" {
		return "http://" + l.Addr().String()
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err == nil && len(o.Names) > 0 {
		host = o.Names[0] // the certificate is for a name
	}
	return "https://" + net.JoinHostPort(host, port)
}

// OwnKey is the file of the session key that a server keeps for a customer on a cluster in a state folder. It makes the key where there is
// none.
func OwnKey(root string, genesis solana.Hash, customer solana.PublicKey) (path string, err error) {
	dir := filepath.Join(root, "serve", genesis.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("session key: %w", err)
	}
	path = filepath.Join(dir, customer.String()+".json")
	_, err = os.Stat(path)
	if err == nil {
		return path, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("session key: %w", err)
	}
	key, err := solana.NewRandomPrivateKey()
	if err != nil {
		return "", fmt.Errorf("session key: %w", err)
	}
	if err := chain.SaveKeypair(path, key); err != nil && !errors.Is(err, chain.ErrKeypairExists) {
		return "", err
	}
	return path, nil
}
