package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/boltstore"
)

const (
	// samplesSchema is the layout of the file.
	samplesSchema = 1
	// sampleEvery is how often the market is noted down while its nodes are read for somebody; they are read for it once in
	// sampleAtLeast. After fullFor one an hour is kept, after keptFor none.
	sampleEvery   = time.Minute
	sampleAtLeast = time.Hour
	fullFor       = 24 * time.Hour
	keptFor       = 366 * 24 * time.Hour
	// samplesAnswered is how many are answered at most.
	samplesAnswered = 500
)

var bucketSamples = []byte("samples") // by time, unix seconds, 64 bits big endian

// Sample is what the market was at a moment.
type Sample struct {
	At     int64                     `json:"at" doc:"By the cluster's clock, unix seconds"`
	Total  service.NodeStatistics    `json:"total"`
	Models []service.ModelStatistics `json:"models"`
}

// Samples keeps what the server has seen of the market, in a file. It is safe for concurrent use.
type Samples struct{ db *boltstore.DB }

// OpenSamples opens the file, or creates it with mode 0600. It belongs to one cluster, named by its genesis hash. Errors: those
// of boltstore.Open.
func OpenSamples(path string, cluster [32]byte) (*Samples, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "server's statistics", Schema: samplesSchema, Owner: cluster[:], Buckets: [][]byte{bucketSamples},
		DescribeOwner: func([]byte) string { return "another cluster" },
		OtherProcess:  "another gantry serve runs with this state folder: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "move the file away; a new one is made, and the history begins anew",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Samples{db: db}, nil
}

// Close syncs and releases the file.
func (s *Samples) Close() error { return s.db.Close() }

// note keeps a sample, and thins out older ones.
func (s *Samples) note(x Sample) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := boltstore.PutJSON(tx, bucketSamples, moment(x.At), x); err != nil {
			return err
		}
		b := tx.Bucket(bucketSamples)
		if _, err := boltstore.DeleteBelow(b, moment(x.At-int64(keptFor/time.Second)), nil); err != nil {
			return err
		}
		return thin(b, x.At-int64(fullFor/time.Second))
	})
}

// thin leaves one sample an hour of the two days before a moment: those before them are thinned out already, unless the server
// was away.
func thin(b *bolt.Bucket, until int64) error {
	var over [][]byte
	c := b.Cursor()
	last := int64(-1)
	for k, _ := c.Seek(moment(until - 48*3600)); k != nil && timeOf(k) < until; k, _ = c.Next() {
		hour := timeOf(k) / 3600
		if hour == last {
			over = append(over, append([]byte{}, k...))
		}
		last = hour
	}
	for _, k := range over {
		if err := b.Delete(k); err != nil {
			return fmt.Errorf("older statistics: %w", err)
		}
	}
	return nil
}

// last are the samples of so many hours before the newest, the oldest first, evenly thinned out to so many at most.
func (s *Samples) last(hours, most int) ([]Sample, error) {
	out := []Sample{}
	err := s.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketSamples)
		var keys [][]byte
		c := b.Cursor()
		newest, _ := c.Last()
		if newest == nil {
			return nil
		}
		for k, _ := c.Seek(moment(timeOf(newest) - int64(hours)*3600)); k != nil; k, _ = c.Next() {
			keys = append(keys, k)
		}
		n := min(len(keys), most)
		for i := range n {
			at := len(keys) - 1
			if n > 1 {
				at = i * (len(keys) - 1) / (n - 1)
			}
			var x Sample
			if err := boltstore.GetJSON(tx, bucketSamples, keys[at], &x); err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

func moment(unix int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(max(unix, 0))) }

func timeOf(key []byte) int64 { return int64(binary.BigEndian.Uint64(key)) }

// beginSamples notes the market down until ctx ends or end is called, which waits.
func (s *Server) beginSamples(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.keepSamples(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// noteChecks counts the checks of the nodes that were just read.
func (s *Server) noteChecks() error {
	if s.o.Checks == nil {
		return nil
	}
	at, all, seen := s.o.Service.SeenChecks(2 * sampleEvery)
	if !seen {
		return nil
	}
	return s.o.Checks.note(at, all)
}

// keepSamples notes the market down until ctx ends.
func (s *Server) keepSamples(ctx context.Context) {
	t := time.NewTicker(sampleEvery)
	defer t.Stop()
	var noted time.Time
	for {
		x, seen := s.o.Service.SeenStatistics(sampleEvery)
		var err error
		if !seen && time.Since(noted) >= sampleAtLeast {
			wait, cancel := context.WithTimeout(ctx, sampleEvery)
			x, err = s.o.Service.Statistics(wait)
			cancel()
			seen = err == nil
		}
		if seen {
			noted, err = time.Now(), errors.Join(s.o.Samples.note(Sample{At: x.At, Total: x.Total, Models: x.Models}), s.noteChecks())
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn().Err(err).Msg("the market's figures are missing from the history")
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
