package consensus

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Trouble that lasts is logged once a minute, and its end once.
func TestTroubleIsLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1_900_000_000, 0)
	e := &Engine{o: Options{Log: zerolog.New(&log), Now: func() time.Time { return now }}}
	for range 150 { // seconds
		e.report(errors.New("no answer"))
		now = now.Add(time.Second)
	}
	require.Equal(t, 3, strings.Count(log.String(), "no answer"))
	e.report(nil)
	e.report(nil)
	require.Equal(t, 1, strings.Count(log.String(), "looks at all periods again"))
	e.report(errors.New("no answer"))
	require.Equal(t, 4, strings.Count(log.String(), "no answer"), "new trouble is logged at once")
}
