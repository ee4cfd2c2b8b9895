package certs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Why a CA is not asked.
var (
	// ErrFull: the new names of seven days are used up.
	ErrFull = errors.New("too many new names had a certificate in the last seven days, in total or for this customer")
	// ErrEarly: the latest request for the name is too recent.
	ErrEarly = errors.New("the CA was asked for this name a short time ago")
	// ErrNotGranted: no customer has granted the name.
	ErrNotGranted = errors.New("no grant has this name")
)

// request is one that was sent to the CA, or was about to be.
type request struct {
	Host     string           `json:"host"`
	Customer solana.PublicKey `json:"customer"`
	At       int64            `json:"at"` // unix seconds
	// Renewal: the name had a certificate, and takes no place.
	Renewal bool `json:"renewal,omitempty"`
}

const (
	// week is the time in which new names are counted.
	week = 7 * 24 * time.Hour
	// firstPause after a request for a name; each further one of the week doubles it.
	firstPause, longestPause = time.Minute, 12 * time.Hour
)

// asked is what the CA was asked for in a week. It is a file, so that a gateway that starts again and again asks no more
// often than one that stays. It is safe for concurrent use.
type asked struct {
	path                 string
	perWeek, perCustomer int
	pause                time.Duration // after the first request for a name

	mu  sync.Mutex
	all []request
}

func openAsked(path string, perWeek, perCustomer int) (*asked, error) {
	a := &asked{path: path, perWeek: perWeek, perCustomer: perCustomer, pause: firstPause}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &a.all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// may reports why the CA cannot be asked for a name now. Errors: ErrFull for a name that is new, ErrEarly.
func (a *asked) may(n Name, isNew bool, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.check(n, isNew, now)
}

// take writes down that the CA is asked for a name. Errors: those of may, those of the file.
func (a *asked) take(n Name, isNew bool, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(n, isNew, now); err != nil {
		return err
	}
	all := append(a.all[:len(a.all):len(a.all)], request{Host: n.Host, Customer: n.Customer, At: now.Unix(), Renewal: !isNew})
	raw, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.WriteSynced(a.path, raw)
	}
	if err != nil {
		return fmt.Errorf("write down what the CA is asked for: %w", err)
	}
	a.all = all
	return nil
}

// check forgets what is older than a week. The caller holds the lock.
func (a *asked) check(n Name, isNew bool, now time.Time) error {
	for len(a.all) > 0 && a.all[0].At < now.Add(-week).Unix() {
		a.all = a.all[1:]
	}
	if isNew && !a.room(n) {
		return ErrFull
	}
	if !a.due(n.Host, now) {
		return ErrEarly
	}
	return nil
}

// room reports whether there is a place for a name: names count, not requests, since those that fail are repeated.
func (a *asked) room(n Name) bool {
	all, own := map[string]bool{}, map[string]bool{}
	for _, r := range a.all {
		if r.Renewal {
			continue
		}
		if r.Host == n.Host {
			return true
		}
		all[r.Host] = true
		if r.Customer == n.Customer {
			own[r.Host] = true
		}
	}
	return len(all) < a.perWeek && len(own) < a.perCustomer
}

// due reports whether enough time has passed since the CA was asked for a name.
func (a *asked) due(host string, now time.Time) bool {
	pause, last := a.pause, int64(0)
	for _, r := range a.all {
		if r.Host == host {
			if last > 0 {
				pause = min(2*pause, longestPause)
			}
			last = r.At
		}
	}
	return !now.Before(time.Unix(last, 0).Add(pause))
}
