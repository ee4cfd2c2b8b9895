package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
)

func TestSlotHashIsReadAtIntervals(t *testing.T) {
	now, reads, fail := time.Unix(1000, 0), byte(0), error(nil)
	o := slotHashOptions{
		Latest: func(context.Context) ([32]byte, error) { reads++; return [32]byte{reads}, fail },
		TTL:    time.Minute, Now: func() time.Time { return now },
	}
	options.Without(o, nil, func(field string, o slotHashOptions) {
		_, err := newSlotHash(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	s, err := newSlotHash(o)
	require.NoError(t, err)
	for _, after := range []time.Duration{0, 59 * time.Second} {
		now = time.Unix(1000, 0).Add(after)
		hash, err := s.get(t.Context())
		require.NoError(t, err)
		require.Equal(t, [32]byte{1}, hash)
	}
	now, fail = now.Add(time.Second), errors.New("no answer")
	_, err = s.get(t.Context())
	require.ErrorIs(t, err, fail)
	fail = nil
	hash, err := s.get(t.Context())
	require.NoError(t, err)
	require.Equal(t, [32]byte{3}, hash)
}
