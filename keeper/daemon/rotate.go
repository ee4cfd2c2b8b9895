package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// Consent is a key that is to sign for a keeper, with its consent. Its text carries it from the machine of the key to
// that of the wallet.
type Consent struct {
	Key       solana.PublicKey
	Signature solana.Signature
}

// ErrConsent: a text is no consent, or not that of its key to sign for this wallet in this market.
var ErrConsent = errors.New("not a consent to sign for this keeper")

// NewConsent has a key agree to sign for the keeper of a wallet.
func NewConsent(domain records.Domain, wallet solana.PublicKey, key solana.PrivateKey) (Consent, error) {
	sig, err := records.Consent{Domain: domain, Wallet: wallet}.Sign(key)
	return Consent{key.PublicKey(), sig}, err
}

// String is the key and its signature in base58, with a colon between them.
func (c Consent) String() string { return c.Key.String() + ":" + c.Signature.String() }

// ParseConsent reads what String writes. Error: ErrConsent.
func ParseConsent(text string) (c Consent, err error) {
	key, sig, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok {
		return c, fmt.Errorf("%w: %q is not KEY:SIGNATURE; `gantry-keeper consent WALLET` prints it", ErrConsent, text)
	}
	var bad error
	c.Key, err = solana.PublicKeyFromBase58(key)
	c.Signature, bad = solana.SignatureFromBase58(sig)
	if err := errors.Join(err, bad); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConsent, err)
	}
	return c, nil
}

// before is the check of the consent that goes before what names the signer; none where it is the wallet. Error:
// ErrConsent.
func (c Consent) before(domain records.Domain, wallet solana.PublicKey) ([]solana.Instruction, error) {
	if c.Key.IsZero() || c.Key == wallet {
		return nil, nil
	}
	check, err := ix.SignerConsent(records.Consent{Domain: domain, Wallet: wallet}, c.Key, c.Signature)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrConsent, wallet, err)
	}
	return []solana.Instruction{check}, nil
}

// SetSigner has another key sign for the keeper; the zero Consent takes the wallet back. Errors: ErrNotRegistered,
// ErrConsent, ErrBonded while the former signer is liable, so that none can be named.
func (a *Account) SetSigner(ctx context.Context, c Consent) (market.Keeper, error) {
	k, ok, err := a.own(ctx)
	if err != nil {
		return k, err
	}
	if c.Key.IsZero() {
		c.Key = a.Wallet()
	}
	until := time.Unix(k.SignerUntil, 0).UTC()
	switch {
	case !ok:
		return k, fmt.Errorf("%w: %s", ErrNotRegistered, a.Wallet())
	case k.SigningKey() == c.Key:
		return k, nil
	case a.now().Before(until):
		return k, fmt.Errorf("%w for what %s has signed until %s, and no third key signs before that. If %s is stolen, leave with `gantry-keeper exit`",
			ErrBonded, k.FormerSigner, until.Format(time.RFC3339), k.SigningKey())
	}
	ixs, err := c.before(a.market.Domain, a.Wallet())
	if err != nil {
		return k, err
	}
	set, err := ix.KeeperSetSigner(a.Wallet(), c.Key)
	if err != nil {
		return k, err
	}
	if _, err := a.send(ctx, fmt.Sprintf("signer/%s/%d", c.Key, a.now().UnixNano()), "keeper_set_signer", append(ixs, set)...); err != nil {
		return k, err
	}
	k, _, err = a.own(ctx)
	return k, err
}
