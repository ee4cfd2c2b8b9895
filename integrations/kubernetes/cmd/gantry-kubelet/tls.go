package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/urfave/cli/v2"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// selfSigned is how long a certificate of the program's own is good; each start makes another.
const selfSigned = 365 * 24 * time.Hour

// encryption is TLS for the API server's questions. Clients bring certificates, which authorised checks.
func encryption(c *cli.Context, name string) (*tls.Config, error) {
	var cert tls.Certificate
	var err error
	if c.IsSet(flagCert) || c.IsSet(flagKey) {
		cert, err = tls.LoadX509KeyPair(c.String(flagCert), c.String(flagKey))
	} else {
		cert, err = selfSign(name, c.String(flagAddress))
	}
	if err != nil {
		return nil, fmt.Errorf("certificate of --%s: %w", flagListen, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert}, nil
}

func selfSign(name, address string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSigned),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{name},
	}
	if ip := net.ParseIP(address); ip != nil {
		template.IPAddresses = []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// authorised lets those ask for logs and shells whom the cluster lets: the API server, by its client certificate, and others
// by their tokens, as a kubelet does.
func authorised(kube kubernetes.Interface, name, ca string) (nodeutil.Auth, error) {
	trusted, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", ca)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w: name the file of the CA that signs the client certificate of the API server", flagClientCA, err)
	}
	return nodeutil.WebhookAuth(kube, name, func(w *nodeutil.WebhookAuthConfig) error {
		w.AuthnConfig.ClientCertificateCAContentProvider = trusted
		return nil
	})
}
