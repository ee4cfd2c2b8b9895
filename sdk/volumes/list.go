package volumes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-market/gantry/sdk/snapshot"
)

// KeptVolume is a volume that is kept.
type KeptVolume struct {
	Name string `json:"name"`
	// MiB and Path are those of its last lease; zero where nobody knows.
	MiB  uint64 `json:"sizeMiB,omitempty" doc:"Size in its last lease"`
	Path string `json:"path,omitempty" doc:"Where the container of its last lease had it"`
	// Newest is with what the next lease begins; nil for an empty volume.
	Newest    *VolumeSnapshot `json:"newest,omitempty" doc:"With what the next lease begins; absent for an empty volume"`
	Snapshots int             `json:"snapshots" doc:"How many snapshots the bucket has"`
	Stored    int64           `json:"storedBytes" doc:"What all snapshots take in the bucket together, encrypted"`
	// Cost of what is stored, for a month; empty where nobody has said the bucket's price.
	Cost     string     `json:"costPerMonth,omitempty" doc:"Of what is stored, by the bucket's price per GiB and month that was configured; absent without one"`
	Currency string     `json:"currency,omitempty" doc:"Of the cost, as it was configured"`
	UsedBy   *VolumeUse `json:"usedBy,omitempty" doc:"The lease or order that uses it; absent for none"`
	// Unreadable says why nothing else is known.
	Unreadable string `json:"unreadable,omitempty" doc:"Why nothing else is known, such as a volume of another key"`
}

// VolumeSnapshot is one of a volume.
type VolumeSnapshot struct {
	Hash  string `json:"hash"`
	At    int64  `json:"at" doc:"When it was made, by the bucket's clock, unix seconds; 0 where it is not there any more"`
	Bytes int64  `json:"bytes" doc:"Of its files"`
	Files int    `json:"files" doc:"Files, folders and links"`
}

// Price is what a bucket costs for a GiB and a month.
type Price struct {
	perGiB   float64
	currency string
}

// ParsePrice reads a number, and a word for the currency if there is one, such as "0.023 USD". An empty text is no price.
func ParsePrice(text string) (Price, error) {
	if text == "" {
		return Price{}, nil
	}
	number, currency, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0 && n < 1e6) || len(currency) > 8 || strings.Contains(currency, " ") {
		return Price{}, fmt.Errorf(`%q is not a price: write what a GiB costs for a month, such as "0.023 USD"`, text)
	}
	return Price{n, currency}, nil
}

// of is what some bytes cost for a month; empty where nobody has said a price.
func (p Price) of(bytes int64) string {
	if p.perGiB == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/(1<<30)*p.perGiB, 'f', 4, 64)
}

// List is every volume, by name.
func (s *Store) List(ctx context.Context) ([]KeptVolume, error) {
	b, err := s.open("")
	if err != nil {
		return nil, err
	}
	names, err := b.Folders(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := []KeptVolume{}
	for _, name := range names {
		if !nameForm.MatchString(name) {
			continue
		}
		i, err := s.Show(ctx, name)
		switch {
		case errors.Is(err, ErrNone):
		case errors.Is(err, snapshot.ErrDamaged):
			out = append(out, KeptVolume{Name: name, Unreadable: err.Error()})
		case err != nil:
			return nil, err
		default:
			out = append(out, i)
		}
	}
	return out, nil
}

// Show is one volume. Errors: ErrNone, snapshot.ErrBucket, snapshot.ErrDamaged for one of another key.
func (s *Store) Show(ctx context.Context, name string) (KeptVolume, error) {
	b, err := s.open(name)
	if err != nil {
		return KeptVolume{}, err
	}
	st, err := read(ctx, b)
	if err != nil {
		return KeptVolume{}, err
	}
	stored, err := b.Stored(ctx)
	if err != nil {
		return KeptVolume{}, err
	}
	if len(st.claims) == 0 && len(stored.Snapshots) == 0 {
		return KeptVolume{}, fmt.Errorf("%w: %s", ErrNone, name)
	}
	out := KeptVolume{Name: name, Snapshots: len(stored.Snapshots), Stored: stored.Bytes, Cost: s.o.Price.of(stored.Bytes)}
	if out.Cost != "" {
		out.Currency = s.o.Price.currency
	}
	if c := st.latest(); c != nil {
		out.MiB, out.Path = c.MiB, c.Path
	}
	if out.UsedBy, err = s.use(ctx, st); err != nil {
		return out, err
	}
	head, err := st.head(ctx)
	if err != nil || head == (snapshot.Hash{}) {
		return out, err
	}
	out.Newest = &VolumeSnapshot{Hash: head.String()}
	at, ok := stored.Snapshots[head]
	if !ok {
		return out, nil
	}
	out.Newest.At = at.Unix()
	saved, err := b.Find(ctx, head)
	if err != nil {
		return out, err
	}
	out.Newest.Bytes, out.Newest.Files = saved.Size()
	return out, nil
}

// Delete removes a volume with all its snapshots, unless a lease uses it. It may be repeated after it was cut off. Errors: ErrNone,
// ErrInUse, snapshot.ErrBucket, snapshot.ErrDamaged for a volume of another key.
func (s *Store) Delete(ctx context.Context, name string) (KeptVolume, error) {
	out, err := s.Show(ctx, name)
	if err != nil {
		return out, err
	}
	b, err := s.open(name)
	if err != nil {
		return out, err
	}
	mine := erasing + rand.Text()
	put := wall()
	if err := b.PutClaim(ctx, snapshot.Claim{Order: mine}); err != nil {
		return out, err
	}
	st, err := read(ctx, b)
	if err == nil {
		var by *VolumeUse
		if by, err = s.use(ctx, st, mine); err == nil && by != nil {
			err = &InUse{name, *by}
		}
	}
	if err != nil {
		return out, errors.Join(err, giveBack(ctx, b, mine))
	}
	err = b.Erase(ctx, mine, func(ctx context.Context) error { // others take an old claim for one of a command that was cut off
		switch now := wall(); {
		case now.Sub(put) > placeTime*2/3:
			return fmt.Errorf("%w: it could not be told for %s that volume %s is being deleted; delete it again", snapshot.ErrBucket, now.Sub(put).Round(time.Second), name)
		case now.Sub(put) > placeTime/6:
			put = now
			return b.PutClaim(ctx, snapshot.Claim{Order: mine})
		}
		return nil
	})
	if err != nil { // it may be deleted again at once
		err = errors.Join(err, giveBack(ctx, b, mine))
	}
	return out, err
}
