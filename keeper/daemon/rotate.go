package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	Until     time.Time // exclusive, on the chain's clock
	Signature solana.Signature
}

// ErrConsent: a text is no consent, or not that of its key to sign for this wallet in this market.
var ErrConsent = errors.New("not a consent to sign for this keeper")

// NewConsent has a key agree to sign for the keeper of a wallet. It holds for half of the time that the program allows,
// which it counts by its own clock.
func NewConsent(m *market.Market, wallet solana.PublicKey, key solana.PrivateKey, now time.Time) (Consent, error) {
	until := now.Add(time.Duration(m.Params.KeeperExitSecs) * time.Second / 2).UTC().Truncate(time.Second)
	sig, err := records.Consent{Domain: m.Domain, Wallet: wallet, Until: until}.Sign(key)
	return Consent{key.PublicKey(), until, sig}, err
}

// String is the key, the Unix time of its end, and the signature, with colons between them.
func (c Consent) String() string {
	return fmt.Sprintf("%s:%d:%s", c.Key, c.Until.Unix(), c.Signature)
}

// ParseConsent reads what String writes. Error: ErrConsent.
func ParseConsent(text string) (c Consent, err error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) != 3 {
		return c, fmt.Errorf("%w: %q is not KEY:UNTIL:SIGNATURE; `gantry-keeper consent WALLET` prints it", ErrConsent, text)
	}
	key, err := solana.PublicKeyFromBase58(parts[0])
	until, bad := strconv.ParseInt(parts[1], 10, 64)
	sig, worse := solana.SignatureFromBase58(parts[2])
	if err := errors.Join(err, bad, worse); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConsent, err)
	}
	return Consent{key, time.Unix(until, 0).UTC(), sig}, nil
}

// agreed is the check of the consent that goes before what names the signer; none where it is the wallet. Error:
// ErrConsent.
func (a *Account) agreed(c Consent) ([]solana.Instruction, error) {
	if c.Key.IsZero() || c.Key == a.Wallet() {
		return nil, nil
	}
	if !a.now().Before(c.Until) {
		return nil, fmt.Errorf("%w any more since %s; `gantry-keeper consent WALLET` makes a new one", ErrConsent, c.Until.Format(time.RFC3339))
	}
	check, err := ix.SignerConsent(records.Consent{Domain: a.market.Domain, Wallet: a.Wallet(), Until: c.Until}, c.Key, c.Signature)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrConsent, a.Wallet(), err)
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
	ixs, err := a.agreed(c)
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
