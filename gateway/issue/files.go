package issue

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// request is one that was sent to the issuer, or was about to be.
type request struct {
	Host     string           `json:"host"`
	Customer solana.PublicKey `json:"customer"`
	At       int64            `json:"at"` // unix seconds
}

const (
	accountFile = "account.key"
	askedFile   = "asked.json"
	suffix      = ".pem"
	// week is the time in which new names are counted.
	week = 7 * 24 * time.Hour
	// firstPause after a request for a name; each further one of the week doubles it.
	firstPause, longestPause = time.Minute, 12 * time.Hour
)

func (i *Issuer) path(name string) string { return filepath.Join(i.o.Dir, name) }

// load reads the certificates and what was asked for.
func (i *Issuer) load() error {
	if err := os.MkdirAll(i.o.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of certificates: %w", err)
	}
	raw, err := os.ReadFile(i.path(askedFile))
	if err == nil {
		err = json.Unmarshal(raw, &i.asked)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", i.path(askedFile), err)
	}
	files, err := os.ReadDir(i.o.Dir)
	if err != nil {
		return fmt.Errorf("folder of certificates: %w", err)
	}
	for _, f := range files {
		host, ok := strings.CutSuffix(f.Name(), suffix)
		if !ok {
			continue
		}
		pair, err := tls.LoadX509KeyPair(i.path(f.Name()), i.path(f.Name()))
		if err != nil {
			i.o.Log.Warn().Err(err).Str("name", host).Msg("a stored certificate cannot be read; the gateway asks for another")
			continue
		}
		i.certs[host] = &pair
	}
	return nil
}

// save writes a certificate with its key.
func (i *Issuer) save(host string, key crypto.Signer, der [][]byte) (*tls.Certificate, error) {
	var out bytes.Buffer
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := pem.Encode(&out, &pem.Block{Type: "PRIVATE KEY", Bytes: raw}); err != nil {
		return nil, err
	}
	for _, b := range der {
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: b}); err != nil {
			return nil, err
		}
	}
	pair, err := tls.X509KeyPair(out.Bytes(), out.Bytes())
	if err == nil {
		err = pair.Leaf.VerifyHostname(host)
	}
	if err != nil {
		return nil, fmt.Errorf("the ACME server's certificate: %w", err)
	}
	if err := atomicfile.Write(i.path(host+suffix), out.Bytes()); err != nil {
		return nil, fmt.Errorf("store certificate: %w", err)
	}
	return &pair, nil
}

// expire forgets certificates and requests whose time is over. The caller holds the lock.
func (i *Issuer) expire(now time.Time) {
	for host, c := range i.certs {
		if now.Before(c.Leaf.NotAfter) {
			continue
		}
		delete(i.certs, host)
		if err := os.Remove(i.path(host + suffix)); err != nil {
			i.o.Log.Warn().Err(err).Msg("a certificate that has expired cannot be removed")
		}
	}
	for len(i.asked) > 0 && i.asked[0].At < now.Add(-week).Unix() {
		i.asked = i.asked[1:]
	}
}

// note writes down that a certificate is asked for.
func (i *Issuer) note(r request) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	asked := append(i.asked[:len(i.asked):len(i.asked)], r)
	raw, err := json.Marshal(asked)
	if err == nil {
		err = atomicfile.Write(i.path(askedFile), raw)
	}
	if err != nil {
		return fmt.Errorf("write down what is asked for: %w", err)
	}
	i.asked = asked
	return nil
}

// room reports whether a name may be asked for: names count, not requests, since those that fail are repeated. The
// caller holds the lock.
func (i *Issuer) room(n Name) bool {
	all, own := map[string]bool{}, map[string]bool{}
	for _, r := range i.asked {
		if r.Host == n.Host {
			return true
		}
		all[r.Host] = true
		if r.Customer == n.Customer {
			own[r.Host] = true
		}
	}
	return len(all) < i.o.PerWeek && len(own) < i.o.PerCustomer
}

// due reports whether enough time has passed since a name was asked for. The caller holds the lock.
func (i *Issuer) due(host string, now time.Time) bool {
	pause, last := firstPause, int64(0)
	for _, r := range i.asked {
		if r.Host == host {
			if last > 0 {
				pause = min(2*pause, longestPause)
			}
			last = r.At
		}
	}
	return !now.Before(time.Unix(last, 0).Add(pause))
}

// accountKey is what the ACME server knows the gateway by.
func (i *Issuer) accountKey() (crypto.Signer, error) {
	raw, err := os.ReadFile(i.path(accountFile))
	if err == nil {
		block, _ := pem.Decode(raw)
		if block == nil {
			return nil, fmt.Errorf("%s has no key; delete it to make a new one", i.path(accountFile))
		}
		key, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; delete it to make a new one", i.path(accountFile), err)
		}
		return key, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("account's key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(i.path(accountFile), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})); err != nil {
		return nil, fmt.Errorf("account's key: %w", err)
	}
	return key, nil
}
