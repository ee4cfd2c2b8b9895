package network

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
)

const serveName = "serve"

// Served is a running `gantry serve`.
type Served struct {
	// URL is where it answers, and Page a link that signs one browser in, within 15 minutes.
	URL, Page string
	// TokenFile holds its token.
	TokenFile string
}

// StartServe starts `gantry serve` for a customer, with this many USDC as credits and as the cap of its session key, and with further flags.
func (n *Network) StartServe(ctx context.Context, customer seed.Wallet, credits string, flags ...string) (Served, error) {
	session, err := seed.OpenWallet(filepath.Join(n.cfg.Dir, "keys"), serveName)
	if err != nil {
		return Served{}, err
	}
	for _, args := range [][]string{
		{"credits", "add", credits},
		{"session", "add", session.Path, "--cap", credits, "--expires", "720h", "--fund", "1"},
	} {
		out, err := n.Gantry(ctx, customer, args...)
		if err == nil {
			err = out.Err()
		}
		if err != nil {
			return Served{}, fmt.Errorf("the customer of the page: %w", err)
		}
	}
	return n.serve(ctx, serveName, append([]string{"--session", session.Path}, flags...)...)
}

// StartServeForWallet starts `gantry serve` for a wallet that has neither credits nor a session key: it makes both on the
// page.
func (n *Network) StartServeForWallet(ctx context.Context, customer seed.Wallet) (Served, error) {
	return n.serve(ctx, serveName+"-"+customer.Name, "--customer", customer.Address().String())
}

// StartPublic starts `gantry serve --public`.
func (n *Network) StartPublic(ctx context.Context) (Served, error) {
	return n.serve(ctx, serveName+"-public", "--public")
}

// serve starts the command under a name, and waits until it answers.
func (n *Network) serve(ctx context.Context, name string, who ...string) (Served, error) {
	served := Served{TokenFile: filepath.Join(n.cfg.Dir, "keys", name+".token")}
	args := append([]string{"--json"}, n.given(name)...)
	args = append(args, serveName, "--listen", "127.0.0.1:0", "--token-file", served.TokenFile)
	p, err := n.sup.Start(process.Spec{Name: name, Path: n.bins.gantry, Args: append(args, who...), Dir: n.cfg.Dir, Env: n.home(name)})
	if err != nil {
		return Served{}, err
	}
	err = waitFor(ctx, "gantry serve to answer", readyTimeout, func(context.Context) (bool, error) {
		select {
		case <-p.Done():
			return false, fmt.Errorf("gantry serve has ended: %w; its log: %s", p.Err(), p.LogPath())
		default:
		}
		said, err := os.ReadFile(p.LogPath())
		if err != nil {
			return false, err
		}
		// Its log may come before the document.
		_, document, found := bytes.Cut(said, []byte("{\n"))
		if !found || json.NewDecoder(bytes.NewReader(append([]byte("{"), document...))).Decode(&served) != nil {
			return false, nil // it is not written yet
		}
		return served.URL != "", nil
	})
	return served, err
}
