package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/txm"
)

var (
	// ErrNotRegistered: the wallet is no keeper.
	ErrNotRegistered = errors.New("this wallet is not a keeper")
	// ErrLeaving: the keeper has asked to exit.
	ErrLeaving = errors.New("this keeper has asked to exit")
	// ErrBonded: the bond cannot be taken back yet.
	ErrBonded = errors.New("the bond is held")
	// ErrAnnounce: no peer could reach the keeper at its address.
	ErrAnnounce = errors.New("the keeper has no address at which others can reach it")
)

// prepare checks that this wallet is a keeper, and writes its address on chain when it has changed.
func (k *Keeper) prepare(ctx context.Context) error {
	me := k.me()
	switch {
	case me == nil:
		return fmt.Errorf("%w: %s; bond it with `gantry-keeper register --bond N`", ErrNotRegistered, k.publicKey())
	case me.State() == market.KeeperExiting:
		return fmt.Errorf("%w; take the bond back with `gantry-keeper withdraw` after %s", ErrLeaving, time.Unix(me.ExitAt, 0).UTC().Format(time.RFC3339))
	}
	if err := errors.Join(k.checkKey(me), k.compareVotes(me)); err != nil {
		return err
	}
	addr, err := announce(k.c.Announce, k.c.Listen, k.node.Addrs())
	if err != nil {
		return err
	}
	if addr == me.Addr() {
		return nil
	}
	instruction, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: k.publicKey(), Signer: k.signer.PublicKey(), Multiaddr: addr})
	if err != nil {
		return err
	}
	// Writing the same address twice is harmless, so the id need only be new.
	_, err = k.txm.Submit(ctx, txm.Intent{
		ID: fmt.Sprintf("address/%s/%d", addr, k.now().UnixNano()), Kind: "keeper_update", Instructions: []solana.Instruction{instruction},
	})
	if err != nil {
		return fmt.Errorf("write the address %s: %w", addr, market.Explain(err))
	}
	k.log.Info().Str("address", addr).Msg("address written on chain")
	return nil
}

// announce returns the address that others dial, without the peer id, which is derived from the signer's key.
func announce(given, listen string, actual []string) (string, error) {
	if given != "" {
		return WithoutPeer(given)
	}
	for _, a := range append(actual, listen) {
		plain, err := WithoutPeer(a)
		if err != nil || unspecified(plain) || strings.Contains(plain, "/tcp/0") || strings.Contains(plain, "/udp/0") {
			continue
		}
		// A keeper that listens on all interfaces may be reachable on none of them.
		if unspecified(listen) {
			break
		}
		return plain, nil
	}
	return "", fmt.Errorf("%w: give --announce, such as --announce /dns4/keeper.example.org/tcp/4101", ErrAnnounce)
}

func unspecified(addr string) bool {
	return strings.HasPrefix(addr, "/ip4/0.0.0.0/") || strings.HasPrefix(addr, "/ip6/::/")
}

// WithoutPeer checks a multiaddress and cuts a trailing /p2p/ID. Error: ErrAnnounce.
func WithoutPeer(addr string) (string, error) {
	m, err := ma.NewMultiaddr(addr)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not a multiaddress such as /ip4/203.0.113.7/tcp/4101: %w", ErrAnnounce, addr, err)
	}
	rest, last := ma.SplitLast(m)
	if last != nil && last.Protocol().Code == ma.P_P2P {
		m = rest
	}
	if len(m) == 0 {
		return "", fmt.Errorf("%w: %q has no host", ErrAnnounce, addr)
	}
	if err := p2p.CheckAddress(m.String()); err != nil {
		return "", fmt.Errorf("%w: %w", ErrAnnounce, err)
	}
	return m.String(), nil
}
