package certs

import (
	"github.com/rs/zerolog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// details are the lines of certmagic, which an operator sees by --log-level debug.
type details struct{ log zerolog.Logger }

// Write implements io.Writer: a line is an object in JSON.
func (d details) Write(line []byte) (int, error) {
	d.log.Debug().RawJSON("certmagic", line[:len(line)-1]).Msg("details of certificates")
	return len(line), nil
}

func zapOf(log zerolog.Logger) *zap.Logger {
	if log.GetLevel() > zerolog.DebugLevel {
		return zap.NewNop()
	}
	c := zapcore.EncoderConfig{MessageKey: "says", NameKey: "part", EncodeDuration: zapcore.StringDurationEncoder, EncodeTime: zapcore.RFC3339TimeEncoder, EncodeName: zapcore.FullNameEncoder}
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(c), zapcore.AddSync(details{log}), zapcore.DebugLevel))
}
