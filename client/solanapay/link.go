package solanapay

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// ErrBase means that an address is none under which wallets can fetch transactions.
var ErrBase = errors.New("not a public address for wallets")

// ParseBase reads the address under which wallets reach the server: an absolute HTTPS URL without query, which is what
// the specification asks of links. Error: ErrBase.
func ParseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBase, err)
	case u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%w: %q is not an https:// address with a host, and wallets refuse any other", ErrBase, text)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("%w: %q has a user, a query or a fragment", ErrBase, text)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// RequestLink is the link of a transaction request. The address has no query, so that it need not be encoded.
func RequestLink(at *url.URL) string { return "solana:" + at.String() }

// TransferLink is a transfer request: it asks any wallet to send tokens to a wallet's own account. A zero amount lets
// the sender choose.
func TransferLink(to, mint solana.PublicKey, amount market.USDC, label string) string {
	q := url.Values{"spl-token": {mint.String()}}
	if amount > 0 {
		q.Set("amount", strings.TrimSuffix(amount.String(), ".00"))
	}
	if label != "" {
		q.Set("label", label)
	}
	// The specification encodes as encodeURIComponent does, which writes a space as %20.
	return "solana:" + to.String() + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}
