package tpm_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"testing"
	"unicode/utf16"

	"github.com/google/go-eventlog/tcg"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

// event is one entry of a log that tests write. Digest zero means that of the data.
type event struct {
	pcr    int
	kind   tcg.EventType
	data   []byte
	digest [32]byte
}

func (e event) measured() [32]byte {
	if e.digest != [32]byte{} {
		return e.digest
	}
	return sha256.Sum256(e.data)
}

// writeLog writes events in the crypto-agile form with one algorithm, SHA-256.
func writeLog(events []event) []byte {
	le := binary.LittleEndian
	spec := append([]byte("Spec ID Event03\x00"), 0, 0, 0, 0, 0, 2, 0, 2)
	spec = le.AppendUint32(spec, 1)
	spec = le.AppendUint16(spec, 0x0b)
	spec = le.AppendUint16(spec, 32)
	spec = append(spec, 0)
	out := le.AppendUint32(nil, 0)
	out = le.AppendUint32(out, uint32(tcg.NoAction))
	out = append(out, make([]byte, 20)...)
	out = append(le.AppendUint32(out, uint32(len(spec))), spec...)
	for _, e := range events {
		out = le.AppendUint32(out, uint32(e.pcr))
		out = le.AppendUint32(out, uint32(e.kind))
		out = le.AppendUint32(out, 1)
		out = le.AppendUint16(out, 0x0b)
		digest := e.measured()
		out = append(out, digest[:]...)
		out = append(le.AppendUint32(out, uint32(len(e.data))), e.data...)
	}
	return out
}

// replay computes PCR values without the code under test.
func replay(events []event, selection tpm.Selection) tpm.PCRs {
	values := tpm.PCRs{}
	for _, i := range selection.List() {
		values[i] = [32]byte{}
	}
	for _, e := range events {
		if e.kind == tcg.NoAction {
			continue
		}
		old, digest := values[e.pcr], e.measured()
		values[e.pcr] = sha256.Sum256(append(old[:], digest[:]...))
	}
	return values
}

// variable is a UEFI_VARIABLE_DATA of EFI_GLOBAL_VARIABLE.
func variable(name string, data ...byte) []byte {
	out, _ := hex.DecodeString("61dfe48bca93d211aa0d00e098032b8c")
	units := utf16.Encode([]rune(name))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(units)))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(data)))
	for _, u := range units {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return append(out, data...)
}

var separator = []byte{0, 0, 0, 0}

// boot is the events of a plain boot with Secure Boot in a state.
func boot(state byte) []event {
	events := []event{
		{pcr: 0, kind: tcg.SCRTMVersion, data: []byte("1\x00.\x000\x00\x00\x00")},
		{pcr: 0, kind: tcg.EFIPlatformFirmwareBlob, data: make([]byte, 16), digest: hash("firmware volume")},
		{pcr: 7, kind: tcg.EFIVariableDriverConfig, data: variable("SecureBoot", state)},
		{pcr: 7, kind: tcg.EFIVariableDriverConfig, data: variable("PK", 1, 2, 3)},
		{pcr: 7, kind: tcg.EFIVariableDriverConfig, data: variable("KEK", 4, 5, 6)},
	}
	for pcr := range 8 {
		events = append(events, event{pcr: pcr, kind: tcg.Separator, data: separator})
	}
	return append(events,
		event{pcr: 7, kind: tcg.EFIVariableAuthority, data: variable("db", 7, 8, 9)},
		event{pcr: 4, kind: tcg.EFIBootServicesApplication, data: []byte("path"), digest: hash("boot loader")},
	)
}

func insert(events []event, at int, e ...event) []event {
	return append(append(append([]event(nil), events[:at]...), e...), events[at:]...)
}

func TestReplayLogSecureBoot(t *testing.T) {
	edit := func(i int, change func(*event)) []event {
		events := boot(0)
		change(&events[i])
		return events
	}
	const variableAt, separatorAt = 2, 12 // in boot
	on := event{pcr: 7, kind: tcg.EFIVariableDriverConfig, data: variable("SecureBoot", 1)}
	for name, tc := range map[string]struct {
		measured, log  []event
		known, enabled bool
	}{
		"on":  {measured: boot(1), known: true, enabled: true},
		"off": {measured: boot(0), known: true},
		"set after the separator": {
			measured: insert(boot(0), separatorAt+1, on), known: true,
		},
		"everything again after the separator": {
			measured: append(boot(0), on, event{pcr: 7, kind: tcg.Separator, data: separator}),
		},
		"the first separator relabelled": {
			measured: append(boot(0), on, event{pcr: 7, kind: tcg.Separator, data: separator}),
			log: append(edit(separatorAt, func(e *event) { e.kind = tcg.EFIAction; e.digest = sha256.Sum256(separator) }),
				on, event{pcr: 7, kind: tcg.Separator, data: separator}),
		},
		"data that was not measured": {
			measured: boot(0),
			log: edit(variableAt, func(e *event) {
				e.digest = sha256.Sum256(e.data)
				e.data = variable("SecureBoot", 1)
			}),
		},
		"the variable relabelled": {
			measured: boot(0), log: edit(variableAt, func(e *event) { e.kind = tcg.EFIVariableAuthority }),
		},
		"the variable twice":  {measured: insert(boot(0), variableAt+1, on)},
		"no variable":         {measured: append(boot(0)[:variableAt:variableAt], boot(0)[variableAt+1:]...)},
		"no separator":        {measured: append(boot(1)[:separatorAt:separatorAt], boot(1)[separatorAt+1:]...)},
		"value of two":        {measured: boot(2)},
		"value of two bytes":  {measured: edit(variableAt, func(e *event) { e.data = variable("SecureBoot", 1, 1) })},
		"variable cut":        {measured: edit(variableAt, func(e *event) { e.data = e.data[:len(e.data)-1] })},
		"name too long":       {measured: edit(variableAt, func(e *event) { e.data = variable(string(make([]rune, 300)), 1) })},
		"lengths that wrap":   {measured: edit(variableAt, func(e *event) { e.data = wrapping() })},
		"another vendor":      {measured: edit(variableAt, func(e *event) { e.data = append([]byte{0xff}, variable("SecureBoot", 1)[1:]...) })},
		"debugger":            {measured: insert(boot(1), variableAt, event{pcr: 7, kind: tcg.EFIAction, data: []byte("UEFI Debug Mode")})},
		"DMA not protected":   {measured: insert(boot(1), variableAt, event{pcr: 7, kind: tcg.EFIAction, data: []byte("DMA Protection Disabled")}), known: true, enabled: true},
		"error separator":     {measured: insert(boot(1), separatorAt, event{pcr: 7, kind: tcg.Separator, data: []byte{255, 255, 255, 255}})},
		"authority too early": {measured: insert(boot(1), variableAt+1, event{pcr: 7, kind: tcg.EFIVariableAuthority, data: variable("db", 1)})},
	} {
		t.Run(name, func(t *testing.T) {
			log := tc.log
			if log == nil {
				log = tc.measured
			}
			report, err := tpm.ReplayLog(writeLog(log), replay(tc.measured, tpm.DefaultSelection))
			require.NoError(t, err)
			require.Equal(t, tpm.FirmwarePCRs, report.Explained)
			require.Equal(t, tpm.DefaultSelection&^tpm.FirmwarePCRs, report.Untouched)
			require.Equal(t, tc.known, report.SecureBoot.Known, report.SecureBoot.Why)
			require.Equal(t, tc.enabled, report.SecureBoot.Enabled)
			require.Equal(t, tc.known, report.SecureBoot.Why == "")
		})
	}
}

// wrapping is a variable whose lengths add up only modulo 2⁶⁴.
func wrapping() []byte {
	data := variable("", 1)
	binary.LittleEndian.PutUint64(data[16:], 100)
	binary.LittleEndian.PutUint64(data[24:], 1<<64-199)
	return data
}

func TestReplayLogDiffers(t *testing.T) {
	values := replay(boot(1), tpm.DefaultSelection)
	values[4] = hash("another boot loader")
	values[9] = hash("measured later, by no event of the log")
	report, err := tpm.ReplayLog(writeLog(boot(1)), values)
	require.NoError(t, err)
	require.Equal(t, tpm.Select(4, 9), report.Differs)
	require.Equal(t, tpm.FirmwarePCRs&^tpm.Select(4), report.Explained)
	require.True(t, report.SecureBoot.Enabled)

	values[7] = [32]byte{}
	report, err = tpm.ReplayLog(writeLog(boot(1)), values)
	require.NoError(t, err)
	require.False(t, report.SecureBoot.Known, "PCR 7 was not replayed")
}

func TestReplayLogMalformed(t *testing.T) {
	good := writeLog(boot(1))
	values := replay(boot(1), tpm.DefaultSelection)
	for n := range good {
		if n > 600 && n%13 != 0 {
			continue
		}
		report, err := tpm.ReplayLog(good[:n], values)
		if err == nil {
			require.NotZero(t, report.Differs, "cut to %d bytes", n)
		} else {
			require.ErrorIs(t, err, attest.ErrMalformed)
		}
	}
	for name, log := range map[string][]byte{
		"empty":            nil,
		"too large":        append(good, make([]byte, tpm.MaxLog)...),
		"SHA-1 form":       good[69:],
		"padded":           append(bytes.Clone(good), 0),
		"padded with ones": append(bytes.Clone(good), bytes.Repeat([]byte{0xff}, 64)...),
		"no algorithm":     patch(good, 56, 0, 0, 0, 0),
		"too many":         patch(good, 56, 0xff, 0xff, 0xff, 0xff),
		"unknown":          patch(good, 60, 0x0b, 0x01),
		"of another size":  patch(good, 62, 31, 0),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tpm.ReplayLog(log, values)
			require.ErrorIs(t, err, attest.ErrMalformed)
		})
	}
}

func patch(data []byte, at int, b ...byte) []byte {
	out := bytes.Clone(data)
	copy(out[at:], b)
	return out
}

// The worst that a log can cost: as many events as fit, every register wrong, so that the library tries all it knows.
func TestReplayLogCost(t *testing.T) {
	log := writeLog(nil)
	for i := uint32(0); len(log)+16 <= tpm.MaxLog; i++ {
		log = binary.LittleEndian.AppendUint32(log, i%16)
		log = append(log, make([]byte, 12)...) // type, no digests, no data
	}
	many := make([]event, 0, tpm.MaxLog/54)
	for i := range cap(many) - 2 {
		many = append(many, event{pcr: i % 16, kind: tcg.EFIAction})
	}
	for name, log := range map[string][]byte{"without digests": log, "with digests": writeLog(many)} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			report, err := tpm.ReplayLog(log, replay(boot(1), tpm.DefaultSelection))
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.NotZero(t, report.Differs)
			all := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes of log: %d KiB allocated in all", len(log), all>>10)
			require.Less(t, all, uint64(64<<20))
		})
	}
}
