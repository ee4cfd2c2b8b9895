package grants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Each grant is a file, named by its lease.
const suffix = ".grant"

func (t *Table) file(lease solana.PublicKey) string {
	return filepath.Join(t.o.Dir, lease.String()+suffix)
}

func (t *Table) save(s stored) error {
	raw, err := cbor.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode grant: %w", err)
	}
	if err := atomicfile.Write(t.file(s.Grant.Lease), raw); err != nil {
		return fmt.Errorf("store grant: %w", err)
	}
	return nil
}

func (t *Table) remove(lease solana.PublicKey) error {
	if err := os.Remove(t.file(lease)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove grant: %w", err)
	}
	return nil
}

// loadTime is how long the chain may take to say which stored grants hold.
const loadTime = 30 * time.Second

// load reads the stored grants and removes those that do not hold any more.
func (t *Table) load() error {
	if err := os.MkdirAll(t.o.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of grants: %w", err)
	}
	files, err := os.ReadDir(t.o.Dir)
	if err != nil {
		return fmt.Errorf("folder of grants: %w", err)
	}
	var all []stored
	var about []Question
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), suffix) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(t.o.Dir, f.Name()))
		if err != nil {
			return fmt.Errorf("stored grant: %w", err)
		}
		var s stored
		err = errors.Join(cbor.Unmarshal(raw, &s), s.Verify(), s.verifyMoves())
		if err == nil && (s.Grant.Domain != t.o.Domain || s.Grant.Gateway != t.o.Gateway) {
			err = errors.New("it is for another cluster or gateway")
		}
		if err == nil && t.o.Now().UnixMilli() >= s.Grant.Expiry {
			err = errors.New("it has expired")
		}
		if err != nil {
			t.o.Log.Info().Err(err).Str("file", f.Name()).Msg("stored grant is removed")
			if err := os.Remove(filepath.Join(t.o.Dir, f.Name())); err != nil {
				return fmt.Errorf("stored grant: %w", err)
			}
			continue
		}
		all = append(all, s)
		about = append(about, Question{s.Grant.Lease, s.Signer})
	}
	if len(all) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	facts, err := t.o.Chain(ctx, about)
	if err != nil {
		return fmt.Errorf("ask the chain about stored grants: %w", err)
	}
	for i, s := range all {
		lease, l, waits, err := t.whereNow(ctx, &s, s.Grant.Lease, facts[i])
		if err == nil {
			_, err = t.put(t.entryOf(s, lease, l, waits), nil)
		}
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			t.o.Log.Info().Str("lease", s.Grant.Lease.String()).Str("why", refused.Why).Msg("stored grant is removed")
			if err := t.remove(s.Grant.Lease); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}
