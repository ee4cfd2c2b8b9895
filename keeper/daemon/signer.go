package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// fileSigner says for which key and cluster the store beside it is.
const fileSigner = "signer.json"

// ErrNoSigner: the folder is none of a signer.
var ErrNoSigner = errors.New("this folder is not prepared for a signer")

type signerFile struct {
	Keeper solana.PublicKey `json:"keeper"` // wallet
	Key    solana.PublicKey `json:"key"`    // that signs for it
	Domain string           `json:"domain"`
	Period uint32           `json:"period_secs"`
}

// InitSigner prepares a folder for a signer: it reads the market, and makes the store of what the wallet signs unless
// one is there. Only this needs the chain. It returns the keeper's wallet and the first period that is signed for.
// Errors: those of Open.
func InitSigner(ctx context.Context, c Config) (keeper solana.PublicKey, first records.Period, err error) {
	c.Timing = LocalTiming() // it is not used, and fits every market
	k := newKeeper(c)
	defer func() { err = errors.Join(err, k.Close()) }()
	for _, open := range []func(context.Context) error{k.openMarket, k.openKey, k.openStores} {
		if err := open(ctx); err != nil {
			return keeper, 0, err
		}
	}
	raw, err := json.Marshal(signerFile{k.publicKey(), k.signer.PublicKey(), k.domain.String(), k.secs})
	if err != nil {
		return keeper, 0, err
	}
	return k.publicKey(), k.store.FirstPeriod(), atomicfile.Write(c.path(fileSigner), raw)
}

// SignerConfig of a signer.
type SignerConfig struct {
	Wallet solana.PrivateKey
	Data   string
	Locks  []string // as in Config
	TTL    time.Duration
	// Service is the service manager that is told how the signer does; the zero value is none.
	Service service.Manager
	Log     zerolog.Logger
}

// Signer has a keeper's key and the store of what it has signed, for the keepers that share them.
type Signer struct {
	server  *signing.Server
	store   *store.Store
	lock    *os.File
	service *service.Service
}

// OpenSigner opens the folder that InitSigner has prepared. Close must be called. Errors: ErrNoSigner, ErrWallet, those of
// store.Open.
func OpenSigner(c SignerConfig) (_ *Signer, err error) {
	s := &Signer{service: service.New(c.Service, nil, c.Log)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	conf := Config{Data: c.Data}
	raw, err := os.ReadFile(conf.path(fileSigner))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no %s; run `gantry-keeper signer init` first, which reads the market", ErrNoSigner, c.Data, fileSigner)
	}
	var about signerFile
	if err == nil {
		err = json.Unmarshal(raw, &about)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", conf.path(fileSigner), err)
	}
	domain, err := records.ParseDomain(about.Domain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", conf.path(fileSigner), err)
	}
	key, err := records.NewSigner(c.Wallet)
	if err != nil {
		return nil, err
	}
	if key.PublicKey() != about.Key {
		return nil, fmt.Errorf("%w: it is of keeper %s and key %s, the key is %s; give another --data-dir folder, or run `gantry-keeper signer init` after the wallet has named this key",
			ErrNoSigner, about.Keeper, about.Key, key.PublicKey())
	}
	if s.lock, err = lockWallet(about.Keeper, domain, append(c.Locks, c.Data)...); err != nil {
		return nil, err
	}
	// A signer never begins a store: it could not say from which period on.
	if _, err := os.Stat(conf.path(fileStore)); err != nil {
		return nil, fmt.Errorf("%w: %w; run `gantry-keeper signer init` again: a new store signs from a later period on", ErrNoSigner, err)
	}
	if s.store, err = store.Open(conf.path(fileStore), store.Options{Keeper: about.Keeper, Domain: domain}); err != nil {
		return nil, explainStore(err, about.Period)
	}
	s.server, err = signing.NewServer(signing.ServerOptions{Key: signing.New(s.store, key, domain), TTL: c.TTL, Log: c.Log})
	return s, err
}

// Run serves keepers on all listeners until ctx ends, which is no error.
func (s *Signer) Run(ctx context.Context, on ...net.Listener) error {
	stop := context.AfterFunc(ctx, s.service.Stopping)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	for _, l := range on {
		g.Go(func() error { return s.server.Serve(gctx, l) })
	}
	g.Go(func() error { return s.service.Run(gctx) })
	g.Go(func() error { return s.look(gctx, s.service.Loop("store", time.Minute)) })
	s.service.Ready()
	if err := g.Wait(); !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		return err
	}
	return nil
}

// look waits for the store again and again, and notes each time that it has come: a write that hangs stops it.
func (s *Signer) look(ctx context.Context, loop *service.Loop) error {
	for {
		loop.Turn()
		if err := s.store.Turn(); err != nil {
			return err
		}
		if err := wait.For(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// lookEvery is how often a signer waits for its store.
const lookEvery = 5 * time.Second

// Close releases the store and the wallet.
func (s *Signer) Close() error {
	var errs error
	if s.store != nil {
		errs = s.store.Close()
	}
	if s.lock != nil {
		errs = errors.Join(errs, s.lock.Close())
	}
	return errs
}
