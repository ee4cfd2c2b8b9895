package p2p

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/gantry-market/gantry/sdk/messages"
)

// maxUnknown bounds what a message may hold, in bytes, beyond the fields that this program knows.
const maxUnknown = 4 << 10

// decodeMessage reads a message of this or another minor version and compares what it has with the limits of its type.
// Fields that this program does not know are passed over. Everything else is as strict as in Decode.
// Errors: ErrEncoding, ErrTooBig.
func decodeMessage(b []byte, v any) error {
	if err := std.newer.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	if err := messages.Check(v); err != nil {
		return fmt.Errorf("%w: %w", ErrTooBig, err)
	}
	known, err := std.enc.Marshal(v)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	case bytes.Equal(b, known):
		return nil
	case len(b) > len(known)+maxUnknown:
		return fmt.Errorf("%w: more than %d bytes of unknown fields", ErrEncoding, maxUnknown)
	}
	var all, part any
	if err := std.newer.Unmarshal(b, &all); err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	if err := std.newer.Unmarshal(known, &part); err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	again, err := std.enc.Marshal(all)
	if err != nil || !bytes.Equal(b, again) || !extends(all, part) {
		return fmt.Errorf("%w: another encoding of the same content", ErrEncoding)
	}
	return nil
}

// extends reports whether all is part with more keys in its maps.
func extends(all, part any) bool {
	switch part := part.(type) {
	case map[any]any:
		all, ok := all.(map[any]any)
		for k, v := range part {
			more, has := all[k]
			ok = ok && has && extends(more, v)
		}
		return ok
	case []any:
		all, ok := all.([]any)
		ok = ok && len(all) == len(part)
		for i := range part {
			ok = ok && extends(all[i], part[i])
		}
		return ok
	}
	return reflect.DeepEqual(all, part)
}
