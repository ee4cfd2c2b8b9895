package swtpm

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CA is a certificate authority in a folder, which stands for a TPM manufacturer. Its keys are made when the first TPM
// is. Several TPMs can share one.
type CA struct{ dir string }

// NewCA uses dir, which must exist. Its path must have no white space: the configuration format has no quotes.
func NewCA(dir string) (*CA, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	if strings.ContainsAny(dir, " \t\n") {
		return nil, fmt.Errorf("certificate authority: white space in path %q", dir)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return &CA{dir: dir}, nil
}

// config writes the three configuration files that swtpm_setup and swtpm_localca read, and returns the first's path.
func (ca *CA) config() (string, error) {
	tool, err := exec.LookPath("swtpm_localca")
	if err != nil {
		return "", fmt.Errorf("swtpm_localca: %w", ErrUnavailable)
	}
	file := func(name string) string { return filepath.Join(ca.dir, name) }
	files := map[string]string{
		"localca.conf": "statedir = " + ca.dir + "\nsigningkey = " + file("signkey.pem") + "\nissuercert = " + file("issuercert.pem") +
			"\ncertserial = " + file("certserial") + "\n",
		"localca.options": "--platform-manufacturer Gantry\n--platform-version 1\n--platform-model simulated\n",
		"setup.conf": "create_certs_tool = " + tool + "\ncreate_certs_tool_config = " + file("localca.conf") +
			"\ncreate_certs_tool_options = " + file("localca.options") + "\nactive_pcr_banks = sha256\n",
	}
	for name, text := range files {
		if old, err := os.ReadFile(file(name)); err == nil && string(old) == text {
			continue
		}
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("certificate authority: %w", err)
		}
	}
	return file("setup.conf"), nil
}

// Roots is the pool with the root certificate. It exists once a TPM was started.
func (ca *CA) Roots() (*x509.CertPool, error) { return ca.pool("swtpm-localca-rootca-cert.pem") }

// Intermediates is the pool with the certificate of the key that signs endorsement key certificates.
func (ca *CA) Intermediates() (*x509.CertPool, error) { return ca.pool("issuercert.pem") }

func (ca *CA) pool(name string) (*x509.CertPool, error) {
	cert, err := ca.certificate(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool, nil
}

// Issuer is the certificate that signed the endorsement key certificates.
func (ca *CA) Issuer() (*x509.Certificate, error) { return ca.certificate("issuercert.pem") }

// Root is the certificate at the top.
func (ca *CA) Root() (*x509.Certificate, error) {
	return ca.certificate("swtpm-localca-rootca-cert.pem")
}

func (ca *CA) certificate(name string) (*x509.Certificate, error) {
	data, err := os.ReadFile(filepath.Join(ca.dir, name))
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("certificate authority: %s holds no certificate", name)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %s: %w", name, err)
	}
	return cert, nil
}
