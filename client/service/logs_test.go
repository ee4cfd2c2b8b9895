package service

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
)

// A machine that repeats output, or says that it is where no output is, makes no byte appear twice and no offset fall.
func TestOutputIsTakenOnce(t *testing.T) {
	for what, c := range map[string]struct {
		chunk  messages.LogChunk
		offset uint64
		data   string
		next   uint64
		fails  bool
	}{
		"next":          {messages.LogChunk{Offset: 3, Data: []byte("abc")}, 3, "abc", 6, false},
		"all again":     {messages.LogChunk{Offset: 0, Data: []byte("abc")}, 3, "", 3, false},
		"half again":    {messages.LogChunk{Offset: 1, Data: []byte("abc")}, 3, "c", 4, false},
		"older is gone": {messages.LogChunk{Offset: 9, Data: []byte("abc")}, 3, "abc", 12, false},
		"empty":         {messages.LogChunk{Offset: 9}, 3, "", 3, false},
		"no offset":     {messages.LogChunk{Offset: math.MaxUint64, Data: []byte("abc")}, 3, "", 3, true},
	} {
		o, next, err := after(c.chunk, c.offset)
		require.Equal(t, c.fails, err != nil, what)
		require.Equal(t, c.data, string(o.Data), what)
		require.Equal(t, c.next, next, what)
		if c.data != "" {
			require.Equal(t, c.next, o.Offset+uint64(len(o.Data)), what)
		}
	}
}
