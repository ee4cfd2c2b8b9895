package runtime

import (
	"fmt"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/snapshot"
)

// A bucket that is away for a moment, when the volume would be lost otherwise, is asked again; nothing else is done twice.
func TestABucketIsAskedAgain(t *testing.T) {
	away := fmt.Errorf("%w: connection refused", snapshot.ErrBucket)
	tries := func(patience time.Duration, results ...error) (count int, err error) {
		err = insist(t.Context(), patience, func() error {
			count++
			return results[min(count, len(results))-1]
		})
		return count, err
	}
	count, err := tries(time.Minute, away, away, nil)
	require.NoError(t, err)
	require.Equal(t, 3, count)
	count, err = tries(0, away)
	require.ErrorIs(t, err, snapshot.ErrBucket)
	require.Equal(t, 1, count)
	count, err = tries(time.Minute, fmt.Errorf("%w: %w", snapshot.ErrBucket, minio.ErrorResponse{StatusCode: 404}))
	require.ErrorIs(t, err, snapshot.ErrBucket)
	require.Equal(t, 1, count, "it has answered")
	count, err = tries(time.Minute, snapshot.ErrDamaged)
	require.ErrorIs(t, err, snapshot.ErrDamaged)
	require.Equal(t, 1, count)
}
