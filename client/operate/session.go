package operate

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// SessionKey is what a session key may do: reserve at most Cap of the credits in total, until Expiry, unix seconds. The wallet
// sends it Fund, from which it pays fees and rent; 0 for nothing.
type SessionKey struct {
	Key    solana.PublicKey
	Cap    market.USDC
	Expiry int64
	Fund   chain.Lamports
}

// SetSessionKey names a session key of the wallet, or changes its cap and its expiry.
func (d *Desk) SetSessionKey(ctx context.Context, k SessionKey) (Action, error) {
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	switch {
	case k.Cap == 0:
		return Action{}, service.Usage("a session key with a cap of 0 can reserve nothing", "give an amount of USDC such as 25; to take a key back: gantry session remove")
	case k.Expiry <= now:
		return Action{}, service.Usage(fmt.Sprintf("the session key would expire at once, at %s UTC", service.When(k.Expiry)), "give a later time, such as "+(24*time.Hour).String())
	}
	did := fmt.Sprintf("session key %s may reserve %s USDC until %s UTC", k.Key, k.Cap, service.When(k.Expiry))
	instruction, err := ix.CreditsSetSessionKey(ix.SessionKeyArgs{Customer: d.Key, Key: k.Key, Cap: k.Cap, Expiry: k.Expiry})
	a, err := NewAction("credits_set_session_key", d.Key, did, instruction, err)
	if err != nil {
		return a, err
	}
	a.Asks = fmt.Sprintf("session  key %s may reserve %s USDC of the credits in total", k.Key, k.Cap)
	if k.Fund > 0 {
		a.Asks += fmt.Sprintf(", and gets %s of the wallet", k.Fund)
		a.Instructions = append(a.Instructions, system.NewTransferInstruction(uint64(k.Fund), d.Key, k.Key).Build())
	}
	return a, nil
}

// RemoveSessionKey takes the powers of a session key back.
func (d *Desk) RemoveSessionKey(ctx context.Context, key solana.PublicKey) (Action, error) {
	c, _, err := d.Credits(ctx)
	if err != nil {
		return Action{}, err
	}
	if _, ok := c.SessionKeyOf(key); !ok {
		return Action{}, service.Refused(fmt.Sprintf("%s is not a session key of %s", key, d.Key), "see: gantry session list")
	}
	instruction, err := ix.CreditsSetSessionKey(ix.SessionKeyArgs{Customer: d.Key, Key: key})
	return NewAction("credits_set_session_key", d.Key, fmt.Sprintf("session key %s may do nothing any more; its leases run on", key), instruction, err)
}

// KeyOrFile reads an address, or the public key of a keypair file. Errors: [service.Failure], those of [chain.LoadKeypair].
func KeyOrFile(text string) (solana.PublicKey, error) {
	if key, err := solana.PublicKeyFromBase58(text); err == nil {
		return key, nil
	}
	if _, err := os.Stat(text); err != nil {
		return solana.PublicKey{}, service.Usage(fmt.Sprintf("%q is neither an address nor a keypair file", text), "make one with: gantry key new session.json")
	}
	key, err := chain.LoadKeypair(text)
	return key.PublicKey(), err
}
