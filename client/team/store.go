package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/internal/filelock"
	"github.com/gantry-market/gantry/internal/secret"
	"github.com/gantry-market/gantry/sdk/chain"
)

const (
	fileTeam   = "team.json"
	fileLock   = "team.lock"
	budgetKeys = "budgets"
)

// tokenPrefix lets scanners for secrets find tokens that were published by mistake.
const tokenPrefix = "gantry_team_"

// Store is the team of one server. It is safe for concurrent use, also by several processes.
type Store struct {
	dir string

	mu   sync.Mutex
	log  log
	seen fs.FileInfo // of the file that doc was read from; nil for none
	doc  document
}

// Open reads the folder's team; a folder without one has none, and nothing is written.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir, log: log{dir: dir}}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.load()
}

// load reads the file where it is another than the one that was read. The caller holds mu.
func (s *Store) load() error {
	path := filepath.Join(s.dir, fileTeam)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.seen != nil {
			return fmt.Errorf("%s is gone: put it back from a backup, or start the server again without a team", path)
		}
		return nil
	case err != nil:
		return fmt.Errorf("team: %w", err)
	case s.seen != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) && info.Size() == s.seen.Size():
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("team: %w", err)
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("team: %s: %w", path, err)
	}
	if d.Version != version {
		return fmt.Errorf("team: %s is of version %d, this gantry writes %d; use the gantry that wrote it", path, d.Version, version)
	}
	s.doc, s.seen = d, info
	return nil
}

// locked runs f while no other process changes anything.
func (s *Store) locked(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock, err := os.OpenFile(filepath.Join(s.dir, fileLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock of the team: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if err := filelock.Wait(lock); err != nil {
		return fmt.Errorf("lock of the team: %w", err)
	}
	return f()
}

// change changes the file: a line of the log first, then the file, then the line of the result.
func (s *Store) change(line Line, f func(d *document, now time.Time) error) error {
	return s.locked(func() error {
		if err := s.load(); err != nil {
			return err
		}
		next := document{Version: version, Members: slices.Clone(s.doc.Members), Tokens: slices.Clone(s.doc.Tokens), Budgets: slices.Clone(s.doc.Budgets)}
		now := time.Now().UTC().Truncate(time.Second)
		next.forget(now)
		if err := f(&next, now); err != nil {
			return err
		}
		written, err := s.log.append(line)
		if err != nil {
			return err
		}
		err = s.write(next)
		line.Of, line.Result = written.N, "done"
		if err != nil {
			line.Result = err.Error()
		}
		_, lerr := s.log.append(line)
		return errors.Join(err, lerr)
	})
}

func (s *Store) write(d document) error {
	raw, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = atomicfile.WriteSynced(filepath.Join(s.dir, fileTeam), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("team: %w", err)
	}
	return s.load()
}

// Team is all of it.
func (s *Store) Team() (Team, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Team{Members: []Member{}, Tokens: []MemberToken{}, Budgets: []Budget{}}
	if err := s.load(); err != nil {
		return out, err
	}
	out.Members = append(out.Members, s.doc.Members...)
	out.Budgets = append(out.Budgets, s.doc.Budgets...)
	for _, t := range s.doc.Tokens {
		out.Tokens = append(out.Tokens, t.MemberToken)
	}
	return out, nil
}

// Caller is who has shown a text. Errors: ErrUnknown, ErrEnded.
func (s *Store) Caller(text string) (Caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return Caller{}, err
	}
	return s.doc.caller(secret.Hash(text), time.Now())
}

// Signed is the member with a name, as its browser is that is signed in. Error: ErrUnknown.
func (s *Store) Signed(name string) (Caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return Caller{}, err
	}
	m, err := s.doc.member(name)
	if err != nil {
		return Caller{}, err
	}
	return m.caller(&MemberToken{Name: TokenPage, Role: m.Role, Budget: m.Budget}), nil
}

// ByWallet is the name of the member with a wallet. Error: ErrUnknown.
func (s *Store) ByWallet(wallet string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return "", err
	}
	for _, m := range s.doc.Members {
		if m.Wallet != "" && m.Wallet == wallet {
			return m.Name, nil
		}
	}
	return "", fmt.Errorf("wallet %s: %w", wallet, ErrUnknown)
}

// PutMember adds a member, or changes it. Error: ErrInvalid.
func (s *Store) PutMember(by Caller, m Member) error {
	line := Line{Caller: by, Action: "put-member", To: fmt.Sprintf("%s as %s of %q", m.Name, m.Role, m.Budget)}
	return s.change(line, func(d *document, now time.Time) error { return d.put(m, now) })
}

// RemoveMember takes a member out; its tokens are revoked. Error: ErrUnknown.
func (s *Store) RemoveMember(by Caller, name string) error {
	return s.change(Line{Caller: by, Action: "remove-member", To: name}, func(d *document, now time.Time) error { return d.remove(name, now) })
}

// AddToken makes a token for a member and returns its text, which is kept nowhere. Role and Budget may be empty: those of
// the member. Errors: ErrUnknown, ErrInvalid, ErrExists.
func (s *Store) AddToken(by Caller, t MemberToken, lasts time.Duration) (MemberToken, string, error) {
	text, err := secret.New(tokenPrefix)
	if err != nil {
		return MemberToken{}, "", err
	}
	k := kept{MemberToken: t, Hash: secret.Hash(text)}
	line := Line{Caller: by, Action: "add-token", To: fmt.Sprintf("%s of %s", t.Name, t.Member)}
	err = s.change(line, func(d *document, now time.Time) error { return d.add(&k, lasts, now) })
	return k.MemberToken, text, err
}

// RevokeToken ends a token. Error: ErrUnknown.
func (s *Store) RevokeToken(by Caller, name string) error {
	return s.change(Line{Caller: by, Action: "revoke-token", To: name}, func(d *document, now time.Time) error { return d.revoke(name, now) })
}

// AddBudget makes a budget with a session key of its own, which can spend nothing before the customer's wallet names it. One
// that is there already is no error. Error: ErrInvalid.
func (s *Store) AddBudget(by Caller, name string) (out Budget, err error) {
	t, err := s.Team()
	if err != nil {
		return out, err
	}
	if i := slices.IndexFunc(t.Budgets, func(b Budget) bool { return b.Name == name }); i >= 0 {
		return t.Budgets[i], nil
	}
	err = s.change(Line{Caller: by, Action: "add-budget", To: name}, func(d *document, now time.Time) error {
		if err := checkName(name); err != nil {
			return err
		}
		if d.hasBudget(name) {
			return fmt.Errorf("budget %q: %w", name, ErrExists)
		}
		if len(d.Budgets)+1 >= MaxBudgets {
			return fmt.Errorf("%w: a customer names %d session keys on chain, and so many budgets there are with main", ErrFull, MaxBudgets)
		}
		key, err := s.budgetKey(name)
		if err != nil {
			return err
		}
		out = Budget{Name: name, Key: key.PublicKey().String(), Created: now}
		d.Budgets = append(d.Budgets, out)
		return nil
	})
	return out, err
}

// budgetKey is the key of a budget, which is made where there is none.
func (s *Store) budgetKey(name string) (solana.PrivateKey, error) {
	key, _, err := chain.LoadOrMakeKeypair(s.KeyFile(name))
	return key, err
}

// KeyFile is where the session key of a budget is.
func (s *Store) KeyFile(name string) string { return filepath.Join(s.dir, budgetKeys, name+".json") }

// Begin writes that something is about to be changed; done writes what came of it. Nothing may be changed when it fails.
func (s *Store) Begin(line Line) (done func(result string, order string, leases []string) error, err error) {
	var written Line
	err = s.locked(func() error {
		written, err = s.log.append(line)
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(result, order string, leases []string) error {
		line.Of, line.Result, line.Order, line.Leases = written.N, result, order, leases
		return s.locked(func() error {
			_, err := s.log.append(line)
			return err
		})
	}, nil
}

// CloseOpen writes results for what a server that was killed had begun: they are not known. The server calls it before it
// answers anybody.
func (s *Store) CloseOpen() error {
	return s.locked(func() error {
		open := map[uint64]Line{}
		if _, err := s.log.read(func(l Line) {
			if l.Of == 0 {
				open[l.N] = l
			}
			delete(open, l.Of)
		}); err != nil {
			return err
		}
		numbers := make([]uint64, 0, len(open))
		for n := range open {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		for _, n := range numbers {
			line := open[n]
			line.Of, line.Result = n, "not known: the server ended before it was done"
			if _, err := s.log.append(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// Lines are those of the log behind a number, at most limit; with last, the last ones of all.
func (s *Store) Lines(after uint64, last bool, limit int) (out []Line, c Checked, err error) {
	out = []Line{}
	err = s.locked(func() error {
		c, err = s.log.read(func(l Line) {
			switch {
			case last:
				if out = append(out, l); len(out) > 2*limit {
					out = slices.Clone(out[len(out)-limit:])
				}
			case l.N > after && len(out) < limit:
				out = append(out, l)
			}
		})
		return err
	})
	if last && len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out, c, err
}

// Check reads the whole log. noted is a hash that somebody has noted of its last line at some time; empty for none. Error:
// ErrLog.
func (s *Store) Check(noted string) (c Checked, err error) {
	found := noted == ""
	err = s.locked(func() error {
		c, err = s.log.read(func(l Line) { found = found || l.Hash == noted })
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: no line has the hash %s", ErrLog, noted)
	}
	return c, err
}
