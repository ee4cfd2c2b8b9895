package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/attest/seal"
)

// ErrCut: the last record that came is not the job's end. Whoever carries the records has kept the rest back.
var ErrCut = errors.New("the job's output was cut off before its end")

// Follow is the customer's side of a job's output: it opens the records in their order until the job's end, and hands each on. It
// fetches them by their numbers, such as with [Client.Output], or by whoever carries them. Errors: ErrCut, seal.ErrBack, fetch's, each's.
func Follow(ctx context.Context, fetch func(ctx context.Context, from uint64) (OutputAnswer, error), reader *seal.Reader, each func(Record) error) (End, error) {
	for next := uint64(0); ; {
		a, err := fetch(ctx, next)
		if err != nil {
			return End{}, fmt.Errorf("output of the job: %w", err)
		}
		for _, sealed := range a.Records {
			r, err := open(reader, sealed)
			if err != nil {
				return End{}, fmt.Errorf("output of the job, record %d: %w", next, err)
			}
			next++
			if r.End != nil {
				return *r.End, nil
			}
			if err := each(r); err != nil {
				return End{}, err
			}
		}
		if a.Over || len(a.Records) == 0 {
			return End{}, ErrCut
		}
	}
}

func open(reader *seal.Reader, sealed []byte) (Record, error) {
	plain, err := reader.Open(sealed)
	if err != nil {
		return Record{}, err
	}
	return ReadRecord(plain)
}
