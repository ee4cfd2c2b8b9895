package command

import (
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/solanapay"
)

// FlagPublicURL is the address at which wallets on phones reach a server of ours.
const FlagPublicURL = "public-url"

// PublicURLFlag names that address.
func PublicURLFlag() cli.Flag {
	return &cli.StringFlag{Name: FlagPublicURL, Usage: "https:// `ADDRESS` at which wallets reach this server through a proxy with TLS; links and QR codes lead there", EnvVars: []string{"GANTRY_PUBLIC_URL"}}
}

// PublicURL is the public address; nil where none is given.
func (s *Session) PublicURL() (*url.URL, error) {
	text := s.CLI.String(FlagPublicURL)
	if text == "" {
		return nil, nil
	}
	base, err := solanapay.ParseBase(text)
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("--%s: %v", FlagPublicURL, err), "give the address of the proxy, such as https://credits.example.org")
	}
	return base, nil
}
