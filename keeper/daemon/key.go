package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/keeper/server"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/records"
)

// openKey takes the key that signs for the keeper, or waits until the signer that has it answers this keeper. It also
// finds the keeper's wallet.
func (k *Keeper) openKey(ctx context.Context) (err error) {
	if k.c.Signer == nil {
		if k.key, err = records.NewSigner(k.c.Wallet); err != nil {
			return err
		}
		k.wallet, err = keeperOf(ctx, k.c, k.key.PublicKey())
		return err
	}
	if err := os.MkdirAll(k.c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	waits := k.service.Loop("standby", 4*signerTimeout)
	defer waits.End()
	k.remote, err = signing.NewClient(signing.ClientOptions{
		Dial: *k.c.Signer, Seen: k.c.path(fileSeen), Timeout: signerTimeout, Turn: waits.Turn, Log: k.component("signer"),
	})
	if err != nil {
		return err
	}
	if err := k.standBy(ctx); err != nil {
		return explainStore(err, k.secs)
	}
	if k.remote.Domain() != k.domain {
		return fmt.Errorf("%w: it signs for cluster %s, --url is one of %s", ErrSigner, k.remote.Domain(), k.domain)
	}
	k.signer = k.remote
	if k.wallet, err = keeperOf(ctx, k.c, k.remote.PublicKey()); err != nil {
		return err
	}
	k.log.Info().Stringer("keeper", k.publicKey()).Msg("keeper has the signer's hold")
	return nil
}

// standBy waits for the signer's hold, and shows meanwhile that the keeper stands by. A keeper that stands by does what it is
// started for: systemd need not wait.
func (k *Keeper) standBy(ctx context.Context) (err error) {
	running := []func(context.Context) error{k.service.Run}
	if k.c.HTTP != "" {
		shown, err := k.openStandby()
		if err != nil {
			return err
		}
		running = append(running, shown.Run)
	}
	showCtx, end := context.WithCancel(ctx)
	g, showCtx := errgroup.WithContext(showCtx)
	for _, run := range running {
		g.Go(func() error { return run(showCtx) })
	}
	stop := context.AfterFunc(ctx, k.service.Stopping)
	defer stop()
	defer func() {
		end() // the keeper that works listens at the same address
		if stopped := g.Wait(); !errors.Is(stopped, context.Canceled) {
			err = errors.Join(err, stopped)
		}
	}()
	k.service.Ready()
	return k.remote.Acquire(ctx)
}

// openStandby shows the figures of a keeper that stands by.
func (k *Keeper) openStandby() (*figures.Server, error) {
	shown, err := figures.New(figures.Options{
		Addr: k.c.HTTP, WebConfig: k.c.WebConfig, Registry: server.NewStandby(signerAnswers(k.remote), standby(1)),
		Healthy: func() []string { return nil }, Ready: k.status,
	})
	if err != nil {
		return nil, err
	}
	return shown, shown.WriteAddr(k.c.path(fileHTTP))
}

// status lists what keeps the keeper from its work, also before it works.
func (k *Keeper) status() []string {
	if k.works.Load() {
		return k.ready()
	}
	text := "keeper stands by"
	if why := k.remote.Waits(); why != nil {
		text += ": " + why.Error()
	}
	return []string{text}
}

// ErrSigner: the signer is of another cluster.
var ErrSigner = errors.New("this signer does not sign for this market")

// signerTimeout is for one answer of a signer: as long as its disk may take.
const signerTimeout = 15 * time.Second

// How long a keeper may take from the signer's hold to its work, and one turn of its loops: some wait for a signer that does not
// answer.
const (
	startTime = 15 * time.Minute
	turnTime  = 5 * time.Minute
)

// ErrKeepers: a key signs for several keepers.
var ErrKeepers = errors.New("this key signs for several keepers")

// keeperOf is the wallet of the keeper for which a key signs: the key itself where it is the wallet of a keeper and
// signs for it, or where it signs for no keeper. Errors: ErrKeepers, the chain's.
func keeperOf(ctx context.Context, c Config, key solana.PublicKey) (solana.PublicKey, error) {
	if !c.Keeper.IsZero() {
		return c.Keeper, nil
	}
	own, ok, err := query.Find[market.Keeper](ctx, c.Client, market.KeeperAddress(key), chain.Confirmed)
	if err != nil || ok && own.SigningKey() == key {
		return key, err
	}
	all, err := query.Select[market.Keeper](ctx, c.Client, query.KeepersSignedBy(key), chain.Confirmed)
	switch {
	case err != nil:
		return key, err
	case len(all) == 1:
		return all[0].Wallet, nil
	case len(all) > 1:
		return key, fmt.Errorf("%w: %s signs for %d; give --keeper with the wallet of one", ErrKeepers, key, len(all))
	}
	return key, nil
}

// ErrKey: the keeper's wallet has named another key.
var ErrKey = errors.New("another key signs for this keeper")

// checkKey reports that the keeper's wallet has named another key. Error: ErrKey.
func (k *Keeper) checkKey(me *market.Keeper) error {
	if me == nil || me.SigningKey() == k.signer.PublicKey() {
		return nil
	}
	return fmt.Errorf("%w: %s has named %s at %s, and this process has %s; start it with the keypair file of that key and the same --data-dir folder", ErrKey,
		k.wallet, me.SigningKey(), time.Unix(me.SignerSince, 0).UTC().Format(time.RFC3339), k.signer.PublicKey())
}

// runHold ends the keeper when another one has the signer's hold.
func (k *Keeper) runHold(ctx context.Context) error {
	return explainStore(k.remote.Keep(ctx), k.secs)
}
