package rfc2136

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// ErrKey: a file is not a TSIG key.
var ErrKey = errors.New("not a TSIG key")

// Key is what a DNS server and its clients share (TSIG, RFC 8945).
type Key struct{ Name, Algorithm, Secret string }

var (
	keyBlock     = regexp.MustCompile(`(?s)\bkey\s+"?([^"\s{]+)"?\s*\{(.*?)\}`)
	keyAlgorithm = regexp.MustCompile(`\balgorithm\s+"?([\w.-]+)"?\s*;`)
	keySecret    = regexp.MustCompile(`\bsecret\s+"?([^"\s;]+)"?\s*;`)
	algorithms   = []string{dns.HmacSHA224, dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512}
)

// ReadKey reads a key as tsig-keygen writes it, and nsupdate -k reads it. Errors: ErrKey, those of the file.
func ReadKey(path string) (Key, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("TSIG key: %w", err)
	}
	k, err := parseKey(string(raw))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w; make one with: tsig-keygen gantry", path, err)
	}
	return k, nil
}

func parseKey(text string) (Key, error) {
	blocks := keyBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) != 1 {
		return Key{}, fmt.Errorf("%w: it has %d blocks `key \"NAME\" { algorithm …; secret …; };`, want one", ErrKey, len(blocks))
	}
	algorithm, secret := keyAlgorithm.FindStringSubmatch(blocks[0][2]), keySecret.FindStringSubmatch(blocks[0][2])
	if algorithm == nil || secret == nil {
		return Key{}, fmt.Errorf("%w: the block has no algorithm or no secret", ErrKey)
	}
	k := Key{Name: dns.CanonicalName(blocks[0][1]), Algorithm: dns.CanonicalName(algorithm[1]), Secret: secret[1]}
	if !slices.Contains(algorithms, k.Algorithm) {
		return Key{}, fmt.Errorf("%w: algorithm %s is not one of %s", ErrKey, algorithm[1], strings.ReplaceAll(strings.Join(algorithms, " "), ". ", ", "))
	}
	if b, err := base64.StdEncoding.DecodeString(k.Secret); err != nil || len(b) == 0 {
		return Key{}, fmt.Errorf("%w: the secret is not in base64", ErrKey) // without the secret
	}
	if _, ok := dns.IsDomainName(k.Name); !ok {
		return Key{}, fmt.Errorf("%w: its name is not a domain name", ErrKey)
	}
	return k, nil
}
