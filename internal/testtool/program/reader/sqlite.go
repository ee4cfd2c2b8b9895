package main

import (
	"database/sql"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the database
)

// work is a database to make, and the questions to ask it. Package match has the same type in its tests.
type work struct {
	Schema, Insert, Indexes string
	Rows                    [][]any
	Queries                 []query
	// Change is executed after each query with the next arguments of Changes, as often as Each says: a market that does not stand still.
	// Its time is the query's. Each is 0 for one that does.
	Change  string
	Changes [][]any
	Each    int
	// For is how long the queries are asked again and again after they were all asked once.
	For time.Duration
}

// query asks for numbers. Where Then is set, the first query finds one value, which becomes the argument of Then at
// Slot.
type query struct {
	SQL  string
	Args []any
	Then string
	Slot int
	More []any // the arguments of Then
}

// done has the answer to every query, and the processor time that each took, in the order in which they were asked.
type done struct {
	Answers [][]uint64
	Took    []time.Duration
}

// sqlite fills a database in memory, asks it, and says what it answered and how long it took. It reads and prints gob.
func sqlite(_ []string, in io.Reader, out io.Writer) error {
	var w work
	if err := gob.NewDecoder(in).Decode(&w); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if err := fill(db, w); err != nil {
		return fmt.Errorf("sqlite: fill the table: %w", err)
	}
	d, err := ask(db, w)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return gob.NewEncoder(out).Encode(d)
}

func fill(db *sql.DB, w work) error {
	if _, err := db.Exec(w.Schema); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	insert, err := tx.Prepare(w.Insert)
	if err != nil {
		return err
	}
	for _, row := range w.Rows {
		if _, err := insert.Exec(row...); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.Exec(w.Indexes)
	return err
}

func ask(db *sql.DB, w work) (d done, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	prepared := map[string]*sql.Stmt{}
	for _, q := range w.Queries {
		for _, text := range []string{q.SQL, q.Then} {
			if text == "" || prepared[text] != nil {
				continue
			}
			if prepared[text], err = db.Prepare(text); err != nil {
				return d, err
			}
		}
	}
	var change *sql.Stmt
	if w.Each > 0 {
		if change, err = db.Prepare(w.Change); err != nil {
			return d, err
		}
	}
	begin := time.Now()
	for i := 0; len(w.Queries) > 0 && (i < len(w.Queries) || time.Since(begin) < w.For); i++ {
		q := w.Queries[i%len(w.Queries)]
		at, err := processor()
		if err != nil {
			return d, err
		}
		got, err := q.answer(prepared)
		if err != nil {
			return d, err
		}
		for n := range w.Each {
			if _, err := change.Exec(w.Changes[(i*w.Each+n)%len(w.Changes)]...); err != nil {
				return d, err
			}
		}
		end, err := processor()
		if err != nil {
			return d, err
		}
		if d.Took = append(d.Took, end-at); i < len(w.Queries) {
			d.Answers = append(d.Answers, got)
		}
	}
	return d, nil
}

func (q query) answer(prepared map[string]*sql.Stmt) (out []uint64, err error) {
	if q.Then == "" {
		return read(prepared[q.SQL], q.Args)
	}
	var value []byte
	if err := prepared[q.SQL].QueryRow(q.Args...).Scan(&value); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return nil, err
	}
	args := append([]any(nil), q.More...)
	args[q.Slot] = value
	return read(prepared[q.Then], args)
}

func read(s *sql.Stmt, args []any) (out []uint64, err error) {
	rows, err := s.Query(args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, uint64(n))
	}
	return out, rows.Err()
}

// processor is the processor time that this thread has used: on a machine with other work the wall clock measures that.
func processor() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
